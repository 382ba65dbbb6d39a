//! Run-time dispatch to AVX-512 or AVX2, because notebook builds are compiled without `target-cpu`.

/// Compiles a function body for AVX-512, for AVX2 with FMA, and for the baseline, and chooses among them at run time. In a
/// function with a type parameter `V: Vector`, this is the type of vectors for the instructions.
///
/// A body gives the same bits on every machine: Rust never contracts `a * b + c` by itself, and an explicit `mul_add`
/// rounds once everywhere. On x86-64 without FMA (before 2013) `mul_add` is a library call, many times slower.
macro_rules! simd_dispatch {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn portable($($argument: $type),*) $body
            $crate::system::simd_dispatch!(@choose ($($argument: $type),*) portable, portable, portable);
        }
    };
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident<$V:ident: Vector>($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn portable<$V: $crate::system::Vector>($($argument: $type),*) $body
            $crate::system::simd_dispatch!(
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
            if std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl")
            {
                // SAFETY: the processor has these instructions, as just detected (AVX-512F implies AVX2 and FMA).
                return unsafe { avx512($($argument),*) };
            }
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has these instructions, as just detected.
                return unsafe { avx2($($argument),*) };
            }
        }
        $portable($($argument),*)
    };
}
pub(crate) use simd_dispatch;
