//! The parameters of a module, taken out and put back. What is generic here is compiled in cells, so it is short.

use std::collections::HashMap;

use burn::backend::Flex;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::ops::FloatTensorOps;
use burn::tensor::{Tensor, TensorMetadata, TensorPrimitive};

use crate::error::{Error, Result};
use crate::rank::with_rank;
use crate::{Cpu, Plain, Tracked};

/// A float parameter of a module.
#[derive(Clone)]
pub struct Parameter {
    /// Its number in the module; optimizers keep their state under it.
    pub id: ParamId,
    /// The fields that lead to it, as `encoder.weight`.
    pub path: String,
    /// Whether gradients are computed for it.
    pub is_trained: bool,
    /// Its value.
    pub value: Tracked,
}

impl Parameter {
    /// Lengths of its dimensions.
    pub fn shape(&self) -> Vec<usize> {
        self.value.shape().to_vec()
    }

    /// Number of its values.
    pub fn count(&self) -> usize {
        self.shape().iter().product()
    }

    /// Its value without the graph.
    pub fn plain(&self) -> Plain {
        Cpu::inner(self.value.clone())
    }

    /// Another value for the same parameter.
    pub fn with(&self, value: Plain) -> Tracked {
        match self.is_trained {
            true => leaf(value),
            false => Cpu::from_inner(value),
        }
    }

    /// The numbers of a value of this parameter, row by row.
    pub fn numbers(&self, value: Plain) -> Result<Vec<f32>> {
        let numbers = flat(value).into_data().to_vec();
        numbers.map_err(|error| {
            Error::setting(format!("{} does not hold f32: {error:?}", self.path))
                .fix("train the module in f32")
        })
    }

    /// A value of this parameter of these numbers.
    pub fn shaped(&self, numbers: &[f32]) -> Plain {
        let flat = Tensor::<Flex, 1>::from_floats(numbers, &Default::default());
        Flex::float_reshape(flat.into_primitive().tensor(), self.shape().into())
    }
}

/// A leaf of the graph of gradients.
pub(crate) fn leaf(value: Plain) -> Tracked {
    let rank = value.shape().num_dims();
    with_rank!(rank, D => {
        let value = Tensor::<Flex, D>::from_primitive(TensorPrimitive::Float(value));
        Tensor::<Cpu, D>::from_inner(value).require_grad().into_primitive().tensor()
    })
}

/// The values of a tensor as a vector.
pub(crate) fn flat(value: Plain) -> Tensor<Flex, 1> {
    let length = value.shape().num_elements();
    let value = Flex::float_reshape(value, [length].into());
    Tensor::from_primitive(TensorPrimitive::Float(value))
}

struct Collect {
    path: Vec<String>,
    found: Vec<Parameter>,
}

impl Collect {
    fn push(&mut self, id: ParamId, is_trained: bool, value: Tracked) {
        self.found.push(Parameter {
            id,
            path: self.path.join("."),
            is_trained,
            value,
        });
    }
}

impl ModuleVisitor<Cpu> for Collect {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<Cpu, D>>) {
        let value = param.val();
        self.push(
            param.id,
            value.is_require_grad(),
            value.into_primitive().tensor(),
        );
    }

    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }
}

/// The float parameters of a module, in the order of its fields.
pub(crate) fn parameters<M: Module<Cpu>>(module: &M) -> Vec<Parameter> {
    let mut collect = Collect {
        path: Vec::new(),
        found: Vec::new(),
    };
    module.visit(&mut collect);
    collect.found
}

/// Draws the values of parameters that wait for their first use, so that all copies of the module begin alike: a copy of a
/// parameter that waits would draw its own.
pub fn initialize<M: Module<Cpu>>(module: &M) {
    parameters(module);
}

/// Replaces values; others stay.
struct Replace<'a>(&'a mut HashMap<ParamId, Tracked>);

impl Replace<'_> {
    fn value(&mut self, id: ParamId) -> Option<TensorPrimitive<Cpu>> {
        self.0.remove(&id).map(TensorPrimitive::Float)
    }
}

impl ModuleMapper<Cpu> for Replace<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<Cpu, D>>) -> Param<Tensor<Cpu, D>> {
        let (id, tensor, mapper) = param.consume();
        let tensor = self.value(id).map_or(tensor, Tensor::from_primitive);
        Param::from_mapped_value(id, tensor, mapper)
    }
}

/// The module with other values of the parameters that `values` names.
pub(crate) fn replaced<M: Module<Cpu>>(module: M, mut values: HashMap<ParamId, Tracked>) -> M {
    module.map(&mut Replace(&mut values))
}
