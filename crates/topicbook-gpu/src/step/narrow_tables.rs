//! Fits whose GPU kernels read the tables as bf16.

use burn::backend::Autodiff;

use crate::backend::cube::{Processor, SoftwareBackend, has_lavapipe};
use crate::config::{Precision, SMALLEST_RATE, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::self_check::take_steps;
use crate::step::{Fused, State, Step, TensorStep, initial_tables};
use crate::synthetic::Synthetic;

/// Score (the sum of x log rate) of a fit whose steps run on lavapipe, the Vulkan driver that needs no GPU.
fn score(counts: &Counts, settings: &Settings) -> f64 {
    let (documents, terms) = counts.shape();
    let (l, f) = initial_tables(settings, documents, terms).unwrap();
    let state = State::new(l, f, &settings.solver).unwrap();
    let placement = Placement {
        resident: true,
        ..Placement::whole(settings)
    };
    let mut step = TensorStep::<_, Fused<Autodiff<SoftwareBackend>>>::new(
        settings, placement, state, Processor,
    );
    step.make_resident(counts).unwrap();
    take_steps(settings, counts, &mut step).unwrap();
    let (l, f) = step.topics().unwrap();
    let mut score = 0.0;
    let mut row = vec![0.0; terms];
    for document in 0..documents {
        counts.fill_rows(&[document], &mut row).unwrap();
        for (term, count) in row.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let weights = l.row(document).iter().enumerate();
            let rate: f64 = weights
                .map(|(topic, weight)| f64::from(*weight) * f64::from(f.row(topic)[term]))
                .sum();
            score += f64::from(*count) * rate.max(SMALLEST_RATE).ln();
        }
    }
    score
}

/// The scores of the same fit in both precisions.
fn scores(counts: &Counts, settings: &Settings) -> [f64; 2] {
    [Precision::F32, Precision::Bf16].map(|precision| {
        let settings = settings.clone();
        let settings = settings.with_mini_batch(|parameters| parameters.gpu_precision = precision);
        score(counts, &settings)
    })
}

#[test]
fn a_fit_in_bf16_is_as_good() {
    if !has_lavapipe() {
        return;
    }
    let counts = Synthetic::new(200, 300, 4).avg_doc_length(500).seed(3);
    let counts = counts.generate().unwrap().counts();
    let settings = Settings {
        epochs: 40,
        ..Settings::new(4).with_mini_batch(|parameters| parameters.batch_size = 50)
    };
    let [exact, half] = scores(&counts, &settings);
    println!("f32 {exact:.0}, bf16 {half:.0}");
    assert!(half != exact, "bf16 changes nothing");
    // Either score may be higher, because rounding changes the course of a fit.
    assert!(
        (half / exact - 1.0).abs() < 5e-3,
        "f32 {exact}, bf16 {half}"
    );
}

/// Measures real counts in both precisions (`cargo xtask bench precision`). Takes minutes, so it is ignored by default.
#[test]
#[ignore = "a measurement: cargo xtask bench precision"]
fn real_counts_in_both_precisions() {
    let Ok(path) = std::env::var("TOPICBOOK_PRECISION") else {
        panic!("TOPICBOOK_PRECISION must be the path of the record to write");
    };
    let counts = Counts::open("../../../shared/data/nips.npz").unwrap();
    let mut rows = Vec::new();
    for seed in [1, 2, 3] {
        let settings = Settings {
            epochs: 100,
            seed,
            ..Settings::new(10).with_mini_batch(|parameters| parameters.batch_size = 64)
        };
        let [exact, half] = scores(&counts, &settings);
        println!("seed {seed}: f32 {exact:.0}, bf16 {half:.0}");
        rows.push(serde_json::json!({ "seed": seed, "f32": exact, "bf16": half }));
    }
    let record = serde_json::json!({
        "counts": "NIPS", "topics": 10, "batch_size": 64, "epochs": 100,
        "runtime": "WebGPU on a Vulkan driver that runs on the processor (lavapipe)", "scores": rows,
    });
    std::fs::write(path, format!("{record:#}\n")).unwrap();
}
