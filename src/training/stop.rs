//! The stop button of a notebook ends a fit early.

use std::ops::ControlFlow;

use crate::system::StopButton;

use super::observer::{Observer, StepContext};
use super::progress::epochs_done;

/// An observer that ends the fit at the next opportunity after the button was pressed. The fit returns what it has
/// learned, so that no variable of the notebook is lost.
pub(crate) struct StopObserver(StopButton);

impl StopObserver {
    /// `None` outside of topicbook's kernel.
    pub(crate) fn listen() -> Option<Self> {
        StopButton::listen().map(Self)
    }
}

impl Observer for StopObserver {
    fn batch_finished(&mut self, context: &mut StepContext) -> ControlFlow<()> {
        if !self.0.is_pressed() {
            return ControlFlow::Continue(());
        }
        context.note(format!(
            "stopped after {} epochs; the fit holds what it has learned",
            epochs_done(context.done)
        ));
        ControlFlow::Break(())
    }
}
