//! Names of rows and columns in text tables next to a matrix: `barcodes.tsv`, `features.tsv`.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::counted;

use super::lines::Lines;

/// Bytes of names between two looks at the free memory.
const LOOK: u64 = 16 << 20;

/// Files with the names of genes, and files with the names of cells.
pub const GENES: [&str; 3] = ["features.tsv", "genes.tsv", "genes.txt"];
pub const CELLS: [&str; 2] = ["barcodes.tsv", "barcodes.txt"];

/// Prefixes of the files that belong to a matrix: `GSM1_` for `GSM1_matrix.mtx`; for a matrix of another name, such as
/// `GSM1.mtx`, nothing or its name.
fn prefixes(matrix: &Path) -> Vec<String> {
    let name = matrix.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = name.strip_suffix(".mtx").unwrap_or(name);
    match stem.strip_suffix("matrix") {
        Some("") => vec![String::new()],
        Some(prefix) => vec![prefix.into(), String::new()],
        None => {
            let with_end = ["_", ".", "-"].map(|end| format!("{stem}{end}"));
            with_end.into_iter().chain([String::new()]).collect()
        }
    }
}

/// The first of these files that belongs to a matrix, gzipped or not, in its folder.
pub fn companion(matrix: &Path, names: &[&str]) -> Option<PathBuf> {
    let prefixes = prefixes(matrix).into_iter();
    let mut paths = prefixes.flat_map(|prefix| {
        names.iter().flat_map(move |name| {
            ["", ".gz"].map(|end| matrix.with_file_name(format!("{prefix}{name}{end}")))
        })
    });
    paths.find(|path| path.is_file())
}

/// The files `matrix.mtx` of a folder, gzipped or not, also those with a prefix, in alphabetical order.
pub fn matrices(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::io("read the folder", folder, source);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let is_matrix = name.ends_with("matrix.mtx") || name.ends_with("matrix.mtx.gz");
        // AppleDouble files, in which macOS keeps metadata, begin with `._`.
        if is_matrix && !name.starts_with('.') && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The number of lines of a file.
pub fn lines(path: &Path) -> Result<usize> {
    let file = OpenFile::open(path)?;
    let mut lines = Lines::new(&file)?;
    let mut number = 0;
    while lines.next()?.is_some() {
        number += 1;
    }
    Ok(number)
}

/// Reads a column of a table of text: one line per name, columns separated by tabs. Where a line
/// lacks the column, its first one stands in for the first two, and an empty text for the others.
pub fn column(path: &Path, index: usize, expected: usize) -> Result<Vec<String>> {
    let file = OpenFile::open(path)?;
    let mut lines = Lines::new(&file)?;
    let (mut names, mut held, mut weighed) = (Vec::new(), 0, 0);
    let number = |found: &str| {
        Error::format(
            path,
            format!(
                "has {found} where the matrix next to it has {}",
                counted(expected, "name")
            ),
        )
        .fix("copy the folder again: its files belong together")
    };
    while let Some(line) = lines.next()? {
        if names.len() == expected {
            return Err(number("more lines"));
        }
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
        let field = fields
            .get(index)
            .or(fields.first().filter(|_| index < 2))
            .copied()
            .unwrap_or_default();
        let name = match std::str::from_utf8(field) {
            Ok(name) => name.to_string(),
            Err(source) => {
                return Err(lines
                    .wrong("is not UTF-8 text".into())
                    .fix("save it as plain text in UTF-8")
                    .because(source));
            }
        };
        held += (name.len() + size_of::<String>()) as u64;
        names.push(name);
        if held - weighed > LOOK {
            weighed = held;
            file.claim(counted(names.len(), "name"))
                .check_memory(held)?;
        }
    }
    match names.len() == expected {
        true => Ok(names),
        false => Err(number(&counted(names.len(), "line"))),
    }
}
