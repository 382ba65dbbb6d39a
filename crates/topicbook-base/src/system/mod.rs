//! Operating system and processor: files, memory, GPU drivers, SIMD, random numbers and progress output.

mod aligned;
mod atomic_file;
mod bf16;
mod cache_folder;
mod claim;
mod comm;
#[cfg(feature = "cuda")]
pub mod cuda_driver;
mod encoding;
mod held;
mod live_output;
mod lock;
mod mapped_file;
mod mapped_range;
mod mapped_table;
pub mod memory;
#[cfg(feature = "cuda")]
mod nvml;
mod open_file;
mod prefetch;
mod progress_lines;
mod random;
mod regular_file;
#[cfg(feature = "cuda")]
mod self_checks;
pub mod serde_f64;
mod shared_map;
mod simd;
mod simd_math;
mod spread;
mod stop_button;
mod team;
mod text_file;
mod torch_random;
mod vector;
mod write_target;

pub use aligned::{Aligned, aligned_zeros};
pub use atomic_file::{
    DISK_FULL_REMEDY, check_space, create_sized, free_space, remove_stale, temporary_in,
    unlinked_temp_file, write_atomic, write_atomic_path, write_atomic_sized,
};
pub use bf16::{from_bf16, to_bf16};
pub use cache_folder::cache_folder;
pub use claim::{Claim, parsed_json};
pub use comm::Comm;
pub use encoding::Encoding;
pub use held::held;
pub use held::{address, hold};
pub use live_output::{LiveOutput, in_own_kernel};
pub use lock::lock;
pub use mapped_file::MappedFile;
pub use mapped_table::{Plain, Values, lazy_zeroed, mapped_zeros, values_of_file};
#[cfg(feature = "cuda")]
pub use nvml::{driver_version, gpu_memory};
pub use open_file::{Advice, OpenFile};
pub use prefetch::prefetch_lines;
pub use progress_lines::show_progress;
pub use progress_lines::{Board, Lines, Progress, Throughput, print_lines};
pub use random::{Purpose, dirichlet_rows, mix, stream};
pub use regular_file::{check_regular, read_whole};
#[cfg(feature = "cuda")]
pub use self_checks::{SelfCheck, Subject};
pub use shared_map::SharedMap;
pub use simd::{Instructions, simd_dispatch};
pub use simd_math::{LANES, exp, lanes, ln, max, max_of_numbers, per_lane, softmax, sum};
pub use spread::{give_way, spread_threads};
pub use stop_button::StopButton;
pub use team::Team;
pub use text_file::{
    TextFile, decoded, is_note, line_of, not_utf8, unpacked_extension, unpacked_name,
};
pub use torch_random::{EpochOrders, TorchRandom};
pub use vector::Vector;
#[cfg(target_arch = "x86_64")]
pub use vector::x86;
pub use write_target::follow_links;
