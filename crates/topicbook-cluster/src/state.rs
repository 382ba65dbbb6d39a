//! Files of L and F between passes: ranks start from them, and a fit returns them.

use std::borrow::Borrow;
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::solvers::{topics_of, topics_of_logits};
use crate::step::State as StepState;

use super::run_folder::{RunFolder, read_json, write_json};

/// Number of values that are converted to bytes at once.
const CHUNK: usize = 1 << 14;

/// The tables that are complete, and whether the fit continues.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Passes done.
    pub passes: usize,
    /// The score of the last one.
    #[serde(with = "crate::system::serde_f64")]
    pub score: f64,
    /// Whether the fit has ended with it.
    pub last: bool,
}

impl State {
    pub fn read(folder: &RunFolder) -> Result<Self> {
        read_json(&folder.state())
    }

    /// Makes these the tables from which a fit resumes.
    pub fn commit(&self, folder: &RunFolder) -> Result<()> {
        write_json(&folder.state(), self)
    }
}

impl RunFolder {
    /// Writes the initial L and F.
    pub fn write_start(&self, l: &[f32], f: &[f32], lengths: &[f64]) -> Result<()> {
        let [l_file, f_file] = self.tables(0);
        write_at(&l_file, 0, l, f32::to_le_bytes)?;
        write_at(&f_file, 0, f, f32::to_le_bytes)?;
        self.start(lengths)
    }

    /// Writes the documents' lengths, and the state before the first pass.
    fn start(&self, lengths: &[f64]) -> Result<()> {
        write_at(&self.lengths(), 0, lengths, f64::to_le_bytes)?;
        let state = State {
            passes: 0,
            score: f64::NEG_INFINITY,
            last: false,
        };
        state.commit(self)
    }

    /// Writes the initial logits, each table followed by the optimizer's state.
    pub fn write_logits(&self, state: &StepState, lengths: &[f64]) -> Result<()> {
        let [l_file, f_file] = self.tables(0);
        write_tables(&l_file, std::iter::once(&state.l).chain(&state.l_state))?;
        let of_f = std::iter::once(&state.f).chain(&state.f_state);
        write_tables(&f_file, of_f.map(Matrix::transposed))?;
        self.start(lengths)
    }

    /// L of documents that ranks have folded in.
    pub fn documents(&self, (documents, topics): (usize, usize)) -> Result<Matrix> {
        let [l, _] = self.tables(State::read(self)?.passes);
        let values = read_at(&l, 0..documents * topics, f32::from_le_bytes)?;
        Ok(Matrix::from_parts(documents, topics, values))
    }

    /// L and F of the last state, with rows that sum to one. `are_logits`: the tables hold logits.
    pub fn topics(
        &self,
        (documents, terms, topics): (usize, usize, usize),
        are_logits: bool,
    ) -> Result<(Matrix, Matrix)> {
        let [l, f] = self.tables(State::read(self)?.passes);
        let read = |file: &Path, rows: usize| read_at(file, 0..rows * topics, f32::from_le_bytes);
        let l = Matrix::from_parts(documents, topics, read(&l, documents)?);
        let f = Matrix::from_parts(terms, topics, read(&f, terms)?);
        Ok(match are_logits {
            true => topics_of_logits(l, &f),
            false => topics_of(l, f),
        })
    }
}

/// Writes tables into a file, one after the other.
fn write_tables<T: Borrow<Matrix>>(path: &Path, tables: impl Iterator<Item = T>) -> Result<()> {
    let mut first = 0;
    for table in tables {
        let values = table.borrow().values();
        write_at(path, first, values, f32::to_le_bytes)?;
        first += values.len();
    }
    Ok(())
}

/// Writes values into a file, from its value `first` on, and waits for the disk. Ranks may write different parts.
pub fn write_at<T: Copy, const N: usize>(
    path: &Path,
    first: usize,
    values: &[T],
    to_bytes: fn(T) -> [u8; N],
) -> Result<()> {
    let failed = |error| Error::io("write", path, error);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(failed)?;
    let mut bytes = Vec::with_capacity(N * CHUNK);
    let mut at = (N * first) as u64;
    for values in values.chunks(CHUNK) {
        bytes.clear();
        bytes.extend(values.iter().flat_map(|&value| to_bytes(value)));
        file.write_all_at(&bytes, at).map_err(failed)?;
        at += bytes.len() as u64;
    }
    file.sync_data().map_err(failed)
}

/// Reads a range of the values of a file.
pub fn read_at<T, const N: usize>(
    path: &Path,
    range: Range<usize>,
    from_bytes: fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let failed = |error| Error::io("read", path, error);
    let file = File::open(path).map_err(failed)?;
    let mut values = Vec::with_capacity(range.len());
    let mut bytes = vec![0; N * CHUNK.min(range.len())];
    for first in range.clone().step_by(CHUNK) {
        let bytes = &mut bytes[..N * CHUNK.min(range.end - first)];
        file.read_exact_at(bytes, (N * first) as u64)
            .map_err(failed)?;
        values.extend(
            bytes
                .as_chunks::<N>()
                .0
                .iter()
                .map(|&value| from_bytes(value)),
        );
    }
    Ok(values)
}
