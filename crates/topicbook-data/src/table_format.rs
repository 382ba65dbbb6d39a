//! The formats of tables in files, by the extension, and those that are read by other programs alone.

use std::path::Path;

use crate::TextFormat;
use crate::error::{Error, Result};
use crate::system::{unpacked_extension, unpacked_name};
use crate::text::shown_path;

/// A format of tables.
#[derive(Clone, Copy, PartialEq)]
pub enum TableFormat {
    /// Text with a header, with this separator or that of the header.
    Csv(Option<u8>),
    /// Text with an object of JSON in each line.
    JsonLines,
    /// Columns with types, in groups of rows.
    Parquet,
    /// Columns with types, in record batches.
    Arrow,
    /// Cells with types, in sheets.
    Sheets,
}

impl TableFormat {
    /// All extensions, in lower case and without the dot. Those of text may be followed by `.gz`, `.zst` or `.zip`.
    pub const EXTENSIONS: [(&str, Self); 13] = [
        ("csv", Self::Csv(None)),
        ("tsv", Self::Csv(Some(b'\t'))),
        ("tab", Self::Csv(Some(b'\t'))),
        ("jsonl", Self::JsonLines),
        ("ndjson", Self::JsonLines),
        ("json", Self::JsonLines),
        ("parquet", Self::Parquet),
        ("pq", Self::Parquet),
        ("arrow", Self::Arrow),
        ("feather", Self::Arrow),
        ("ipc", Self::Arrow),
        ("xlsx", Self::Sheets),
        ("xlsm", Self::Sheets),
    ];

    /// The format of a file; `None` if its extension is not one of a table.
    pub fn of(path: &Path) -> Option<Self> {
        let (is_packed, extension) = (unpacked_name(path).1, unpacked_extension(path));
        let mut known = Self::EXTENSIONS.into_iter();
        let (_, format) = known.find(|(name, _)| *name == extension)?;
        (!is_packed || matches!(format, Self::Csv(_) | Self::JsonLines)).then_some(format)
    }

    /// Fails if something is stated that a file of this format does not have.
    pub fn check_stated(self, path: &Path, stated: &TextFormat) -> Result<()> {
        let (what, fix) = match self {
            Self::Csv(_) if stated.stated_sheet().is_some() => {
                ("is a text, which has no sheets", "leave .sheet(..) out")
            }
            Self::Sheets if stated.is_of_texts() => (
                "is a spreadsheet: its values have no encoding, separator or decimal mark",
                "state the sheet alone, or leave the TextFormat out",
            ),
            Self::Parquet | Self::Arrow | Self::JsonLines if *stated != TextFormat::new() => (
                "has typed columns: its values have no encoding, separator, decimal mark or sheet",
                "leave the TextFormat out",
            ),
            _ => return Ok(()),
        };
        Err(Error::format(path, what).fix(fix))
    }
}

/// Formats that other programs convert: extensions, what they are, and a command in which `{}` is the path; Mallet's files are
/// objects of Java, which nothing else reads.
const OTHERS: [(&[&str], &str, &str); 12] = [
    (
        &["dta"],
        "a file of Stata",
        "python3 -c \"import pandas; pandas.read_stata('{}').to_csv('table.csv', index=False)\"",
    ),
    (
        &["sav"],
        "a file of SPSS",
        "python3 -c \"import pandas; pandas.read_spss('{}').to_csv('table.csv', index=False)\"",
    ),
    (
        &["sas7bdat", "xpt"],
        "a file of SAS",
        "python3 -c \"import pandas; pandas.read_sas('{}').to_csv('table.csv', index=False)\"",
    ),
    (
        &["rds"],
        "an object of R",
        "Rscript -e \"write.csv(readRDS('{}'), 'table.csv')\"",
    ),
    (
        &["pkl", "pickle"],
        "an object of Python",
        "python3 -c \"import pandas; pandas.read_pickle('{}').to_csv('table.csv')\"",
    ),
    (
        &["gct"],
        "a table of genes and samples with two lines above its header",
        "python3 -c \"import pandas; pandas.read_csv('{}', sep='\\t', skiprows=2, index_col=0).drop(columns='Description').T.to_csv('table.csv')\"",
    ),
    (
        &["xls", "xlsb", "ods"],
        "a spreadsheet of another format than .xlsx",
        "python3 -c \"import pandas; pandas.read_excel('{}').to_csv('table.csv', index=False)\"",
    ),
    (
        &["svmlight", "libsvm", "svm"],
        "a svmlight file",
        "python3 -c \"import scipy.sparse as s, sklearn.datasets as d; s.save_npz('X.npz', d.load_svmlight_file('{}')[0])\"",
    ),
    (
        &["mm"],
        "a corpus of gensim",
        "python3 -c \"import scipy.sparse as s, scipy.io as io; s.save_npz('X.npz', s.csr_array(io.mmread('{}')))\"",
    ),
    (
        &["ldac", "lda-c"],
        "a corpus of lda-c",
        "python3 -c \"import scipy.sparse as s, gensim; s.save_npz('X.npz', s.csr_array(gensim.matutils.corpus2csc(gensim.corpora.BleiCorpus('{}')).T))\"",
    ),
    (&["mallet"], "a corpus of Mallet", ""),
    (
        &["zarr"],
        "a Zarr store",
        "python3 -c \"import anndata; anndata.read_zarr('{}').write_h5ad('X.h5ad')\"",
    ),
];

/// The error for a file of a format that another program converts, with the command; `None` if no such format is known.
pub fn converted(path: &Path) -> Option<Error> {
    let extension = path.extension()?.to_string_lossy().to_lowercase();
    let is_known = |names: &&[&str]| names.contains(&extension.as_str());
    let (_, kind, command) = OTHERS.iter().find(|(names, ..)| is_known(names))?;
    let command = command.replace("{}", &shown_path(path));
    let error = Error::format(path, format!("is {kind}, which is not read"));
    Some(error.fix(match command.is_empty() {
        true => "open the texts that it was made from: Texts::open(\"letters\")".into(),
        false => format!("convert it: {command}"),
    }))
}

/// The error for a path whose extension is none of `what`.
pub fn unknown_format(path: &Path, what: &str) -> Error {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    converted(path).unwrap_or_else(|| {
        let error = Error::format(path, format!("{extension:?} is not an extension of {what}"));
        error.fix(match unpacked_name(path).1 {
            true => "unpack it: only texts, such as .csv.gz, are read from compressed files",
            false => "tables are .csv, .tsv, .jsonl, .parquet, .arrow or .xlsx; texts also .txt (one a line), or a folder of .txt",
        })
    })
}
