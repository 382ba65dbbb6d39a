//! Tables of rows with gradients of Burn.

use testkit::Random;
use topicbook_data::Matrix;
use topicbook_solvers::{Precision, RowTable};

fn numbers(random: &mut Random, rows: usize, columns: usize) -> Matrix {
    let values = (0..rows * columns).map(|_| random.uniform() as f32 - 0.5);
    Matrix::new(rows, columns, values.collect()).unwrap()
}

#[test]
fn gradients_of_burn_learn_a_table() {
    use burn::backend::{Autodiff, Flex};
    let device = Default::default();
    for precision in [Precision::F32, Precision::Bf16] {
        let builder = RowTable::builder(200, 6).precision(precision);
        let table = builder.init_uniform(-0.5, 0.5).create().unwrap();
        let target = numbers(&mut Random::new(9), 200, 6);
        let mut random = Random::new(4);
        let mut losses = Vec::new();
        for _ in 0..300 {
            let rows: Vec<usize> = (0..32).map(|_| random.below(200)).collect();
            let expected = target.select_rows(&rows).unwrap().to_tensor(&device);
            let rows_of_batch = table.gather(&rows).unwrap();
            let tensor = rows_of_batch
                .to_tensor::<Autodiff<Flex>>(&device)
                .require_grad();
            let loss = (tensor.clone() - expected).powi_scalar(2).sum();
            let gradients = tensor.grad(&loss.backward()).unwrap();
            let gradients = Matrix::from_tensor(gradients).unwrap();
            table.update(&rows, gradients, 0.1).unwrap();
            losses.push(loss.into_scalar());
        }
        assert!(losses[299] < losses[0] / 20.0, "{precision}: {losses:?}");
    }
}

#[test]
fn tensors_of_other_dtypes_become_f32() {
    use burn::backend::Flex;
    use burn::tensor::{DType, Tensor};
    let device = Default::default();
    let tensor = Tensor::<Flex, 2>::from_floats([[1.5, -2.0], [0.25, 4.0]], &device);
    for dtype in [DType::F64, DType::F16, DType::BF16] {
        let matrix = Matrix::from_tensor(tensor.clone().cast(dtype)).unwrap();
        assert_eq!(matrix.values(), [1.5, -2.0, 0.25, 4.0], "{dtype:?}");
    }
}
