//! The chart of what does not exist: an error when it is drawn.

use crate::error::{Error, Result};

use super::canvas::{Area, Canvas};
use super::layout::Heights;
use super::options::Options;
use super::{Chart, Panel};

/// Height of the error in a composition, which is never drawn.
const PLOT_HEIGHT: i64 = 400;

impl Chart {
    /// A chart that is this error when it is drawn.
    #[doc(hidden)]
    pub fn failed(error: Error) -> Self {
        Self::panel(Failed { error })
    }
}

struct Failed {
    error: Error,
}

impl Panel for Failed {
    fn kind(&self) -> &'static str {
        "a chart of one topic"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "y_label", "colors"]
    }

    fn describe(&self, _options: &Options) -> String {
        self.error.to_string()
    }

    fn heights(&self, _width: i64, _options: &Options) -> Heights {
        Heights {
            fixed: 0,
            plots: PLOT_HEIGHT,
        }
    }

    fn draw(&self, _canvas: &dyn Canvas, _area: Area, _options: &Options) -> Result<()> {
        Err(self.error.clone())
    }
}
