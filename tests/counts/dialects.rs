//! Text tables of spreadsheets, R, pandas and databases: separators, encodings, numbers and compression. All doors read one
//! dialect, and say what they understood.

use std::io::Write;
use std::path::PathBuf;

use topicbook::polars::prelude::DataType;
use topicbook::{CountTable, Counts, Table, TextFormat, Texts, Vectorizer};

/// The columns of a table, each as `name=value|value`.
pub(crate) fn shown(table: &Table) -> String {
    let columns = table.columns().iter().map(|column| {
        let texts = column.cast(&DataType::String).unwrap();
        let texts = texts.str().unwrap().iter();
        let texts: Vec<&str> = texts.map(|text| text.unwrap_or("null")).collect();
        format!("{}={}", column.name(), texts.join("|"))
    });
    columns.collect::<Vec<_>>().join(" ")
}

fn utf16(text: &str, mark: [u8; 2], of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = text.encode_utf16().flat_map(of);
    mark.into_iter().chain(units).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn zipped(names: &[&str], text: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in names {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(text).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// `printf 'doc,sea\nA,1\nB,2\n' | zstd`.
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd\x04\x58\x81\x00\x00doc,sea\nA,1\nB,2\n\x9a\xf6\x79\x12";

fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[rustfmt::skip] // one case a line
#[test]
fn tables_of_others_are_read_and_say_what_they_are() {
    let plain = "doc,sea\nGrün,1\nB,2\n";
    let read = "doc=Grün|B sea=1|2";
    let cases: [(&str, Vec<u8>, &str, &[&str]); 55] = [
        // Line ends, byte order marks and encodings.
        ("crlf.csv", b"doc,sea\r\nA,1\r\nB,2\r\n".into(), "doc=A|B sea=1|2", &[]),
        ("no_end.csv", b"doc,sea\r\nA,1\r\nB,2".into(), "doc=A|B sea=1|2", &[]),
        // Blank lines are no rows, as in pandas and R; inside of quotes they belong to a text.
        ("blank.csv", b"doc,sea\n\nA,1\n\r\n\nB,2\n\n\n".into(), "doc=A|B sea=1|2", &[]),
        ("inner.csv", b"doc,sea\n\"A\n\n\",\n\n,1\n,\n".into(), "doc=A\n\n|null|null sea=null|1|null", &[]),
        ("wide.csv", b"id,sea,good,a\n18446744073709551615,1,true,x\n2,3,false,y\n".into(), "id=18446744073709551615|2 sea=1|3 good=true|false a=x|y", &["whole numbers beyond 2^63 as texts: \"id\""]),
        ("bom.csv", ["\u{feff}", plain].concat().into(), read, &[]),
        ("utf16le.csv", utf16(plain, [0xff, 0xfe], u16::to_le_bytes), read, &["encoding UTF-16"]),
        ("utf16be.csv", utf16(plain, [0xfe, 0xff], u16::to_be_bytes), read, &["encoding UTF-16"]),
        ("utf16.tsv", utf16("doc\tsea\r\nGrün\t1\r\n", [0xff, 0xfe], u16::to_le_bytes), "doc=Grün sea=1", &["encoding UTF-16"]),
        ("latin1.csv", b"doc,sea\nGr\xfcn,1\nB,2\n".into(), read, &["encoding Windows-1252"]),
        ("cp1252.csv", b"doc,sea\n\x84Gr\xfcn\x93 \x96 5 \x80,1\nl\x92\xe9t\xe9,2\n".into(), "doc=„Grün“ – 5 €|l’été sea=1|2", &["encoding Windows-1252"]),
        ("late.csv", [b"doc,sea\n".to_vec(), b"A,1\n".repeat(99_999), b"\xe9t\xe9,1\n".to_vec()].concat(), "", &["encoding Windows-1252"]),
        // Separators.
        ("excel.csv", b"sep=;\r\ndoc;sea\r\nA;1\r\n".into(), "doc=A sea=1", &["values separated by semicolons"]),
        ("excel_comma.csv", b"sep=,\ndoc,sea\nA,1\n".into(), "doc=A sea=1", &[]),
        ("excel_tab.csv", b"\"sep=\t\"\ndoc\tsea\nA\t1\n".into(), "doc=A sea=1", &["values separated by tabs"]),
        ("semicolons.csv", b"doc;sea, tons;tea\nA;1;2\n".into(), "doc=A sea, tons=1 tea=2", &["values separated by semicolons"]),
        ("tabs.csv", b"doc\tsea\nA, B\t1\n".into(), "doc=A, B sea=1", &["values separated by tabs"]),
        ("bars.csv", b"doc|sea\nA|1\n".into(), "doc=A sea=1", &["values separated by vertical bars"]),
        ("tab.tab", b"doc\tsea\nA\t1\n".into(), "doc=A sea=1", &[]),
        // R.
        ("write_table.csv", b"\"sea\" \"tea\"\n\"A 1\" 1 2\n\"B\" 3 NA\n".into(), "=A 1|B sea=1|3 tea=2|null", &["values separated by spaces", "the first column has no name in the header: row names"]),
        ("write_table.tsv", b"sea\ttea\nA\t1\t2\nB\t3\t4\n".into(), "=A|B sea=1|3 tea=2|4", &["row names"]),
        ("write_table_quoted.tsv", b"\"sea\"\t\"tea\"\n\"A\t1\"\t1\t2\n".into(), "=A\t1 sea=1 tea=2", &["row names"]),
        ("one.csv", b"sea\nA,1\nB,2\n".into(), "=A|B sea=1|2", &["row names"]),
        ("col_names_na.csv", b"\"\",\"sea\"\n\"A\",1\n".into(), "=A sea=1", &[]),
        ("write_csv2.csv", b"\"\";\"sea\";\"p\"\n\"A\";1;0,5\n\"B\";2;12,25\n".into(), "=A|B sea=1|2 p=0.5|12.25", &["\"0,5\" in column \"p\" is 0.5", "semicolons"]),
        ("row_names_and_quotes.csv", b"a,b\nx,\"3\"\" nail\",2\ny,5\" disk,3\n".into(), "=x|y a=3\" nail|5\" disk b=2|3", &["row names"]),
        ("ends.csv", b"sea,tea\n1,2,\n3,4,\n".into(), "sea=1|3 tea=2|4", &[]),
        ("comma_texts.csv", b"text\n\"a, b\"\n\"c, d\"\n".into(), "text=a, b|c, d", &[]),
        // Numbers: of German, French, Swiss and English spreadsheets.
        ("german.csv", b"n;p\n1.234;1.234,5\n12;0,25\n".into(), "n=1234|12 p=1234.5|0.25", &["\"1.234\" in column \"n\" is 1234", "\"1.234,5\" in column \"p\" is 1234.5"]),
        ("german_missing.csv", b"n;p\n1.234;NA\n-;-0,25\n".into(), "n=1234|null p=null|-0.25", &["\"1.234\" in column \"n\" is 1234"]),
        ("french.csv", "n;p\n1\u{202f}234;1\u{a0}234,5\n12;7\n".into(), "n=1234|12 p=1234.5|7.0", &["in column \"p\" is 1234.5"]),
        ("swiss.csv", b"n;p\n1'234;1'234.5\n12;7\n".into(), "n=1234|12 p=1234.5|7.0", &["\"1'234.5\" in column \"p\" is 1234.5"]),
        ("english.csv", b"n,p\n\"1,234\",\"1,234.5\"\n12,7\n".into(), "n=1234|12 p=1234.5|7.0", &["\"1,234\" in column \"n\" is 1234"]),
        ("millions.csv", b"n,p\n\"1,234,567\",0.5\n\"1,234\",7\n".into(), "n=1234567|1234 p=0.5|7.0", &["\"1,234,567\" in column \"n\" is 1234567"]),
        ("exponents.csv", b"p;q\n1,5E+03;1\n2;3\n".into(), "p=1500|2 q=1|3", &["\"1,5E+03\" in column \"p\" is 1500"]),
        ("points.csv", b"n;p\n1;1.234\n2;0.5\n".into(), "n=1|2 p=1.234|0.5", &["semicolons"]),
        // Numbers that can be read in two ways, dates, versions, lists and codes stay texts, or as they are.
        ("either.csv", b"n,p\n\"1,234\",1\n\"2,345\",2\n".into(), "n=1,234|2,345 p=1|2", &[]),
        ("pairs.csv", b"n,p\n\"1,2\",1\n\"3,4\",2\n".into(), "n=1,2|3,4 p=1|2", &[]),
        ("both.csv", b"n;p\n1,5;2.5\n2,5;1.234\n".into(), "n=1.5|2.5 p=2.5|1.234", &["\"1,5\" in column \"n\" is 1.5"]),
        ("mixed.csv", b"n;p\n1,5;2\n2.5;3\n".into(), "n=1,5|2.5 p=2|3", &["semicolons"]),
        ("floats_na.csv", b"n;p\n1.5;x\nNA;y\n".into(), "n=1.5|null p=x|y", &["semicolons"]),
        ("dates.csv", b"d;v\n28.1.1813;1.10.2\n1.2.1814;1.9.1\n".into(), "d=28.1.1813|1.2.1814 v=1.10.2|1.9.1", &["semicolons"]),
        ("words.csv", b"n;p\n1,5;x\n2,5 kg;y\n".into(), "n=1,5|2,5 kg p=x|y", &["semicolons"]),
        ("currency.csv", "n;p\n1,50 €;1\n2,50 €;2\n".into(), "n=1,50 €|2,50 € p=1|2", &["semicolons"]),
        // Missing values.
        ("missing.csv", b"a,b,c,d,e,f,g\n1,1,1,1,1,1,1\nNA,N/A,NULL,,-,#N/A,NaN\n".into(), "a=1|null b=1|null c=1|null d=1|null e=1|null f=1|null g=1.0|null", &[]),
        ("missing_words.csv", b"a,b\nx,-\nNA,y\n".into(), "a=x|NA b=-|y", &[]),
        // Quotes inside of values.
        ("quotes.csv", b"a,b\n3\" nail,\"\"\"Great Fire\"\" of the city\"\n\"x\ny\",5\"\n".into(), "a=3\" nail|x\ny b=\"Great Fire\" of the city|5\"", &[]),
        ("quotes_crlf.csv", b"a;b\r\n3\" nail;1\r\n\"x;y\";2\r\n".into(), "a=3\" nail|x;y b=1|2", &["semicolons"]),
        // Compression.
        ("t.csv.gz", gzip(plain.as_bytes()), read, &["compressed by gzip"]),
        ("t.tsv.gz", gzip(b"doc\tsea\nA\t1\n"), "doc=A sea=1", &["compressed by gzip"]),
        ("twice.csv.gz", [gzip(b"doc,sea\n"), gzip(b"A,1\n")].concat(), "doc=A sea=1", &["compressed by gzip"]),
        ("t.csv.zst", ZSTANDARD.into(), "doc=A|B sea=1|2", &["compressed by Zstandard"]),
        ("t.csv.zip", zipped(&["a.csv"], plain.as_bytes()), read, &["compressed by zip"]),
        ("mac.csv.zip", zipped(&["a.csv", "__MACOSX/._a.csv"], plain.as_bytes()), read, &["compressed by zip"]),
        ("all.csv.gz", gzip(&utf16("sep=;\ndoc;p\nGrün;1,5\n", [0xff, 0xfe], u16::to_le_bytes)), "doc=Grün p=1.5", &["compressed by gzip; encoding UTF-16; values separated by semicolons; \"1,5\" in column \"p\" is 1.5"]),
    ];
    for (name, bytes, expected, remarks) in cases {
        let (_folder, path) = file(name, &bytes);
        let table = Table::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        if !expected.is_empty() {
            assert_eq!(shown(&table), expected, "{name}");
        }
        let text = table.to_string();
        for remark in remarks {
            assert!(text.contains(remark), "{name}: {remark}: {text}");
        }
        assert_eq!(remarks.is_empty(), !text.contains(';') || name == "quotes.csv", "{name}: {text}");
    }
}

#[rustfmt::skip] // one case a line
#[test]
fn tables_that_cannot_be_read_say_what_they_are_and_what_to_do() {
    let cases: [(&str, Vec<u8>, &[&str]); 14] = [
        ("polish.csv", b"doc,sea\nby\xb3 i zosta\xb3a,1\n".into(), &["not UTF-8", "line 2", "iconv -f WINDOWS-1250 -t UTF-8", "polish.csv"]),
        ("russian.csv", b"doc,sea\n\xf1\xeb\xee\xe2\xee,1\n".into(), &["iconv -f WINDOWS-1251 -t UTF-8"]),
        ("half.csv", b"doc,sea\n\xc3\xbc,1\n\xfc,2\n".into(), &["not UTF-8", "line 3"]),
        ("utf16.csv", b"d\0o\0c\0\n\0".into(), &["iconv -f UTF-16LE"]),
        ("mac.csv", b"doc,sea\rA,1\rB,2\r".into(), &["carriage returns", "tr '\\r' '\\n'"]),
        ("ragged.csv", b"doc,sea\nA,1\nB,2,3\n".into(), &["line 3: 3 values for 2 names"]),
        ("thrice.csv", b"doc,sea\nA,1,2\nB,2\n".into(), &["line 2: 3 values for 2 names"]),
        ("two.csv.zip", zipped(&["a.csv", "b.csv"], b"x"), &["has 2 files: \"a.csv\", \"b.csv\"", "unzip"]),
        ("cut.csv.gz", gzip(b"doc,sea\nA,1\n")[..20].into(), &["cannot be unpacked", "copy it again"]),
        ("t.parquet.gz", gzip(b"PAR1"), &["only texts", "unpack"]),
        ("t.ods", b"PK\x03\x04".into(), &["a spreadsheet", "pandas.read_excel('", "t.ods').to_csv("]),
        ("t.svmlight", b"1 1:2\n".into(), &["svmlight", "load_svmlight_file('"]),
        ("t.mm", b"%%MatrixMarket\n".into(), &["gensim", "mmread('"]),
        ("t.doc", b"x".into(), &["\"doc\" is not an extension", ".csv, .tsv"]),
    ];
    for (name, bytes, parts) in cases {
        let (_folder, path) = file(name, &bytes);
        let error = Table::open(&path).unwrap_err();
        assert!(error.remedy().is_some(), "{error}");
        let text = error.to_string();
        for part in parts {
            assert!(text.contains(part), "{name}: {part}: {text}");
        }
    }
}

#[test]
fn a_decimal_mark_is_found_or_stated() {
    let (_folder, path) = file("n.csv", b"doc,n\nA,\"1,234\"\nB,\"2,345\"\n");
    let table = CountTable::open(&path).unwrap();
    let error = table.counts().unwrap_err().to_string();
    for part in [
        "\"1,234\"",
        "data row 1, column \"n\"",
        ".format(TextFormat::new().decimal('.')?)",
        ".labels([\"n\"])",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let by = |mark| table.format(TextFormat::new().decimal(mark).unwrap());
    let counts = by('.').counts().unwrap();
    assert_eq!(
        counts.summary().unwrap().document_lengths(),
        [1234.0, 2345.0]
    );
    let error = by(',').counts().unwrap_err().to_string();
    assert!(error.contains("1.234 is not a whole number"), "{error}");
    testkit::assert_has(
        TextFormat::new().decimal(';').unwrap_err(),
        ["no decimal mark"],
    );

    // A separator and an encoding, and a file that has neither.
    let (folder, path) = file("n.csv", b"doc~sea\n\xf1\xeb~1,5\n");
    let stated = TextFormat::new().encoding("windows-1251").unwrap();
    let stated = stated.separator('~').unwrap().decimal(',').unwrap();
    let read = Table::open_with(&path, stated).unwrap();
    assert_eq!(read.texts("doc").unwrap(), ["сл"]);
    assert_eq!(read.numbers("sea").unwrap(), [1.5]);
    let parquet = folder.path().join("a.parquet");
    read.write_parquet(&parquet).unwrap();
    let error = Table::open_with(&parquet, stated).unwrap_err();
    assert!(error.remedy().unwrap().contains("TextFormat"), "{error}");

    let (_folder, path) = file("n.csv", b"doc;n;p\nA;1.234;0,5\nB;12;1,5\n");
    let table = CountTable::open(&path).unwrap().labels(["p"]).unwrap();
    let counts = table.counts().unwrap();
    assert_eq!(counts.summary().unwrap().document_lengths(), [1234.0, 12.0]);
    assert_eq!(table.documents().unwrap().numbers("p").unwrap(), [0.5, 1.5]);
    let file_row = "file: values separated by semicolons; \"1.234\" in column \"n\" is 1234";
    assert!(table.to_string().contains(file_row), "{table}");
}

/// One file, read as a table, as counts and as texts.
#[test]
fn all_doors_read_one_dialect() {
    let text =
        "sep=;\r\ntext;year;price;sea\r\n\"Grün; 3\"\" nail\";NA;1,5;2\r\n5\" disk;1811;0,25;3\r\n";
    let western: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let wide = utf16(text, [0xff, 0xfe], u16::to_le_bytes);
    for (name, bytes) in [
        ("t.csv", text.as_bytes().to_vec()),
        ("t.csv", western.clone()),
        ("t.csv", wide.clone()),
        ("t.csv.gz", gzip(&western)),
        ("t.csv.zip", zipped(&["t.csv"], &wide)),
    ] {
        let (_folder, path) = file(name, &bytes);
        let expected = "text=Grün; 3\" nail|5\" disk year=null|1811 price=1.5|0.25 sea=2|3";
        assert_eq!(shown(&Table::open(&path).unwrap()), expected);
        let table = CountTable::open(&path).unwrap();
        let table = table.labels(["text", "price", "year"]).unwrap();
        assert_eq!(table.counts().unwrap().summary().unwrap().total(), 5.0);
        let counted = Vectorizer::new()
            .fit_transform(Texts::open(&path).unwrap())
            .unwrap();
        assert_eq!(counted.terms().as_slice(), ["disk", "grün", "nail"]);
        for documents in [table.documents().unwrap(), counted.documents()] {
            assert_eq!(documents.numbers("price").unwrap(), [1.5, 0.25]);
            let years = documents.numbers("year").unwrap();
            assert!(years[0].is_nan() && years[1] == 1811.0);
        }
        testkit::assert_has(
            &counted,
            [
                "\"1,5\" in column \"price\" is 1.5",
                "values separated by semicolons",
            ],
        );
        assert_eq!(
            counted.to_string().contains("encoding"),
            bytes != text.as_bytes()
        );
    }
}

#[test]
fn texts_are_read_from_compressed_files_and_other_encodings() {
    let count = |path: &PathBuf| Vectorizer::new().fit_transform(Texts::open(path).unwrap());
    let json = "{\"text\": \"Grüne See\", \"year\": 1811}\n{\"text\": \"Tee\"}\n";
    for (name, bytes, remark) in [
        ("a.jsonl.gz", gzip(json.as_bytes()), "compressed by gzip"),
        (
            "a.ndjson.zip",
            zipped(&["a.ndjson"], json.as_bytes()),
            "compressed by zip",
        ),
        (
            "a.txt.gz",
            gzip("Grüne See\nTee\n".as_bytes()),
            "compressed by gzip",
        ),
        (
            "a.txt",
            b"Gr\xfcne See\nTee\n".to_vec(),
            "encoding Windows-1252",
        ),
        (
            "a.txt",
            utf16("Grüne See\r\nTee\r\n", [0xfe, 0xff], u16::to_be_bytes),
            "encoding UTF-16",
        ),
    ] {
        let (_folder, path) = file(name, &bytes);
        let counted = count(&path).unwrap();
        assert_eq!(
            counted.terms().as_slice(),
            ["grüne", "see", "tee"],
            "{name}"
        );
        assert_eq!(counted.documents().len(), 2);
        assert!(counted.to_string().contains(remark), "{counted}");
    }
    let (folder, path) = file("a.txt", b"Gr\xfcne See");
    std::fs::write(folder.path().join("b.txt"), b"\xe9t\xe9").unwrap();
    std::fs::write(folder.path().join("c.txt"), b"plain").unwrap();
    for other in [".DS_Store", "Thumbs.db", "._a.txt"] {
        std::fs::write(folder.path().join(other), b"\0\0").unwrap();
    }
    let counted = count(&folder.path().to_path_buf()).unwrap();
    assert_eq!(counted.terms().as_slice(), ["grüne", "plain", "see", "été"]);
    let source = counted.to_string();
    testkit::assert_has(
        &source,
        [
            "3 other files passed over",
            "encoding Windows-1252 (2 files, the first ",
        ],
    );
    std::fs::write(&path, b"\xf1\xeb\xee\xe2\xee").unwrap();
    let error = count(&folder.path().to_path_buf()).unwrap_err().to_string();
    testkit::assert_has(&error, ["a.txt", "WINDOWS-1251"]);
}

#[test]
fn counts_of_others_are_read_or_say_how_they_are_converted() {
    let (_folder, path) = file("X.csv.gz", &gzip(b"doc,term,count\n0,1,5\n1,0,2\n"));
    assert_eq!(Counts::open(&path).unwrap().shape(), (2, 2));
    let head = "%%MatrixMarket matrix coordinate integer general\n";
    let text = format!("{head}1e+05 3 2\n1e+05 3 5\n1 1 1e+00\n");
    for (name, bytes) in [
        ("X.mtx", text.clone().into_bytes()),
        ("X.mtx.gz", gzip(text.as_bytes())),
        ("X.mtx.zip", zipped(&["X.mtx"], text.as_bytes())),
    ] {
        let (_folder, path) = file(name, &bytes);
        let counts = Counts::open(&path).unwrap();
        assert_eq!(counts.shape(), (100_000, 3));
        assert_eq!(counts.summary().unwrap().document_lengths()[99_999], 5.0);
    }
    for line in ["1.5 1 1", "-1 1 1", "1e 1 1"] {
        let (_folder, path) = file("X.mtx", format!("{head}2 3 1\n{line}\n").as_bytes());
        let error = Counts::open(&path).unwrap_err().to_string();
        assert!(error.contains("should have 3 numbers"), "{error}");
    }
    for (name, parts) in [
        ("X.svmlight", ["svmlight", "load_svmlight_file("]),
        ("X.ldac", ["lda-c", "BleiCorpus("]),
        ("X.mallet", ["Mallet", "Texts::open(\"letters\")"]),
        ("X.xls", ["spreadsheet", "read_excel("]),
    ] {
        let (_folder, path) = file(name, b"1 1:2\n");
        let error = Counts::open(&path).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("X.zarr");
    std::fs::create_dir(&store).unwrap();
    for error in [
        Counts::open(&store).unwrap_err(),
        topicbook::Cells::open(&store).unwrap_err(),
        Table::open(&store).unwrap_err(),
    ] {
        assert!(error.to_string().contains("anndata.read_zarr('"), "{error}");
    }
}

/// Random tables of `xtask/python/fuzz_tables.py`, whose folder `TOPICBOOK_TABLES` names, come back cell by cell.
#[test]
#[ignore = "needs a folder of tables"]
fn tables_of_the_writers_come_back() {
    let folder = PathBuf::from(std::env::var("TOPICBOOK_TABLES").unwrap());
    let expected = std::fs::read_to_string(folder.join("expected.jsonl")).unwrap();
    let (mut read, mut as_texts, mut wrong) = (0, 0, Vec::new());
    for line in expected.lines() {
        let expected: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = expected["file"].as_str().unwrap();
        let found = Table::open(folder.join(name)).map_err(|error| error.to_string());
        match found.and_then(|table| differences(&table, &expected)) {
            Ok(texts) => as_texts += texts,
            Err(what) => wrong.push(format!("{name} ({}): {what}", expected["writer"])),
        }
        read += 1;
    }
    println!(
        "{read} tables, {as_texts} columns of numbers left as texts, {} differences",
        wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "{}",
        wrong[..wrong.len().min(40)].join("\n")
    );
}

/// The number of columns of numbers that were read as the texts that they are in the file; what is otherwise than expected.
fn differences(table: &Table, expected: &serde_json::Value) -> Result<usize, String> {
    let array = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let (names, cells) = (array(&expected["names"]), array(&expected["cells"]));
    let width = table.width() - usize::from(expected["index"].as_bool().unwrap());
    if (table.height(), width) != (cells.len(), names.len()) {
        return Err(format!(
            "shape {:?} for {} × {}",
            table.shape(),
            cells.len(),
            names.len()
        ));
    }
    let mut as_texts = 0;
    for (at, name) in names.iter().enumerate() {
        let column = &table.columns()[table.width() - width + at];
        if column.name().as_str() != name.as_str().unwrap() {
            return Err(format!("column {:?} for {name}", column.name()));
        }
        let numbers = array(&expected["numbers"][at]);
        let texts = column.cast(&DataType::String).unwrap();
        as_texts += usize::from(!numbers.is_empty() && column.str().is_ok());
        for (row, found) in texts.str().unwrap().iter().enumerate() {
            let cell = cells[row][at].as_str().unwrap();
            let is_missing = ["", "na", "n/a", "nan", "null", "none", "-", "."]
                .contains(&cell.trim().to_lowercase().as_str());
            let same = match (found, column.str().is_ok()) {
                (None, _) => is_missing,
                (Some(found), true) => found == cell,
                (Some(found), false) => {
                    let number = numbers.get(row).and_then(serde_json::Value::as_f64);
                    // Words may be numbers by chance, with marks as those of other columns.
                    let plain = |text: &str| text.trim().parse::<f64>().ok();
                    let readings = [
                        plain(cell),
                        plain(&cell.replace([',', '\''], "")),
                        plain(&cell.replace(['.', '\''], "").replace(',', ".")),
                    ];
                    let found_number = plain(found);
                    match number {
                        Some(number) => found_number == Some(number),
                        None => found == cell || readings.contains(&found_number),
                    }
                }
            };
            if !same {
                return Err(format!(
                    "row {row}, column {name}: {found:?} for {cell:?} ({})",
                    column.dtype()
                ));
            }
        }
    }
    Ok(as_texts)
}
