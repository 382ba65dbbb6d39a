//! Files of single cells: counts, genes and cells behind one handle.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::data::{Documents, Terms};
use crate::error::{Error, ErrorKind, Result};
use crate::system::check_regular;
use crate::text::shown_path;

use super::Counts;
use super::formats::hdf5::{
    Hdf, Place, h5ad_counts, h5ad_documents, h5ad_names, layers, tenx_barcodes, tenx_counts,
    tenx_features,
};
use super::formats::text::{Orientation, beside, column, mtx_shape, open_mtx};

/// A file of single cells: its matrices, and the names of its genes (terms) and cells (documents). Cheap to clone.
///
/// | File | Content |
/// |---|---|
/// | `.h5ad` | anndata: `X`, [layers](Self::layer) and [raw](Self::raw); sparse by rows or by columns, or dense |
/// | `.h5` | 10x Genomics' Cell Ranger: `filtered_feature_bc_matrix.h5` |
/// | `.mtx`, `.mtx.gz` | MatrixMarket with genes as rows and cells as columns, as Cell Ranger writes it; names from `features.tsv` (or `genes.tsv`) and `barcodes.tsv` beside it, gzipped or not |
/// | a folder | the `matrix.mtx` or `matrix.mtx.gz` in it |
///
/// [`Counts::open`] opens the first two also, where their main matrix is wanted; of a `.mtx` file it takes the rows as the
/// documents.
///
/// ```
/// use topicbook::Cells;
/// # let folder = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(&folder).unwrap();
/// let head = "%%MatrixMarket matrix coordinate integer general\n";
/// std::fs::write("matrix.mtx", format!("{head}3 2 2\n1 1 5\n3 2 7\n")).unwrap();
/// std::fs::write("features.tsv", "ENSG1\tActb\nENSG2\tGapdh\nENSG3\tXist\n").unwrap();
/// std::fs::write("barcodes.tsv", "AAAC-1\nAAAG-1\n").unwrap();
/// let cells = Cells::open("matrix.mtx")?;
/// assert_eq!(cells.counts()?.shape(), (2, 3));
/// assert_eq!(cells.terms()?.get(2), Some("Xist"));
/// assert_eq!(cells.names()?, ["AAAC-1", "AAAG-1"]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "AnnData")]
#[doc(alias = "read_h5ad")]
#[doc(alias = "read_10x_h5")]
#[doc(alias = "read_10x_mtx")]
pub struct Cells {
    path: PathBuf,
    /// The matrix that is meant.
    place: Place,
    source: Source,
}

#[derive(Clone)]
enum Source {
    H5ad(Hdf),
    TenX(Hdf),
    Mtx,
}

