//! Files of single cells: counts, genes and cells in one handle.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::data::{Documents, Terms, With, converted};
use crate::error::{Error, ErrorKind, Result};
use crate::system::check_regular;
use crate::text::{quoted_list, shown_path};

use super::Counts;
use super::file_set::append_files;
use super::formats::hdf5::{
    Hdf, Place, h5ad_counts, h5ad_documents, h5ad_feature_types, h5ad_names, layers,
    other_features, tenx_barcodes, tenx_counts, tenx_feature_types, tenx_features,
};
use super::formats::text::{
    CELLS, GENES, Orientation, column, companion, mtx_shape, open_mtx, orientation,
};
use super::samples::{self, folder_matrices};

/// A file of single cells: its matrices, and the names of its genes (terms) and cells (documents). Cheap to clone.
///
/// | File | Content |
/// |---|---|
/// | `.h5ad` | anndata: `X`, [layers](Self::layer) and [raw](Self::raw); sparse by rows or by columns, or dense |
/// | `.h5` | 10x Genomics' Cell Ranger: `filtered_feature_bc_matrix.h5` |
/// | `.mtx`, `.mtx.gz` | MatrixMarket with genes as rows and cells as columns, as Cell Ranger writes it; names from `features.tsv` (or `genes.tsv`) and `barcodes.tsv` next to it, gzipped or not. `GSM1_matrix.mtx` has files with the same prefix. If there are as many rows as barcodes, and as many columns as features, the rows are the cells |
/// | a folder | the `matrix.mtx` or `matrix.mtx.gz` in it, alone or with a prefix; without one of this name, all with a prefix, as GEO has them (`GSM1_S1_matrix.mtx.gz`): they are one matrix if their features are the same, and [`documents`](Self::documents) has the prefix of each cell in the column `sample` |
///
/// [`Counts::open`] also opens the main matrix of the first two. It takes the rows of a `.mtx` file as the documents, and
/// refuses one with names of genes and cells next to it. Files of 10x may have features other than genes, such as
/// antibodies: the notebook shows how many of each type, and [`feature_type`](Self::feature_type) keeps one type.
///
/// ```
/// use topicbook::Cells;
/// # let _folder = topicbook::example_folder()?;
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
#[doc(alias("AnnData", "read_h5ad", "read_10x_h5", "read_10x_mtx"))]
pub struct Cells {
    pub(super) path: PathBuf,
    /// The selected matrix.
    place: Place,
    source: CellFile,
    /// The type of the features that are the terms, if not all.
    feature_type: Option<String>,
}

