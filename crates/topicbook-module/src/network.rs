//! A module and its loss, with their types erased.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::backend::Flex;
use burn::module::{AutodiffModule, ParamId};
use burn::tensor::Tensor;

use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::parameters::{Parameter, parameters, replaced};
use crate::{CountBatch, Cpu, Tracked};

/// A module that is trained by a loss, of any type.
pub trait Network: Send {
    /// The loss of a batch.
    fn loss(&self, batch: &CountBatch) -> Tensor<Cpu, 1>;

    /// The parameters as they are.
    fn parameters(&self) -> Vec<Parameter>;

    /// Gives the parameters of these numbers other values.
    fn replace(&mut self, values: HashMap<ParamId, Tracked>);

    /// What the validation measures on a batch, without gradients and with dropout off; `None` without a validation.
    fn validator(&self) -> Option<Measure>;
}

/// What a function of a module makes of a batch. Burn panics on shapes that do not fit one another.
///
/// # Errors
/// When the function panics.
pub fn of_batch<T>(batch: &CountBatch, run: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let what = format!("the loss panicked: {}", panic_text(&*panic));
        Error::new(ErrorKind::Value, what).fix(match batch.labels().is_empty() {
            true => "these batches have no labels; a loss that uses batch.labels() needs them: \
                     batches.labels(documents.labels(\"folder\")?)?",
            false => "compare the shapes: batch.rows() is rows x columns, batch.labels() has a number for each row",
        })
    })
}

/// What measures a batch.
pub type Measure = Box<dyn Fn(&CountBatch) -> Tensor<Flex, 1>>;

/// Makes of a module what measures it without gradients. The type of that module is not in its own, so that a notebook's type
/// inference, which sees no derived traits, can name what holds it.
pub type Validation<M> = Arc<dyn Fn(&M) -> Measure + Send + Sync>;

/// A module of one's own and its loss.
pub struct OwnNetwork<M, L> {
    module: M,
    loss: L,
    validation: Option<Validation<M>>,
}

impl<M, L> OwnNetwork<M, L>
where
    M: AutodiffModule<Cpu>,
    L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
{
    /// A module that is trained by `loss`.
    pub fn new(module: M, loss: L, validation: Option<Validation<M>>) -> Self {
        Self {
            module,
            loss,
            validation,
        }
    }

    /// The module as it is.
    pub fn into_module(self) -> M {
        self.module
    }
}

impl<M, L> Network for OwnNetwork<M, L>
where
    M: AutodiffModule<Cpu>,
    L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
{
    fn loss(&self, batch: &CountBatch) -> Tensor<Cpu, 1> {
        (self.loss)(&self.module, batch)
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters(&self.module)
    }

    fn replace(&mut self, values: HashMap<ParamId, Tracked>) {
        // A clone shares its values with the module.
        self.module = replaced(self.module.clone(), values);
    }

    fn validator(&self) -> Option<Measure> {
        let validation = self.validation.as_ref()?;
        Some(validation(&self.module))
    }
}
