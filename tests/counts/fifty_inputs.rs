//! Fifty more inputs of the kinds that `../shared/inputs` has, one a line: what each is read as, or why it is refused. Those in
//! `golden/inputs` were written by pandas, h5py, anndata and safetensors' layout (`golden/make_inputs.py`).

use std::path::Path;

use crate::rows::{golden, rows};
use topicbook::{Cells, CountTable, Counts, Result, Table, Texts, Vectorizer};

/// What a file is read as, and its card.
type Read = Result<(String, String)>;

/// Terms, names of documents, their lengths, and names of labels.
fn counted(table: &CountTable) -> Read {
    let lengths = table.counts()?.summary()?.document_lengths().to_vec();
    let lengths: Vec<String> = lengths.iter().map(f64::to_string).collect();
    let documents = table.documents()?;
    let read = [
        table.terms()?.as_slice().join(","),
        documents.names().join(","),
        lengths.join(","),
        documents.column_names().join(","),
    ];
    Ok((read.join("; "), table.to_string()))
}

fn as_is(path: &Path) -> Read {
    counted(&CountTable::open(path)?)
}

fn zeros(path: &Path) -> Read {
    counted(&CountTable::open(path)?.missing_as_zero())
}

fn table(path: &Path) -> Read {
    let table = Table::open(path)?;
    Ok((super::dialects::shown(&table), table.to_string()))
}

fn texts(path: &Path) -> Read {
    let counted = Vectorizer::new().fit_transform(Texts::open(path)?)?;
    let read = [
        counted.terms().as_slice().join(","),
        format!("{:?}", rows(&counted.counts())),
        counted.documents().column_names().join(","),
    ];
    Ok((read.join("; "), counted.to_string()))
}

fn matrix(path: &Path) -> Read {
    let counts = Counts::open(path)?;
    Ok((format!("{:?}", rows(&counts)), counts.to_string()))
}

/// Genes, barcodes, values, and samples if there are some.
fn cells(path: &Path) -> Read {
    let cells = Cells::open(path)?;
    let values = rows(&cells.counts()?);
    let samples = cells.documents()?.labels("sample").unwrap_or_default();
    let samples: Vec<String> = samples.into_iter().flatten().collect();
    let read = [
        cells.terms()?.as_slice().join(","),
        cells.names()?.join(","),
        format!("{values:?}"),
        samples.join(","),
    ];
    Ok((read.join("; "), cells.to_string()))
}

/// The file, or the folder of those after `== NAME`; a golden file where there is no text.
fn read(folder: &Path, name: &str, text: &str, door: fn(&Path) -> Read) -> Read {
    if text.is_empty() {
        return door(&golden("inputs").join(name));
    }
    let path = folder.join(name);
    if !text.starts_with("== ") {
        std::fs::write(&path, text).unwrap();
        return door(&path);
    }
    for file in text.split("== ").skip(1) {
        let (name, text) = file.split_once('\n').unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    }
    door(&path)
}

/// Two samples of 10x: 2 cells and 1 cell of 2 genes.
const SAMPLES: &str = "== GSM1_a_matrix.mtx\n%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 5\n2 2 7\n\
    == GSM1_a_barcodes.tsv\nAA-1\nAC-1\n\
    == GSM2_b_matrix.mtx\n%%MatrixMarket matrix coordinate integer general\n2 1 1\n2 1 3\n\
    == GSM2_b_barcodes.tsv\nAA-1\n";

/// A name, a text, how it is opened, what it is read as (nothing where it is refused), and what its card or error says.
type Case<'c> = (&'c str, &'c str, fn(&Path) -> Read, &'c str, &'c [&'c str]);