#[derive(Clone)]
enum CellFile {
    H5ad(Hdf),
    TenX(Hdf),
    Mtx,
    /// The matrices of a folder, which have the same features.
    Samples(Vec<Cells>),
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
    /// If the file cannot be read, has another extension, or is no HDF5 file where it should be one. If the matrices of a
    /// folder have different features.
    ///
    /// # Cost
    /// Reads a few kilobytes; of a folder with several matrices, all names of features.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if let Some(error) = converted(path) {
            return Err(error);
        }
        let mut path = path.to_path_buf();
        if path.is_dir() {
            let mut matrices = folder_matrices(&path)?;
            if matrices.len() > 1 {
                let samples = samples::open(&path, &matrices)?;
                return Ok(Self::of(path, CellFile::Samples(samples)));
            }
            path = matrices.remove(0);
        }
        check_regular(&path)?;
        let name = path.to_string_lossy().to_lowercase();
        let source = if name.ends_with(".h5ad") {
            CellFile::H5ad(Hdf::open(&path)?)
        } else if name.ends_with(".h5") {
            CellFile::TenX(Hdf::open(&path)?)
        } else if name.ends_with(".mtx") || name.ends_with(".mtx.gz") {
            CellFile::Mtx
        } else {
            return Err(Error::format(&path, "is no file of single cells")
                .fix("name a file .h5ad, .h5, .mtx or .mtx.gz, or a folder with matrix.mtx; Counts::open reads other formats"));
        };
        Ok(Self::of(path, source))
    }

    fn of(path: PathBuf, source: CellFile) -> Self {
        Self {
            path,
            place: Place::X,
            source,
            feature_type: None,
        }
    }

    /// The same file, of which the features of one type alone are the terms: `Gene Expression` leaves out the antibodies
    /// (`Antibody Capture`) and guides that 10x writes in addition to the genes.
    ///
    /// ```
    /// use topicbook::Cells;
    /// # let _folder = topicbook::example_folder()?;
    /// let head = "%%MatrixMarket matrix coordinate integer general\n";
    /// std::fs::write("matrix.mtx", format!("{head}2 1 2\n1 1 5\n2 1 300\n")).unwrap();
    /// std::fs::write("features.tsv", "ENSG1\tActb\tGene Expression\nCD3\tCD3\tAntibody Capture\n").unwrap();
    /// let cells = Cells::open("matrix.mtx")?.feature_type("Gene Expression");
    /// assert_eq!(cells.terms()?.as_slice(), ["Actb"]);
    /// assert_eq!(cells.counts()?.summary()?.total(), 5.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// [`counts`](Self::counts) and [`terms`](Self::terms) fail if there is no feature of this type.
    ///
    /// # Cost
    /// `counts` copies the counts of these features into memory.
    #[must_use]
    #[doc(alias = "gex_only")]
    pub fn feature_type(&self, name: impl Into<String>) -> Self {
        self.with(|changed| changed.feature_type = Some(name.into()))
    }

    /// The type of each feature.
    fn types(&self) -> Result<Vec<String>> {
        match &self.source {
            CellFile::H5ad(hdf) => h5ad_feature_types(hdf, self.place.terms()),
            CellFile::TenX(hdf) => tenx_feature_types(hdf),
            CellFile::Mtx if companion(&self.path, &GENES).is_none() => Ok(Vec::new()),
            CellFile::Mtx => self.table(&GENES, 2),
            CellFile::Samples(samples) => samples[0].types(),
        }
    }

    /// The columns of the features that are the terms; `None` for all.
    fn kept(&self) -> Result<Option<Vec<usize>>> {
        let Some(wanted) = &self.feature_type else {
            return Ok(None);
        };
        let types = self.types()?;
        let kept: Vec<usize> = (0..types.len())
            .filter(|&at| types[at] == *wanted)
            .collect();
        if kept.is_empty() {
            let what = format!("has no feature of the type {wanted:?}");
            let place = match other_features(&types) {
                Some(note) => note,
                None => format!("its types: {}", quoted_list(&types, 1)),
            };
            return Err(Error::format(&self.path, what)
                .at(place)
                .fix("write a type that there is, or leave out Cells::feature_type"));
        }
        Ok(Some(kept))
    }

    /// Notes on how the file differs from most files of its format.
    #[doc(hidden)]
    pub fn notes(&self) -> Vec<String> {
        let features = match &self.feature_type {
            Some(name) => Some(format!("Features of the type {name:?} alone.")),
            None => self.types().ok().and_then(|types| other_features(&types)),
        };
        let has_cells_as_rows =
            |path: &Path| matches!(orientation(path), Ok(Orientation::DocumentsByTerms));
        let (samples, has_cells_as_rows) = match &self.source {
            CellFile::Mtx => (None, has_cells_as_rows(&self.path)),
            CellFile::Samples(samples) => (
                Some(samples::note(samples)),
                samples.iter().any(|sample| has_cells_as_rows(&sample.path)),
            ),
            CellFile::H5ad(_) | CellFile::TenX(_) => (None, false),
        };
        let rows = "The rows of the file are cells, as the numbers of names next to it show.";
        let rows = has_cells_as_rows.then(|| rows.into());
        samples.into_iter().chain(features).chain(rows).collect()
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

    /// The same file, of which `raw` is the matrix: `raw` often has more genes than `X`, and so more
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
        self.with(|changed| changed.place = place)
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
            CellFile::H5ad(hdf) => layers(hdf),
            CellFile::TenX(_) | CellFile::Mtx | CellFile::Samples(_) => Ok(Vec::new()),
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
    /// If there is no such matrix, or the names next to a `.mtx` file do not fit its rows and columns. If its first values are
    /// no counts, as after a normalisation: the error says which layer, or raw, probably holds the counts. If the file is
    /// damaged, states sizes that it or the free memory does not hold, or changed since it was opened.
    ///
    /// # Cost
    /// A sparse matrix by rows (CSR, and the matrix of 10x) stays in the file: fits stream it in windows of rows, which
    /// unpacks each chunk about once a pass. A matrix by columns (CSC) is read into memory on first use, with 16 bytes per
    /// stored count. A dense matrix and a `.mtx` file are read immediately, with 8 bytes per count.
    pub fn counts(&self) -> Result<Counts> {
        let kept = self.kept()?;
        let counts = match (&self.source, &self.place) {
            (CellFile::H5ad(hdf), place) => h5ad_counts(hdf, place),
            (CellFile::TenX(hdf), Place::X) => tenx_counts(hdf),
            (CellFile::Mtx, Place::X) => open_mtx(&self.path, orientation(&self.path)?),
            (CellFile::Samples(samples), Place::X) => {
                let paths = samples.iter().map(|sample| sample.path.clone()).collect();
                append_files(paths, |path| open_mtx(path, orientation(path)?))
            }
            _ => Err(
                Error::format(&self.path, "has one matrix, and neither layers nor raw")
                    .fix("leave out Cells::layer and Cells::raw; files .h5ad have layers"),
            ),
        }?;
        match kept {
            Some(kept) => counts.select_terms(kept),
            None => Ok(counts),
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
        let names = match &self.source {
            CellFile::H5ad(hdf) => h5ad_names(hdf, self.place.terms())?,
            CellFile::TenX(hdf) => tenx_features(hdf)?,
            // Names stand in the second column, after identifiers; an old file may have one column.
            CellFile::Mtx => self.table(&GENES, 1)?,
            CellFile::Samples(samples) => samples[0].terms()?.as_slice().to_vec(),
        };
        match self.kept()? {
            Some(kept) => Terms::new(kept.iter().filter_map(|&at| names.get(at).cloned())),
            None => Terms::new(names),
        }
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
    #[doc(alias("obs_names", "barcodes"))]
    pub fn names(&self) -> Result<Vec<String>> {
        match &self.source {
            CellFile::H5ad(hdf) => h5ad_names(hdf, "obs"),
            CellFile::TenX(hdf) => tenx_barcodes(hdf),
            CellFile::Mtx => self.table(&CELLS, 0),
            CellFile::Samples(samples) => Ok(samples::cells(samples)?.0),
        }
    }

    /// The cells as documents: their [`names`](Self::names), and of a `.h5ad` file the columns of `obs`. Texts and categories
    /// become labels, numbers stay numbers, and truth values become 0 and 1; missing ones stay missing. Whole numbers of a
    /// column with one of 2^53 or more become labels. A column of other values is left out: [`Documents`] names it when they are
    /// shown or the column is requested. A 10x `.h5` or a `.mtx` file has only names; a folder with several matrices also has the
    /// label `sample`.
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
            CellFile::H5ad(hdf) => h5ad_documents(hdf),
            CellFile::TenX(_) | CellFile::Mtx => Documents::new(self.names()?),
            CellFile::Samples(samples) => {
                let (names, labels) = samples::cells(samples)?;
                Documents::new(names)?.with_labels(samples::LABEL, labels)
            }
        }
    }

    /// A column of a table next to a `.mtx` file, with a line for each column (cell) or row (gene) of the matrix.
    fn table(&self, files: &[&str], index: usize) -> Result<Vec<String>> {
        // Names that do not fit are refused with their own file.
        let rows = orientation(&self.path).unwrap_or(Orientation::TermsByDocuments);
        let (cells, genes) = mtx_shape(&self.path, rows)?;
        let expected = if index == 0 { cells } else { genes };
        match companion(&self.path, files) {
            Some(table) => column(&table, index, expected),
            None => Err(Error::new(
                ErrorKind::Io,
                format!(
                    "there is no {} next to {}",
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
            CellFile::H5ad(_) => write!(f, "Cells: {} of {file}", self.place.path()),
            CellFile::TenX(_) | CellFile::Mtx | CellFile::Samples(_) => write!(f, "Cells: {file}"),
        }?;
        match self.notes().as_slice() {
            [] => Ok(()),
            notes => write!(f, "\n{}", notes.join("\n")),
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
