//! L's logits and their optimizer state in `bf16`.

use topicbook::{
    Checkpoint, Counts, Device, Fit, MiniBatch, Optimizer, Precision, Solver, Synthetic,
    TableStorage, TopicModel,
};

fn counts() -> Counts {
    let corpus = Synthetic::new(300, 80, 4).avg_doc_length(400).seed(6);
    corpus.generate().unwrap().counts()
}

fn model() -> TopicModel {
    let model = TopicModel::new(4).epochs(40).seed(2);
    model.device(Device::Cpu).quiet()
}

fn narrow() -> MiniBatch {
    Solver::mini_batch().table_precision(Precision::Bf16)
}

fn assert_same(a: &Fit, b: &Fit) {
    assert!(a.l() == b.l(), "L differs");
    assert!(a.f() == b.f(), "F differs");
}

#[test]
fn a_fit_in_16_bits_is_nearly_as_good_for_every_optimizer() {
    let counts = counts();
    for (optimizer, rate) in crate::OPTIMIZERS {
        let with = |steps: MiniBatch, epochs| {
            let steps = steps.optimizer(optimizer).max_lr(rate).base_lr(rate / 5.0);
            let model = model().solver(steps).epochs(epochs);
            model.fit(&counts).unwrap()
        };
        let wide_steps = Solver::mini_batch();
        let (wide, narrow) = (with(wide_steps.clone(), 40), with(narrow(), 40));
        let first = with(wide_steps, 1);
        let per_token = |fit: &Fit| fit.log_likelihood_per_token().unwrap();
        let gained = per_token(&wide) - per_token(&first);
        // Of what the fit gains over its first epoch, at most a twentieth is lost.
        assert!(gained > 0.05, "{optimizer}: {gained}");
        let lost = per_token(&wide) - per_token(&narrow);
        assert!(lost < 0.05 * gained, "{optimizer}: {lost} of {gained}");
        // The tables are indeed narrower.
        assert!(wide.l() != narrow.l());
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_on_where_the_tables_are() {
    let (counts, folder) = (counts(), tempfile::tempdir().unwrap());
    for optimizer in [Optimizer::AdamW, Optimizer::RowwiseAdamW] {
        let steps = narrow().optimizer(optimizer);
        let model = model().solver(&steps);
        let threads = |number| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(number);
            let pool = pool.build().unwrap();
            pool.install(|| model.fit(&counts).unwrap())
        };
        let one = threads(1);
        assert_same(&one, &threads(3));
        let file = TableStorage::File(folder.path().into());
        let in_file = model.solver(steps.table_storage(file));
        assert_same(&one, &in_file.fit(&counts).unwrap());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

#[test]
fn a_resumed_fit_continues_with_the_same_bits() {
    let (counts, folder) = (counts(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    for optimizer in [Optimizer::AdamW, Optimizer::RowwiseAdamW] {
        let model = model().solver(narrow().optimizer(optimizer));
        let whole = model.fit(&counts).unwrap();
        for interrupted in [1, 17] {
            let part = model.epochs(interrupted).checkpoint(&path);
            part.fit(&counts).unwrap();
            let checkpoint = Checkpoint::open(&path).unwrap().epochs(40).quiet();
            assert_same(&checkpoint.fit(&counts).unwrap(), &whole);
        }
    }
}
