//! Run-time dispatch to AVX-512 or AVX2, because notebook builds are compiled without `target-cpu`.

use std::sync::LazyLock;

/// The environment variable that limits the instructions: `avx2` or `none`. Tests and benchmarks compare them on one machine.
const VARIABLE: &str = "TOPICBOOK_INSTRUCTIONS";

/// The vector instructions for which functions are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    Baseline,
    Avx2,
    Avx512,
}

impl Instructions {
    /// The widest that the processor has, unless `TOPICBOOK_INSTRUCTIONS` names others. The first call decides.
    pub fn used() -> Self {
        static USED: LazyLock<Instructions> = LazyLock::new(|| {
            let named = std::env::var(VARIABLE).unwrap_or_default();
            let most = match &*named {
                "none" => Instructions::Baseline,
                "avx2" => Instructions::Avx2,
                _ => Instructions::Avx512,
            };
            most.min(Instructions::widest())
        });
        *USED
    }

    /// The widest that the processor has.
    fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 =
                std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
            if has_avx2
                && std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if has_avx2 {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }

    /// The name, as processor vendors write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Baseline => "no AVX",
        }
    }
}

/// Compiles a function body for AVX-512, for AVX2 with FMA, and for the baseline, and chooses among them at run time. In a
/// function with a type parameter `V: Vector`, this is the type of vectors for the instructions.
///
/// A body gives the same bits on every machine: Rust never contracts `a * b + c` by itself, and an explicit `mul_add`
/// rounds once everywhere. On x86-64 without FMA (before 2013) `mul_add` is a library call, many times slower.
#[doc(hidden)]
#[macro_export]
macro_rules! simd_dispatch {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn portable($($argument: $type),*) $body
            $crate::simd_dispatch!(@choose ($($argument: $type),*) portable, portable, portable);
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident<$V:ident: Vector>($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn portable<$V: $crate::system::Vector>($($argument: $type),*) $body
            $crate::simd_dispatch!(
                @choose ($($argument: $type),*)
                portable::<$crate::system::x86::Avx512>,
                portable::<$crate::system::x86::Avx2>,
                portable::<[f32; $crate::system::LANES]>
            );
        }
    };
    (@choose ($($argument:ident: $type:ty),*) $avx512:expr, $avx2:expr, $portable:expr) => {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512($($argument: $type),*) {
                $avx512($($argument),*)
            }
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) {
                $avx2($($argument),*)
            }
            match $crate::system::Instructions::used() {
                // SAFETY: the processor has these instructions.
                $crate::system::Instructions::Avx512 => return unsafe { avx512($($argument),*) },
                // SAFETY: as above.
                $crate::system::Instructions::Avx2 => return unsafe { avx2($($argument),*) },
                $crate::system::Instructions::Baseline => {}
            }
        }
        $portable($($argument),*)
    };
}
pub use crate::simd_dispatch;
