//! Measured peaks of the machine: multiply-adds, and memory bandwidth.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

/// Threads that every side of the comparison uses.
pub const THREADS: usize = 2;

/// Peaks per second on [`THREADS`] threads.
pub struct Ceiling {
    /// Floating-point operations: fused multiply-adds in f32, counted as two.
    pub operations: f64,
    /// Bytes read plus bytes written, over arrays of 128 MiB per thread.
    pub bytes: f64,
}

impl Ceiling {
    pub fn record(&self) -> Value {
        json!({ "operations_per_second": self.operations, "bytes_per_second": self.bytes })
    }
}

/// Runs `work` on all threads at once; it returns an amount. Returns the amount per second of the fastest of five runs.
fn best(work: impl Fn(usize) -> f64 + Sync) -> f64 {
    let once = || {
        let start = Instant::now();
        let amount: f64 = std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(move || work(thread)))
                .collect();
            let amounts = threads.into_iter().map(|thread| thread.join().unwrap());
            amounts.sum()
        });
        amount / start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once()).fold(0.0, f64::max)
}

/// Measures the peaks, in about three seconds.
pub fn ceiling() -> Ceiling {
    const LENGTH: usize = 1 << 25;
    let operations = best(|_| multiply_adds());
    let arrays: Vec<_> = (0..THREADS)
        .map(|_| std::sync::Mutex::new(vec![1.0f32; LENGTH]))
        .collect();
    // Every value is read and written.
    let bytes = best(|thread| {
        if let Ok(mut array) = arrays[thread].lock() {
            for value in array.iter_mut() {
                *value = *value * 0.5 + 1.0;
            }
        }
        (LENGTH * 8) as f64
    });
    Ceiling { operations, bytes }
}

const LANES: usize = 16;

/// Multiply-adds with the processor's widest vector registers. Returns the number of operations.
fn multiply_adds() -> f64 {
    /// `CHAINS` independent chains: more multiply-adds than the processor can have in flight, in no more registers than it has.
    #[inline(always)]
    fn chains<const CHAINS: usize>() -> f64 {
        const ROUNDS: usize = 20_000_000;
        let mut sums = [[0.0f32; LANES]; CHAINS];
        let factor = black_box([1.000_000_1f32; LANES]);
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                for (sum, factor) in sum.iter_mut().zip(&factor) {
                    *sum = sum.mul_add(*factor, *factor);
                }
            }
        }
        black_box(sums);
        (ROUNDS * CHAINS * LANES * 2) as f64
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx2,fma")]
        fn avx512() -> f64 {
            chains::<12>()
        }
        // Two registers of eight lanes each, and two for the factor, of sixteen.
        #[target_feature(enable = "avx2,fma")]
        fn avx2() -> f64 {
            chains::<6>()
        }
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions, as just detected.
            return unsafe { avx512() };
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { avx2() };
        }
    }
    chains::<2>()
}
