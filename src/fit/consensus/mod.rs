//! The consensus of fits from several seeds: topics that most of them have.

mod clusters;
#[cfg(test)]
mod tests;

#[cfg(feature = "polars")]
use polars::prelude::Column;

use crate::counts::{Counts, Fingerprint};
use crate::data::Matrix;
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::text::counted;

use super::{CountNames, Fit};
use clusters::{distances, k_means, mean_distances, median, silhouettes};

/// The nearest neighbours of a topic, as a part of the number of fits, and the mean distance to them from which on it is
/// dropped: the defaults of cNMF.
const NEIGHBOURS: f64 = 0.3;
const DROPPED_FROM: f64 = 0.5;

/// What stands in the place of a device for a consensus.
pub(crate) const CONSENSUS: &str = "none: the consensus of other fits";

/// The consensus of the fits of several seeds; [`SweepFits::consensus`](crate::SweepFits::consensus) makes it, and says how. Cheap
/// to clone.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
/// let consensus = TopicModel::sweep([4]).seeds(10).quiet().fit(&counts)?.consensus(4)?;
/// assert!(consensus.stability().iter().all(|stability| *stability > 0.5));
/// let fit = consensus.fit();
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias("cNMF", "stability_selection"))]
pub struct Consensus {
    fit: Fit,
    fits: usize,
    /// The mean distance to its nearest neighbours of each topic of the fits.
    density: Vec<f64>,
    /// The topics that were not dropped, by their cluster and in it from the most dense: the cluster, and the fit it comes from.
    kept: Vec<(usize, usize)>,
    /// Their distances, in this order.
    distances: Matrix,
    /// The mean silhouette of each cluster.
    stability: Vec<f64>,
}

/// Topics of fits that are not dropped.
struct Kept<'a> {
    topics: Vec<&'a [f32]>,
    /// The number of each among all topics of all fits.
    numbers: Vec<usize>,
    distances: Matrix,
    clusters: Vec<usize>,
}

impl Consensus {
    /// The consensus of F of several fits, over the same terms and with the same number of topics as `like`, whose settings it has;
    /// L is of `counts`.
    pub(crate) fn of(all: &[Matrix], like: &Fit, counts: (&Counts, &CountNames)) -> Result<Self> {
        let k = like.topics();
        if k == 1 || all.len() < 2 {
            return Err(
                Error::setting(format!(
                    "no consensus of {} with {}",
                    counted(all.len(), "fit"),
                    counted(k, "topic")
                ))
                .fix("sweep over two topics or more with several seeds, as in TopicModel::sweep([10]).seeds(50)"),
            );
        }
        let n = (all.len() * k) as u64;
        check_free(n.saturating_mul(16 * n), "the distances of the topics")?;
        let topics: Vec<&[f32]> = all
            .iter()
            .flat_map(|f| (0..k).map(|row| f.row(row)))
            .collect();
        let distances = distances(&topics);
        let neighbours = (NEIGHBOURS * all.len() as f64) as usize;
        let density = mean_distances(&distances, neighbours.max(1));
        let kept = Kept::of(&topics, &distances, &density, k)?;
        let f = kept.medians(k)?;
        let (fit, order) = folded(like, f, counts)?;
        let kept = kept.in_order(&order, &density)?;
        let silhouettes = silhouettes(&kept.distances, &kept.clusters, k);
        let stability = (0..k).map(|topic| {
            let members = kept.clusters.iter().zip(&silhouettes);
            let members = members.filter(|(cluster, _)| **cluster == topic);
            let (sum, n) = members.fold((0.0, 0.0), |(sum, n), (_, own)| (sum + own, n + 1.0));
            sum / n
        });
        Ok(Self {
            fit,
            fits: all.len(),
            stability: stability.collect(),
            kept: kept
                .clusters
                .iter()
                .zip(&kept.numbers)
                .map(|(&cluster, number)| (cluster, number / k))
                .collect(),
            distances: kept.distances,
            density,
        })
    }
}

