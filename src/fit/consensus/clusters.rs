//! Clusters of the topics of many fits: how far apart topics are, how dense their neighbourhoods, k-means, silhouettes.

use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::data::Matrix;
use crate::system::{Purpose, stream};

/// Starts of k-means, and the maximum number of its iterations: those of scikit-learn's `KMeans` in cNMF.
const STARTS: u64 = 10;
const ITERATIONS: usize = 300;

/// The Euclidean distances of topics of length 1 (topics x topics), from 0 to the square root of 2. A topic with NaN, or without
/// a term, is infinitely far from all others.
pub(super) fn distances(topics: &[&[f32]]) -> Matrix {
    let n = topics.len();
    let norms: Vec<f64> = topics.par_iter().map(|topic| norm(topic)).collect();
    let below: Vec<Vec<f32>> = (0..n)
        .into_par_iter()
        .map(|a| {
            let others = (0..a).map(|b| distance((topics[a], norms[a]), (topics[b], norms[b])));
            // `min` replaces NaN.
            others
                .map(|distance| distance.min(f64::INFINITY) as f32)
                .collect()
        })
        .collect();
    let mut all = vec![0.0; n * n];
    for (a, row) in below.iter().enumerate() {
        for (b, &distance) in row.iter().enumerate() {
            all[a * n + b] = distance;
            all[b * n + a] = distance;
        }
    }
    Matrix::from_parts(n, n, all)
}

/// The Euclidean norm of a topic's terms.
pub(super) fn norm(topic: &[f32]) -> f64 {
    let squares = topic.iter().map(|&value| f64::from(value).powi(2));
    squares.sum::<f64>().sqrt()
}

