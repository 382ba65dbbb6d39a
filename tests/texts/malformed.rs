//! Malformed texts: an error that says where, and nothing half-written.

use std::fs;
use std::path::Path;

use topicbook::{Result, TextCounts, Texts, Vectorizer};

fn count(path: &Path, out: &Path) -> Result<TextCounts> {
    Vectorizer::new().out(out).fit_transform(path)
}

/// The name of a file, its bytes, a part of the message, and one of the place.
type Case = (&'static str, Vec<u8>, &'static str, &'static str);

fn files_of_lines() -> Vec<Case> {
    vec![
        (
            "utf8.txt",
            b"good\nb\x81d\n".to_vec(),
            "not UTF-8",
            "byte 81 (hexadecimal), in line 2",
        ),
        ("cut.txt", b"good\n\xe2\x82".to_vec(), "not UTF-8", "byte 5"),
        ("empty.txt", vec![], "is empty", ""),
        ("words.txt", b". ! ?\n\n".to_vec(), "no term is left", ""),
        (
            "field.jsonl",
            b"{\"text\": \"ab\"}\n{\"title\": \"cd\"}\n".to_vec(),
            "no field \"text\"",
            "line 2",
        ),
        (
            "type.jsonl",
            b"{\"text\": 1}\n".to_vec(),
            "is no text",
            "line 1",
        ),
        (
            "cut.jsonl",
            b"{\"text\": \"ab\"}\n\n{\"text\": \"c".to_vec(),
            "no object of JSON",
            "line 3",
        ),
        (
            "array.jsonl",
            b"[\"ab\"]\n".to_vec(),
            "one list of JSON",
            "line 1",
        ),
        (
            "deep.jsonl",
            [b"[".repeat(100_000), b"\n".to_vec()].concat(),
            "one list of JSON",
            "line 1",
        ),
        (
            "utf8.jsonl",
            b"{\"text\": \"\xff\"}\n".to_vec(),
            "not UTF-8",
            "in line 1",
        ),
        ("blank.jsonl", b"\n\n\n".to_vec(), "has no documents", ""),
        ("texts.doc", b"ab".to_vec(), "not an extension", ""),
    ]
}

fn tables() -> Vec<Case> {
    let long = format!("text,year\n\"{},1\n", "a\n".repeat(40 << 20));
    let mut cases = vec![
        (
            "quote.csv",
            b"text,year\n\"a b,1\nc d,2\n".to_vec(),
            "not closed until the end",
            "byte 10 (counted from 0), in line 2",
        ),
        (
            "long.csv",
            long.into_bytes(),
            "not closed until the next 64 MiB",
            "in line 2",
        ),
        (
            "ragged.csv",
            b"text,year\nab,1\ncd\n".to_vec(),
            "a row has 1 values",
            "line 3",
        ),
        (
            "wide.csv",
            b"text,year\nab,1,2,3\n".to_vec(),
            "a row has 4 values",
            "line 2",
        ),
        (
            "column.csv",
            b"title,year\nab,1\n".to_vec(),
            "no column \"text\"",
            "\"title\", \"year\"",
        ),
        (
            "header.csv",
            b"text,year\n".to_vec(),
            "has no documents",
            "",
        ),
        ("blank.csv", b"\n\n".to_vec(), "has no header", "line 1"),
        (
            "utf8.csv",
            b"text,year\n\xff\xff,1\n".to_vec(),
            "not UTF-8",
            "byte ff (hexadecimal), in line 2",
        ),
        (
            "utf8.tsv",
            b"text\tyear\nab\t\xff\n".to_vec(),
            "not UTF-8",
            "in line 2",
        ),
    ];
    if cfg!(feature = "polars") {
        let bytes = b"PAR1 and no more PAR1".to_vec();
        cases.push(("broken.parquet", bytes, "footer", ""));
    }
    cases
}

#[test]
fn malformed_files_are_refused_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let cases = files_of_lines().into_iter().chain(tables());
    for (name, bytes, message, place) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let out = folder.path().join("out.npz");
        let error = count(&path, &out).unwrap_err();
        assert!(error.to_string().contains(message), "{name}: {error}");
        let found = error.place().unwrap_or_default();
        assert!(found.contains(place), "{name}: {error}");
        assert!(error.remedy().is_some(), "{name}: {error}");
        fs::remove_file(&path).unwrap();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}