impl Cells {
    /// Opens a file of single cells, or a folder with `matrix.mtx`. The matrix is `X` until [`layer`](Self::layer) or
    /// [`raw`](Self::raw) names another.
    ///
    /// ```
    /// let error = topicbook::Cells::open("no-such-cells.h5ad").unwrap_err();
    /// assert!(error.to_string().contains("no-such-cells.h5ad"));
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, has another extension, or is no HDF5 file where it should be one.
    ///
    /// # Cost
    /// Reads a few kilobytes.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let path = match path.is_dir() {
            true => beside(&path.join("matrix"), &["matrix.mtx"]).ok_or_else(|| {
                Error::format(path, "is a folder without matrix.mtx or matrix.mtx.gz")
                    .fix("name the folder filtered_feature_bc_matrix, or a file .h5ad, .h5 or .mtx")
            })?,
            false => path.to_path_buf(),
        };
        check_regular(&path)?;
        let name = path.to_string_lossy().to_lowercase();
        let source = if name.ends_with(".h5ad") {
            Source::H5ad(Hdf::open(&path)?)
        } else if name.ends_with(".h5") {
            Source::TenX(Hdf::open(&path)?)
        } else if name.ends_with(".mtx") || name.ends_with(".mtx.gz") {
            Source::Mtx
        } else {
            return Err(Error::format(&path, "is no file of single cells")
                .fix("name a file .h5ad, .h5, .mtx or .mtx.gz, or a folder with matrix.mtx; Counts::open reads other formats"));
        };
        Ok(Self {
            path,
            place: Place::X,
            source,
        })
    }

    /// The same file, of which the layer `name` is the matrix. [`counts`](Self::counts) fails if there is none.
    ///
    /// ```no_run
    /// use topicbook::Cells;
    /// let counts = Cells::open("cells.h5ad")?.layer("counts").counts()?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn layer(&self, name: impl Into<String>) -> Self {
        self.at(Place::Layer(name.into()))
    }

    /// The same file, of which `raw` is the matrix: its genes are often more than those of `X`, and so are its
    /// [`terms`](Self::terms). [`counts`](Self::counts) fails if there is none.
    ///
    /// ```no_run
    /// use topicbook::Cells;
    /// let raw = Cells::open("cells.h5ad")?.raw();
    /// let (counts, genes) = (raw.counts()?, raw.terms()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn raw(&self) -> Self {
        self.at(Place::Raw)
    }

    fn at(&self, place: Place) -> Self {
        Self {
            place,
            ..self.clone()
        }
    }

    /// Names of the layers, sorted; none where the format has no layers.
    ///
    /// ```no_run
    /// for layer in topicbook::Cells::open("cells.h5ad")?.layers()? {
    ///     println!("{layer}");
    /// }
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn layers(&self) -> Result<Vec<String>> {
        match &self.source {
            Source::H5ad(hdf) => layers(hdf),
            Source::TenX(_) | Source::Mtx => Ok(Vec::new()),
        }
    }

    /// The counts of the matrix, cells x genes.
    ///
    /// ```no_run
    /// use topicbook::{Cells, TopicModel};
    /// let cells = Cells::open("cells.h5ad")?;
    /// let fit = TopicModel::new(10).terms(cells.terms()?).fit(cells.counts()?)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such matrix; if its first values are no counts, as after a normalisation: the error says which layer,
    /// or raw, probably holds the counts; if the file is damaged, states sizes that it or the free memory does not hold, or
    /// changed since it was opened.
    ///
    /// # Cost
    /// A sparse matrix by rows (CSR, and that of 10x) stays in the file: fits stream it in windows of rows, which
    /// unpacks each chunk about once a pass. One by columns (CSC) is read into memory on first use, with 16 bytes per stored
    /// count. A dense one and a `.mtx` are read now, with 8 bytes per count.
    pub fn counts(&self) -> Result<Counts> {
        match (&self.source, &self.place) {
            (Source::H5ad(hdf), place) => h5ad_counts(hdf, place),
            (Source::TenX(hdf), Place::X) => tenx_counts(hdf),
            (Source::Mtx, Place::X) => open_mtx(&self.path, Orientation::TermsByDocuments),
            _ => Err(
                Error::format(&self.path, "has one matrix, and neither layers nor raw")
                    .fix("leave out Cells::layer and Cells::raw; files .h5ad have layers"),
            ),
        }
    }

    /// Names of the genes, in the order of the columns of [`counts`](Self::counts): the index of `var` (or `raw/var`), or
    /// the names of the features of 10x.
    ///
    /// ```no_run
    /// let genes = topicbook::Cells::open("cells.h5ad")?.terms()?;
    /// println!("{genes}");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no names, one is blank, or the file is damaged.
    #[doc(alias = "var_names")]
    pub fn terms(&self) -> Result<Terms> {
        Terms::new(match &self.source {
            Source::H5ad(hdf) => h5ad_names(hdf, self.place.terms())?,
            Source::TenX(hdf) => tenx_features(hdf)?,
            // Names stand in the second column, after identifiers; an old file may have one column.
            Source::Mtx => self.table(&["features.tsv", "genes.tsv"], 1)?,
        })
    }

    /// Names of the cells, in the order of the rows of [`counts`](Self::counts): the index of `obs`, or the barcodes.
    ///
    /// ```no_run
    /// let barcodes = topicbook::Cells::open("cells.h5ad")?.names()?;
    /// println!("{}", barcodes[0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no names, or the file is damaged.
    #[doc(alias = "obs_names")]
    #[doc(alias = "barcodes")]
    pub fn names(&self) -> Result<Vec<String>> {
        match &self.source {
            Source::H5ad(hdf) => h5ad_names(hdf, "obs"),
            Source::TenX(hdf) => tenx_barcodes(hdf),
            Source::Mtx => self.table(&["barcodes.tsv"], 0),
        }
    }

    /// The cells as documents: their [`names`](Self::names), and of a `.h5ad` file the columns of `obs`. Texts and categories
    /// become labels, numbers stay numbers, and truth values become 0 and 1; missing ones stay missing. Whole numbers of a
    /// column with one of 2^53 or more become labels. A column of other values is left out: [`Documents`] names it when it is shown
    /// or asked for. Of a 10x `.h5` and a `.mtx` file, there are names alone.
    ///
    /// ```no_run
    /// use topicbook::{Cells, TopicModel};
    /// let cells = Cells::open("cells.h5ad")?;
    /// let documents = cells.documents()?;
    /// let fit = TopicModel::new(10).fit(cells.counts()?)?;
    /// let chart = fit.plot_structure().by(documents.labels("tissue")?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no names, one is blank, a column has not one value per cell, a code numbers no category, or the file is
    /// damaged.
    ///
    /// # Cost
    /// Reads all of `obs` into memory: 8 bytes per number, 4 per label, and the texts.
    #[doc(alias = "obs")]
    pub fn documents(&self) -> Result<Documents> {
        match &self.source {
            Source::H5ad(hdf) => h5ad_documents(hdf),
            Source::TenX(_) | Source::Mtx => Documents::new(self.names()?),
        }
    }

    /// A column of a table beside a `.mtx` file, with a line for each column (cell) or row (gene) of the matrix.
    fn table(&self, files: &[&str], index: usize) -> Result<Vec<String>> {
        let (cells, genes) = mtx_shape(&self.path, Orientation::TermsByDocuments)?;
        let expected = if index == 0 { cells } else { genes };
        match beside(&self.path, files) {
            Some(table) => column(&table, index, expected),
            None => Err(Error::new(
                ErrorKind::Io,
                format!(
                    "there is no {} beside {}",
                    files.join(" or "),
                    shown_path(&self.path)
                ),
            )
            .fix("copy it there, gzipped or not; counts can be read without names")),
        }
    }
}

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = shown_path(&self.path);
        match &self.source {
            Source::H5ad(_) => write!(f, "Cells: {} of {file}", self.place.path()),
            Source::TenX(_) | Source::Mtx => write!(f, "Cells: {file}"),
        }
    }
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
