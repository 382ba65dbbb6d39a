//! The chart of a topic that does not exist: an error when it is drawn.

use crate::error::{Error, Result};
use crate::text::counted;

use super::canvas::{Area, Canvas};
use super::layout::Heights;
use super::options::Options;
use super::{Chart, Panel};

/// Height of the error in a composition, which is never drawn.
const PLOT_HEIGHT: i64 = 400;

impl Chart {
    /// A chart of a topic that does not exist: an error when it is drawn.
    #[doc(hidden)]
    pub fn no_such_topic(topic: usize, topics: usize) -> Self {
        Self::panel(NoSuchTopic { topic, topics })
    }
}

/// A topic that does not exist.
struct NoSuchTopic {
    topic: usize,
    topics: usize,
}

impl Panel for NoSuchTopic {
    fn kind(&self) -> &'static str {
        "a chart of one topic"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "y_label"]
    }

    fn describe(&self, _options: &Options) -> String {
        format!(
            "topic {} of a fit with {}",
            self.topic,
            counted(self.topics, "topic")
        )
    }

    fn heights(&self, _width: i64, _options: &Options) -> Heights {
        Heights {
            fixed: 0,
            plots: PLOT_HEIGHT,
        }
    }

    fn draw(&self, _canvas: &dyn Canvas, _area: Area, options: &Options) -> Result<()> {
        Err(Error::drawing(self.describe(options)).fix("topics are counted from 0"))
    }
}
