//! Topics in another order, topics merged into one, and topics left out.

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::text::counted;

use super::which::NameOrNumber;
use super::{Fit, names};

impl Fit {
    /// Returns the fit with its topics in another order: topic `order[0]` becomes topic 0, and so on. L's columns, F's rows and
    /// the [names](Self::name_topics) move with their topics. [`align_to`](Self::align_to) finds the order that matches
    /// another fit.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let reordered = fit.reorder_topics([2, 0, 1])?;
    /// assert_eq!(reordered.f().row(0), fit.f().row(2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the order does not have every topic once.
    ///
    /// # Cost
    /// A copy of L and F.
    #[doc(alias("sort_topics", "permute"))]
    pub fn reorder_topics<I>(&self, order: I) -> Result<Fit>
    where
        I: IntoIterator<Item: NameOrNumber>,
    {
        let fix = "name every topic once, in the order that it should have";
        let order = self.distinct_topics(order, fix)?;
        if let Some(missing) = (0..self.topics()).find(|topic| !order.contains(topic)) {
            return Err(Error::value(format!("topic {missing} is missing"))
                .fix("name every topic once; to draw some of them, use `topics` of the chart"));
        }
        self.in_order(&order)
    }

    /// The fit with these of its topics, in this order.
    pub(super) fn in_order(&self, order: &[usize]) -> Result<Fit> {
        let mut reordered = self.clone();
        reordered.l = self.l.select_columns(order)?.renumbered();
        reordered.f = self.f.select_rows(order)?.renumbered();
        reordered.names = names::permuted(&self.names, order);
        reordered.check_names()?;
        Ok(reordered)
    }

    /// Returns the fit with some topics merged into one. It takes the place of the first of them in the order of the topics,
    /// and the name of the first one listed that has a name. The topics after it move up.
    ///
    /// A document's proportion of the merged topic is the sum of their proportions. Its terms have the mean of their
    /// probabilities, weighted by the shares of the topics in [`topic_sizes`](Self::topic_sizes). The merged fit describes the
    /// counts less well than a fit that was trained with its number of topics; [`score`](Self::score) says how much less. It
    /// has no history of epochs, because they trained other topics.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let merged = fit.name_topics([(2, "science")])?.merge_topics(["science", "topic 0"])?;
    /// assert_eq!(merged.topic_names(), ["science", "topic 1"]);
    /// assert_eq!(merged.l().row(7)[0], fit.l().row(7)[0] + fit.l().row(7)[2]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are fewer than two topics to merge, one of them comes twice, or there is no such topic.
    ///
    /// # Cost
    /// A copy of L and F.
    #[doc(alias("combine_topics", "reduce_topics"))]
    pub fn merge_topics<I>(&self, topics: I) -> Result<Fit>
    where
        I: IntoIterator<Item: NameOrNumber>,
    {
        let merged = self.distinct_topics(topics, "name each of the topics to merge once")?;
        if merged.len() < 2 {
            return Err(
                Error::value(format!("{} to merge", counted(merged.len(), "topic")))
                    .fix("name two topics or more, as in `merge_topics([2, 7])`"),
            );
        }
        let place = merged.iter().copied().min().unwrap_or(0);
        // Where each topic is after the merge, and the topic that gives a place its name.
        let kept: Vec<usize> = (0..self.topics())
            .filter(|topic| *topic == place || !merged.contains(topic))
            .collect();
        let target = |topic: usize| {
            let topic = if merged.contains(&topic) {
                place
            } else {
                topic
            };
            kept.iter().position(|&kept| kept == topic).unwrap_or(0)
        };
        let targets: Vec<usize> = (0..self.topics()).map(target).collect();
        let shares = self.topic_shares();
        let sum: f64 = merged.iter().map(|&topic| shares[topic]).sum();
        let weight = |topic: usize| match (merged.contains(&topic), sum > 0.0) {
            (false, _) => 1.0,
            (true, true) => shares[topic] / sum,
            (true, false) => 1.0 / merged.len() as f64,
        };
        let (documents, terms) = (self.documents(), self.terms());
        let mut l = vec![0.0f32; documents * kept.len()];
        for (document, row) in l.chunks_exact_mut(kept.len()).enumerate() {
            for (&target, &proportion) in targets.iter().zip(self.l.row(document)) {
                row[target] += proportion;
            }
        }
        let mut f = vec![0.0f64; kept.len() * terms];
        for (topic, &target) in targets.iter().enumerate() {
            let weight = weight(topic);
            let row = &mut f[target * terms..][..terms];
            for (sum, &probability) in row.iter_mut().zip(self.f.row(topic)) {
                *sum += weight * f64::from(probability);
            }
        }
        let f = f.into_iter().map(|value| value as f32).collect();
        let mut fit = self.clone();
        fit.l = Matrix::from_parts(documents, kept.len(), l);
        fit.f = Matrix::from_parts(kept.len(), terms, f);
        fit.settings.topics = kept.len();
        fit.history = Vec::new();
        fit.names = names::merged(&self.names, &merged, &kept, place);
        fit.check_names()?;
        Ok(fit)
    }

    /// Returns the fit without some topics: those that hold what a question does not ask for. The topics after them move up, and
    /// keep their names.
    ///
    /// The proportions of a document are divided by what is left of their sum; a document that was wholly about these topics
    /// has equal proportions. As after [`merge_topics`](Self::merge_topics), there is no history of epochs.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let kept = fit.name_topics([(1, "boilerplate")])?.drop_topics(["boilerplate"])?;
    /// assert_eq!(kept.topic_names(), ["topic 0", "topic 1"]); // topic 2 has moved up
    /// assert_eq!(kept.f().row(1), fit.f().row(2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a topic comes twice, there is no such topic, or none would be left.
    ///
    /// # Cost
    /// A copy of L and F.
    #[doc(alias = "remove_topics")]
    pub fn drop_topics<I>(&self, topics: I) -> Result<Fit>
    where
        I: IntoIterator<Item: NameOrNumber>,
    {
        let dropped = self.distinct_topics(topics, "name each of the topics to drop once")?;
        let kept: Vec<usize> = (0..self.topics())
            .filter(|topic| !dropped.contains(topic))
            .collect();
        if kept.is_empty() {
            return Err(Error::value("no topic would be left").fix("keep one topic or more"));
        }
        let mut fit = self.in_order(&kept)?;
        let mut l = fit.l.values().to_vec();
        for row in l.chunks_exact_mut(kept.len()) {
            let sum: f32 = row.iter().sum();
            match sum > 0.0 {
                true => row.iter_mut().for_each(|proportion| *proportion /= sum),
                false => row.fill(1.0 / kept.len() as f32),
            }
        }
        fit.l = Matrix::from_parts(self.documents(), kept.len(), l);
        fit.settings.topics = kept.len();
        fit.history = Vec::new();
        Ok(fit)
    }
}
