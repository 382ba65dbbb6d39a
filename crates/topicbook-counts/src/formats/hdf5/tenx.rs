//! `.h5` files of 10x Genomics' Cell Ranger: genes x cells by columns, which are cells x genes by rows.

use crate::Counts;
use crate::error::Result;

use super::file::Hdf;
use super::matrix::{Encoding, HdfMatrix};

/// The group of the matrix: `matrix` from version 3 on, the name of a genome before.
fn group(hdf: &Hdf) -> Result<String> {
    let (groups, _) = hdf.members("")?;
    let mut genomes = Vec::new();
    for name in groups {
        let is_matrix = hdf.group(&name)?.is_some()
            && hdf.dataset(&format!("{name}/barcodes"))?.is_some()
            && hdf.dataset(&format!("{name}/indptr"))?.is_some();
        if is_matrix {
            genomes.push(name);
        }
    }
    match genomes.len() {
        1 => Ok(genomes.remove(0)),
        0 => Err(hdf
            .wrong("its groups", "has no matrix of 10x: no group with barcodes and indptr")
            .fix("a .h5 file is Cell Ranger's filtered_feature_bc_matrix.h5; name a file of anndata .h5ad")),
        _ => Err(hdf
            .wrong("its groups", format!("has the matrices of {} genomes: {}", genomes.len(), genomes.join(", ")))
            .fix("open it with scanpy.read_10x_h5(path, genome=...), and save it as .h5ad")),
    }
}

pub fn tenx_counts(hdf: &Hdf) -> Result<Counts> {
    let path = group(hdf)?;
    let place = format!("{path}/shape");
    let dataset = hdf.expect(&place)?;
    let length = hdf.length(&place, &dataset)?;
    let shape = match length {
        2 => hdf.guard(&place, || dataset.read_i64())?,
        _ => Vec::new(),
    };
    let sizes: Vec<u64> = shape
        .iter()
        .filter_map(|&size| size.try_into().ok())
        .collect();
    let [terms, documents] = sizes[..] else {
        return Err(hdf.wrong(&place, format!("should have two sizes and has {shape:?}")));
    };
    let matrix = HdfMatrix {
        hdf: hdf.clone(),
        path,
        encoding: Encoding::Csr,
        documents,
        terms,
        note: other_features(&tenx_feature_types(hdf)?),
    };
    matrix.counts()
}

/// The type of each feature; none before version 3.
pub fn tenx_feature_types(hdf: &Hdf) -> Result<Vec<String>> {
    let path = format!("{}/features/feature_type", group(hdf)?);
    match hdf.dataset(&path)? {
        Some(_) => hdf.texts(&path),
        None => Ok(Vec::new()),
    }
}

/// How many features are not of the most frequent type, and how to leave them out; `None` if all have one.
pub fn other_features(types: &[String]) -> Option<String> {
    let mut numbers: Vec<(&str, usize)> = Vec::new();
    for name in types {
        match numbers.iter_mut().find(|known| known.0 == name) {
            Some(known) => known.1 += 1,
            None => numbers.push((name, 1)),
        }
    }
    let genes = "Gene Expression";
    let kept = match numbers.iter().find(|known| known.0 == genes) {
        Some(_) => genes,
        None => numbers.iter().max_by_key(|known| known.1)?.0,
    };
    let others = numbers.iter().filter(|known| known.0 != kept);
    let others: Vec<String> = others
        .map(|(name, number)| format!("{number} of {} features are {name}", types.len()))
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "{}: leave them out by Cells::open(path)?.feature_type({kept:?})",
            others.join(", ")
        )
    })
}

/// Names of the genes.
pub fn tenx_features(hdf: &Hdf) -> Result<Vec<String>> {
    let group = group(hdf)?;
    match hdf.dataset(&format!("{group}/gene_names"))? {
        Some(_) => hdf.texts(&format!("{group}/gene_names")),
        None => hdf.texts(&format!("{group}/features/name")),
    }
}

/// Names of the cells.
pub fn tenx_barcodes(hdf: &Hdf) -> Result<Vec<String>> {
    hdf.texts(&format!("{}/barcodes", group(hdf)?))
}