#[test]
fn lines_of_many_different_fields_are_refused() {
    let (folder, path) = testkit::temp_path("fields.jsonl");
    let lines: String = (0..300)
        .map(|n| format!("{{\"text\": \"ab\", \"field{n}\": {n}}}\n"))
        .collect();
    fs::write(&path, lines).unwrap();
    testkit::refused! { count(&path, &folder.path().join("out.npz")), "more than 256 different fields"; }
}

#[test]
fn folders_without_texts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let open = |path: &Path| Texts::open(path).unwrap_err().to_string();
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("empty/data.bin"), "ab").unwrap();
    assert!(open(&at("empty")).contains("contains no texts"));
    assert!(open(&at("none")).contains("cannot open"));
    assert!(open(&at("none/*.txt")).contains("no file has a path like"));
    assert!(open(&at("[")).contains("no pattern of paths"));
    // A page that is not UTF-8, found while its folder is counted.
    fs::write(at("empty/page.html"), b"<p>\xc3\xbcber</p>\n<p>\xfcber").unwrap();
    let error = Vectorizer::new().fit_transform(at("empty")).unwrap_err();
    testkit::assert_has(&error, ["page.html: is not UTF-8"]);
    assert_eq!(error.place(), Some("byte 16 (counted from 0), in line 2"));
}

#[test]
fn a_text_where_a_path_belongs_is_told_to_be_one() {
    let error = Vectorizer::new().fit_transform("a whole sentence");
    let remedy = error.unwrap_err().remedy().unwrap().to_string();
    assert!(remedy.contains("[\"a text\"]"), "{remedy}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let new = Vectorizer::new;
    for (vectorizer, expected) in [
        (new().min_df(-1), "-1"),
        (new().max_df(1.5), "1.5"),
        (new().max_terms(0), "at most 0 terms"),
        (new().ngram_range(2, 1), "n-grams of 2 to 1"),
        (new().stop_words("klingon"), "no language with stop words"),
        (new().stem("klingon"), "no language with a stemmer"),
        (new().token_pattern("("), "no pattern of tokens"),
        (new().min_df(5), "no term is left"),
        (new().out("counts.npy"), "does not end in .npz"),
    ] {
        testkit::refused! { vectorizer.fit_transform(["ab cd", "ab"]), expected; }
    }
    assert!(new().fit_transform(Vec::<String>::new()).is_err());
    testkit::refused! { new().transform(["ab"]), "no vocabulary yet"; }
}

#[test]
fn damaged_vocabularies_are_refused() {
    let (_folder, path) = testkit::temp_path("words.json");
    let fitted = Vectorizer::new().fit_transform(["to be"]).unwrap();
    fitted.vectorizer().save(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for (damaged, expected) in [
        (text[..text.len() / 2].to_string(), "no saved vectorizer"),
        (
            text.replace("\"topicbook_vectorizer\":1", "\"topicbook_vectorizer\":9"),
            "version 9",
        ),
        (text.replace("\"be\",\"to\"", "\"be\",\"be\""), "twice"),
        (text.replace("\"be\",\"to\"", ""), "no terms"),
        (text.replace("[1,1]", "[3,1]"), "n-grams of 3 to 1"),
    ] {
        fs::write(&path, &damaged).unwrap();
        let error = Vectorizer::open(&path).unwrap_err();
        assert!(error.to_string().contains(expected), "{damaged}: {error}");
        assert!(error.remedy().is_some(), "{error}");
    }
}

/// Damages every byte of a Parquet file of texts: Polars panics on some damaged pages, which must be an error.
#[cfg(feature = "polars")]
#[test]
fn damaged_parquet_texts_are_read_or_refused() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let (_folder, path) = testkit::temp_path("texts.parquet");
    let texts = ["ant bee cät", "", "dog ant", "bee bee eel fox gnu"];
    topicbook::Table::new()
        .with_column("text", texts)
        .unwrap()
        .with_column("book", ["Letters", "Poems", "Letters", "Poems"])
        .unwrap()
        .write_parquet(&path)
        .unwrap();
    let good = fs::read(&path).unwrap();
    let mut refused = 0;
    for index in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = good.clone();
            damaged[index] ^= flip;
            fs::remove_file(&path).unwrap();
            fs::write(&path, damaged).unwrap();
            let read = AssertUnwindSafe(|| Vectorizer::new().fit_transform(path.as_path()));
            match catch_unwind(read) {
                Err(_) => panic!("byte {index} ^ {flip}: a panic"),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    refused += 1;
                    assert!(error.remedy().is_some(), "{error}");
                }
            }
        }
    }
    assert!(refused > good.len(), "{refused} of {} bytes", good.len());
}
