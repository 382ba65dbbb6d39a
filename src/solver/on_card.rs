//! Expectation-maximisation on a card: the same pass as on the CPU, with everything made by kernels. Where the plan says
//! that they fit, counts and L stay there; else the counts of a block of documents go there with their rows of L, which
//! come back while the next block is under way.

use std::ops::Range;

use burn::tensor::Tensor;

use super::table::{Table, inverse};
use super::{Gain, Iterate, entropy};
use crate::counts::{Counts, View};
use crate::error::Result;
use crate::loader::{Batch, Reading, for_each_block};
use crate::matrix::Matrix;
use crate::model::{
    Exchange, Losses, PINNED, Precision, Stay, Sums, buffers, bytes_of_batch, bytes_of_counts,
    bytes_pinned, sums, table_bytes, tensor, to_matrix, to_tensor,
};
use crate::plan::{Item, Placement, Shape, When};

/// The smallest rate, as on the CPU.
const SMALLEST: f32 = 1e-30;

/// Numbers of a block that stays on the card: as many as keep all of it busy.
const HELD: usize = 1 << 26;
const HELD_DOCUMENTS: std::ops::RangeInclusive<usize> = 16..=8_192;

pub(super) struct OnCard<B: Exchange + Sums> {
    device: B::Device,
    reading: Reading,
    /// Documents that are sent at once.
    at_once: usize,
    entropy: f64,
    tokens: f64,
    /// In tokens; of documents that the card has, it has their rows, and there are none here.
    l: Table,
    /// In probabilities: topics x terms.
    f: Tensor<B, 2>,
    /// What stays on the card once it has been there; `None` where nothing does.
    held: Option<Vec<Block<B>>>,
}

/// Documents on the card: their counts, and their rows of L.
struct Block<B: Sums> {
    counts: B::Sent,
    l: Tensor<B, 2>,
}

impl<B: Exchange + Sums> OnCard<B> {
    /// `placement`: whether counts and L stay on the card, and how many documents go there at once.
    pub(super) fn new(
        device: B::Device,
        counts: &Counts,
        (reading, placement): (Reading, Placement),
        l: &Matrix,
        f: &Matrix,
    ) -> Result<Self> {
        let summary = counts.summary()?;
        let mut l = Table::of_documents(l);
        l.scale_rows(summary.document_lengths());
        let mut f = Table::of_terms(f);
        f.scale(&inverse(&f.sums()));
        Ok(Self {
            f: to_tensor(&f.probabilities(), &device),
            device,
            reading,
            at_once: match placement.resident {
                true => held_documents(counts.mean_nonzeros().unwrap_or(counts.terms())),
                false => placement.micro_batch,
            },
            entropy: entropy(summary.document_lengths()),
            tokens: summary.total(),
            l,
            held: placement.resident.then(Vec::new),
        })
    }

    /// Sends every document, with its row of L.
    fn send(&mut self, counts: &Counts, pass: &mut Pass<B>) -> Result<()> {
        let (terms, topics) = (counts.terms(), self.l.topics);
        let largest = match self.reading {
            Reading::Stream { .. } => None,
            _ => largest_block(counts.view()?, self.at_once),
        };
        let held = self.held.is_some();
        let stay = largest.map(|largest| Stay { largest, held });
        let (device, l, held) = (&self.device, &mut self.l.values, &mut self.held);
        let mut under_way: Option<(Range<usize>, B::Arriving)> = None;
        let mut settle = |l: &mut [f32], next| match std::mem::replace(&mut under_way, next) {
            Some((rows, table)) => B::arrived(table, |improved| l[rows].copy_from_slice(improved)),
            None => Ok(()),
        };
        for_each_block(counts, self.reading, self.at_once, &mut |block| {
            let rows: Vec<usize> = block.rows.clone().collect();
            let documents = rows.len();
            let batch = Batch {
                view: block.view,
                rows: &rows,
                documents: &rows,
            };
            let counts = <B as Sums>::send(&batch, terms, stay, device)?;
            let places = block.first * topics..(block.first + documents) * topics;
            let of_l = &l[places.clone()];
            let fill = |row: usize, out: &mut [f32]| {
                out.copy_from_slice(&of_l[row * topics..(row + 1) * topics]);
            };
            let weights = <B as Exchange>::send((documents, topics), fill, device)?;
            let improved = pass.improve(&counts, tensor(weights));
            match held {
                Some(blocks) => blocks.push(Block {
                    counts,
                    l: improved,
                }),
                None => {
                    let back = B::bring(improved.into_primitive().tensor());
                    settle(l, Some((places, back)))?;
                }
            }
            Ok(())
        })?;
        settle(l, None)?;
        if self.held.is_some() {
            self.l.values = Vec::new();
        }
        Ok(())
    }
}

