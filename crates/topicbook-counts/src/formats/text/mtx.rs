//! MatrixMarket files in coordinates.

use std::path::Path;

use crate::Counts;
use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::{counted, shown_path};

use super::entries::{Head, numbers, read, wrong_head};
use super::lines::{Lines, shown};
use super::names::{CELLS, GENES, companion, lines};

const FIX: &str = "write it again with scipy.io.mmwrite(path, scipy.sparse.csr_array(X)), or copy it again where it was truncated";

/// What the rows of the file are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Orientation {
    /// Rows are documents.
    DocumentsByTerms,
    /// Rows are terms (genes), and columns are documents (cells).
    TermsByDocuments,
}

/// Opens a file whose rows are documents; refuses one whose columns are cells, as names next to it show.
pub fn open_documents_by_terms(path: &Path) -> Result<Counts> {
    let named = companion(path, &CELLS).or(companion(path, &GENES));
    if let Some(names) = named
        && orientation(path)? == Orientation::TermsByDocuments
    {
        return Err(Error::format(
            path,
            format!(
                "has {} next to it, so its rows are genes and its columns cells",
                shown_path(&names)
            ),
        )
        .fix("open it with Cells::open(path)?.counts(), which makes the cells the documents"));
    }
    open(path, Orientation::DocumentsByTerms)
}

/// What the rows of a file of cells are: genes, as Cell Ranger writes them, or cells if names of both are next to it and only
/// that fits their numbers. Fails if the names belong to another matrix.
pub fn orientation(path: &Path) -> Result<Orientation> {
    let found = fitting(path)?;
    let named: Vec<String> = [(found.genes, "gene"), (found.cells, "cell")]
        .into_iter()
        .filter_map(|(number, what)| Some(counted(number?, what)))
        .collect();
    match found.orientation {
        None => {}
        Some(Orientation::DocumentsByTerms) if named.len() < 2 => {}
        Some(orientation) => return Ok(orientation),
    }
    let (rows, columns) = found.shape;
    let what = format!(
        "has {rows} rows and {columns} columns, and next to it are names of {}",
        named.join(" and ")
    );
    Err(Error::format(path, what).fix("copy the folder again if these files belong together, or move the matrix into a folder of its own"))
}

/// A matrix and the names next to it.
struct Fitting {
    shape: (usize, usize),
    genes: Option<usize>,
    cells: Option<usize>,
    /// How they fit each other; rows are genes if both ways fit.
    orientation: Option<Orientation>,
}

fn fitting(path: &Path) -> Result<Fitting> {
    let (rows, columns) = shape(path, Orientation::DocumentsByTerms)?;
    let number = |names: &[&str]| companion(path, names).map(|path| lines(&path)).transpose();
    let (genes, cells) = (number(&GENES)?, number(&CELLS)?);
    let fits = |found: Option<usize>, expected| found.is_none_or(|found| found == expected);
    Ok(Fitting {
        shape: (rows, columns),
        genes,
        cells,
        orientation: if fits(genes, rows) && fits(cells, columns) {
            Some(Orientation::TermsByDocuments)
        } else if fits(genes, columns) && fits(cells, rows) {
            Some(Orientation::DocumentsByTerms)
        } else {
            None
        },
    })
}

/// Reads a file into memory.
pub fn open(path: &Path, orientation: Orientation) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    let mut lines = Lines::new(&file)?;
    let head = head(&mut lines, orientation)?;
    read(lines, &head)
}

/// Numbers of documents and terms that the head of a file states.
pub fn shape(path: &Path, orientation: Orientation) -> Result<(usize, usize)> {
    let file = OpenFile::open(path)?;
    let head = head(&mut Lines::new(&file)?, orientation)?;
    Ok((head.documents as usize, head.terms as usize))
}

/// Reads the banner, the comments and the line of sizes.
fn head(lines: &mut Lines<'_>, orientation: Orientation) -> Result<Head> {
    let banner = lines.next()?.unwrap_or_default();
    let (text, banner) = (shown(banner), banner.to_ascii_lowercase());
    let banner = String::from_utf8_lossy(&banner);
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let pattern = match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field, "general"] => match field {
            "pattern" => true,
            "integer" | "unsigned-integer" | "real" | "double" => false,
            _ => {
                let what = format!(
                    "has values of the kind {field:?}; counts are integer, real or pattern"
                );
                return Err(lines.wrong(what).fix(FIX));
            }
        },
        ["%%matrixmarket", "matrix", "array", ..] => {
            return Err(lines.wrong("is a dense array, which MatrixMarket stores by columns".into())
                .fix("save it with np.save(\"X.npy\", X), or as a sparse matrix: scipy.io.mmwrite(path, scipy.sparse.csr_array(X))"));
        }
        ["%%matrixmarket", "matrix", "coordinate", _, symmetry] => {
            let what = format!("is {symmetry}; counts of documents and terms are general");
            return Err(lines.wrong(what).fix(FIX));
        }
        _ => {
            let what = format!("does not start like a MatrixMarket file but with {text}");
            return Err(lines.wrong(what).fix(FIX));
        }
    };
    let line = lines.next_content(Some(b'%'))?;
    let (sizes, line) = (line.and_then(numbers::<3>), line.map(shown));
    let Some([rows, columns, entries]) = sizes else {
        let what = "should state the numbers of rows, columns and entries";
        return Err(wrong_head(lines, line.as_deref(), what, FIX));
    };
    let transposed = orientation == Orientation::TermsByDocuments;
    let (documents, terms) = if transposed {
        (columns, rows)
    } else {
        (rows, columns)
    };
    Ok(Head {
        documents,
        terms,
        entries,
        transposed,
        pattern,
        fix: FIX,
    })
}
