"""Typical cells of a data-frame analysis, in the order in which one kernel runs them.

`CELLS` has what people type: `ours` with `Table`, or with Polars' own types through `topicbook::polars`, and `plain`, the
same with Polars alone in a bare evcxr kernel, whose first cell is `PLAIN_DEP`. Each cell binds with a `let` without a type,
unless Polars needs one too, or shows a value. `files` writes the files that the first cells open.
"""

import pathlib
from typing import NamedTuple, Optional

PLAIN_DEP = (
    ':dep polars = { version = "=0.55.2", default-features = false, features = ["csv", "parquet", "fmt", "lazy", "strings", '
    '"regex", "is_in", "is_between", "rank", "abs", "round_series", "log", "cum_agg", "diff", "cov", "pivot", "describe", "temporal"] }'
)


class Cell(NamedTuple):
    title: str
    ours: str
    # None where plain Polars has no such value, such as a fit.
    plain: Optional[str]


def files(folder):
    """Writes papers.csv (60 rows, 6 columns, some values missing), topics.tsv and european.csv into `folder`."""
    sessions, words = ["oral", "poster", "spotlight"], ["nets", "kernels", "spikes", "vision"]
    lines = ["document,title,year,words,session,score"]
    for document in range(60):
        title = f'"{words[document % 4]}, part {document // 4}"'
        score = "" if document % 10 == 7 else f"{(document * 37 % 100) / 10}"
        lines.append(
            f"{document},{title},{1987 + document // 6},{900 + document * 131 % 2500},{sessions[document * 7 % 3]},{score}"
        )
    folder = pathlib.Path(folder)
    (folder / "papers.csv").write_text("\n".join(lines) + "\n")
    topics = ["id\ttopic\tproportion"]
    topics += [f"{document}\t{document % 5}\t{0.2 + document % 7 / 10}" for document in range(0, 60, 2)]
    (folder / "topics.tsv").write_text("\n".join(topics) + "\n")
    (folder / "european.csv").write_text("city;people\nBern;134\nBasel;173\n")


READ = 'CsvReadOptions::default().try_into_reader_with_file_path(Some("{}".into()))?.finish()?'

