//! Expectation-maximisation on a GPU: the pass of [`StreamingEm`](topicbook_solvers::solvers::StreamingEm), computed by
//! kernels. Counts and L are resident on the GPU if the plan says that they fit. Otherwise each block of documents is
//! uploaded with its rows of L, whose download overlaps with the next block.

use std::borrow::Cow;
use std::ops::Range;

use burn::tensor::Tensor;

use crate::backend::cube::{
    PINNED, Residency, buffers, bytes_of_batch, bytes_of_counts, bytes_pinned, counts_item,
    sums_workspace, table_bytes,
};
use crate::backend::{Losses, Sums, Transfer, tensor};
use crate::batches::Batch;
use crate::config::{GradientStep, Precision};
use crate::cost::{Consumer, Item, Phase, Placement, Shape};
use crate::counts::rows::for_each_block;
use crate::counts::{Counts, View};
use crate::data::Matrix;
use crate::error::Result;

use crate::solvers::{Factor, reciprocals};
use crate::solvers::{Iterate, Iteration, RATE_FLOOR, SolverState, Start, entropy};

/// Nonzero counts of a resident block: enough to occupy the whole GPU.
const RESIDENT_COUNTS: usize = 1 << 26;
const RESIDENT_DOCUMENTS: std::ops::RangeInclusive<usize> = 16..=8_192;

pub struct GpuEm<B: Transfer + Sums> {
    device: B::Device,
    streamed: bool,
    /// Documents that are uploaded at once.
    documents_per_block: usize,
    entropy: f64,
    tokens: f64,
    /// L in tokens; empty while L is resident on the GPU.
    l: Factor,
    /// F in probabilities (topics x terms).
    f: Tensor<B, 2>,
    /// The resident blocks, empty before the first pass; `None` if nothing is resident.
    resident: Option<Vec<Block<B>>>,
}

/// A block of documents on the GPU: counts and rows of L.
struct Block<B: Sums> {
    counts: B::Uploaded,
    l: Tensor<B, 2>,
}

impl<B: Transfer + Sums> GpuEm<B> {
    /// `placement`: whether counts and L are resident on the GPU, and how many documents are uploaded at once.
    pub fn new(
        device: B::Device,
        counts: &Counts,
        (streamed, placement): (bool, Placement),
        start: Start,
    ) -> Result<Self> {
        let summary = counts.summary()?;
        let (l, f) = match start {
            Start::New(l, f) => {
                let (mut l, mut f) = (Factor::from_l(l), Factor::from_f(f));
                l.scale_rows(summary.document_lengths());
                f.scale_columns(&reciprocals(&f.column_sums()));
                (l, f.probabilities())
            }
            Start::Saved(state) => {
                let [l, f] = state.into_factors()?;
                (l, f.transposed())
            }
        };
        Ok(Self {
            f: f.to_tensor(&device),
            device,
            streamed,
            documents_per_block: match placement.resident {
                true => {
                    resident_documents_per_block(counts.mean_nonzeros().unwrap_or(counts.terms()))
                }
                false => placement.micro_batch,
            },
            entropy: entropy(summary.document_lengths()),
            tokens: summary.total(),
            l,
            resident: placement.resident.then(Vec::new),
        })
    }

