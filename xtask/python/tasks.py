"""What an analyst wants from a fit, each as the line that they would type.

The tasks come from a study of notebook users, which found that a third of them took one line. `BEFORE` has the cells that
come first. Not here, because there is nothing to type yet: raw text (tokens and their counts), coherence, names of documents,
and zoom with the mouse.
"""

import json
import pathlib
import zipfile
from typing import NamedTuple

BEFORE = [
    "use topicbook::prelude::*;",
    "use topicbook::polars::prelude::*;",
    "let corpus = Synthetic::new(300, 60, 4).avg_doc_length(80).seed(3).generate()?;",
    "let counts = corpus.counts();",
    'let terms = Terms::new((0..60).map(|j| format!("term {j}")))?;',
    "let model = TopicModel::new(4).terms(&terms).epochs(20).seed(3).quiet();",
    "let fit = model.fit(&counts)?;",
    "let other = model.seed(4).fit(&counts)?;",
    "let (train, test) = counts.split(0.8, 1)?;",
    'let docs = Vectorizer::new().fit_transform(Texts::from_frame(&Table::open("reviews.csv")?, "review")?)?;',
    'let named = TopicModel::new(2).seed(1).quiet().fit(&docs)?.name_topics(["Books", "Sound"])?;',
]


class Task(NamedTuple):
    title: str
    line: str
    # What the cell shows: a MIME type, or "" for a cell that binds or writes.
    shows: str


HTML, PNG = "text/html", "image/png"

TASKS = [
    # From the data to a fit.
    Task("lengths of documents", "counts", HTML),
    Task("documents that contain a term", 'let about = counts.documents_with(terms.find("term 7")?)?;', ""),
    Task("leave out words", 'let (fewer, names) = counts.drop_terms(&terms, ["term 1", "term 2"])?;', ""),
    Task("leave out rare and common terms", "let (useful, kept) = counts.filter_terms(&terms, 5, 0.9)?;", ""),
    Task("some documents", "let some = counts.select(0..50)?;", ""),
    Task("fit in the background", "let training = model.epochs(100_000).spawn(&counts)?;", ""),
    Task("stop it, and keep what it has", "training.stop(); let partial = training.join()?;", ""),
    Task("save and load", 'fit.save("fit.safetensors")?; let again = Fit::load("fit.safetensors")?;', ""),
    Task("choose k", 'for k in [2, 4, 8] { println!("{k} {}", TopicModel::new(k).epochs(9).quiet().fit(&train)?.perplexity(&test)?); }', ""),
    Task("score of held-out documents", "model.fit(&train)?.score(&test)?", "text/plain"),
    Task("topics of new documents", "let new = fit.transform(&test)?;", ""),
    Task("match the topics of two fits", "let matched = other.align_to(&fit.f())?;", ""),
    # Questions to a fit.
    Task("documents of a topic", "fit.documents_of_topic(2, 5)?", HTML),
    Task("topics of a document", "fit.topics_of_document(17)?", HTML),
    Task("topics of a term", 'fit.topics_of_term("term 7")?', HTML),
    Task("sizes of the topics", "fit.topic_sizes()", HTML),
    Task("correlation of the topics", "fit.topic_correlation()", HTML),
    Task("documents like this one", "fit.similar_documents(17, 5)?", HTML),
    # Texts, and names in the place of numbers.
    Task("topics of new texts", 'named.transform(["a page of the book", "the sound"])?', HTML),
    Task("documents of a named topic", 'named.documents_of_topic("Books", 3)?', HTML),
    Task("documents like a named one", 'named.similar_documents("R1", 3)?', HTML),
    Task("merge topics by name", 'let one = named.merge_topics(["Books", "Sound"])?;', ""),
    Task("drop a topic", 'let fewer = named.drop_topics(["Sound"])?;', ""),
    Task("leave out texts without a term", "let filled = docs.drop_empty()?;", ""),
    Task("topics by a label", 'named.by("stars")?', HTML),
    Task("topics by two labels", 'named.by(["stars", "country"])?', HTML),
    Task("own stop words", 'Vectorizer::new().stop_words("english").stop_words(["again"]).fit_transform(["good again"])?', HTML),
    Task("choose k for texts", 'TopicModel::sweep([2, 3]).seeds(2).quiet().fit(&docs)?', HTML),
    # Tables.
    Task("some rows at random", 'Table::open("titles.csv")?.sample(5, 1)', HTML),
    Task("mean of a column", 'Table::open("reviews.csv")?.mean("stars")?', "text/plain"),
    Task("numbers with a decimal comma", "let priced = Table::open(\"reviews.csv\")?.to_number(\"price\", ',')?;", ""),
    Task("dates", 'Table::open("reviews.csv")?.to_date("date", "%d.%m.%Y")?.sort_by("date")?', HTML),
    Task("if and else", 'Table::open("reviews.csv")?.with_column("good", when(col("stars").gt(3)).then(lit("yes")).otherwise(lit("no")))?', HTML),
    Task("another type", 'let texts = Table::open("reviews.csv")?.with_column("stars", col("stars").cast(DataType::String))?;', ""),
    Task("documents with more than half of a topic", 'let strong = fit.doc_topics().filter(col("proportion").gt(0.5))?;', ""),
    Task("a sheet of a spreadsheet", 'Table::open_with("survey.xlsx", TextFormat::new().sheet(2))?', HTML),
    Task("sort", 'fit.doc_topics().sort_by_desc("topic 2")?.head(5)', HTML),
    Task("groups", 'fit.doc_topics().group_by("dominant")?.mean("proportion")?', HTML),
    Task("join with a CSV file", 'fit.doc_topics().join(&Table::open("titles.csv")?, "document")?', HTML),
    Task("rename a column", 'let renamed = fit.doc_topics().rename("topic 0", "sport")?;', ""),
    Task("statistics", "fit.doc_topics().describe()?", HTML),
    Task("JSON lines", 'Table::open("reviews.jsonl")?', HTML),
    Task("1,000 rows", 'Table::new().with_column("n", 0..1000)?.rows(1000)', HTML),
    Task("a lazy query", 'fit.doc_topics().lazy().filter(col("document").lt(9)).collect()?', "text/plain"),
    Task("export", 'fit.doc_topics().write_csv("doc_topics.csv")?; fit.top_terms(9).write_parquet("top_terms.parquet")?;', ""),
    # Charts.
    Task("loss", "fit.plot_loss()", PNG),
    Task("losses of two fits", 'Chart::losses([("seed 3", &fit), ("seed 4", &other)])', PNG),
    Task("memory", "fit.plot_memory()", PNG),
    Task("two charts side by side", "side_by_side([fit.plot_structure(), other.plot_structure()])", PNG),
    Task("structure of some documents", "Chart::structure(&fit.l().select_rows(&about)?)", PNG),
    Task("zoom into documents", "Chart::structure(&fit.l().select_rows(0..20)?)", PNG),
    Task("topics 1 and 3 only", "fit.plot_top_terms(8).topics([1, 3])", PNG),
    Task("names of topics", 'fit.name_topics(["sport", "law", "art", "food"])?.plot_structure()', PNG),
    Task("bars", 'Chart::bars(fit.topic_sizes().numbers("share")?)', PNG),
    Task("lines", 'Chart::lines(fit.history().numbers("seconds")?)', PNG),
    Task("heat map", "Chart::heatmap(fit.topic_correlation())", PNG),
    Task("large letters for a lecture", "fit.plot_loss().large()", PNG),
    Task("a sentence and a chart", 'html(format!("<p>Two topics</p>{}", fit.plot_loss().to_svg()?))', HTML),
    Task("Markdown", 'markdown(format!("**{}** topics", fit.topics()))', "text/markdown"),
    Task("a picture in a file", 'fit.plot_loss().save_svg("loss.svg")?; fit.plot_loss().save_png("loss.png")?;', ""),
]


