//! The places where texts can come from, with the documents that they give.

use std::fs;

use topicbook::{Terms, TextCounts, TextFormat, Texts, Vectorizer};

fn rows(counted: &TextCounts) -> Vec<Vec<f32>> {
    let counts = counted.counts();
    let (documents, terms) = counts.shape();
    let mut rows = vec![0.0; documents * terms];
    let all: Vec<usize> = (0..documents).collect();
    counts.fill_rows(&all, &mut rows).unwrap();
    rows.chunks(terms).map(<[f32]>::to_vec).collect()
}

const TEXTS: [&str; 3] = ["To be, or not\tto be", "\"be\" it so", "no"];

fn expected() -> Vec<Vec<f32>> {
    // be, it, no, not, or, so, to
    vec![
        vec![2.0, 0.0, 0.0, 1.0, 1.0, 0.0, 2.0],
        vec![1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    ]
}

#[test]
fn files_of_every_format_give_the_same_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let json: Vec<String> = TEXTS
        .iter()
        .zip(["1987", "null", "1998"])
        .map(|(text, year)| format!("{{\"text\": {text:?}, \"year\": {year}, \"tags\": [1]}}"))
        .collect();
    fs::write(
        at("a.txt"),
        format!("\u{feff}{}\r\n{}\n{}", TEXTS[0], TEXTS[1], TEXTS[2]),
    )
    .unwrap();
    fs::write(at("a.jsonl"), json.join("\n")).unwrap();
    let quoted = TEXTS.map(|text| text.replace('"', "\"\""));
    let csv = format!(
        "document,year,text\na,1987,\"{}\"\nb,,\"{}\"\nc,1998,\"{}\"\n",
        quoted[0], quoted[1], quoted[2]
    );
    fs::write(at("a.csv"), &csv).unwrap();
    fs::create_dir_all(at("folder/inner/most")).unwrap();
    fs::write(at("folder/a.txt"), TEXTS[0]).unwrap();
    fs::write(
        at("folder/b.html"),
        format!("<title>x</title><main>{}</main>", TEXTS[1]),
    )
    .unwrap();
    fs::write(at("folder/inner/most/c.md"), TEXTS[2]).unwrap();
    for source in ["a.txt", "a.jsonl", "a.csv", "folder"] {
        let counted = Vectorizer::new().fit_transform(at(source)).unwrap();
        assert_eq!(rows(&counted), expected(), "{source}");
        let beginnings = Texts::open(at(source)).unwrap().beginnings(5).unwrap();
        let beginnings = beginnings.iter().map(|text| text.trim());
        assert!(beginnings.eq(["To be", "\"be\"", "no"]), "{source}");
        let documents = counted.documents();
        if source.ends_with("csv") || source.ends_with("jsonl") {
            let years = documents.labels("year").unwrap();
            assert_eq!(years, [Some("1987".to_string()), None, Some("1998".into())]);
        }
        if source == "a.csv" {
            assert_eq!(documents.names(), ["a", "b", "c"]);
        }
        if source == "folder" {
            assert_eq!(documents.names(), ["a.txt", "b.html", "inner/most/c.md"]);
            let folders = documents.labels("folder").unwrap();
            assert_eq!(folders[2].as_deref(), Some("inner"));
        }
    }
    let pattern = at("folder/*.txt");
    let texts = Texts::open(&pattern).unwrap();
    assert!(texts.to_string().starts_with("1 file in"), "{texts}");
    let counted = Vectorizer::new().fit_transform(texts).unwrap();
    assert_eq!(counted.documents().names(), ["a.txt"]);
}