CELLS = [
    Cell("names in scope", "use topicbook::prelude::*;", "use polars::prelude::*;"),
    Cell("names of Polars", "use topicbook::polars::prelude::*;", None),
    # Open and look.
    Cell("open a CSV file", 'let papers = Table::open("papers.csv")?;', f'let papers = {READ.format("papers.csv")};'),
    Cell("show", "papers", "papers"),
    Cell("shape", "papers.shape()", "papers.shape()"),
    Cell("names of columns", "let names = papers.column_names();", "let names = papers.get_column_names_owned();"),
    Cell("types of columns", "papers.dtypes()", "papers.schema()"),
    Cell("first rows", "papers.head(3)", "papers.head(Some(3))"),
    Cell("last rows", "let last = papers.tail(3);", "let last = papers.tail(Some(3));"),
    Cell("more rows", "papers.rows(60)", None),
    Cell("one row", "let third = papers.row(3)?;", "let third = papers.slice(3, 1);"),
    Cell("a slice", "let middle = papers.slice(20, 5);", "let middle = papers.slice(20, 5);"),
    Cell("statistics", "let statistics = papers.describe()?;", None),
    Cell("a mean without missing values", 'let mean = papers.mean("score")?;', None),
    # Choose.
    Cell(
        "select columns",
        'let some = papers.select(["title", "year"])?;',
        'let some = papers.select(["title", "year"])?;',
    ),
    Cell("drop a column", 'let fewer = papers.drop("score")?;', 'let fewer = papers.drop("score")?;'),
    Cell(
        "rename a column",
        'let renamed = papers.rename("words", "length")?;',
        'let mut renamed = papers.clone(); renamed.rename("words", "length".into())?;',
    ),
    Cell(
        "filter by a number",
        'let recent = papers.filter(col("year").gt_eq(1990))?;',
        'let recent = papers.clone().lazy().filter(col("year").gt_eq(lit(1990))).collect()?;',
    ),
    Cell(
        "filter by a text",
        'let talks = papers.filter(col("session").eq(lit("oral")))?;',
        'let talks = papers.clone().lazy().filter(col("session").eq(lit("oral"))).collect()?;',
    ),
    Cell(
        "filter by two conditions",
        'let both = papers.filter(col("year").lt(1990).and(col("words").gt(1500)))?;',
        'let both = papers.clone().lazy().filter(col("year").lt(lit(1990)).and(col("words").gt(lit(1500)))).collect()?;',
    ),
    Cell(
        "filter by a statistic",
        'let long = papers.filter(col("words").gt(col("words").mean()))?;',
        'let long = papers.clone().lazy().filter(col("words").gt(col("words").mean())).collect()?;',
    ),
    Cell(
        "filter by the start of a text",
        'let nets = papers.filter(col("title").str().starts_with(lit("nets")))?;',
        'let nets = papers.clone().lazy().filter(col("title").str().starts_with(lit("nets"))).collect()?;',
    ),
    Cell(
        "filter by nulls",
        'let scored = papers.filter(col("score").is_not_null())?;',
        'let scored = papers.clone().lazy().filter(col("score").is_not_null()).collect()?;',
    ),
    Cell(
        "filter by a part of a text",
        'let kernels = papers.filter(col("title").str().contains(lit("kernel"), false))?;',
        'let kernels = papers.clone().lazy().filter(col("title").str().contains(lit("kernel"), false)).collect()?;',
    ),
    Cell("drop rows with nulls", "let complete = papers.drop_nulls()?;", "let complete = papers.drop_nulls::<String>(None)?;"),
    Cell(
        "distinct rows",
        'let first_of_year = papers.unique("year")?;',
        'let first_of_year = papers.unique_stable(Some(&["year".to_string()]), UniqueKeepStrategy::First, None)?;',
    ),
    # Sort.
    Cell(
        "sort",
        'let by_words = papers.sort_by("words")?;',
        'let by_words = papers.sort(["words"], SortMultipleOptions::default())?;',
    ),
    Cell(
        "sort, largest first",
        'let longest = papers.sort_by_desc("words")?;',
        'let longest = papers.sort(["words"], SortMultipleOptions::default().with_order_descending(true))?;',
    ),
    Cell(
        "sort by two columns",
        'let ordered = papers.sort_by(["session", "words"])?;',
        'let ordered = papers.sort(["session", "words"], SortMultipleOptions::default())?;',
    ),
    Cell(
        "top five",
        'papers.sort_by_desc("score")?.head(5)',
        'papers.sort(["score"], SortMultipleOptions::default().with_order_descending(true))?.head(Some(5))',
    ),
    # New columns.
    Cell(
        "a column from a vector",
        'let numbered = papers.with_column("number", 0..60)?;',
        'let mut numbered = papers.clone(); numbered.with_column(Column::new("number".into(), (0..60).collect::<Vec<i32>>()))?;',
    ),
    Cell(
        "a computed column",
        'let thousands = papers.with_column("thousands", col("words") / lit(1000.0))?;',
        'let thousands = papers.clone().lazy().with_column((col("words") / lit(1000.0)).alias("thousands")).collect()?;',
    ),
    Cell(
        "two computed columns",
        'let more = papers.with_columns([(col("year") - lit(1987)).alias("age"), col("words").log(lit(10.0)).alias("log")])?;',
        "let more = papers.clone().lazy().with_columns("
        '[(col("year") - lit(1987)).alias("age"), col("words").log(lit(10.0)).alias("log")]).collect()?;',
    ),
    Cell(
        "a column by a condition",
        'let sized = papers.with_column("size", when(col("words").gt(2000)).then(lit("long")).otherwise(lit("short")))?;',
        "let sized = papers.clone().lazy().with_column("
        'when(col("words").gt(lit(2000))).then(lit("long")).otherwise(lit("short")).alias("size")).collect()?;',
    ),
    Cell(
        "share of a group",
        'let shares = papers.with_column("share", col("words") * lit(1.0) / col("words").sum().over([col("year")])?)?;',
        "let shares = papers.clone().lazy().with_column("
        '(col("words") * lit(1.0) / col("words").sum().over([col("year")])?).alias("share")).collect()?;',
    ),
    Cell(
        "fill nulls",
        'let filled = papers.with_column("score", col("score").fill_null(lit(0.0)))?;',
        'let filled = papers.clone().lazy().with_column(col("score").fill_null(lit(0.0))).collect()?;',
    ),
    Cell(
        "ranks",
        'let ranked = papers.with_column("rank", col("words").rank(RankOptions::default(), None))?;',
        'let ranked = papers.clone().lazy().with_column(col("words").rank(RankOptions::default(), None).alias("rank")).collect()?;',
    ),
    Cell(
        "cumulative sum",
        'let running = papers.with_column("so far", col("words").cum_sum(false))?;',
        'let running = papers.clone().lazy().with_column(col("words").cum_sum(false).alias("so far")).collect()?;',
    ),
    # Groups.
    Cell(
        "mean of groups",
        'let means = papers.group_by("session")?.mean("words")?;',
        'let means = papers.clone().lazy().group_by_stable([col("session")]).agg([col("words").mean()]).collect()?;',
    ),
    Cell("groups", 'let sessions = papers.group_by("session")?;', None),
    Cell(
        "rows of groups",
        "let sizes = sessions.count()?;",
        'let sizes = papers.clone().lazy().group_by_stable([col("session")]).agg([len()]).collect()?;',
    ),
    Cell(
        "several statistics of groups",
        'let spread = sessions.agg([col("words").min().alias("least"), col("words").max().alias("most")])?;',
        'let spread = papers.clone().lazy().group_by_stable([col("session")]).agg('
        '[col("words").min().alias("least"), col("words").max().alias("most")]).collect()?;',
    ),
    Cell(
        "groups by two columns",
        'let sums = papers.group_by(["year", "session"])?.sum("words")?;',
        'let sums = papers.clone().lazy().group_by_stable([col("year"), col("session")]).agg([col("words").sum()]).collect()?;',
    ),
    Cell(
        "best of each group",
        'papers.sort_by_desc("score")?.group_by("session")?.head(2)?',
        'papers.clone().lazy().sort(["score"], SortMultipleOptions::default().with_order_descending(true))'
        '.group_by_stable([col("session")]).head(Some(2)).collect()?',
    ),
    Cell(
        "value counts",
        'let frequencies = papers.value_counts("session")?;',
        'let frequencies = papers.clone().lazy().group_by_stable([col("session")]).agg([len().alias("count")])'
        '.sort(["count"], SortMultipleOptions::default().with_order_descending(true)).collect()?;',
    ),
    Cell("pivot", 'let wide = sums.pivot("year", "session", "words")?;', None),
    # Combine.
    Cell("open a TSV file", 'let topics = Table::open("topics.tsv")?;', None),
    Cell(
        "make a table",
        'let names = Table::new().with_column("topic", 0..5)?.with_column("name", ["nets", "vision", "speech", "control", "theory"])?;',
        'let names = df!("topic" => (0..5).collect::<Vec<i64>>(), "name" => ["nets", "vision", "speech", "control", "theory"])?;',
    ),
    Cell("join by keys of other names", 'let joined = papers.join(&topics, ("document", "id"))?;', None),
    Cell(
        "join by keys of other types",
        'let named = joined.join(&names, "topic")?;',
        'let named = names.inner_join(&names, ["topic"], ["topic"])?;',
    ),
    Cell(
        "left join",
        'let all = papers.left_join(&topics, ("document", "id"))?;',
        'let all = names.left_join(&names, ["topic"], ["topic"])?;',
    ),
    Cell("stack", "let twice = papers.vstack(&papers)?;", "let twice = papers.vstack(&papers)?;"),
    # Values.
    Cell(
        "numbers of a column",
        'let words = papers.numbers("words")?;',
        'let words: Vec<i64> = papers.column("words")?.i64()?.into_no_null_iter().collect();',
    ),
    Cell("texts of a column", 'let titles = papers.texts("title")?;', None),
    Cell("their sum", "let total = words.iter().sum::<f64>();", "let total = words.iter().sum::<i64>();"),
    # Files.
    Cell(
        "write a CSV file",
        'longest.write_csv("longest.csv")?;',
        'CsvWriter::new(std::fs::File::create("longest.csv")?).finish(&mut longest.clone())?;',
    ),
    Cell(
        "write a Parquet file",
        'longest.write_parquet("longest.parquet")?;',
        'ParquetWriter::new(std::fs::File::create("longest.parquet")?).finish(&mut longest.clone())?;',
    ),
    Cell(
        "open a Parquet file",
        'let again = Table::open("longest.parquet")?;',
        'let again = ParquetReader::new(std::fs::File::open("longest.parquet")?).finish()?;',
    ),
    Cell("open a CSV file with semicolons", 'let cities = Table::open("european.csv")?;', None),
    # Tables of a fit.
    Cell(
        "fit",
        "let fit = TopicModel::new(3).epochs(3).seed(1).quiet().fit(Synthetic::new(60, 30, 3).seed(1).generate()?.counts())?;",
        None,
    ),
    Cell("documents of a topic", 'let strong = fit.doc_topics().filter(col("proportion").gt(0.5))?;', None),
    Cell("topics of documents with titles", 'let titled = fit.doc_topics().join(&papers, "document")?;', None),
    Cell("sizes of topics", 'fit.doc_topics().value_counts("dominant")?', None),
    # Types of Polars.
    Cell("df!", *2 * ('let frame = df!("name" => ["a", "b", "c"], "n" => [3, 1, 2])?;',)),
    Cell("a frame as a table", "let table = Table::from(frame.clone());", None),
    Cell("a frame of a table", "let frame_of_papers = papers.clone().into_inner();", "let frame_of_papers = papers.clone();"),
    Cell("a series", *2 * ('let series = Series::new("x".into(), [1.0, 2.0, 4.0]);',)),
    Cell("arithmetic with a number", *2 * ("let doubled = &series * 2.0;",)),
    Cell("arithmetic of two series", *2 * ("let added = (&series + &doubled)?;",)),
    Cell("sum of a series", *2 * ("let sum = series.sum::<f64>()?;",)),
    Cell("mean of a series", *2 * ("let mean = series.mean();",)),
    Cell("a chunked array", *2 * ("let array = series.f64()?.clone();",)),
    Cell("a chunked array as a vector", *2 * ("let values = array.to_vec();",)),
    Cell("without nulls", *2 * ("let floats: Vec<f64> = array.into_no_null_iter().collect();",)),
    Cell("a mask", *2 * ('let mask = frame.column("n")?.i32()?.gt(1);',)),
    Cell("rows of a mask", *2 * ("let kept = frame.filter(&mask)?;",)),
    Cell("rows of a mask, as a table", "let kept_rows = table.filter(&mask)?;", None),
    Cell("a column", *2 * ('let column = frame.column("n")?.clone();',)),
    Cell("a cast", *2 * ("let wider = column.cast(&DataType::Float64)?;",)),
    Cell("sort a frame", *2 * ('let sorted = frame.sort(["n"], SortMultipleOptions::default())?;',)),
    Cell("head of a frame", *2 * ("let top = frame.head(Some(2));",)),
    Cell("add a column to a frame", *2 * ('let mut wider_frame = frame.clone(); wider_frame.with_column(doubled.clone().into())?;',)),
    Cell("join frames", *2 * ('let matched = frame.inner_join(&sorted, ["name"], ["name"])?;',)),
    Cell("an expression", *2 * ('let large = col("n").gt(lit(1));',)),
    Cell("a lazy frame", *2 * ("let lazy = frame.clone().lazy();",)),
    Cell("a lazy query", *2 * ("let collected = lazy.clone().filter(large.clone()).collect()?;",)),
    Cell(
        "lazy groups",
        *2 * ('let grouped = lazy.clone().group_by([col("name")]).agg([col("n").sum()]).collect()?;',),
    ),
    Cell("largest value", *2 * ('let largest = frame.column("n")?.i32()?.max();',)),
    Cell("one value", *2 * ('let value = frame.column("n")?.i32()?.get(0);',)),
    Cell("texts of a frame", *2 * ('let letters: Vec<String> = frame.column("name")?.str()?.iter().flatten().map(String::from).collect();',)),
    Cell("different values", *2 * ('let different = frame.column("name")?.n_unique()?;',)),
    Cell("schema", *2 * ("let schema: SchemaRef = frame.schema().clone();",)),
]
