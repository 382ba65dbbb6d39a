//! Draws counts of genes in cells: `cargo run --example draw_cells -- <output folder>`
//!
//! Writes `cells.h5ad`: the counts (cells x genes), the names of the genes, and of each cell its type, its donor and how far it
//! has matured. The notebook on cells opens it. What the model is to find is known: three types of cells, one of which matures into
//! another, and a programme of genes that cells of every type run while they divide. Genes are named after the programme
//! that they were drawn for.

use std::error::Error;
use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, LogNormal, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;
use topicbook::{Counts, Documents, Terms};

const CELLS: usize = 3_000;
/// Genes that all cells express, and genes of each programme.
const COMMON_GENES: usize = 1_300;
const OWN_GENES: usize = 100;
const PROGRAMMES: [&str; 5] = ["stem", "nerve", "muscle", "blood", "division"];
/// How much stronger a programme expresses its own genes than others do.
const STRENGTH: f64 = 20.0;
/// The median number of molecules that are counted in a cell, and the standard deviation of its logarithm.
const MOLECULES: (f64, f64) = (2_000.0, 0.4);
/// The shape of the gamma distribution by which rates vary between cells beyond a Poisson draw.
const DISPERSION: f64 = 4.0;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("usage: draw_cells <output folder>")?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let genes = draw_genes(&mut random)?;

    let (mut types, mut donors, mut maturity) = (Vec::new(), Vec::new(), Vec::new());
    let (mut row_starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let molecules = LogNormal::new(MOLECULES.0.ln(), MOLECULES.1)?;
    let noise = Gamma::new(DISPERSION, 1.0 / DISPERSION)?;
    for _ in 0..CELLS {
        // A stem cell matures into a nerve cell; the others have matured.
        let kind = random.random_range(0..4);
        let matured: f64 = if kind < 2 { random.random() } else { 1.0 };
        let dividing = match random.random_bool(0.3) {
            true => 0.2 + 0.4 * random.random::<f64>(),
            false => 0.0,
        };
        let mut shares = [0.0; PROGRAMMES.len()];
        match kind {
            0 | 1 => {
                shares[0] = (1.0 - matured) * (1.0 - dividing);
                shares[1] = matured * (1.0 - dividing);
            }
            kind => shares[kind] = 1.0 - dividing,
        }
        shares[4] = dividing;
        let molecules: f64 = molecules.sample(&mut random);
        for (column, gene) in genes.iter().enumerate() {
            let parts = shares.iter().zip(&gene.shares);
            let rate: f64 = parts
                .map(|(share, of_programme)| share * of_programme)
                .sum();
            let rate = molecules * rate * noise.sample(&mut random);
            let count = Poisson::new(rate.max(1e-12))?.sample(&mut random);
            if count > 0.0 {
                columns.push(u32::try_from(column)?);
                values.push(count as f32);
            }
        }
        row_starts.push(columns.len() as u64);
        types.push(match kind {
            0 | 1 if matured < 0.5 => "stem",
            0 | 1 => "nerve",
            kind => PROGRAMMES[kind],
        });
        donors.push(format!("donor {}", random.random_range(1..=3)));
        maturity.push(matured);
    }
    let counts = Counts::csr(CELLS, genes.len(), row_starts, columns, values)?;
    let genes = Terms::new(genes.iter().map(|gene| gene.name.as_str()))?;
    let cells = Documents::new((0..CELLS).map(|cell| format!("cell {cell}")))?
        .with_labels("type", types)?
        .with_labels("donor", donors)?
        .with_numbers("maturity", maturity)?;
    counts.write_h5ad(folder.join("cells.h5ad"), Some(&genes), Some(&cells))?;
    Ok(())
}

struct Gene {
    name: String,
    /// Its part of the molecules of each programme.
    shares: [f64; PROGRAMMES.len()],
}

fn draw_genes(random: &mut Xoshiro256PlusPlus) -> Result<Vec<Gene>, Box<dyn Error>> {
    let common = (0..COMMON_GENES).map(|gene| (format!("gene {gene}"), None));
    let own = PROGRAMMES.iter().enumerate().flat_map(|(own, programme)| {
        (0..OWN_GENES).map(move |gene| (format!("{programme} {gene}"), Some(own)))
    });
    // Few genes are expressed much, most hardly at all.
    let level = LogNormal::new(0.0, 1.2)?;
    let draw = |(name, own): (String, Option<usize>)| {
        let mut shares = [level.sample(random); PROGRAMMES.len()];
        if let Some(own) = own {
            shares[own] *= STRENGTH;
        }
        Gene { name, shares }
    };
    let mut genes: Vec<Gene> = common.chain(own).map(draw).collect();
    for programme in 0..PROGRAMMES.len() {
        let sum: f64 = genes.iter().map(|gene| gene.shares[programme]).sum();
        for gene in &mut genes {
            gene.shares[programme] /= sum;
        }
    }
    Ok(genes)
}
