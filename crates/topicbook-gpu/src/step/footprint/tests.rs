//! Planned VRAM against what lavapipe has in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::strategy::BalancedCheckpointing;
use burn::tensor::backend::AutodiffBackend;
use cubecl::prelude::Runtime;
use cubecl::stream_id::StreamId;

use super::*;
use crate::backend::cube::{Processor, Software, SoftwareBackend, has_lavapipe};
use crate::batches::Batch;
use crate::config::{Precision, Settings};
use crate::cost::Placement;
use crate::cost::peak;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::step::{Fused, Loss, State, Step, TensorStep, Unfused};

/// The step; documents, terms, topics, batch, micro-batch; whether counts are sparse; the precision with uploaded batches.
const CASES: [(GradientStep, [usize; 5], bool, Precision); 10] = {
    use GradientStep::{Autodiff, Checkpointing, Fused};
    [
        // The largest table is the batch, F, L; then batches in micro-batches.
        (Fused, [300, 20_000, 4, 150, 150], false, Precision::F32),
        (Fused, [40, 50_000, 30, 16, 16], false, Precision::Bf16),
        (Fused, [60_000, 100, 20, 64, 64], false, Precision::F32),
        (Fused, [300, 20_000, 4, 200, 50], false, Precision::F32),
        (Fused, [10_000, 10_000, 30, 300, 100], true, Precision::Bf16),
        (Fused, [300, 60_000, 10, 16, 16], true, Precision::F32),
        (Autodiff, [300, 20_000, 4, 150, 150], false, Precision::F32),
        (
            Checkpointing,
            [300, 20_000, 4, 150, 50],
            true,
            Precision::F32,
        ),
        (Autodiff, [40, 50_000, 30, 16, 16], true, Precision::F32),
        (
            Checkpointing,
            [20_000, 100, 20, 64, 64],
            false,
            Precision::F32,
        ),
    ]
};

/// Bytes in use on lavapipe: the largest sample during three steps, and the value after them.
fn measured(
    step: GradientStep,
    sizes: [usize; 5],
    counts: &Counts,
    counts_of: (bool, Precision),
) -> [u64; 2] {
    type Kept = Autodiff<SoftwareBackend>;
    type CheckpointedSoftware = Autodiff<SoftwareBackend, BalancedCheckpointing>;
    match step {
        GradientStep::Autodiff => measured_of::<Kept, Unfused<_>>(sizes, counts, counts_of),
        GradientStep::Checkpointing => {
            measured_of::<CheckpointedSoftware, Unfused<_>>(sizes, counts, counts_of)
        }
        _ => measured_of::<Kept, Fused<_>>(sizes, counts, counts_of),
    }
}

fn measured_of<B: AutodiffBackend<Device = Processor>, L: Loss<B>>(
    [n, m, k, batch, micro_batch]: [usize; 5],
    counts: &Counts,
    (resident, precision): (bool, Precision),
) -> [u64; 2] {
    let settings = Settings::new(k).with_mini_batch(|parameters| {
        (parameters.batch_size, parameters.gpu_precision) = (batch, precision);
    });
    let placement = Placement {
        micro_batch,
        resident,
        l_on_host: false,
    };
    let table = |rows, columns| Matrix::from_parts(rows, columns, vec![0.1; rows * columns]);
    let state = State::new(table(n, k), table(k, m), &settings.solver).unwrap();
    let rows: Vec<usize> = (0..batch).collect();
    // Memory usage is reported by stream, and every thread has its own.
    let stream = StreamId::current();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut client = Software::client(&Processor);
            // SAFETY: this client only reads the memory usage.
            unsafe { client.set_stream(stream) };
            let mut largest = 0;
            while !done.load(Ordering::Relaxed) {
                largest = largest.max(client.memory_usage().unwrap().bytes_in_use);
                // Sleeps, so that the step can use this processor, too.
                std::thread::sleep(Duration::from_micros(100));
            }
            largest
        });
        let mut step = TensorStep::<B, L>::new(&settings, placement, state, Processor);
        if resident {
            step.make_resident(counts).unwrap();
        }
        for _ in 0..3 {
            let batch = Batch {
                view: counts.view().unwrap(),
                rows: &rows,
                documents: &rows,
                largest: f64::INFINITY,
            };
            step.step(&batch, 0.01).unwrap();
            step.take_losses().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let after = Software::client(&Processor).memory_usage().unwrap();
        [sampler.join().unwrap(), after.bytes_in_use]
    })
}

#[test]
fn predicted_vram_is_what_lavapipe_measures() {
    if !has_lavapipe() {
        return;
    }
    let mut wrong = Vec::new();
    for (step, sizes, sparse, precision) in CASES {
        let [n, m, k, batch, micro_batch] = sizes;
        let counts = if sparse {
            let each = 40;
            let starts = (0..=n as u64).map(|row| row * each as u64).collect();
            let columns = (0..n * each).map(|at| (at % each * (m / each)) as u32);
            Counts::csr(n, m, starts, columns.collect(), vec![1.0; n * each]).unwrap()
        } else {
            Counts::dense(n, m, vec![1u8; n * m]).unwrap()
        };
        for (resident, precision) in [(false, precision), (true, Precision::F32)] {
            let shape = Shape {
                documents: n as u64,
                terms: m as u64,
                topics: k as u64,
                l_state_values: 2,
                f_state_values: 2,
                batch: batch as u64,
                micro_batch: micro_batch as u64,
                nonzeros: counts.mean_nonzeros().unwrap_or(m) as u64,
                bytes_of_count: (!sparse).then_some(1),
                largest_page: 0,
                precision,
                clips: false,
                step,
                l_precision: Precision::F32,
                l_in_file: false,
                l_moves_whole: true,
                l_on_host: false,
            };
            let items = on_gpu(&shape, resident, false);
            let predicted = peak(&items, Memory::Vram).0 as f64;
            let lasting = items.iter().filter(|item| item.phase == Phase::Fit);
            let lasting = lasting.map(|item| item.bytes).sum::<u64>() as f64;
            // Tests that run at the same time share Burn's graph of gradients, and can hold its tensors for a moment. A
            // wrong prediction is wrong every time.
            let lines: Vec<String> = (0..3)
                .map_while(|_| {
                    let [peak, after] = measured(step, sizes, &counts, (resident, precision))
                        .map(|bytes| bytes as f64);
                    // Samples from another thread rarely catch the peak itself.
                    (peak > 1.01 * predicted || (after / lasting - 1.0).abs() > 0.01).then(|| format!(
                        "{step:?} {sizes:?} {sparse} {resident} {precision}: peak {predicted} predicted, {peak} measured; afterwards {lasting} predicted, {after} measured"
                    ))
                })
                .collect();
            if lines.len() == 3 {
                wrong.extend(lines);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rows_are_padded_as_the_runtime_does() {
    let cases = [
        // Rows of 80 bytes become 128, 40 become 64, 400 become 512, 4,000 become 4,096.
        ((10, 20), 1280),
        ((10, 10), 640),
        ((1, 100), 512),
        ((1, 1000), 4096),
        ((7, 1), 28),
        ((3, 2), 48),
    ];
    for ((rows, columns), expected) in cases {
        assert_eq!(
            table_bytes(rows, columns, true),
            expected,
            "{rows} × {columns}"
        );
        assert_eq!(table_bytes(rows, columns, false), 4 * rows * columns);
    }
}
