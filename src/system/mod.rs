//! Operating system and processor: files, memory, GPU drivers, SIMD, random numbers and progress output.

mod aligned;
mod atomic_file;
mod bf16;
mod cache_folder;
mod claim;
#[cfg(feature = "cuda")]
pub(crate) mod cuda_driver;
mod held;
mod live_output;
mod mapped_file;
mod mapped_range;
mod mapped_table;
pub(crate) mod memory;
#[cfg(feature = "cuda")]
mod nvml;
mod open_file;
mod prefetch;
mod progress_lines;
mod random;
mod regular_file;
#[cfg(feature = "cuda")]
mod self_checks;
pub(crate) mod serde_f64;
mod shared_map;
mod simd;
mod simd_math;
mod spread;
mod stop_button;
mod team;
mod torch_random;
mod vector;
mod write_target;

pub(crate) use aligned::{Aligned, aligned_zeros};
pub(crate) use atomic_file::{
    DISK_FULL_REMEDY, check_space, create_sized, free_space, remove_stale, temporary_in,
    unlinked_temp_file, write_atomic, write_atomic_path, write_atomic_sized,
};
pub(crate) use bf16::{from_bf16, to_bf16};
pub(crate) use cache_folder::cache_folder;
pub(crate) use claim::{Claim, parsed_json};
#[cfg(feature = "notebook")]
pub(crate) use held::held;
pub(crate) use held::{address, hold};
pub(crate) use live_output::LiveOutput;
pub(crate) use mapped_file::MappedFile;
pub(crate) use mapped_table::{Plain, Values, lazy_zeroed, mapped_zeros, values_of_file};
#[cfg(feature = "cuda")]
pub(crate) use nvml::{driver_version, gpu_memory};
pub(crate) use open_file::{Advice, OpenFile};
pub(crate) use prefetch::prefetch_lines;
pub use progress_lines::show_progress;
pub(crate) use progress_lines::{Board, Lines, Progress, Throughput, print_lines};
pub(crate) use random::{Purpose, dirichlet_rows, stream};
pub(crate) use regular_file::{check_regular, read_whole};
#[cfg(feature = "cuda")]
pub(crate) use self_checks::{SelfCheck, Subject};
pub(crate) use shared_map::SharedMap;
pub(crate) use simd::{Instructions, simd_dispatch};
pub(crate) use simd_math::{LANES, exp, lanes, ln, max, max_of_numbers, per_lane, softmax, sum};
pub(crate) use spread::spread_threads;
pub(crate) use stop_button::StopButton;
pub(crate) use team::Team;
pub(crate) use torch_random::{EpochOrders, TorchRandom};
pub(crate) use vector::Vector;
#[cfg(target_arch = "x86_64")]
pub(crate) use vector::x86;
pub(crate) use write_target::follow_links;