/// What an iteration adds up.
struct Pass<B: Exchange> {
    f: Tensor<B, 2>,
    statistics: Option<Tensor<B, 2>>,
    likelihoods: Losses<B>,
    moved: Losses<B>,
}

impl<B: Exchange + Sums> Pass<B> {
    /// The rows of L of a block of documents, and what they give to F.
    fn improve(&mut self, counts: &B::Sent, l: Tensor<B, 2>) -> Tensor<B, 2> {
        let shares = B::by_documents(counts, l.clone(), self.f.clone(), SMALLEST);
        let moved = (shares.clone() - 1.0).abs() * l.clone();
        self.moved.push(moved.sum());
        let l = l * shares;
        let (likelihood, sums) = B::by_terms(counts, l.clone(), self.f.clone(), SMALLEST);
        self.likelihoods.push(likelihood);
        self.statistics = Some(match self.statistics.take() {
            Some(statistics) => statistics + sums,
            None => sums,
        });
        l
    }
}

impl<B: Exchange + Sums> Iterate for OnCard<B> {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain> {
        let mut pass = Pass {
            f: self.f.clone(),
            statistics: None,
            likelihoods: Losses::new(),
            moved: Losses::new(),
        };
        match &mut self.held {
            Some(blocks) if !blocks.is_empty() => {
                for Block { counts, l } in blocks {
                    *l = pass.improve(counts, l.clone());
                }
            }
            _ => self.send(counts, &mut pass)?,
        }
        if let Some(statistics) = pass.statistics {
            let f = pass.f * statistics;
            let sums = f.clone().sum_dim(1).clamp_min(SMALLEST);
            self.f = f / sums;
        }
        let likelihood: f64 = pass.likelihoods.take()?.iter().sum();
        let moved: f64 = pass.moved.take()?.iter().sum();
        Ok(Gain {
            score: likelihood - self.entropy,
            residual: moved / self.tokens,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let f = to_matrix(self.f.clone())?;
        let Some(blocks) = self.held.as_ref().filter(|blocks| !blocks.is_empty()) else {
            return Ok((self.l.proportions(), f));
        };
        let documents: usize = blocks.iter().map(|block| block.l.dims()[0]).sum();
        let mut l = Table {
            topics: self.l.topics,
            values: Vec::with_capacity(documents * self.l.topics),
        };
        for block in blocks {
            l.values.extend(to_matrix(block.l.clone())?.values());
        }
        Ok((l.proportions(), f))
    }
}

/// Nonzero counts of the block that has the most, where counts are sparse.
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

/// Documents of a block that stays on the card.
fn held_documents(nonzeros: usize) -> usize {
    (HELD / nonzeros.max(1)).clamp(*HELD_DOCUMENTS.start(), *HELD_DOCUMENTS.end())
}

/// What lives on the card. Memory is used again for what has the same size, and for nothing else.
pub(super) fn memory(shape: &Shape, held: bool) -> Vec<Item> {
    let blocks = blocks(shape, held);
    let rows = |documents: u64| table_bytes(documents, shape.topics, true);
    let f = table_bytes(shape.topics, shape.terms, true);
    let mut items = vec![Item::card("F and its statistics", When::Steps, 3 * f)];
    if held {
        let all = |of: &dyn Fn(u64) -> u64| {
            let bytes = |(block, times): &(Shape, u64)| times * of(block.micro_batch);
            blocks.iter().map(bytes).sum()
        };
        let counts = all(&|documents| bytes_of_counts(shape, documents));
        items.push(Item::card("X, as stored", When::Fit, counts));
        items.push(Item::card("L", When::Fit, all(&rows)));
    }
    let mut sizes = Vec::new();
    for (block, _) in &blocks {
        let documents = block.micro_batch;
        if !held {
            items.push(Item::card(
                format!("X of {documents} documents, as stored"),
                When::Steps,
                bytes_of_batch(shape, documents),
            ));
        }
        sizes.extend(buffers(block));
        // Rows of L, as they are sent and as tensors have them; and shares.
        sizes.push(2 * rows(documents) + 8 * documents * shape.topics);
    }
    items.push(sums(sizes));
    items
}

/// What lives beside it.
pub(super) fn beside(shape: &Shape, held: bool) -> Vec<Item> {
    let (documents, topics) = (shape.documents, shape.topics);
    let pinned = blocks(shape, held).first().map_or(0, |(block, _)| {
        bytes_pinned(block, false, if held { 0 } else { block.micro_batch })
    });
    vec![
        Item::ram("L, in tokens", When::Fit, 4 * topics * documents),
        Item::ram(PINNED, When::Fit, pinned),
    ]
}

/// Blocks of documents: most of them, and the last; and how many there are of each.
fn blocks(shape: &Shape, held: bool) -> Vec<(Shape, u64)> {
    let size = match held {
        true => held_documents(shape.nonzeros as usize),
        false => shape.micro_batch as usize,
    } as u64;
    let block = |micro_batch| Shape {
        micro_batch,
        precision: Precision::F32,
        ..*shape
    };
    let all = shape.documents;
    let blocks = [(block(size), all / size), (block(all % size), 1)];
    let there = |(block, times): &(Shape, u64)| block.micro_batch > 0 && *times > 0;
    blocks.into_iter().filter(there).collect()
}

#[cfg(test)]
mod tests {
    use burn_cuda::Cuda;

