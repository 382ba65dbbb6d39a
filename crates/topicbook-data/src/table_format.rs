//! The formats of tables in files, by the extension.

use std::path::Path;

/// A format of tables.
#[derive(Clone, Copy, PartialEq)]
pub enum TableFormat {
    /// Text with a header, with this separator or that of the header.
    Csv(Option<u8>),
    /// Columns with types, in groups of rows.
    Parquet,
    /// Columns with types, in record batches.
    Arrow,
}

impl TableFormat {
    /// All extensions, in lower case and without the dot.
    pub const EXTENSIONS: [(&str, Self); 8] = [
        ("csv", Self::Csv(None)),
        ("tsv", Self::Csv(Some(b'\t'))),
        ("tab", Self::Csv(Some(b'\t'))),
        ("parquet", Self::Parquet),
        ("pq", Self::Parquet),
        ("arrow", Self::Arrow),
        ("feather", Self::Arrow),
        ("ipc", Self::Arrow),
    ];

    /// The format of a file; `None` if its extension is not one of a table.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let mut known = Self::EXTENSIONS.into_iter();
        known
            .find(|(name, _)| extension.eq_ignore_ascii_case(name))
            .map(|(_, format)| format)
    }
}
