//! Fits whose GPU kernels read the tables as bf16.

use burn::backend::Autodiff;
use testkit::reference;

use crate::backend::cube::{Processor, SoftwareBackend, has_lavapipe};
use crate::config::{Precision, Settings};
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
    let f: Vec<&[f32]> = (0..f.rows()).map(|topic| f.row(topic)).collect();
    let mut row = vec![0.0; terms];
    let documents = (0..documents).map(|document| {
        counts.fill_rows(&[document], &mut row).unwrap();
        reference::score(&row, &reference::rates(l.row(document), &f))
    });
    documents.sum()
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
