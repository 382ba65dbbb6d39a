//! The techniques: which two runs show one, and what is claimed for it.

/// What a technique is, the runs with and without it, and the saving of memory and the cost in time that the table of seed
/// document 002 (Dev Weekends, "Memory-Efficient Training") gives for neural networks.
pub const TECHNIQUES: [[&str; 4]; 4] = [
    [
        "GPU: gradient checkpointing instead of activations kept",
        "GPU: checkpointing",
        "GPU: kept",
        "60 to 70%, costs 30 to 40%",
    ],
    [
        "GPU: gradients accumulated over 4 parts of a batch",
        "GPU: 4 parts",
        "GPU: kept",
        "linear in steps, costs nothing",
    ],
    [
        "GPU: activations never made: fused kernels",
        "GPU: fused",
        "GPU: kept",
        "50% of attention, costs nothing (Flash Attention)",
    ],
    [
        "GPU: L and its optimizer states in RAM",
        "GPU: L offloaded",
        "GPU: L there",
        "50 to 70%, costs 20 to 50% (CPU offloading)",
    ],
];
