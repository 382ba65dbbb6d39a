//! Names of rows and columns in tables of text beside a matrix: `barcodes.tsv`, `features.tsv`.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::counted;

use super::lines::Lines;

/// Bytes of names between two looks at the free memory.
const LOOK: u64 = 16 << 20;

/// The first of these files, gzipped or not, in the folder of `path`.
pub(crate) fn beside(path: &Path, names: &[&str]) -> Option<PathBuf> {
    names
        .iter()
        .flat_map(|name| {
            [
                path.with_file_name(name),
                path.with_file_name(format!("{name}.gz")),
            ]
        })
        .find(|path| path.is_file())
}

/// Reads a column of a table of text: one line per name, columns separated by tabs. A line with fewer columns gives its first.
pub(crate) fn column(path: &Path, index: usize, expected: usize) -> Result<Vec<String>> {
    let file = OpenFile::open(path)?;
    let mut lines = Lines::new(&file);
    let (mut names, mut held, mut weighed) = (Vec::new(), 0, 0);
    let number = |found: &str| {
        Error::format(
            path,
            format!(
                "has {found} lines where the matrix beside it has {}",
                counted(expected, "name")
            ),
        )
        .fix("copy the folder again: its files belong together")
    };
    while let Some(line) = lines.next()? {
        if names.len() == expected {
            return Err(number("more"));
        }
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
        let field = fields
            .get(index)
            .or(fields.first())
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
        false => Err(number(&names.len().to_string())),
    }
}
