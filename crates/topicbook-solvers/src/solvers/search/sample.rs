//! The first start of a search.

use crate::cost::Shape;
use crate::counts::rows::{NonzeroBuffer, nonzeros_of_row};
use crate::counts::{Counts, View};
use crate::error::Result;
use crate::solvers::coordinate_descent::{Ascent, Data, Factors, Sweeps};
use crate::solvers::factor::Factor;
use crate::system::{Purpose, stream};

use super::new_topics::{equal_shares, start_from_noise};

/// The sample has one in `PART` documents.
const PART: usize = 4;
/// Topics below which all documents are fitted from the start: with 5, 10 and 20 topics the sample gained nothing.
const LEAST_TOPICS: usize = 50;
/// Documents for each topic below which a sample says too little.
const LEAST_DOCUMENTS: usize = 2;
/// Iterations over the sample.
const ITERATIONS: usize = 5;
/// The share of noise in the topics, so that terms which the sample lacks can get probability, and topics can still
/// separate.
const NOISE: f32 = 0.2;

/// The documents of the sample, or 0 where there is none.
fn documents_in_sample(documents: usize, topics: usize) -> usize {
    match documents / PART {
        sample if topics >= LEAST_TOPICS && sample >= LEAST_DOCUMENTS * topics => sample,
        _ => 0,
    }
}

/// Bytes of the sample and of the factors that are fitted to it.
pub(super) fn sample_bytes(shape: &Shape) -> u64 {
    let sample = documents_in_sample(shape.documents as usize, shape.topics as usize) as u64;
    match sample {
        0 => 0,
        // Counts by document and by term, and four copies of the factors.
        sample => 16 * shape.nonzeros * sample + 4 * 4 * shape.topics * (sample + shape.terms),
    }
}

/// The first start: topics of noise and equal shares of them in every document. Many topics are fitted to a sample of the
/// documents first, and keep some of the noise. An iteration over the sample costs a quarter of one over all documents, and
/// the fit of 100 topics to documents of very different lengths ends at a higher maximum.
pub(super) fn first_start(
    (topics, terms): (usize, usize),
    (counts, data): (&Counts, &Data),
    seed: u64,
) -> Result<Factors> {
    let mut start = start_from_noise((topics, terms), data, seed, 0);
    let documents = documents_in_sample(counts.documents(), topics);
    if documents > 0 {
        fit_to_sample(&mut start.f, counts, documents, seed)?;
    }
    Ok(start)
}

/// Fits topics of noise to a sample of `documents` documents, unless these have no tokens.
fn fit_to_sample(topics: &mut Factor, counts: &Counts, documents: usize, seed: u64) -> Result<()> {
    let sample = draw(counts, documents, seed)?;
    let data = Data::new(&sample)?;
    if data.tokens == 0.0 {
        return Ok(());
    }
    let view = sample.view()?;
    let mut ascent = Ascent::new(equal_shares(topics.clone(), &data));
    for _ in 0..ITERATIONS {
        ascent.step(&data, &view, Sweeps::FewWhereShort);
    }
    let fitted = ascent.best.f.values;
    for (value, fitted) in topics.values.iter_mut().zip(fitted) {
        *value = NOISE * *value + (1.0 - NOISE) * fitted;
    }
    Ok(())
}

/// A sample of `documents` documents, drawn without replacement, in their order. It is sparse for any layout of the counts.
fn draw(counts: &Counts, documents: usize, seed: u64) -> Result<Counts> {
    let mut random = stream(seed, Purpose::FirstDocuments, 0);
    let mut drawn = rand::seq::index::sample(&mut random, counts.documents(), documents).into_vec();
    drawn.sort_unstable();
    let view: View<'_> = counts.view()?;
    let mut buffer = NonzeroBuffer::default();
    let mut indptr = vec![0];
    let mut nonzeros = 0;
    for &document in &drawn {
        nonzeros += nonzeros_of_row(&view, counts.terms(), document, &mut buffer)
            .0
            .len();
        indptr.push(nonzeros as u64);
    }
    // Vectors that grow would hold up to twice the memory of the plan while they are copied.
    let (mut indices, mut values) = (Vec::with_capacity(nonzeros), Vec::with_capacity(nonzeros));
    for document in drawn {
        let (columns, row) = nonzeros_of_row(&view, counts.terms(), document, &mut buffer);
        indices.extend_from_slice(columns);
        values.extend_from_slice(row);
    }
    Counts::csr(documents, counts.terms(), indptr, indices, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Counts {
        // 40 documents of two kinds: terms 0 and 1, or 2 and 3.
        let row = |document: u32| match document % 2 {
            0 => [9, 5 + document as u8 % 3, 0, 0],
            _ => [0, 0, 7 + document as u8 % 4, 4],
        };
        Counts::dense(40, 4, (0..40).flat_map(row).collect::<Vec<u8>>()).unwrap()
    }

    #[test]
    fn topics_are_fitted_to_the_sample() {
        let counts = counts();
        let data = Data::new(&counts).unwrap();
        let mut f = start_from_noise((2, 4), &data, 3, 0).f;
        fit_to_sample(&mut f, &counts, 10, 3).unwrap();
        let sums = f.column_sums();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
        assert!(f.values.iter().all(|value| *value > 0.0));
        // One of the topics has most of its tokens in terms 0 and 1, the other in 2 and 3.
        let of_first_terms = [0, 1].map(|topic| f.row(0)[topic] + f.row(1)[topic]);
        let [low, high] = match of_first_terms {
            [a, b] if a < b => [a, b],
            [a, b] => [b, a],
        };
        assert!(low < 0.3 && high > 0.7, "{of_first_terms:?}");
    }

    #[test]
    fn a_sample_is_for_many_topics_and_documents() {
        let samples = [(4_000, 100), (4_000, 20), (799, 100), (800, 100), (3, 1)];
        let samples = samples.map(|(documents, topics)| documents_in_sample(documents, topics));
        assert_eq!(samples, [1_000, 0, 0, 200, 0]);
    }

    #[test]
    fn a_sample_has_documents_of_the_counts_once() {
        let counts = counts();
        let sample = draw(&counts, 10, 5).unwrap();
        assert_eq!(sample.shape(), (10, 4));
        let all = draw(&counts, 40, 5).unwrap();
        let rows = |counts: &Counts| {
            let documents = Vec::from_iter(0..counts.documents());
            let mut rows = vec![0.0; 4 * documents.len()];
            counts.fill_rows(&documents, &mut rows).unwrap();
            rows
        };
        assert_eq!(rows(&all), rows(&counts));
    }
}