    /// Uploads every document with its row of L, and runs the pass over them.
    fn upload_pass(&mut self, counts: &Counts, pass: &mut EmPass<B>) -> Result<()> {
        let (terms, topics) = (counts.terms(), self.l.topics);
        let largest = match self.streamed {
            true => None,
            false => largest_block(counts.view()?, self.documents_per_block),
        };
        let resident = self.resident.is_some();
        let residency = largest.map(|largest| Residency { largest, resident });
        let (device, l, resident) = (&self.device, &mut self.l.values, &mut self.resident);
        let mut in_flight: Option<(Range<usize>, B::PendingDownload)> = None;
        // Waits for the previous block's rows of L and puts `next` in flight.
        let mut replace_in_flight =
            |l: &mut [f32], next| match std::mem::replace(&mut in_flight, next) {
                Some((range, download)) => {
                    B::wait(download, |improved| l[range].copy_from_slice(improved))
                }
                None => Ok(()),
            };
        for_each_block(
            counts,
            self.streamed,
            self.documents_per_block,
            &mut |block| {
                let rows: Vec<usize> = block.rows.clone().collect();
                let documents = rows.len();
                let batch = Batch {
                    view: block.view,
                    rows: &rows,
                    documents: &rows,
                    largest: counts.largest_known(),
                };
                let counts = B::upload_batch(&batch, terms, residency, device)?;
                let range = block.first * topics..(block.first + documents) * topics;
                let l_rows = &l[range.clone()];
                let fill = |row: usize, out: &mut [f32]| {
                    out.copy_from_slice(&l_rows[row * topics..(row + 1) * topics]);
                };
                let weights = B::upload_rows((documents, topics), fill, device)?;
                let improved = pass.improve(&counts, tensor(weights));
                match resident {
                    Some(blocks) => blocks.push(Block {
                        counts,
                        l: improved,
                    }),
                    None => {
                        let download = B::download(improved.into_primitive().tensor());
                        replace_in_flight(l, Some((range, download)))?;
                    }
                }
                Ok(())
            },
        )?;
        replace_in_flight(l, None)?;
        if self.resident.is_some() {
            self.l.values = Vec::new();
        }
        Ok(())
    }
}

/// F, and the sums of a pass over all documents.
struct EmPass<B: Transfer> {
    f: Tensor<B, 2>,
    statistics: Option<Tensor<B, 2>>,
    likelihoods: Losses<B>,
    residuals: Losses<B>,
}

impl<B: Transfer + Sums> EmPass<B> {
    /// Updates the rows of L of a block of documents and adds the block's contribution to the statistics of F.
    fn improve(&mut self, counts: &B::Uploaded, l: Tensor<B, 2>) -> Tensor<B, 2> {
        let multipliers = B::by_documents(counts, l.clone(), self.f.clone(), RATE_FLOOR);
        let residuals = (multipliers.clone() - 1.0).abs() * l.clone();
        self.residuals.push(residuals.sum());
        let l = l * multipliers;
        let (likelihood, sums) = B::by_terms(counts, l.clone(), self.f.clone(), RATE_FLOOR);
        self.likelihoods.push(likelihood);
        self.statistics = Some(match self.statistics.take() {
            Some(statistics) => statistics + sums,
            None => sums,
        });
        l
    }
}

impl<B: Transfer + Sums> Iterate for GpuEm<B> {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let mut pass = EmPass {
            f: self.f.clone(),
            statistics: None,
            likelihoods: Losses::new(),
            residuals: Losses::new(),
        };
        match &mut self.resident {
            Some(blocks) if !blocks.is_empty() => {
                for Block { counts, l } in blocks {
                    *l = pass.improve(counts, l.clone());
                }
            }
            _ => self.upload_pass(counts, &mut pass)?,
        }
        if let Some(statistics) = pass.statistics {
            let f = pass.f * statistics;
            let sums = f.clone().sum_dim(1).clamp_min(RATE_FLOOR);
            self.f = f / sums;
        }
        let likelihood: f64 = pass.likelihoods.take()?.iter().sum();
        let kkt_residual: f64 = pass.residuals.take()?.iter().sum();
        Ok(Iteration {
            score: likelihood - self.entropy,
            residual: kkt_residual / self.tokens,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let l = self.l()?;
        Ok((l.proportions(), Matrix::from_tensor(self.f.clone())?))
    }

    fn state(&self) -> Result<SolverState<'_>> {
        let f = Factor::from_f(&Matrix::from_tensor(self.f.clone())?);
        let l = match self.l()? {
            Cow::Borrowed(l) => Cow::Borrowed(&*l.values),
            Cow::Owned(l) => Cow::Owned(l.values),
        };
        Ok(SolverState::of_factors(l, Cow::Owned(f.values), f.topics))
    }
}

