//! Burn's optimizers, of any kind, with their state.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use burn::backend::Flex;
use burn::grad_clipping::GradientClipping;
use burn::module::ParamId;
use burn::nn::Linear;
use burn::optim::adaptor::OptimizerAdaptor;
use burn::optim::{
    AdaGradConfig, AdamConfig, AdamWConfig, RmsPropConfig, SgdConfig, SimpleOptimizer,
};
use burn::record::{BinBytesRecorder, FullPrecisionSettings, Recorder};
use burn::tensor::{Tensor, TensorMetadata, TensorPrimitive};

use crate::error::{Error, Result};
use crate::rank::with_rank;
use crate::{Cpu, Plain};

/// An optimizer of Burn's, as `Trainer::optimizer` takes it: made of its
/// configuration, or of any type that implements Burn's `SimpleOptimizer`.
///
/// ```
/// use topicbook::ModuleOptimizer;
/// use topicbook::burn::optim::{AdamConfig, SgdConfig};
/// let adam = ModuleOptimizer::from(AdamConfig::new().with_beta_1(0.8));
/// let sgd: ModuleOptimizer = SgdConfig::new().into();
/// assert_eq!((adam.to_string(), sgd.to_string()), ("Adam".into(), "Sgd".into()));
/// ```
#[derive(Clone)]
pub struct ModuleOptimizer {
    name: &'static str,
    create: Arc<dyn Fn() -> Box<dyn Update> + Send + Sync>,
}

impl ModuleOptimizer {
    /// An optimizer of one's own, which updates each parameter by its gradient.
    ///
    /// ```
    /// use topicbook::ModuleOptimizer;
    /// use topicbook::burn::optim::SgdConfig;
    /// use topicbook::{Cpu, burn::nn::Linear};
    /// let sgd = SgdConfig::new().init::<Cpu, Linear<Cpu>>();
    /// let own = ModuleOptimizer::new("mine", sgd.optim().clone());
    /// assert_eq!(own.to_string(), "mine");
    /// ```
    pub fn new<O: SimpleOptimizer<Flex> + 'static>(name: &'static str, optimizer: O) -> Self {
        Self::with_clipping(name, optimizer, None)
    }

    fn with_clipping<O: SimpleOptimizer<Flex> + 'static>(
        name: &'static str,
        optimizer: O,
        clipping: Option<GradientClipping>,
    ) -> Self {
        let create = move || -> Box<dyn Update> {
            Box::new(ByParameter {
                optimizer: optimizer.clone(),
                clipping: clipping.clone(),
                states: BTreeMap::new(),
            })
        };
        Self {
            name,
            create: Arc::new(create),
        }
    }

    /// The optimizer before its first step.
    #[doc(hidden)]
    pub fn create(&self) -> Box<dyn Update> {
        (self.create)()
    }
}

impl fmt::Display for ModuleOptimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for ModuleOptimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModuleOptimizer({})", self.name)
    }
}

macro_rules! from_config {
    ($($config:ident $name:literal),*) => {$(
        impl From<$config> for ModuleOptimizer {
            fn from(config: $config) -> Self {
                // The module's type is a formality here.
                let adaptor: OptimizerAdaptor<_, Linear<Cpu>, Cpu> = config.init();
                let clipping = adaptor.grad_clipping().cloned();
                Self::with_clipping($name, adaptor.optim().clone(), clipping)
            }
        }
    )*};
}
from_config!(AdamConfig "Adam", AdamWConfig "AdamW", SgdConfig "Sgd", RmsPropConfig "RmsProp", AdaGradConfig "AdaGrad");

/// What an optimizer keeps for a parameter: the parameter's number, its rank, and the bytes of Burn's record.
pub type OptimizerState = (u64, usize, Vec<u8>);

/// An optimizer and what it keeps for each parameter.
pub trait Update: Send {
    /// The parameter after a step.
    fn step(&mut self, id: ParamId, learning_rate: f64, value: Plain, gradient: Plain) -> Plain;

    /// What it keeps, in the order of the parameters' numbers.
    fn state(&self) -> Result<Vec<OptimizerState>>;

    /// Goes on from this state.
    fn load(&mut self, state: &[OptimizerState]) -> Result<()>;
}

struct ByParameter<O> {
    optimizer: O,
    clipping: Option<GradientClipping>,
    /// By the parameter's number: its rank, and the optimizer's state of that rank.
    states: BTreeMap<u64, (usize, Box<dyn Any + Send>)>,
}

/// Burn's records as bytes, with all bits of their numbers.
type Bytes = BinBytesRecorder<FullPrecisionSettings>;

impl<O: SimpleOptimizer<Flex>> ByParameter<O> {
    fn step_of<const D: usize>(
        &mut self,
        id: u64,
        learning_rate: f64,
        value: Plain,
        gradient: Plain,
    ) -> Plain {
        let tensor = |value| Tensor::<Flex, D>::from_primitive(TensorPrimitive::Float(value));
        let gradient = match &self.clipping {
            Some(clipping) => clipping.clip_gradient(tensor(gradient)),
            None => tensor(gradient),
        };
        let state = self.states.remove(&id);
        let state = state.and_then(|(_, state)| state.downcast::<O::State<D>>().ok());
        let state = state.map(|state| *state);
        let (value, state) = self
            .optimizer
            .step(learning_rate, tensor(value), gradient, state);
        if let Some(state) = state {
            self.states.insert(id, (D, Box::new(state)));
        }
        value.into_primitive().tensor()
    }

    fn bytes_of<const D: usize>(state: &dyn Any) -> Result<Vec<u8>> {
        let state = state.downcast_ref::<O::State<D>>().cloned();
        let state = state.ok_or_else(|| unreadable(&"a state of another rank"))?;
        Bytes::default()
            .record(state, ())
            .map_err(|error| unreadable(&error))
    }

    fn state_of<const D: usize>(bytes: &[u8]) -> Result<Box<dyn Any + Send>> {
        let load = Bytes::default().load(bytes.to_vec(), &Default::default());
        let state: O::State<D> = load.map_err(|error| unreadable(&error))?;
        Ok(Box::new(state))
    }
}

fn unreadable(what: &dyn fmt::Display) -> Error {
    Error::setting(format!("the optimizer's state cannot be used: {what}"))
        .fix("train from the start, or with the optimizer that wrote it")
}

impl<O: SimpleOptimizer<Flex>> Update for ByParameter<O> {
    fn step(&mut self, id: ParamId, learning_rate: f64, value: Plain, gradient: Plain) -> Plain {
        let rank = value.shape().num_dims();
        with_rank!(rank, D => self.step_of::<D>(id.val(), learning_rate, value, gradient))
    }

    fn state(&self) -> Result<Vec<OptimizerState>> {
        let states = self.states.iter().map(|(&id, (rank, state))| {
            let bytes = with_rank!(*rank, D => Self::bytes_of::<D>(&**state))?;
            Ok((id, *rank, bytes))
        });
        states.collect()
    }

    fn load(&mut self, states: &[OptimizerState]) -> Result<()> {
        for (id, rank, bytes) in states {
            let state = with_rank!(*rank, D => Self::state_of::<D>(bytes))?;
            self.states.insert(*id, (*rank, state));
        }
        Ok(())
    }
}
