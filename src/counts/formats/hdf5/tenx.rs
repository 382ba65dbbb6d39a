//! `.h5` files of 10x Genomics' Cell Ranger: genes x cells by columns, which are cells x genes by rows.

use crate::counts::Counts;
use crate::error::Result;

use super::file::Hdf;
use super::matrix::{Form, Matrix};

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

pub(crate) fn tenx_counts(hdf: &Hdf) -> Result<Counts> {
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
    let matrix = Matrix {
        hdf: hdf.clone(),
        path,
        form: Form::Csr,
        documents,
        terms,
    };
    matrix.counts()
}

/// Names of the genes.
pub(crate) fn tenx_features(hdf: &Hdf) -> Result<Vec<String>> {
    let group = group(hdf)?;
    match hdf.dataset(&format!("{group}/gene_names"))? {
        Some(_) => hdf.texts(&format!("{group}/gene_names")),
        None => hdf.texts(&format!("{group}/features/name")),
    }
}

/// Names of the cells.
pub(crate) fn tenx_barcodes(hdf: &Hdf) -> Result<Vec<String>> {
    hdf.texts(&format!("{}/barcodes", group(hdf)?))
}