def files(folder):
    """Writes titles.csv, reviews.csv, with a text without a word, its rows as JSON lines, and survey.xlsx into `folder`."""
    lines = ["document,title", *(f'{document},"paper {document}"' for document in range(300))]
    pathlib.Path(folder, "titles.csv").write_text("\n".join(lines) + "\n")
    texts = ["a book of many pages", "the sound of the music", "pages of the book", "loud music and sound", "!?"]
    lines = ["document,review,stars,price,date,country"]
    lines += [f'R{row},{texts[row % 5]} {"" if row % 5 == 4 else "again"},{row % 5 + 1},"1.{row:03},50",{row % 28 + 1:02}.03.2024,{"DE" if row % 3 else "FR"}' for row in range(40)]
    pathlib.Path(folder, "reviews.csv").write_text("\n".join(lines) + "\n")
    lines = [json.dumps({"document": f"R{row}", "review": texts[row % 5], "stars": row % 5 + 1}) for row in range(40)]
    pathlib.Path(folder, "reviews.jsonl").write_text("\n".join(lines) + "\n")
    related = '<Relationship Id="{0}" Type="http://x/relationships/{1}" Target="{2}"/>'
    sheets = "".join(f'<sheet name="{name}" r:id="{name}"/>' for name in ["Notes", "Answers"])
    cells = "".join(f'<row><c t="str"><v>{name}</v></c><c>{value}</c></row>' for name, value in
                    [("question", "<v>1</v>"), ("age", "<v>42</v>")])
    parts = {
        "_rels/.rels": f'<Relationships>{related.format("a", "officeDocument", "xl/workbook.xml")}</Relationships>',
        "xl/_rels/workbook.xml.rels": "<Relationships>" + "".join(
            related.format(name, "worksheet", f"{name}.xml") for name in ["Notes", "Answers"]) + "</Relationships>",
        "xl/workbook.xml": f"<workbook><sheets>{sheets}</sheets></workbook>",
        "xl/Notes.xml": "<worksheet><sheetData/></worksheet>",
        "xl/Answers.xml": f"<worksheet><sheetData>{cells}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(pathlib.Path(folder, "survey.xlsx"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
