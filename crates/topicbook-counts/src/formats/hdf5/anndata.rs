//! `.h5ad` files of anndata: matrices by name, and the names of cells and genes.

use hdf5_pure::{DType, Datatype};

use crate::Counts;
use crate::error::{Error, Result};
use crate::text::{counted, shown_path};

use super::file::{Hdf, REWRITE};
use super::matrix::{Encoding, HdfMatrix};

/// A matrix of a `.h5ad` file.
#[derive(Clone, PartialEq)]
pub enum Place {
    X,
    Layer(String),
    Raw,
}

impl Place {
    /// The path of the matrix in the file.
    pub fn path(&self) -> String {
        match self {
            Place::X => "X".into(),
            Place::Layer(name) => format!("layers/{name}"),
            Place::Raw => "raw/X".into(),
        }
    }

    /// The table that names the columns of the matrix.
    pub fn terms(&self) -> &'static str {
        match self {
            Place::X | Place::Layer(_) => "var",
            Place::Raw => "raw/var",
        }
    }

    /// How the matrix is opened, for messages.
    fn call(&self) -> String {
        match self {
            Place::X => "Cells::open(path)?.counts()".into(),
            Place::Layer(name) => format!("Cells::open(path)?.layer({name:?}).counts()"),
            Place::Raw => "Cells::open(path)?.raw().counts()".into(),
        }
    }
}

/// Names of the layers of a file, sorted.
pub fn layers(hdf: &Hdf) -> Result<Vec<String>> {
    if hdf.group("layers")?.is_none() {
        return Ok(Vec::new());
    }
    let (groups, datasets) = hdf.members("layers")?;
    let mut names = [groups, datasets].concat();
    names.sort();
    Ok(names)
}

/// The counts of a matrix. Refuses one whose first values are no counts, and says which other matrix has counts.
pub fn h5ad_counts(hdf: &Hdf, place: &Place) -> Result<Counts> {
    let Some(matrix) = find(hdf, &place.path())? else {
        let others: Vec<String> = places(hdf)?.iter().map(Place::path).collect();
        let others = match others.is_empty() {
            true => "none".into(),
            false => others.join(", "),
        };
        return Err(Error::format(hdf.path(), format!("has no matrix {}", place.path()))
            .at(format!("its matrices: {others}"))
            .fix("name one of them with Cells::layer or Cells::raw; a .h5ad file is written by anndata's write_h5ad"));
    };
    match matrix.first_other_number()? {
        Some(value) => Err(no_counts(hdf, place, value)?),
        None => matrix.counts(),
    }
}

/// All matrices of a file.
fn places(hdf: &Hdf) -> Result<Vec<Place>> {
    let mut places: Vec<Place> = layers(hdf)?.into_iter().map(Place::Layer).collect();
    places.insert(0, Place::X);
    places.push(Place::Raw);
    let mut found = Vec::new();
    for place in places {
        if find(hdf, &place.path())?.is_some() {
            found.push(place);
        }
    }
    Ok(found)
}

/// The error for a matrix with a value that is no count.
fn no_counts(hdf: &Hdf, place: &Place, value: f64) -> Result<Error> {
    let mut better = None;
    for other in places(hdf)? {
        // A matrix that cannot be read is no advice.
        let counts = other != *place
            && matches!(find(hdf, &other.path()), Ok(Some(matrix)) if matches!(matrix.first_other_number(), Ok(None)));
        if counts {
            better = Some(other);
            break;
        }
    }
    let what = format!(
        "{}: {} holds no counts but numbers such as {value}, which may be normalised or on a log scale",
        shown_path(hdf.path()),
        place.path()
    );
    let fix = match better {
        Some(other) => format!("{} probably holds the counts: {}", other.path(), other.call()),
        None => "no matrix of the file holds counts: save them before they are normalised, adata.layers[\"counts\"] = adata.X.copy()".into(),
    };
    Ok(Error::value(what).at(place.path()).fix(fix))
}

