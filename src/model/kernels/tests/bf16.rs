//! Tables read as bf16.

use burn_cubecl::kernel::into_contiguous;
use cubecl::cuda::CudaRuntime;

use super::software::{self, Processor, Software, SoftwareBackend};
use super::*;
use crate::loader::InPlace;
use crate::model::position::Position;
use crate::model::start::{initial_tables, orders};
use crate::model::train::train;

/// Tables of bf16 give what the same tables, rounded before, give as f32.
fn bf16_is_rounded_f32<R: CubeRuntime>(device: &R::Device) {
    /// The nearest number whose lower half is zero.
    fn rounded(value: f32) -> f32 {
        let below = value.to_bits() & 0xffff_0000;
        let [below, above] = [below, below + 0x1_0000].map(f32::from_bits);
        let distance = |other: f32| (f64::from(value) - f64::from(other)).abs();
        let even = below.to_bits() & 0x1_0000 == 0;
        match distance(below).total_cmp(&distance(above)) {
            std::cmp::Ordering::Less => below,
            std::cmp::Ordering::Equal if even => below,
            _ => above,
        }
    }
    let card = Card::<R>::new(device);
    for case in cases() {
        let counts = case.counts();
        let rows: Vec<usize> = (0..case.documents).collect();
        let batch = Batch {
            view: counts.view().unwrap(),
            rows: &rows,
            documents: &rows,
        };
        let sent = send::upload_batch(card.to(), &batch, case.terms, None).unwrap();
        let mut random = Random(3);
        let l = random.table(case.documents, case.topics, 1.0);
        let f = random.table(case.topics, case.terms, 1.0);
        let sums = |round: fn(f32) -> f32, precision| {
            let to = |table: &Matrix| {
                let (rows, columns) = table.shape();
                let values: Vec<f32> = table.values().iter().copied().map(round).collect();
                let data = TensorData::new(values, [rows, columns]);
                let table = Tensor::<CubeBackend<R, f32, i32, u32>, 2>::from_data(data, device);
                table.into_primitive().tensor()
            };
            let pass = Pass::new(&card, &sent, (to(&l), to(&f)), 1e-10, precision);
            let (likelihood, of_terms) = pass.by_terms();
            let back = |table: CubeTensor<R>| {
                let bytes = into_contiguous(table);
                card.client.read_one(bytes.handle).unwrap().to_vec()
            };
            [likelihood, of_terms, pass.by_documents()].map(back)
        };
        assert!(
            sums(|value| value, Precision::Bf16) == sums(rounded, Precision::F32),
            "{case:?}"
        );
    }
}

#[test]
fn the_kernels_round_to_bf16() {
    if software::there() {
        bf16_is_rounded_f32::<Software>(&Processor);
    }
}

#[test]
fn the_kernels_round_to_bf16_on_a_card() {
    if let Some(card) = software::card() {
        bf16_is_rounded_f32::<CudaRuntime>(&card);
    }
}

/// Score (the sum of x log rate) of a fit whose steps are made on the driver that needs no card.
fn score(counts: &Counts, settings: &Settings) -> f64 {
    let (documents, terms) = counts.shape();
    let (l, f) = initial_tables(settings, documents, terms).unwrap();
    let state = State::new(l, f, &TablePlace::Memory).unwrap();
    let placement = Placement {
        resident: true,
        ..Placement::whole(settings)
    };
    let mut step = TensorStep::<_, Fused<Autodiff<SoftwareBackend>>>::new(
        settings, placement, state, Processor,
    );
    step.hold(counts).unwrap();
    let mut all = orders(settings, documents, terms);
    let order = Box::new(move |epoch| all.of(epoch));
    let mut source = InPlace::new(counts, settings.batch_size, order);
    let (device, start) = ("software".into(), Position::default());
    train(
        settings,
        counts,
        device,
        &mut step,
        start,
        &mut source,
        &mut [],
    )
    .unwrap();
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

/// The same fit in both precisions: their scores.
fn scores(counts: &Counts, settings: &Settings) -> [f64; 2] {
    [Precision::F32, Precision::Bf16].map(|precision| {
        score(
            counts,
            &Settings {
                precision,
                ..settings.clone()
            },
        )
    })
}

#[test]
fn a_fit_in_bf16_is_as_good() {
    if !software::there() {
        return;
    }
    let counts = crate::Synthetic::new(200, 300, 4)
        .avg_doc_length(500)
        .seed(3);
    let counts = counts.generate().unwrap().counts();
    let settings = Settings {
        batch_size: 50,
        epochs: 40,
        ..Settings::new(4)
    };
    let [exact, half] = scores(&counts, &settings);
    println!("f32 {exact:.0}, bf16 {half:.0}");
    assert!(half != exact, "bf16 changes nothing");
    // Either may be ahead: rounding sends a fit along another way.
    assert!(
        (half / exact - 1.0).abs() < 5e-3,
        "f32 {exact}, bf16 {half}"
    );
}

/// `cargo xtask bench precision`: real counts in both precisions. Minutes, hence not among the tests.
#[test]
#[ignore = "a measurement: cargo xtask bench precision"]
fn real_counts_in_both_precisions() {
    let Ok(path) = std::env::var("TOPICBOOK_PRECISION") else {
        panic!("TOPICBOOK_PRECISION says where the record goes");
    };
    let counts = Counts::open("../shared/data/nips.npz").unwrap();
    let mut rows = Vec::new();
    for seed in [1, 2, 3] {
        let settings = Settings {
            batch_size: 64,
            epochs: 100,
            seed,
            ..Settings::new(10)
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