/// Each guess about a file of text has a setting.
#[test]
fn encodings_separators_and_decimal_marks_are_stated() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let new = TextFormat::new;
    let russian = new().encoding("windows-1251").unwrap();
    let word = b"\xf1\xeb\xee\xe2\xee";
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("folder/a.txt"), word).unwrap();
    fs::write(at("a.txt"), word).unwrap();
    fs::write(
        at("a.jsonl"),
        [b"{\"text\": \"", &word[..], b"\"}\n"].concat(),
    )
    .unwrap();
    fs::write(at("a.csv"), [b"text,n\n", &word[..], b",1\n"].concat()).unwrap();
    for name in ["folder", "a.txt", "a.jsonl", "a.csv"] {
        let texts = Texts::open(at(name)).unwrap();
        let error = Vectorizer::new().fit_transform(&texts).unwrap_err();
        let line = "TextFormat::new().encoding(\"WINDOWS-1251\")?";
        assert!(error.remedy().unwrap().contains(line), "{error}");
        let counted = Vectorizer::new()
            .fit_transform(texts.format(russian).unwrap())
            .unwrap();
        assert_eq!(counted.terms().as_slice(), ["слово"], "{name}");
        testkit::assert_has(&counted, ["encoding Windows-1251"]);
        let other = texts.format(new().encoding("utf-16le").unwrap()).unwrap();
        testkit::refused! { Vectorizer::new().fit_transform(other); }
    }
    // Commas would give more columns, and `sep=` names them; 1,5 is 1.5 in one table and 15 thousands in another.
    let rows = "text;a,b,c\nto be;1,500,2\n";
    for (text, separator, names) in [
        (rows.to_string(), ';', vec!["a,b,c"]),
        (format!("sep=,\n{rows}"), ';', vec!["a,b,c"]),
        ("text~n\nto, be~1,500\n".into(), '~', vec!["n"]),
    ] {
        fs::write(at("a.csv"), text).unwrap();
        let stated = new().separator(separator).unwrap();
        let texts = Texts::open(at("a.csv")).unwrap().format(stated).unwrap();
        let counted = Vectorizer::new().fit_transform(texts).unwrap();
        assert_eq!(counted.terms().as_slice(), ["be", "to"]);
        assert_eq!(counted.documents().column_names(), names);
    }
    for (mark, number) in [(',', 1.5), ('.', 1500.0)] {
        let stated = new().separator('~').unwrap().decimal(mark).unwrap();
        let texts = Texts::open(at("a.csv")).unwrap().format(stated).unwrap();
        let counted = Vectorizer::new().fit_transform(texts).unwrap();
        assert_eq!(counted.documents().numbers("n").unwrap(), [number]);
    }
    let lines = Texts::open(at("a.txt")).unwrap();
    for error in [
        new().encoding("klingon").unwrap_err(),
        new().separator('a').unwrap_err(),
        new().separator('é').unwrap_err(),
        new().decimal(';').unwrap_err(),
        lines.format(new().separator(';').unwrap()).unwrap_err(),
        Texts::new(["a"]).unwrap().format(russian).unwrap_err(),
    ] {
        assert!(error.remedy().is_some(), "{error}");
    }
}

/// The header's first line says the separator, also below a blank line.
#[test]
fn blank_lines_before_a_header_are_passed_over() {
    let (_folder, path) = testkit::temp_path("blank.csv");
    for header in ["text;year", "\n\r\ntext;year", "\u{feff}\ntext ; year"] {
        fs::write(&path, format!("{header}\nto be, or not;1987\n")).unwrap();
        let counted = Vectorizer::new().fit_transform(&path).unwrap();
        assert_eq!(counted.terms().as_slice(), ["be", "not", "or", "to"]);
        assert_eq!(counted.documents().numbers("year").unwrap(), [1987.0]);
        #[cfg(feature = "polars")]
        if !header.starts_with('\u{feff}') {
            let table = topicbook::Table::open(&path).unwrap();
            assert_eq!(table.texts("text").unwrap(), ["to be, or not"]);
        }
    }
}

#[cfg(feature = "polars")]
#[test]
fn tables_give_the_same_counts() {
    use topicbook::{Documents, Table};
    let (folder, path) = testkit::temp_path("a.parquet");
    let table = Table::new()
        .with_column("letter", TEXTS)
        .unwrap()
        .with_column("year", vec![Some(1987), None, Some(1998)])
        .unwrap();
    let counted = Vectorizer::new()
        .fit_transform(table.column("letter").unwrap())
        .unwrap();
    assert_eq!(rows(&counted), expected());
    let framed = Texts::from_frame(&table, "letter").unwrap();
    assert_eq!(
        framed.to_string(),
        "3 texts in column \"letter\" of a table"
    );
    let framed = Vectorizer::new().fit_transform(&framed).unwrap();
    assert_eq!(rows(&framed), expected());
    table.write_parquet(&path).unwrap();
    let letters = Texts::open(&path).unwrap().column("letter");
    let counted = Vectorizer::new()
        .out(folder.path().join("out.npz"))
        .fit_transform(&letters)
        .unwrap();
    assert_eq!(rows(&counted), expected());
    let years = counted.documents().numbers("year").unwrap();
    assert_eq!(
        format!("{:?}", framed.documents()),
        format!("{:?}", counted.documents())
    );
    assert_eq!((years[0], years[2]), (1987.0, 1998.0));
    let written = Documents::open(folder.path().join("out_documents.csv")).unwrap();
    assert_eq!(
        written.labels("year").unwrap(),
        counted.documents().labels("year").unwrap()
    );
    testkit::refused! { Vectorizer::new().fit_transform(&path), "no column \"text\""; }
    let nulls = table
        .with_column("letter", vec![Some("a b"), None, None])
        .unwrap();
    // In memory, as in CSV, a missing text is a blank one.
    let blank = Texts::from_frame(&nulls, "letter").unwrap();
    let blank = Vectorizer::new()
        .token_pattern(r"\w+")
        .fit_transform(blank)
        .unwrap();
    assert_eq!(blank.counts().summary().unwrap().empty_documents(), [1, 2]);
    testkit::refused! { Texts::from_frame(&nulls, "text"), "no column \"text\""; }
    nulls.write_parquet(&path).unwrap();
    let error = Vectorizer::new().fit_transform(&letters).unwrap_err();
    assert_eq!(error.place(), Some("row 1 (counted from 0)"), "{error}");
    testkit::refused! { Vectorizer::new().fit_transform(table.column("year").unwrap()), "not text"; }
}