/// Finds a matrix and reads its encoding and its shape.
fn find(hdf: &Hdf, path: &str) -> Result<Option<HdfMatrix>> {
    let matrix = |form, shape: Vec<u64>| match shape[..] {
        [documents, terms] => Ok(Some(HdfMatrix {
            hdf: hdf.clone(),
            path: path.into(),
            encoding: form,
            documents,
            terms,
            note: None,
        })),
        _ => Err(hdf.wrong(
            path,
            format!(
                "has a shape of {} numbers, not documents × terms",
                shape.len()
            ),
        )),
    };
    if hdf.group(path)?.is_none() {
        let Some(dataset) = hdf.dataset(path)? else {
            return Ok(None);
        };
        return matrix(Encoding::Dense, hdf.guard(path, || dataset.shape())?);
    }
    // Before 0.7, anndata wrote the names of h5sparse.
    let encoding = match hdf.text(path, "encoding-type")? {
        Some(encoding) => encoding,
        None => match hdf.text(path, "h5sparse_format")? {
            Some(format) => format!("{format}_matrix"),
            None => {
                return Err(hdf.wrong(
                    path,
                    "has no attribute encoding-type: it is no matrix of anndata",
                ));
            }
        },
    };
    let form =
        match encoding.as_str() {
            "csr_matrix" => Encoding::Csr,
            "csc_matrix" => Encoding::Csc,
            _ => return Err(hdf.wrong(
                path,
                format!(
                    "has the encoding {encoding:?}; supported are csr_matrix, csc_matrix and array"
                ),
            )),
        };
    let shape = match hdf.sizes(path, "shape")? {
        Some(shape) => Some(shape),
        None => hdf.sizes(path, "h5sparse_shape")?,
    };
    match shape {
        Some(shape) => matrix(form, shape),
        None => Err(hdf.wrong(path, "has no attribute shape")),
    }
}

/// The column of a table that names its rows.
pub(super) fn index_of(hdf: &Hdf, table: &str) -> Result<String> {
    hdf.text(table, "_index")?
        .ok_or_else(|| hdf.wrong(table, "has no attribute _index: it is no table of anndata"))
}

/// The field of a record that names it.
pub(super) const RECORD_NAMES: &str = "index";

/// The fields of a table of anndata before 0.7, which is an array of records; `None` for a table as a group.
pub(super) fn record_fields(hdf: &Hdf, table: &str) -> Result<Option<Vec<String>>> {
    let Some(records) = hdf.dataset(table)? else {
        return Ok(None);
    };
    let names = match hdf.guard(table, || records.dtype())? {
        DType::Compound(fields) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    };
    Ok(Some(names))
}

/// The names in an array of records.
fn record_names(hdf: &Hdf, table: &str) -> Result<Vec<String>> {
    let records = hdf.expect(table)?;
    let rows = hdf.length(table, &records)?;
    let width = hdf.guard(table, || records.element_size())?;
    let claim = hdf
        .opened()
        .claim(counted(rows as usize, "record"))
        .at(table);
    claim.check_memory(rows.saturating_mul(2 * width + size_of::<String>() as u64))?;
    let kind = hdf.guard(table, || records.datatype())?;
    if let Datatype::Compound { size, members } = &kind
        && let Some(names) = members.iter().find(|field| field.name == RECORD_NAMES)
        && matches!(names.datatype, Datatype::String { .. })
    {
        let first = names.byte_offset as usize;
        let field = first..first + names.datatype.type_size() as usize;
        let raw = hdf.guard(table, || records.read_raw())?;
        let name = |record: &[u8]| {
            let name = String::from_utf8_lossy(record.get(field.clone()).unwrap_or_default());
            name.trim_end_matches('\0').to_string()
        };
        return Ok(raw
            .chunks_exact((*size as usize).max(1))
            .map(name)
            .collect());
    }
    Err(Error::format(
        hdf.path(),
        "is a file of anndata before 0.7, whose tables have no names as text",
    )
    .at(table)
    .fix(REWRITE))
}

/// The index of a table (`obs`, `var`, `raw/var`), which names its rows.
pub fn h5ad_names(hdf: &Hdf, table: &str) -> Result<Vec<String>> {
    if record_fields(hdf, table)?.is_some() {
        return record_names(hdf, table);
    }
    let path = format!("{table}/{}", index_of(hdf, table)?);
    // Texts of which some may be missing are stored as values and a mask.
    match hdf.group(&path)? {
        Some(_) => hdf.texts(&format!("{path}/values")),
        None => hdf.texts(&path),
    }
}
