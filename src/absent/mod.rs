//! Stands in for the crate `topicbook-gpu` in a build without the feature `cuda`, where no fit is ever given a GPU.

pub(crate) mod backend;
pub(crate) mod solvers;
pub(crate) mod step;