impl<B: Transfer + Sums> GpuEm<B> {
    /// L in tokens, downloaded where it is resident on the GPU.
    fn l(&self) -> Result<Cow<'_, Factor>> {
        let Some(blocks) = self.resident.as_ref().filter(|blocks| !blocks.is_empty()) else {
            return Ok(Cow::Borrowed(&self.l));
        };
        let documents: usize = blocks.iter().map(|block| block.l.dims()[0]).sum();
        let mut l = Factor {
            topics: self.l.topics,
            values: Vec::with_capacity(documents * self.l.topics),
        };
        for block in blocks {
            l.values
                .extend(Matrix::from_tensor(block.l.clone())?.values());
        }
        Ok(Cow::Owned(l))
    }
}

/// The largest number of nonzero counts in a block, if counts are sparse.
fn largest_block(counts: View<'_>, documents: usize) -> Option<usize> {
    let View::Csr(csr) = counts else {
        return None;
    };
    let starts = csr.indptr.iter().step_by(documents.max(1));
    let ends = csr
        .indptr
        .iter()
        .skip(documents.max(1))
        .step_by(documents.max(1));
    let last = csr.indptr.last();
    let nonzeros = starts.zip(ends.chain(last)).map(|(start, end)| end - start);
    nonzeros.max().map(|largest| largest as usize)
}

fn resident_documents_per_block(nonzeros: usize) -> usize {
    (RESIDENT_COUNTS / nonzeros.max(1))
        .clamp(*RESIDENT_DOCUMENTS.start(), *RESIDENT_DOCUMENTS.end())
}

/// VRAM of a fit. The allocator reuses a buffer only for requests of the same size, so every size is counted.
pub fn memory(shape: &Shape, resident: bool) -> Vec<Item> {
    let blocks = blocks(shape, resident);
    let rows = |documents: u64| table_bytes(documents, shape.topics, true);
    let f = table_bytes(shape.topics, shape.terms, true);
    // F, its statistics, and a block's sums. These are added in place if the runtime's thread has launched the kernels that made
    // them; between uploads it often has not, and the result is a table of its own.
    let tables = if resident { 3 } else { 4 };
    let mut items = vec![Item::vram(
        Consumer::Gradients,
        "F and its statistics",
        Phase::Steps,
        tables * f,
    )];
    if resident {
        let all = |bytes_of: &dyn Fn(u64) -> u64| {
            let bytes = |(block, times): &(Shape, u64)| times * bytes_of(block.micro_batch);
            blocks.iter().map(bytes).sum()
        };
        let counts = all(&|documents| bytes_of_counts(shape, documents));
        items.push(Item::vram(
            Consumer::Counts,
            counts_item("X", shape),
            Phase::Fit,
            counts,
        ));
        items.push(Item::vram(
            Consumer::Parameters,
            "L",
            Phase::Fit,
            all(&rows),
        ));
    }
    let mut sizes_of_each = Vec::new();
    for (block, _) in &blocks {
        let documents = block.micro_batch;
        if !resident {
            items.push(Item::vram(
                Consumer::Counts,
                counts_item(&format!("X of {documents} documents"), shape),
                Phase::Steps,
                bytes_of_batch(shape, documents),
            ));
        }
        // The ratios of all blocks have the capacity of the largest.
        let largest = blocks[0].0.micro_batch * shape.nonzeros;
        let mut sizes = buffers(block, largest);
        // Rows of L, as uploaded and as tensors, and the multipliers.
        sizes.push(2 * rows(documents) + 8 * documents * shape.topics);
        // Sums by terms and by documents are made one after the other, and so share buffers of the same size.
        sizes.sort_unstable();
        sizes.dedup();
        sizes_of_each.push(sizes);
    }
    items.push(sums_workspace(&sizes_of_each));
    items
}

