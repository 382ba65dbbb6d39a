//! Charts of a fit.

use crate::charts::{Chart, Losses, Run};
use crate::data::dominant;

use super::Fit;
use super::history::{loss_chart, run};
use super::topic_map::topic_map;

impl Losses for Fit {
    fn run(&self) -> Run {
        run(&self.history)
    }
}

impl Fit {
    /// Plots the loss and the log-likelihood per token against the epoch. [`Chart::losses`] compares several fits.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.plot_loss().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "learning_curve")]
    pub fn plot_loss(&self) -> Chart {
        loss_chart(&self.history)
    }

    /// Plots the structure of L: one column per document with its topics stacked, sorted by dominant topic
    /// ([`sort_documents`](Self::sort_documents)). Topics have their [names](Self::name_topics);
    /// [`topics`](Chart::topics) shows some of them and the rest in grey, [`by`](Chart::by) groups the documents by labels.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.plot_structure().title("Topics").to_svg()?.contains("Topics"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "structure_plot")]
    pub fn plot_structure(&self) -> Chart {
        Chart::structure_of(&self.l, self.names.clone()).of_documents(self.document_names())
    }

    /// Plots the `n` most probable terms of every topic as bars; from 1 to the number of terms. Topics have their
    /// [names](Self::name_topics); [`topics`](Chart::topics) shows some of them.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.plot_top_terms(8).to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over F.
    pub fn plot_top_terms(&self, n: usize) -> Chart {
        Chart::top_terms_of(&self.f, self.terms.as_ref(), n, self.names.clone())
    }

    /// Plots the [map of the topics](Self::topic_map): similar topics are close to each other, and areas are the shares of the
    /// topics in [`topic_sizes`](Self::topic_sizes).
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.name_topics([(2, "science")])?.plot_topic_map().to_svg()?.contains("science"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// As [`topic_map`](Self::topic_map), and one pass over L.
    #[doc(alias = "intertopic_distance_map")]
    pub fn plot_topic_map(&self) -> Chart {
        let map = topic_map(&self.f);
        let shares = self.topic_shares();
        Chart::topic_map_of(&map.points, &shares, self.names.clone(), map.shown, &[])
    }

    /// Plots a network of the topics: lines join topics that occur together in documents, and are the wider the stronger they
    /// [correlate](Self::topic_correlation), from 0, without a line, to 1. The topics lie as on the
    /// [map](Self::plot_topic_map): close to each other where their terms are similar.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.plot_topic_network().title("Topics").to_svg()?.contains("Topic 2"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// As [`topic_map`](Self::topic_map) and [`topic_correlation`](Self::topic_correlation).
    #[doc(alias("topicCorr", "graph", "network"))]
    pub fn plot_topic_network(&self) -> Chart {
        let map = topic_map(&self.f);
        let correlation = self.topic_correlation();
        let pairs = (0..self.topics()).flat_map(|b| (0..b).map(move |a| [a, b]));
        let links = pairs.map(|[a, b]| ([a, b], f64::from(correlation.row(a)[b])));
        let links: Vec<_> = links.filter(|(_, strength)| *strength > 0.0).collect();
        let shares = self.topic_shares();
        Chart::topic_map_of(&map.points, &shares, self.names.clone(), map.shown, &links)
            .title("Topics that occur together")
    }

    /// Plots the [map of the documents](Self::document_map) in the colours of their dominant topics, or of labels
    /// ([`Chart::by`]). Where there are more documents than dots have room, a dot stands for several of them and grows with their
    /// number.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.plot_document_map().to_png()?.starts_with(b"\x89PNG"));
    /// let years: Vec<u32> = (0..60).map(|document| 1990 + document / 20).collect();
    /// assert!(fit.plot_document_map().by(&years).to_svg()?.contains("1992"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// As [`document_map`](Self::document_map); 32 bytes x documents of memory.
    #[doc(alias = "pca_plot")]
    pub fn plot_document_map(&self) -> Chart {
        let map = self.map_documents();
        let documents = 0..self.documents();
        let dominant: Vec<usize> = documents.map(|row| dominant(self.l.row(row))).collect();
        let topics = (self.topics(), self.names.clone());
        Chart::document_map_of(&map.points, dominant, topics, map.shown)
            .of_documents(self.document_names())
    }

    /// Plots a tree of the topics (a dendrogram): the two topics, or groups of topics, with the smallest mean
    /// [distance](Self::topic_distances) are joined, until one group is left.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.plot_topic_tree().to_svg()?.contains("Topic 2"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: for a fit with one topic.
    ///
    /// # Cost
    /// As [`topic_order`](Self::topic_order).
    #[doc(alias("dendrogram", "visualize_hierarchy"))]
    pub fn plot_topic_tree(&self) -> Chart {
        let (joins, order) = self.topic_tree();
        let joins = joins
            .iter()
            .map(|join| (join.left, join.right, join.distance));
        Chart::topic_tree_of(order, joins.collect(), self.names.clone())
    }
}