/// The fit of these topics: L of the counts with F fixed. Its topics are by falling share; the order says which they were.
fn folded(
    like: &Fit,
    f: Matrix,
    (counts, names): (&Counts, &CountNames),
) -> Result<(Fit, Vec<usize>)> {
    let mut given = like.clone();
    given.f = f;
    let l = given.transform(counts)?;
    let (settings, terms) = (like.settings(), like.term_names());
    let fit = Fit::new(
        settings,
        l,
        given.f,
        terms,
        Vec::new(),
        CONSENSUS.into(),
        None,
    )
    .fitted_to(Some(Fingerprint::of(counts)?))
    .with_empty(counts.summary()?.empty_documents())
    .named(names);
    let shares = fit.topic_shares();
    let mut order: Vec<usize> = (0..fit.topics()).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    Ok((fit.in_order(&order)?, order))
}

impl<'a> Kept<'a> {
    fn of(topics: &[&'a [f32]], distances: &Matrix, density: &[f64], k: usize) -> Result<Self> {
        let is_kept = |topic: &usize| density[*topic] < DROPPED_FROM;
        let numbers: Vec<usize> = (0..topics.len()).filter(is_kept).collect();
        if numbers.len() < k {
            return Err(Error::value(format!(
                "the fits have too little in common: {} of their {} topics have near ones in other fits, \
                 which makes no {k} topics",
                numbers.len(),
                topics.len()
            ))
            .fix("sweep over fewer topics, or let each fit converge: epochs(..) of the sweep's model"));
        }
        let distances = distances.select_rows(&numbers)?.select_columns(&numbers)?;
        Ok(Self {
            topics: numbers.iter().map(|&topic| topics[topic]).collect(),
            clusters: k_means(&distances, k),
            numbers,
            distances,
        })
    }

    /// F of the clusters (k x terms): the medians of their topics, each divided by its sum.
    fn medians(&self, k: usize) -> Result<Matrix> {
        let mut f = Vec::new();
        for topic in 0..k {
            let members = self.topics.iter().zip(&self.clusters);
            let members = members.filter(|(_, cluster)| **cluster == topic);
            let members: Vec<&[f32]> = members.map(|(topic, _)| *topic).collect();
            f.extend(median(&members).ok_or_else(|| {
                Error::value(format!(
                    "a group of {} from different fits has no term in common",
                    counted(members.len(), "topic")
                ))
                .fix("sweep over fewer topics")
            })?);
        }
        Ok(Matrix::from_parts(k, f.len() / k, f))
    }

    /// The same with clusters renumbered, by cluster and density.
    fn in_order(mut self, order: &[usize], density: &[f64]) -> Result<Self> {
        let mut places = vec![0; order.len()];
        for (place, &cluster) in order.iter().enumerate() {
            places[cluster] = place;
        }
        let mut rows: Vec<usize> = (0..self.topics.len()).collect();
        rows.sort_by(|&a, &b| {
            let key = |row: usize| (places[self.clusters[row]], density[self.numbers[row]]);
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        self.distances = self.distances.select_rows(&rows)?.select_columns(&rows)?;
        Ok(Self {
            topics: rows.iter().map(|&row| self.topics[row]).collect(),
            numbers: rows.iter().map(|&row| self.numbers[row]).collect(),
            clusters: rows.iter().map(|&row| places[self.clusters[row]]).collect(),
            distances: self.distances,
        })
    }
}

impl Consensus {
    /// The fit: F is the consensus of the topics, by falling share, and L the proportions that all documents have of them, as
    /// [`Fit::transform`] finds them. It has no epochs. A handle, not a copy.
    ///
    /// ```
    /// # let (counts, _) = topicbook::example_fit()?;
    /// # let sweep = topicbook::TopicModel::sweep([3]).seeds(5).quiet().fit(&counts)?;
    /// let consensus = sweep.consensus(3)?;
    /// let fit = consensus.fit();
    /// assert_eq!((fit.documents(), fit.topics()), (60, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn fit(&self) -> Fit {
        self.fit.clone()
    }

    /// How well the topics of the fits agree on each topic of the consensus: the mean silhouette of those in its cluster
    /// (Rousseeuw 1987), from -1 to 1. It is 1 where they are the same and far from those of other clusters, and about 0 where
    /// they could as well belong to another one.
    ///
    /// ```
    /// # let (counts, _) = topicbook::example_fit()?;
    /// # let sweep = topicbook::TopicModel::sweep([3]).seeds(5).quiet().fit(&counts)?;
    /// let consensus = sweep.consensus(3)?;
    /// assert!(consensus.stability().iter().all(|stability| (-1.0..=1.0).contains(stability)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("silhouette", "silhouette_score"))]
    pub fn stability(&self) -> Vec<f64> {
        self.stability.clone()
    }

    /// The part of the topics of all fits that was dropped, because few other fits have one that is near; from 0 to 1.
    ///
    /// ```
    /// # let (counts, _) = topicbook::example_fit()?;
    /// # let sweep = topicbook::TopicModel::sweep([3]).seeds(5).quiet().fit(&counts)?;
    /// let consensus = sweep.consensus(3)?;
    /// assert!((0.0..1.0).contains(&consensus.dropped()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("outliers", "density_threshold"))]
    pub fn dropped(&self) -> f64 {
        1.0 - self.kept.len() as f64 / self.density.len() as f64
    }

    /// The number of fits; for each topic of the consensus, the topics of the fits in its cluster, and the fits that have one.
    pub(crate) fn sizes(&self) -> (usize, Vec<[usize; 2]>) {
        let sizes = (0..self.fit.topics()).map(|topic| {
            let members = self.kept.iter().filter(|(cluster, _)| *cluster == topic);
            let mut of_fits: Vec<usize> = members.map(|(_, fit)| *fit).collect();
            let members = of_fits.len();
            of_fits.sort_unstable();
            of_fits.dedup();
            [members, of_fits.len()]
        });
        (self.fits, sizes.collect())
    }

    /// Table with one row for each topic of the consensus: `topic` (its name), `share` (its mean proportion in the documents),
    /// `members` (the topics of the fits that it is the median of), `fits` (how many of the fits have one of them), and
    /// `stability` (as in [`stability`](Self::stability)).
    ///
    /// ```
    /// # let (counts, _) = topicbook::example_fit()?;
    /// # let sweep = topicbook::TopicModel::sweep([3]).seeds(5).quiet().fit(&counts)?;
    /// let consensus = sweep.consensus(3)?;
    /// let fits = consensus.table().numbers("fits")?;
    /// assert!(fits.iter().all(|fits| (1.0..=5.0).contains(fits)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let (_, sizes) = self.sizes();
        let column = |at: usize| -> Vec<u64> { sizes.iter().map(|size| size[at] as u64).collect() };
        Table::from_columns(vec![
            Column::new("topic".into(), self.fit.topic_names()),
            Column::new("share".into(), self.fit.topic_shares()),
            Column::new("members".into(), column(0)),
            Column::new("fits".into(), column(1)),
            Column::new("stability".into(), self.stability()),
        ])
    }

    /// Plots what the consensus is of: the distances of the topics of the fits, ordered by cluster, so that topics that agree
    /// make a square of small ones; and how many topics have which mean distance to their nearest neighbours, of which those of
    /// 0.5 and above were dropped.
    ///
    /// ```
    /// # let (counts, _) = topicbook::example_fit()?;
    /// # let sweep = topicbook::TopicModel::sweep([3]).seeds(5).quiet().fit(&counts)?;
    /// let consensus = sweep.consensus(3)?;
    /// assert!(consensus.plot().to_svg()?.contains("topic 2"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "charts")]
    #[doc(alias = "clustergram")]
    pub fn plot(&self) -> crate::charts::Chart {
        use crate::charts::{Chart, stack};
        let names = self
            .kept
            .iter()
            .map(|&(topic, _)| self.fit.topic_name(topic));
        let finite = self.density.iter().filter(|density| density.is_finite());
        let density: Vec<f64> = finite.copied().collect();
        stack([
            Chart::heatmap(&self.distances)
                .y(names)
                .x_label("topics of the fits, in the same order")
                .title("Distances of the topics of the fits, by topic of the consensus"),
            Chart::histogram(density)
                .x_label("mean distance to the nearest neighbours: from 0.5 on, dropped")
                .y_label("topics of the fits")
                .title("Nearest neighbours")
                .size(900, 300),
        ])
    }
}
