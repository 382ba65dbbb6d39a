//! Run-time choice of the instruction set: notebook builds carry no `target-cpu`.

/// Compiles one plain body for AVX-512, AVX2 with FMA, and the baseline, and picks at run time.
///
/// A body gives the same bits on every machine: Rust never contracts `a * b + c` by itself, and `mul_add` by name rounds
/// once everywhere. On x86-64 without FMA (before 2013) it is a call of the library, many times slower.
macro_rules! simd_dispatch {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn portable($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512($($argument: $type),*) {
                    portable($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) {
                    portable($($argument),*)
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
            portable($($argument),*)
        }
    };
}
pub(crate) use simd_dispatch;