#[test]
fn records_longer_than_a_batch_and_quoted_line_breaks_are_read_whole() {
    let (_folder, path) = testkit::temp_path("long.csv");
    let mut csv = String::from("text,n\n");
    let rows = 40;
    for row in 0..rows {
        // The lengths go beyond a batch, and a batch ends within quotes.
        let text = format!("word{row}\n, \"\"quoted\"\" ").repeat(3_000 * (row % 20));
        csv += &format!("\"{text}end\",{row}\n");
    }
    fs::write(&path, &csv).unwrap();
    assert!(csv.len() > 8 << 20);
    let counted = Vectorizer::new().fit_transform(&path).unwrap();
    assert_eq!(counted.counts().documents(), rows);
    let column = counted.terms().find("quoted").unwrap();
    let terms = counted.terms().len();
    for (row, counts) in rows_of(&counted, terms).iter().enumerate() {
        assert_eq!(counts[column], (3_000 * (row % 20)) as f32, "{row}");
    }
    let numbers = counted.documents().numbers("n").unwrap();
    assert_eq!(numbers[39], 39.0);
}

fn rows_of(counted: &TextCounts, terms: usize) -> Vec<Vec<f32>> {
    let found = rows(counted);
    assert!(found.iter().all(|row| row.len() == terms));
    found
}

#[test]
fn a_saved_vectorizer_counts_as_before() {
    let (_folder, path) = testkit::temp_path("words.json");
    let fitted = Vectorizer::new()
        .stop_words("english")
        .stem("english")
        .ngram_range(1, 2)
        .fit_transform(["running dogs and cats", "cats run"])
        .unwrap();
    fitted.vectorizer().save(&path).unwrap();
    let new = ["the running cats of dogs", "nothing known"];
    let opened = Vectorizer::open(&path).unwrap().transform(new).unwrap();
    let again = fitted.vectorizer().transform(new).unwrap();
    assert_eq!(opened.terms(), again.terms());
    assert_eq!(rows(&opened), rows(&again));
    assert_eq!(rows(&opened)[0].iter().sum::<f32>(), 3.0);
    assert_eq!(rows(&opened)[1].iter().sum::<f32>(), 0.0);
}

#[test]
fn terms_and_stop_words_that_no_text_can_give_are_named() {
    let known = |terms: &[&str]| Terms::new(terms.iter().copied()).unwrap();
    let new = Vectorizer::new;
    let capitals = known(&["Spike", "neuron"]);
    let pairs = known(&["new york", "city"]);
    let cases: [(Vectorizer, &[&str]); 9] = [
        (
            new().vocabulary(&capitals),
            &["1 of 2 terms", "\"Spike\"", "lowercase(false)"],
        ),
        (new().vocabulary(&capitals).lowercase(false), &[]),
        (
            new().vocabulary(&pairs),
            &["\"new york\"", "ngram_range(1, 2)"],
        ),
        (new().vocabulary(&pairs).ngram_range(1, 2), &[]),
        (
            new().stop_words(["isn't", "don't"]),
            &["\"don't\", \"isn't\"", "the token pattern divides"],
        ),
        (new().stop_words(["Chapter", "isn't", "isn"]), &[]),
        (new().strip_accents(true).stop_words("french"), &[]),
        (new().stop_words("english"), &[]),
        (new().stem("english").vocabulary(known(&["generous"])), &[]),
    ];
    for (vectorizer, parts) in cases {
        let counted = vectorizer.fit_transform(["spike city same"]).unwrap();
        let notes = counted.notes().join(" ");
        assert_eq!(notes.is_empty(), parts.is_empty(), "{notes}");
        for part in parts {
            assert!(notes.contains(part), "{part}: {notes}");
        }
    }
    // A stop word is compared as the words of the texts are.
    let stop = new().stop_words(["Chapter", "Même"]).strip_accents(true);
    let counted = stop.fit_transform(["chapter one, la même"]).unwrap();
    assert_eq!(counted.terms().as_slice(), ["la", "one"]);
    let error = new()
        .min_df(0.5)
        .max_df(1)
        .fit_transform(["a sea", "a sea"])
        .unwrap_err()
        .to_string();
    testkit::assert_has(
        &error,
        ["of 2 documents", "1 is one document", "1.0 is all"],
    );
}