fn check(cases: &[Case<'_>]) {
    let mut wrong = Vec::new();
    for &(name, text, door, expected, parts) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (found, said) = match read(folder.path(), name, text, door) {
            Ok(read) => read,
            Err(error) => {
                assert!(error.remedy().is_some(), "{name}: {error}");
                (String::new(), error.to_string())
            }
        };
        let lacks: Vec<&&str> = parts.iter().filter(|part| !said.contains(**part)).collect();
        if found != expected || !lacks.is_empty() {
            wrong.push(format!(
                "{name}: {found:?} for {expected:?}; lacks {lacks:?}: {said}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[rustfmt::skip] // one case a line
#[test]
fn tables_and_texts_of_the_same_kinds_are_read_or_say_why_not() {
    check(&[
        // Quotation marks.
        ("header.csv", "doc,3\" nail,\"5\"\" disk\"\nA,1,2\n", as_is, "3\" nail,5\" disk; A; 3; ", &[]),
        ("odd.csv", "doc,sea\n5\" disk,1\nB,2\n", as_is, "sea; 5\" disk,B; 1,2; ", &[]),
        ("apostrophes.csv", "doc,'tis,don't\nO'Neil,1,2\n", as_is, "'tis,don't; O'Neil; 3; ", &[]),
        ("tabs.tsv", "doc\ttool\tsea\nA\t3\" nail\t1\nB\t\"a \"\"b\"\"\"\t2\n", table, "doc=A|B tool=3\" nail|a \"b\" sea=1|2", &[]),
        ("texts.csv", "text,author\n\"He said \"\"sea\"\"\",ann\nsea 3\" nail,bob\n", texts, "he,nail,said,sea; [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]; author", &[]),
        ("texts.jsonl", "{\"text\": \"3\\\" nail, \\\"sea\\\"\", \"author\": \"ann\"}\n", texts, "nail,sea; [1.0, 1.0]; author", &[]),
        ("never.csv", "doc,sea\n\"A,1\nB,2\n", as_is, "", &["in quotes", "line 2"]),
        // An index of pandas.
        ("reset.csv", ",index,sea\n0,a,1\n1,b,2\n", as_is, "sea; 0,1; 1,2; index", &["names of documents: of the column without a name"]),
        ("levels.csv", "author,book,sea,tea\nAusten,Emma,1,2\nAusten,Sanditon,3,4\n", as_is, "sea,tea; 0,1; 3,7; author,book", &["names of documents: none"]),
        ("columns.csv", ",counts,counts\n,sea,tea\nA,1,2\n", as_is, "", &["two columns named \"counts\"", "columns 2 and 3"]),
        ("levels.parquet", "", as_is, "sea,tea; Austen,Austen,Byron; 3,7,11; book", &["names of documents: of column \"author\""]),
        ("nameless_levels.parquet", "", as_is, "sea; Austen,Austen,Byron; 1,3,5; ", &["left out: \"__index_level_1__\""]),
        ("doc.parquet", "", as_is, "sea,tea; x,y,z; 3,7,11; ", &["of column \"doc\""]),
        ("codes.parquet", "", as_is, "sea,tea; 7,9,11; 3,7,11; ", &["of column \"code\""]),
        ("floats.parquet", "", as_is, "", &["column \"sea\"", "data row 2", ".missing_as_zero()"]),
        ("floats.parquet", "", zeros, "sea,tea; 0,1,2; 3,4,11; ", &["missing: 1 cell, counted as 0"]),
        ("nullable.parquet", "", as_is, "", &["column \"sea\"", "data row 2", ".missing_as_zero()"]),
        ("categories.parquet", "", as_is, "sea; x,y,z; 1,3,5; genre,seen", &["labels: \"genre\", \"seen\""]),
        ("levels.feather", "", as_is, "sea,tea; Austen,Austen,Byron; 3,7,11; book", &[]),
        // Names that are words.
        ("id.csv", "id,name,label\n1,2,0\n0,0,1\n", as_is, "id,name,label; 0,1; 3,1; ", &["names of documents: none"]),
        ("word.csv", "document,word,sea\nA,1,2\nB,3,4\n", as_is, "word,sea; A,B; 3,7; ", &[]),
        ("title.csv", "doc,text,title,sea\nA,\"a b\",T,1\nB,c,U,2\n", as_is, "sea; A,B; 1,2; text,title", &["labels: \"text\", \"title\""]),
        ("missing_words.csv", "doc,NA,null,true\nA,1,2,3\n", as_is, "NA,null,true; A; 6; ", &[]),
        // A long table under other names: of R's table(), quanteda and pandas' melt().
        ("table.csv", "\"\",\"Var1\",\"Var2\",\"Freq\"\n\"1\",\"A\",\"sea\",5\n\"2\",\"A\",\"tea\",0\n", as_is, "", &["\"Var1\", \"Var2\", \"Freq\"", "data rows 1 and 2", ".wide()", ".long(\"Var1\", \"Var2\", \"Freq\")"]),
        ("table.csv", "Var1,Var2,Freq\nA,sea,5\nA,tea,0\n", |path| counted(&CountTable::open(path)?.long("Var1", "Var2", "Freq")?), "sea,tea; A; 5; ", &["terms of column \"Var2\""]),
        ("melt.csv", "document,variable,value\nA,sea,1\nB,sea,2\nA,tea,3\n", as_is, "", &["data rows 1 and 3", ".long(\"document\", \"variable\", \"value\")"]),
        ("books.csv", "author,book,sea\nAusten,Emma,1\nByron,Lara,2\n", as_is, "sea; 0,1; 1,2; author,book", &[]),
        ("pairs.csv", "doc,word,n\nA,sea,1\nA,sea,2\n", as_is, "", &["come twice", "group_by"]),
        ("tidy.csv", "Document ID,Term,Count\n1,sea,5\n2,tea,3\n", as_is, "", &["\"Document ID\", \"Term\", \"Count\"", ".long(\"Document ID\", \"Term\", \"Count\")"]),
        ("dummies.csv", "doc,sea,tea\nA,True,False\nB,False,True\n", as_is, "", &["no columns of numbers", ".astype(int)"]),
        // A name twice.
        ("thrice.csv", "doc,a,b,a,a\nA,1,2,3,4\n", as_is, "", &["two columns named \"a\"", "columns 2 and 4"]),
        ("case.csv", "doc,Sea,sea,sea.1\nA,1,2,4\n", as_is, "Sea,sea,sea.1; A; 7; ", &[]),
        // Missing values.
        ("namibia.csv", "doc,sea\nNA,1\nB,2\n", as_is, "sea; NA,B; 1,2; ", &[]),
        ("excel_na.csv", "doc,sea\nA,#N/A\nB,2\n", as_is, "", &["column \"sea\"", "data row 1", ".missing_as_zero()"]),
        ("excel_na.csv", "doc,sea\nA,#N/A\nB,2\n", zeros, "sea; A,B; 0,2; ", &["missing: 1 cell, counted as 0"]),
        ("excel_error.csv", "doc,sea\nA,#DIV/0!\nB,2\nC,3\n", as_is, "", &["\"#DIV/0!\"", "data row 1, column \"sea\""]),
        ("stata.csv", "doc,sea\nA,.\nB,2\n", as_is, "", &["data row 1, column \"sea\"", ".missing_as_zero()"]),
        ("mysql.tsv", "doc\tsea\tyear\nA\t1\t\\N\nB\t2\t1820\n", table, "doc=A|B sea=1|2 year=null|1820", &[]),
        ("minus_999.csv", "doc,sea\nA,-999\nB,2\n", as_is, "", &["-999", "data row 1, column \"sea\""]),
        ("years.csv", "doc,year,sea\nA,NA,1\nB,1820,2\n", table, "doc=A|B year=null|1820 sea=1|2", &[]),
        ("fields.jsonl", "{\"doc\": \"A\", \"sea\": 1}\n{\"doc\": \"B\", \"tea\": 2}\n", as_is, "", &["column \"sea\"", "data row 2", ".missing_as_zero()"]),
        ("fields.jsonl", "{\"doc\": \"A\", \"sea\": 1}\n{\"doc\": \"B\", \"tea\": 2}\n", zeros, "sea,tea; A,B; 1,2; ", &["missing: 2 cells, counted as 0"]),
        // Numbers of pandas and R, and those that no integer holds.
        ("floats.csv", "doc,sea\nA,1.0\nB,2.0\n", as_is, "sea; A,B; 1,2; ", &[]),
        ("exponents.csv", "doc,sea\nA,1e+05\nB,2E0\n", as_is, "sea; A,B; 100000,2; ", &[]),
        ("truth.csv", "doc,sea,seen\nA,1,TRUE\nB,2,FALSE\n", as_is, "sea; A,B; 1,2; seen", &["labels: \"seen\""]),
        ("wide.jsonl", "{\"id\": 18446744073709551616, \"sea\": 1}\n", table, "id=18446744073709551616 sea=1", &["whole numbers beyond 2^63 as texts: \"id\""]),
        ("records.json", "[{\"text\": \"sea\"}]\n", texts, "", &["one list", "pandas.read_json('"]),
        ("columns.json", "{\"sea\":{\"0\":1,\"1\":3}}\n", table, "", &["one object", "pandas.read_json('"]),
        // Formats of other programs.
        ("panel.dta", "x", table, "", &["a file of Stata", "pandas.read_stata('"]),
        ("frame.rds", "x", table, "", &["an object of R", "readRDS('"]),
        ("samples.gct", "#1.2\n", as_is, "", &["two lines above its header", "skiprows=2"]),
        // Lines above a header.
        ("report.csv", "Report of 2024\n\ndoc,sea,tea\nA,1,2\n", table, "", &["line 3: 3 values for 1 name", "delete lines above the header"]),
        ("sales.csv", "Sales 2024,,\ndoc,sea,tea\nA,1,2\n", table, "Sales 2024=doc|A =sea|1 _duplicated_0=tea|2", &["columns without a name in the header: 2 (2, 3)"]),
        ("feature_counts.tsv", "# Program:featureCounts\nGeneid\tChr\tS1\nActb\tchr1\t5\n", table, "", &["line 2: 3 values for 1 name", "delete lines above the header"]),
        // Files of a computer's own.
        (".", "== a.txt\nsea ship\n== desktop.ini\n[x]\n== ._a.txt\n\u{1}\n== .gitkeep\n\n", texts, "sea,ship; [1.0, 1.0]; ", &["3 other files passed over"]),
        (".", "== a.txt\n\u{feff}sea\r\nship\r\n== b.txt\n\n", texts, "sea,ship; [1.0, 1.0, 0.0, 0.0]; ", &["2 files in"]),
    ]);
}

#[rustfmt::skip] // one case a line
#[test]
fn matrices_of_the_same_kinds_are_read_or_say_why_not() {
    let genes = |a: &str, b: &str| format!("{SAMPLES}== GSM1_a_features.tsv\n{a}== GSM2_b_features.tsv\n{b}");
    let actb_xist = "E1\tActb\tGene Expression\nE2\tXist\tGene Expression\n";
    let same = genes(actb_xist, actb_xist);
    let swapped = genes(actb_xist, "E2\tXist\nE1\tActb\n");
    let three = "E1\tActb\nE2\tXist\nE3\tTbce\n";
    let longer = genes(actb_xist, three).replace("2 1 1\n", "3 1 1\n");
    let shared = format!("{SAMPLES}== genes.tsv\nE1\tActb\nE2\tXist\n");
    let nameless = format!("{SAMPLES}== GSM1_a_features.tsv\n{actb_xist}");
    let twice = format!("{same}== GSM2_b_matrix.mtx.gz\nno matrix, but the same prefix\n");
    let peaks = genes("E1\tActb\tGene Expression\nP1\tchr1:5-9\tPeaks\n", "E1\tActb\tGene Expression\nP1\tchr1:5-9\tPeaks\n");
    let mtx = "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 3 5\n";
    let by_cells = format!("== matrix.mtx\n{mtx}== barcodes.tsv\nA\nB\n== genes.tsv\n{three}");
    let neither = format!("== X_matrix.mtx\n{mtx}== X_barcodes.tsv\nA\n== X_genes.tsv\nE1\nE2\n");
    let joined = "Actb,Xist; AA-1,AC-1,AA-1; [5.0, 0.0, 0.0, 7.0, 0.0, 3.0]; GSM1_a,GSM1_a,GSM2_b";
    check(&[
        // Samples of GEO, and matrices by their neighbours.
        (".", &same, cells, joined, &["2 samples", "\"GSM1_a\", \"GSM2_b\"", "\"sample\""]),
        (".", &shared, cells, joined, &["2 samples"]),
        (".", &twice, cells, joined, &["2 samples"]),
        (".", &swapped, cells, "", &["GSM1_a_matrix.mtx", "GSM2_b_matrix.mtx", "feature 1 is \"Actb\" and \"Xist\"", "Cells::open("]),
        (".", &longer, cells, "", &["GSM1_a_matrix.mtx", "GSM2_b_matrix.mtx", "they have 2 and 3 features"]),
        (".", &nameless, cells, "", &["there is no features.tsv", "GSM2_b_matrix.mtx", "Cells::open("]),
        (".", &peaks, cells, "Actb,chr1:5-9; AA-1,AC-1,AA-1; [5.0, 0.0, 0.0, 7.0, 0.0, 3.0]; GSM1_a,GSM1_a,GSM2_b", &["1 of 2 features are Peaks"]),
        (".", &by_cells, cells, "Actb,Xist,Tbce; A,B; [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]; ", &["rows of the file are cells"]),
        (".", &neither, cells, "", &["2 rows and 3 columns", "names of 2 genes and 1 cell"]),
        // HDF5: features, old layouts and filters.
        ("cite.h5ad", "", cells, "ACTB,CD3; c1,c2; [1.0, 300.0, 0.0, 200.0]; ", &["1 of 2 features are Antibody Capture"]),
        ("sparse_before_0.7.h5ad", "", cells, "ACTB,XIST; c1,c2,c3; [1.0, 0.0, 0.0, 2.0, 3.0, 0.0]; ", &[]),
        ("shuffled.h5ad", "", cells, "ACTB,XIST; c1,c2,c3; [1.0, 0.0, 0.0, 2.0, 3.0, 0.0]; ", &[]),
        ("checked.h5ad", "", cells, "ACTB,XIST; c1,c2,c3; [1.0, 0.0, 0.0, 2.0, 3.0, 0.0]; ", &[]),
        ("lz4.h5ad", "", cells, "", &["lz4", "32004", "anndata.read_h5ad"]),
        ("bitshuffle.h5ad", "", cells, "", &["bitshuffle", "32008", "anndata.read_h5ad"]),
        // Tensors that begin at an odd byte.
        ("odd_u16.safetensors", "", matrix, "[1.0, 0.0, 300.0, 4.0]", &[]),
        ("odd_i64.safetensors", "", matrix, "[1.0, 0.0, 300.0, 4.0]", &[]),
    ]);
}
