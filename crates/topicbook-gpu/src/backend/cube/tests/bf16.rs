//! Kernels on tables packed as bf16.

use burn_cubecl::kernel::into_contiguous;
use cubecl::cuda::CudaRuntime;

use crate::backend::cube::lavapipe;
use crate::backend::cube::lavapipe::{Processor, Software};

use super::*;

/// Sums from bf16 tables have the same bits as sums from f32 tables whose values were rounded to bf16.
fn bf16_is_rounded_f32<R: CubeRuntime>(device: &R::Device) {
    /// The nearest number whose lower 16 bits are zero, ties to even.
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
    let launcher = Launcher::<R>::new(device);
    for case in cases() {
        let counts = case.counts();
        let rows: Vec<usize> = (0..case.documents).collect();
        let batch = Batch {
            view: counts.view().unwrap(),
            rows: &rows,
            documents: &rows,
            largest: f64::INFINITY,
        };
        let uploaded =
            super::super::upload::upload_batch(launcher.target(), &batch, case.terms, None)
                .unwrap();
        let mut random = Random(3);
        let l = random.table(case.documents, case.topics, 1.0);
        let f = random.table(case.topics, case.terms, 1.0);
        let sums = |round: fn(f32) -> f32, precision| {
            let upload = |table: &Matrix| {
                let (rows, columns) = table.shape();
                let values: Vec<f32> = table.values().iter().copied().map(round).collect();
                let data = TensorData::new(values, [rows, columns]);
                let table = Tensor::<CubeBackend<R, f32, i32, u32>, 2>::from_data(data, device);
                table.into_primitive().tensor()
            };
            let pass = Pass::new(
                &launcher,
                &uploaded,
                (upload(&l), upload(&f)),
                1e-10,
                precision,
            );
            let (likelihood, term_sums) = pass.by_terms();
            let download = |table: CubeTensor<R>| {
                let table = into_contiguous(table);
                launcher.client.read_one(table.handle).unwrap().to_vec()
            };
            [likelihood, term_sums, pass.by_documents()].map(download)
        };
        assert!(
            sums(|value| value, Precision::Bf16) == sums(rounded, Precision::F32),
            "{case:?}"
        );
    }
}

#[test]
fn kernels_round_to_bf16_on_lavapipe() {
    if lavapipe::has_lavapipe() {
        bf16_is_rounded_f32::<Software>(&Processor);
    }
}

#[test]
fn kernels_round_to_bf16_on_a_gpu() {
    if let Some(gpu) = lavapipe::gpu() {
        bf16_is_rounded_f32::<CudaRuntime>(&gpu);
    }
}
