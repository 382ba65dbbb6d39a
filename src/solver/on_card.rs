//! Expectation-maximisation on a card: the same pass as on the CPU, with the sums made by kernels. L stays in RAM, and its
//! rows go to the card and back with the counts of their documents.

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};

use super::one_pass::documents_in_block;
use super::table::{Table, inverse};
use super::{Gain, Iterate};
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::{Batch, Reading, for_each_block};
use crate::matrix::Matrix;
use crate::model::{
    Precision, Sums, bytes_of_counts, bytes_of_staging, read, to_matrix, to_tensor, workspace,
};
use crate::plan::{Item, Shape, When};

/// The smallest rate, as on the CPU.
const SMALLEST: f32 = 1e-30;

pub(super) struct OnCard<B: Backend> {
    device: B::Device,
    reading: Reading,
    lengths: Vec<f64>,
    tokens: f64,
    /// In tokens.
    l: Table,
    /// In probabilities: topics x terms.
    f: Matrix,
}

impl<B: Sums> OnCard<B> {
    pub(super) fn new(
        device: B::Device,
        counts: &Counts,
        reading: Reading,
        l: &Matrix,
        f: &Matrix,
    ) -> Result<Self> {
        let summary = counts.summary()?;
        let mut l = Table::of_documents(l);
        l.scale_rows(summary.document_lengths());
        let mut f = Table::of_terms(f);
        f.scale(&inverse(&f.sums()));
        Ok(Self {
            device,
            reading,
            lengths: summary.document_lengths().to_vec(),
            tokens: summary.total(),
            l,
            f: f.probabilities(),
        })
    }
}

impl<B: Sums> Iterate for OnCard<B> {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain> {
        let (topics, terms) = self.f.shape();
        let (device, l) = (&self.device, &mut self.l);
        let f = to_tensor::<B>(&self.f, device);
        let mut statistics = Tensor::<B, 2>::zeros([topics, terms], device);
        let (mut likelihoods, mut moved) = (Vec::new(), 0.0);
        let at_once = documents_in_block(terms);
        for_each_block(counts, self.reading, at_once, &mut |block| {
            let rows: Vec<usize> = block.rows.clone().collect();
            let documents = rows.len();
            let batch = Batch {
                view: block.view,
                rows: &rows,
                documents: &rows,
            };
            let sent = B::send(&batch, terms, device)?;
            let l = &mut l.values[block.first * topics..][..documents * topics];
            let weights = |l: &[f32]| {
                let data = TensorData::new(l.to_vec(), [documents, topics]);
                Tensor::<B, 2>::from_data(data, device)
            };
            let shares = B::by_documents(&sent, weights(l), f.clone(), SMALLEST);
            for (weight, share) in l.iter_mut().zip(to_matrix(shares)?.values()) {
                moved += f64::from(*weight) * f64::from((share - 1.0).abs());
                *weight *= share;
            }
            let (likelihood, sums) = B::by_terms(&sent, weights(l), f.clone(), SMALLEST);
            statistics = statistics.clone() + sums;
            likelihoods.push(likelihood);
            Ok(())
        })?;
        let f = f * statistics;
        let sums = f.clone().sum_dim(1).clamp_min(SMALLEST);
        self.f = to_matrix(f / sums)?;
        let likelihood: f64 = read(Tensor::cat(likelihoods, 0))?.iter().sum();
        // Rates count in tokens: those of a document sum to its length.
        let lengths = self.lengths.iter().filter(|length| **length > 0.0);
        let entropy: f64 = lengths.map(|length| length * length.ln()).sum();
        Ok(Gain {
            score: likelihood - entropy,
            residual: moved / self.tokens,
        })
    }

    fn topics(&self) -> (Matrix, Matrix) {
        (self.l.proportions(), self.f.clone())
    }
}

/// What lives on the card.
pub(super) fn memory(shape: &Shape) -> Vec<Item> {
    let block = block(shape);
    let f = 4 * shape.topics * shape.terms;
    vec![
        Item::card("F and its statistics", When::Steps, 4 * f),
        Item::card(
            format!("X of {} documents, as stored", block.micro_batch),
            When::Steps,
            bytes_of_counts(&block, block.micro_batch),
        ),
        Item::card(
            "workspace: sums",
            When::Steps,
            workspace(&block) + 8 * block.micro_batch * shape.topics,
        ),
    ]
}

/// What lives beside it.
pub(super) fn beside(shape: &Shape) -> Item {
    let what = "counts on their way to the card";
    Item::ram(what, When::Steps, bytes_of_staging(&block(shape), false))
}

/// Blocks of documents take the place of batches.
fn block(shape: &Shape) -> Shape {
    let documents = documents_in_block(shape.terms as usize) as u64;
    Shape {
        micro_batch: documents.min(shape.documents),
        precision: Precision::F32,
        ..*shape
    }
}

#[cfg(test)]
mod tests {
    use burn_cuda::{Cuda, CudaDevice};

    use super::super::one_pass::OnePass;
    use super::*;
    use crate::cuda;
    use crate::model::software::{Processor, SoftwareBackend, there};

    fn follows_the_cpu<B: Sums>(device: &B::Device) {
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
        for counts in [&dense, &sparse] {
            let mut ours =
                OnCard::<B>::new(device.clone(), counts, Reading::InPlace, &l, &f).unwrap();
            let mut theirs = OnePass::by_em(counts, Reading::InPlace, &l, &f).unwrap();
            for iteration in 0..6 {
                let (a, b) = (
                    ours.iterate(counts).unwrap(),
                    theirs.iterate(counts).unwrap(),
                );
                let what = format!("{counts}, iteration {iteration}: {a:?} against {b:?}");
                assert!((a.score / b.score - 1.0).abs() < 1e-6, "{what}");
                assert!((a.residual / b.residual - 1.0).abs() < 1e-4, "{what}");
            }
            let (our_l, our_f) = ours.topics();
            let (their_l, their_f) = theirs.topics();
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
        match cuda::find() {
            Ok(_) => follows_the_cpu::<Cuda>(&CudaDevice::new(0)),
            Err(missing) => eprintln!("SKIPPED: {missing}"),
        }
    }
}