    use super::super::one_pass::OnePass;
    use super::*;
    use crate::model::software::{Processor, SoftwareBackend, card, there};

    fn follows_the_cpu<B: Exchange + Sums>(device: &B::Device) {
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
        for (counts, hold) in [
            (&dense, false),
            (&sparse, false),
            (&dense, true),
            (&sparse, true),
        ] {
            let placement = Placement {
                micro_batch: 25,
                resident: hold,
                l_on_host: false,
            };
            let way = (Reading::InPlace, placement);
            let mut ours = OnCard::<B>::new(device.clone(), counts, way, &l, &f).unwrap();
            let mut theirs = OnePass::by_em(counts, Reading::InPlace, &l, &f).unwrap();
            for iteration in 0..6 {
                let (a, b) = (
                    ours.iterate(counts).unwrap(),
                    theirs.iterate(counts).unwrap(),
                );
                let what = format!("{counts}, {hold}, iteration {iteration}: {a:?}, {b:?}");
                assert!((a.score / b.score - 1.0).abs() < 1e-6, "{what}");
                assert!((a.residual / b.residual - 1.0).abs() < 1e-4, "{what}");
            }
            let (our_l, our_f) = ours.topics().unwrap();
            let (their_l, their_f) = theirs.topics().unwrap();
            for (ours, theirs) in [(our_l, their_l), (our_f, their_f)] {
                for (a, b) in ours.values().iter().zip(theirs.values()) {
                    assert!((a - b).abs() < 1e-5, "{counts}: {a} against {b}");
                }
            }
        }
    }

    #[test]
    fn em_by_the_kernels_is_that_on_the_cpu() {
        if there() {
            follows_the_cpu::<SoftwareBackend>(&Processor);
        }
    }

    #[test]
    fn em_on_a_card_is_that_on_the_cpu() {
        if let Some(card) = card() {
            follows_the_cpu::<Cuda>(&card);
        }
    }
}
