//! What cells use of Burn's generic functions, compiled here once for [`Cpu`] and [`Flex`].
//!
//! A cell shares what a crate of level 1 has compiled (`-Zshare-generics`, which the kernel gives to rustc). What is named here
//! is not called: naming a function compiles it. Most of the time goes into the operations with their gradients.

use std::hint::black_box;

use burn::backend::Flex;
use burn::module::{AutodiffModule, Module, Param};
use burn::nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};
use burn::nn::{
    Dropout, Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig,
};
use burn::tensor::backend::Backend;
use burn::tensor::ops::{ActivationOps, FloatTensorOps, ModuleOps};
use burn::tensor::{Bool, FloatDType, Int, Tensor, activation};

use crate::Cpu;
use crate::parameters::{initialize, replaced};

/// Names functions, so that they are compiled.
macro_rules! compile {
    ($($function:expr),* $(,)?) => {
        $(black_box($function as *const ());)*
    };
}

/// Names methods of a trait.
macro_rules! compile_ops {
    ($of:ty, $ops:ident: $($name:ident)*) => {
        compile!($(<$of as $ops<$of>>::$name),*)
    };
}

/// Names all of them.
#[doc(hidden)]
pub fn compiled() {
    compile_ops!(Cpu, FloatTensorOps: float_add float_add_scalar float_sub float_sub_scalar float_mul float_mul_scalar float_div
        float_div_scalar float_matmul float_neg float_recip float_transpose float_swap_dims float_permute float_reshape float_expand
        float_gather float_scatter_add float_select float_select_add float_slice float_slice_assign float_mask_where
        float_mask_fill float_cat float_repeat_dim float_clamp float_clamp_min float_clamp_max float_sum float_sum_dim float_mean
        float_mean_dim float_max float_max_dim float_min float_argmax float_exp float_log float_log1p float_powf float_powf_scalar
        float_powi float_powi_scalar float_sqrt float_abs float_sin float_cos float_tanh float_erf float_sign float_cast
        float_into_int float_equal float_equal_elem float_greater float_greater_elem float_lower float_lower_elem float_random);
    compile_ops!(Cpu, ActivationOps: relu gelu sigmoid log_sigmoid leaky_relu softmax log_softmax);
    compile_ops!(Cpu, ModuleOps: embedding linear layer_norm);
    compile_ops!(Flex, ModuleOps: embedding linear layer_norm);
    of_backend::<Cpu>();
    of_backend::<Flex>();
    of_module::<Linear<Cpu>>();
    of_module::<LayerNorm<Cpu>>();
    of_module::<Embedding<Cpu>>();
    of_module::<Param<Tensor<Cpu, 2>>>();
}

/// What the trainer does with a module of these.
fn of_module<M: AutodiffModule<Cpu>>() {
    compile!(
        initialize::<M>,
        replaced::<M>,
        <M as AutodiffModule<Cpu>>::valid,
        <M as Module<Cpu>>::no_grad,
        <M as Clone>::clone
    );
}

/// The layers and the tensors of a backend.
fn of_backend<B: Backend>() {
    compile!(
        LinearConfig::init::<B>,
        LayerNormConfig::init::<B>,
        EmbeddingConfig::init::<B>,
        Embedding::<B>::forward,
        CrossEntropyLossConfig::init::<B>,
        CrossEntropyLoss::<B>::forward,
        Tensor::<B, 1, Int>::from_data::<&[i64]> as fn(_, &'static B::Device) -> _,
        Tensor::<B, 1, Int>::equal,
        Tensor::<B, 2, Int>::narrow,
        Tensor::<B, 2, Int>::reshape::<1, [usize; 1]>,
        Tensor::<B, 2>::int,
        Tensor::<B, 1, Bool>::float,
        Tensor::<B, 2>::flatten::<1> as fn(_, i32, i32) -> _,
        Tensor::<B, 2>::from_floats::<&[f32]>,
        Tensor::<B, 1>::into_scalar,
    );
    of_rank::<B, 1>();
    of_rank::<B, 2>();
    of_rank::<B, 3>();
    of_rank::<B, 4>();
    compile!(
        Linear::<B>::forward::<2>,
        Linear::<B>::forward::<3>,
        LayerNorm::<B>::forward::<2>,
        LayerNorm::<B>::forward::<3>,
        Tensor::<B, 2>::matmul,
        Tensor::<B, 3>::matmul,
        Tensor::<B, 4>::matmul,
    );
}

/// The tensors of a rank.
fn of_rank<B: Backend, const D: usize>() {
    compile!(
        Dropout::forward::<B, D>,
        Param::<Tensor<B, D>>::val,
        activation::relu::<D, B>,
        activation::gelu::<D, B>,
        activation::sigmoid::<D, B>,
        activation::softmax::<D, B>,
        activation::log_softmax::<D, B>,
        activation::log_sigmoid::<D, B>,
        Tensor::<B, D>::add,
        Tensor::<B, D>::add_scalar::<f64>,
        Tensor::<B, D>::sub,
        Tensor::<B, D>::sub_scalar::<f64>,
        Tensor::<B, D>::mul,
        Tensor::<B, D>::mul_scalar::<f64>,
        Tensor::<B, D>::div,
        Tensor::<B, D>::div_scalar::<f64>,
        Tensor::<B, D>::powf_scalar::<f64>,
        Tensor::<B, D>::powi_scalar::<i32>,
        Tensor::<B, D>::clamp_min::<f64>,
        Tensor::<B, D>::neg,
        Tensor::<B, D>::exp,
        Tensor::<B, D>::log,
        Tensor::<B, D>::sqrt,
        Tensor::<B, D>::abs,
        Tensor::<B, D>::tanh,
        Tensor::<B, D>::mean,
        Tensor::<B, D>::sum,
        Tensor::<B, D>::mean_dim::<i32>,
        Tensor::<B, D>::sum_dim::<i32>,
        Tensor::<B, D>::argmax,
        Tensor::<B, D>::random_like,
        Tensor::<B, D>::select as fn(_, i32, _) -> _,
        Tensor::<B, D>::cat,
        Tensor::<B, D>::narrow,
        Tensor::<B, D>::chunk,
        Tensor::<B, D>::mask_fill::<f64>,
        Tensor::<B, D>::swap_dims::<i32, i32>,
        Tensor::<B, D>::cast::<FloatDType>,
        Tensor::<B, D>::unsqueeze::<3>,
        Tensor::<B, D>::reshape::<2, [usize; 2]>,
        Tensor::<B, D>::reshape::<3, [usize; 3]>,
        Tensor::<B, D>::reshape::<4, [usize; 4]>,
        <Tensor::<B, D> as Clone>::clone,
    );
}
