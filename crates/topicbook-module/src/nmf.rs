//! Neural Poisson NMF as a Burn module, and its loss.

use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};

use topicbook_data::Matrix;
use topicbook_solvers::config::SMALLEST_RATE;

/// tinytopics' model as a module: the logits of L and F, whose rates are softmax(L) softmax(F) by rows. `TopicModel` fits the
/// same model far quicker; this is the one to begin with for a model of one's own.
///
/// ```
/// use topicbook::burn::tensor::{Int, Tensor};
/// use topicbook::{CountBatch, Cpu, Matrix, NeuralPoissonNmf, Synthetic, Trainer, poisson_nmf_loss};
/// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let logits = |rows: usize, columns: usize| {
///     let value = |i| ((i * 37) % 101) as f32 / 1000.0;
///     Matrix::new(rows, columns, (0..rows * columns).map(value).collect())
/// };
/// let model = NeuralPoissonNmf::<Cpu>::new(&logits(60, 3)?, &logits(3, 30)?, &Default::default());
/// let loss = |model: &NeuralPoissonNmf<Cpu>, batch: &CountBatch| {
///     let device = Default::default();
///     let rows: Vec<i64> = batch.documents().iter().map(|&row| row as i64).collect();
///     let rates = model.forward(Tensor::<Cpu, 1, Int>::from_data(&*rows, &device));
///     poisson_nmf_loss(batch.rows().to_tensor(&device), rates)
/// };
/// let trained = Trainer::new(model).learning_rate(0.05).quiet().fit(counts.batches(16)?, loss)?;
/// assert!(trained.epochs()[9].loss < trained.epochs()[0].loss);
/// let (l, f) = trained.module().topics()?;
/// assert_eq!((l.shape(), f.shape()), ((60, 3), (3, 30)));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Module, Debug)]
pub struct NeuralPoissonNmf<B: Backend> {
    /// Logits of L, documents x topics.
    pub l: Param<Tensor<B, 2>>,
    /// Logits of F, topics x terms.
    pub f: Param<Tensor<B, 2>>,
}

impl<B: Backend> NeuralPoissonNmf<B> {
    /// The model with these logits; [`NeuralPoissonNmf`] has an example.
    pub fn new(l: &Matrix, f: &Matrix, device: &B::Device) -> Self {
        Self {
            l: Param::from_tensor(l.to_tensor(device)),
            f: Param::from_tensor(f.to_tensor(device)),
        }
    }

    /// The Poisson rates of a batch of documents, by their rows of L: batch x terms.
    pub fn forward(&self, documents: Tensor<B, 1, Int>) -> Tensor<B, 2> {
        let l = softmax(self.l.val().select(0, documents), 1);
        let f = softmax(self.f.val(), 1);
        l.matmul(f)
    }

    /// L (documents x topics) and F (topics x terms), whose rows sum to one; `Fit::from_matrices` makes a fit of them.
    ///
    /// # Errors
    /// When the device does not return the values.
    pub fn topics(&self) -> crate::error::Result<(Matrix, Matrix)> {
        let l = Matrix::from_tensor(softmax(self.l.val(), 1))?;
        Ok((l, Matrix::from_tensor(softmax(self.f.val(), 1))?))
    }
}

/// The Poisson negative log-likelihood without its constant, as in tinytopics: the sum over the batch of
/// rate - x log max(rate, 1e-10). `counts` and `rates`: batch x terms.
///
/// ```
/// use topicbook::burn::{backend::Flex, tensor::Tensor};
/// let device = Default::default();
/// let (counts, rates) = (Tensor::<Flex, 2>::ones([1, 2], &device), Tensor::ones([1, 2], &device));
/// assert_eq!(topicbook::poisson_nmf_loss(counts, rates).into_scalar(), 2.0);
/// ```
pub fn poisson_nmf_loss<B: Backend>(counts: Tensor<B, 2>, rates: Tensor<B, 2>) -> Tensor<B, 1> {
    let logarithms = rates.clone().clamp_min(SMALLEST_RATE).log();
    (rates - counts * logarithms).sum()
}
