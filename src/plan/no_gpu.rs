//! Stands in for the GPU part of plans in a build without the feature `cuda`, where no fit is ever given a GPU.

use crate::config::{Device, Resolved, Solver};
use crate::cost::{Item, Shape};
use crate::counts::Counts;
use crate::error::Result;

pub(super) fn after_self_check(
    device: Resolved,
    _requested: Device,
) -> Result<(Resolved, Option<String>)> {
    Ok((device, None))
}

pub(super) fn free_vram(_device: Resolved) -> Option<u64> {
    None
}

pub(super) fn bytes_of_count(_counts: &Counts) -> u64 {
    0
}

pub(super) fn largest_page(_device: Resolved) -> u64 {
    0
}

pub(super) fn vram(_solver: &Solver, _shape: &Shape, _resident: bool) -> Vec<Item> {
    Vec::new()
}

pub(super) fn ram_of_steps(_shape: &Shape, _resident: bool, _resumed: bool) -> Vec<Item> {
    Vec::new()
}

pub(super) fn ram_of_tensors(_shape: &Shape, _resumed: bool) -> Vec<Item> {
    Vec::new()
}

pub(super) fn ram_of_solver(_solver: &Solver, _shape: &Shape, _resident: bool) -> Vec<Item> {
    Vec::new()
}
