//! The techniques: which two runs show one, and what is claimed for it.

/// A technique, the runs with and without it, and the saving of memory and the cost in time that the table of seed document 002
/// (Dev Weekends, "Memory-Efficient Training") gives for neural networks.
pub struct Technique {
    pub what: &'static str,
    pub with: &'static str,
    pub without: &'static str,
    pub claimed: &'static str,
}

const fn technique(
    what: &'static str,
    with: &'static str,
    without: &'static str,
    claimed: &'static str,
) -> Technique {
    Technique {
        what,
        with,
        without,
        claimed,
    }
}

const CHECKPOINTING: &str = "60 to 70%, costs 30 to 40%";
const ACCUMULATION: &str = "linear in steps, costs nothing";
const FLASH: &str = "50% of attention, costs nothing (Flash Attention)";
const OFFLOADING: &str = "50 to 70%, costs 20 to 50% (CPU offloading)";
const MIXED: &str = "50%, costs nothing (mixed precision)";

pub const TECHNIQUES: [Technique; 16] = [
    technique(
        "gradient checkpointing instead of activations kept",
        "checkpointing",
        "kept",
        CHECKPOINTING,
    ),
    technique(
        "gradients accumulated over 4 parts of a batch",
        "4 parts",
        "kept",
        ACCUMULATION,
    ),
    technique(
        "gradients accumulated over 16 parts of a batch",
        "16 parts",
        "kept",
        ACCUMULATION,
    ),
    technique(
        "activations never made: an operation with its own backward",
        "own backward",
        "kept",
        FLASH,
    ),
    technique(
        "activations never made: fused passes, the default",
        "fused",
        "kept",
        FLASH,
    ),
    technique(
        "dense counts in u8 instead of f32",
        "counts in u8",
        "counts in f32",
        MIXED,
    ),
    technique(
        "nonzero counts only (CSR) instead of dense u8",
        "fused",
        "counts in u8",
        "-",
    ),
    technique(
        "counts read in place from a file instead of in memory (u8)",
        "counts in place",
        "counts in u8",
        "-",
    ),
    technique(
        "counts streamed from a file instead of in memory (u8)",
        "counts streamed",
        "counts in u8",
        "-",
    ),
    technique(
        "L and its optimizer states in bf16 instead of f32",
        "two states in bf16",
        "two states",
        MIXED,
    ),
    technique(
        "one optimizer state instead of two (SGD with momentum, row-wise)",
        "one state",
        "two states",
        "-",
    ),
    technique(
        "L and its optimizer states in a mapped file",
        "L in a file",
        "two states",
        OFFLOADING,
    ),
    technique(
        "GPU: gradient checkpointing instead of activations kept",
        "GPU: checkpointing",
        "GPU: kept",
        CHECKPOINTING,
    ),
    technique(
        "GPU: gradients accumulated over 4 parts of a batch",
        "GPU: 4 parts",
        "GPU: kept",
        ACCUMULATION,
    ),
    technique(
        "GPU: activations never made: fused kernels",
        "GPU: fused",
        "GPU: kept",
        FLASH,
    ),
    technique(
        "GPU: L and its optimizer states in RAM",
        "GPU: L offloaded",
        "GPU: L there",
        OFFLOADING,
    ),
];