/// Host memory of a fit on a GPU.
pub fn in_host_memory(shape: &Shape, resident: bool) -> Vec<Item> {
    let (documents, topics) = (shape.documents, shape.topics);
    let pinned = blocks(shape, resident).first().map_or(0, |(block, _)| {
        let rows = if resident { 0 } else { block.micro_batch };
        bytes_pinned(block, (block.micro_batch, resident), rows)
    });
    vec![
        Item::ram(
            Consumer::Parameters,
            "L, in tokens",
            Phase::Fit,
            4 * topics * documents,
        ),
        Item::ram(Consumer::Counts, PINNED, Phase::Fit, pinned),
    ]
}

/// The shapes of full blocks and of the last block of documents, each with its number of blocks.
fn blocks(shape: &Shape, resident: bool) -> Vec<(Shape, u64)> {
    let size = match resident {
        true => resident_documents_per_block(shape.nonzeros as usize),
        false => shape.micro_batch as usize,
    } as u64;
    let block = |micro_batch| Shape {
        micro_batch,
        precision: Precision::F32,
        step: GradientStep::Fused,
        ..*shape
    };
    let all = shape.documents;
    let blocks = [(block(size), all / size), (block(all % size), 1)];
    let not_empty = |(block, times): &(Shape, u64)| block.micro_batch > 0 && *times > 0;
    blocks.into_iter().filter(not_empty).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cube::on_both;
    use crate::solvers::StreamingEm;

    fn agrees_with_the_cpu<B: Transfer + Sums>(device: &B::Device) {
        // Every seventh document is empty.
        let (documents, terms, topics) = (64, 90, 5);
        let values = (0..documents * terms).map(|at| match at / terms % 7 {
            6 => 0,
            _ => (at * at % 97 / 4 * (at % 3)) as u8,
        });
        let dense = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let sparse = dense.write_npz(folder.path().join("X.npz")).unwrap();
        let table = |rows, columns, step: usize| {
            let values = (0..rows * columns).map(|at| 0.1 + (at * step % 13) as f32);
            Matrix::from_parts(rows, columns, values.collect())
        };
        let (l, f) = (table(documents, topics, 5), table(topics, terms, 7));
        for (counts, resident) in [
            (&dense, false),
            (&sparse, false),
            (&dense, true),
            (&sparse, true),
        ] {
            let placement = Placement {
                micro_batch: 25,
                resident,
                l_on_host: false,
            };
            let streamed = (false, placement);
            let mut gpu_em =
                GpuEm::<B>::new(device.clone(), counts, streamed, Start::New(&l, &f)).unwrap();
            let mut cpu_em = StreamingEm::by_em(counts, false, Start::New(&l, &f)).unwrap();
            for iteration in 0..6 {
                let (a, b) = (
                    gpu_em.iterate(counts).unwrap(),
                    cpu_em.iterate(counts).unwrap(),
                );
                let what =
                    format!("{counts}, resident: {resident}, iteration {iteration}: {a:?}, {b:?}");
                assert!((a.score / b.score - 1.0).abs() < 1e-6, "{what}");
                assert!((a.residual / b.residual - 1.0).abs() < 1e-4, "{what}");
            }
            let (gpu_l, gpu_f) = gpu_em.topics().unwrap();
            let (cpu_l, cpu_f) = cpu_em.topics().unwrap();
            for (gpu, cpu) in [(gpu_l, cpu_l), (gpu_f, cpu_f)] {
                for (a, b) in gpu.values().iter().zip(cpu.values()) {
                    assert!(
                        (a - b).abs() < 1e-5,
                        "{counts}: {a} on the GPU, {b} on the CPU"
                    );
                }
            }
        }
    }

    on_both!(em_by_the_kernels_agrees_with_the_cpu, em_on_a_gpu_agrees_with_the_cpu: agrees_with_the_cpu);
}