/// The distance of two topics, each with its norm. Eight sums, so that an addition does not wait for the one before it.
fn distance((a, a_norm): (&[f32], f64), (b, b_norm): (&[f32], f64)) -> f64 {
    let (a_scale, b_scale) = (1.0 / a_norm, 1.0 / b_norm);
    let square = |a: f32, b: f32| (f64::from(a) * a_scale - f64::from(b) * b_scale).powi(2);
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for (sum, (&a, &b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += square(a, b);
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    let rest: f64 = rest.map(|(&a, &b)| square(a, b)).sum();
    (sums.iter().sum::<f64>() + rest).sqrt()
}

/// The mean distance of each topic to its nearest neighbours: at least one, and fewer than there are topics.
pub(super) fn mean_distances(distances: &Matrix, neighbours: usize) -> Vec<f64> {
    let rows = (0..distances.rows()).into_par_iter();
    rows.map(|topic| {
        let mut others = distances.row(topic).to_vec();
        others.swap_remove(topic);
        others.select_nth_unstable_by(neighbours - 1, f32::total_cmp);
        let sum: f64 = others[..neighbours].iter().map(|&d| f64::from(d)).sum();
        sum / neighbours as f64
    })
    .collect()
}

/// Divides topics into k clusters, of which none is empty, by k-means (Lloyd 1982): the cluster of each topic. Of ten starts by
/// k-means++ (Arthur and Vassilvitskii 2007) the one with the least sum of squared distances to the means counts. There are
/// at least k topics.
///
/// The means themselves are not needed: the squared distance of a topic to the mean of m topics is the mean of its squared
/// distances to them, less the sum of the squared distances between all pairs of them divided by 2 m².
pub(super) fn k_means(distances: &Matrix, k: usize) -> Vec<usize> {
    let squared = distances.values().iter().map(|&d| d * d).collect();
    let squared = Matrix::from_parts(distances.rows(), distances.rows(), squared);
    let starts: Vec<(f64, Vec<usize>)> = (0..STARTS)
        .into_par_iter()
        .map(|start| lloyd(&squared, first_clusters(&squared, k, start), k))
        .collect();
    let best = starts
        .into_iter()
        .reduce(|best, next| match next.0 < best.0 {
            true => next,
            false => best,
        });
    best.map(|(_, clusters)| clusters).unwrap_or_default()
}

/// The nearest of k topics, each of which is drawn with a probability in proportion to its squared distance to those before.
fn first_clusters(squared: &Matrix, k: usize, start: u64) -> Vec<usize> {
    let n = squared.rows();
    let mut random = stream(0, Purpose::FirstTopics, start);
    let mut nearest = vec![f32::INFINITY; n];
    let mut clusters = vec![0; n];
    let mut centre = random.random_range(0..n);
    for cluster in 0..k {
        let places = nearest.iter_mut().zip(&mut clusters);
        for ((nearest, own), &distance) in places.zip(squared.row(centre)) {
            if distance < *nearest {
                (*nearest, *own) = (distance, cluster);
            }
        }
        centre = drawn(&nearest, &mut random);
    }
    clusters
}

/// An index, drawn in proportion to the weights.
fn drawn(weights: &[f32], random: &mut impl Rng) -> usize {
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut left = random.random::<f64>() * sum;
    let found = weights.iter().position(|&weight| {
        left -= f64::from(weight);
        left < 0.0
    });
    found.unwrap_or(0)
}

/// Moves topics to the nearest mean until none moves: the sum of the squared distances to the means, and the clusters.
fn lloyd(squared: &Matrix, mut clusters: Vec<usize>, k: usize) -> (f64, Vec<usize>) {
    let mut sum = f64::INFINITY;
    for _ in 0..ITERATIONS {
        let to_means = squared_to_means(squared, &clusters, k);
        let rows = to_means.chunks_exact(k);
        let mut nearest: Vec<(f64, usize)> = rows
            .map(|row| {
                let far = (f64::INFINITY, 0);
                let means = row.iter().copied().zip(0..k);
                means.fold(far, |best, next| if next.0 < best.0 { next } else { best })
            })
            .collect();
        fill_empty(&mut nearest, k);
        sum = nearest.iter().map(|(distance, _)| distance).sum();
        let moved: Vec<usize> = nearest.into_iter().map(|(_, cluster)| cluster).collect();
        if moved == clusters {
            break;
        }
        clusters = moved;
    }
    (sum, clusters)
}

/// The squared distances of topics to the means of clusters (topics x k); infinite to an empty one.
fn squared_to_means(squared: &Matrix, clusters: &[usize], k: usize) -> Vec<f64> {
    let mut sizes = vec![0.0; k];
    clusters.iter().for_each(|&cluster| sizes[cluster] += 1.0);
    let mut sums = sums_by_cluster(squared, clusters, k);
    let mut within = vec![0.0; k];
    for (row, &own) in sums.chunks_exact(k).zip(clusters) {
        within[own] += row[own];
    }
    for row in sums.chunks_exact_mut(k) {
        for (cluster, value) in row.iter_mut().enumerate() {
            let size: f64 = sizes[cluster];
            *value = match size > 0.0 {
                true => *value / size - within[cluster] / (2.0 * size * size),
                false => f64::INFINITY,
            };
        }
    }
    sums
}

/// The sums of each row over the columns of each cluster (topics x k).
fn sums_by_cluster(table: &Matrix, clusters: &[usize], k: usize) -> Vec<f64> {
    let mut sums = vec![0.0; table.rows() * k];
    let rows = sums.par_chunks_exact_mut(k).enumerate();
    rows.for_each(|(row, sums)| {
        for (&value, &cluster) in table.row(row).iter().zip(clusters) {
            sums[cluster] += f64::from(value);
        }
    });
    sums
}

/// Gives each empty cluster the topic that is farthest from its own mean and is not the only one there.
fn fill_empty(nearest: &mut [(f64, usize)], k: usize) {
    for empty in 0..k {
        let mut sizes = vec![0; k];
        nearest.iter().for_each(|&(_, own)| sizes[own] += 1);
        if sizes[empty] > 0 {
            continue;
        }
        let others = nearest.iter_mut().filter(|(_, own)| sizes[*own] > 1);
        if let Some(farthest) = others.max_by(|a, b| a.0.total_cmp(&b.0)) {
            *farthest = (0.0, empty);
        }
    }
}

/// The silhouette of each topic (Rousseeuw 1987), from -1 to 1: (b - a) / max(a, b), where a is its mean distance to the others of
/// its cluster and b the least mean distance to those of another one; 0 for a topic that is alone.
pub(super) fn silhouettes(distances: &Matrix, clusters: &[usize], k: usize) -> Vec<f64> {
    let mut sizes = vec![0usize; k];
    clusters.iter().for_each(|&cluster| sizes[cluster] += 1);
    let sums = sums_by_cluster(distances, clusters, k);
    let rows = sums.chunks_exact(k).zip(clusters);
    rows.map(|(sums, &own)| {
        let others = (0..k).filter(|&cluster| cluster != own);
        let means = others.map(|cluster| sums[cluster] / sizes[cluster] as f64);
        let apart = means.fold(f64::INFINITY, f64::min);
        let together = sums[own] / (sizes[own] as f64 - 1.0);
        match sizes[own] > 1 && apart.max(together) > 0.0 {
            true => (apart - together) / apart.max(together),
            false => 0.0,
        }
    })
    .collect()
}

/// The median of each term over the topics of a cluster, each of length 1, divided by the sum of the medians; `None` where that
/// is zero.
pub(super) fn median(topics: &[&[f32]]) -> Option<Vec<f32>> {
    let scales: Vec<f64> = topics.iter().map(|topic| 1.0 / norm(topic)).collect();
    let terms = topics.first().map_or(0, |topic| topic.len());
    let medians: Vec<f64> = (0..terms)
        .into_par_iter()
        .map_init(Vec::new, |values: &mut Vec<f64>, term| {
            values.clear();
            let scaled = topics.iter().zip(&scales);
            values.extend(scaled.map(|(topic, scale)| f64::from(topic[term]) * scale));
            values.sort_unstable_by(f64::total_cmp);
            let middle = values.len() / 2;
            match values.len() % 2 {
                1 => values[middle],
                _ => (values[middle - 1] + values[middle]) / 2.0,
            }
        })
        .collect();
    let sum: f64 = medians.iter().sum();
    let probabilities = medians.iter().map(|median| (median / sum) as f32);
    (sum > 0.0).then(|| probabilities.collect())
}
