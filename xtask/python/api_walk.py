"""The public API as a cell for each type: every constructor and method bound by a bare `let`, every type shown.

`WALK` has the cell of each exported type, line by line, in an order in which they run. `unwalked` reads the library's sources
and lists what the cells leave out, so that a new public function without a line here fails the test.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The crate that users import, and those below it.
SOURCES = [ROOT / "src", *set(ROOT.glob("crates/topicbook-*/src")) - {ROOT / "crates/topicbook-bench/src"}]

# Exported names that cells cannot bind or show, and the reason.
NOT_SHOWN = {
    "CountValue": "a trait",
    "MatrixRow": "an element of a loop over a matrix",
    "MatrixRows": "the iterator of such a loop",
    "GpuNow": "part of MemoryNow, of which this machine may have none",
    "DocumentFrequency": "a trait",
    "LabelValue": "a trait",
    "TextItem": "a trait",
    "TextSource": "a trait",
    "StopWords": "a trait",
    "Indices": "a trait",
    "OrRef": "a trait",
    "CountSource": "a trait",
    "NameOrNumber": "a trait",
    "NewDocuments": "a trait",
    "IntoPositions": "a trait",
    "IntoRows": "a trait",
    "IntoSeries": "a trait",
    "Number": "a trait",
    "Numbers": "a trait",
    "TopicName": "a trait",
    "Columns": "a trait",
    "ColumnValues": "a trait",
    "Condition": "a trait",
    "JoinKeys": "a trait",
    "TableValue": "a trait",
    "Result": "an alias of the standard library's `Result`",
    "Cpu": "an alias of Burn's backend with gradients",
    "Checkpointing": "an enum to pass, which cells show in its Debug form",
    "LossScale": "an enum to pass, which cells show in its Debug form",
    "NeuralPoissonNmf": "a module of Burn, which cells show in Burn's form",
    "ModuleOptimizer": "what an optimizer of Burn's becomes when it is passed",
    "ErrorKind": "an enum to match on, which cells show in its Debug form",
    "TermScore": "an enum to pass, which cells show in its Debug form",
    "Control": "a trait",
    "InteractOutput": "a trait",
    "Interact": "more than one output, which have a test of their own",
}
# Free functions without a return value.
RETURNS_NOTHING = {"show_progress"}

# Free functions are in the cell of the type that they return or take.
WALK = {
    "Matrix": [
        "let m = Matrix::new(3, 2, vec![0.5, 0.5, 0.9, 0.1, 0.2, 0.8])?;",
        "let shape = m.shape(); let rows = m.rows(); let columns = m.columns();",
        "let row = m.row(1).to_vec(); let values = m.values().to_vec();",
        "let upper = m.select_rows(0..2)?; let left = m.select_columns([0])?;",
        # Tensors of Burn are no types of ours: they stay inside an expression.
        "let doubled = Matrix::from_tensor(m.to_tensor::<topicbook::burn::backend::Flex>(&Default::default()) * 2.0)?;",
    ],
    "Dtype": [
        "let dtype = Dtype::U16;",
        "let size = dtype.bytes(); let name = dtype.name();",
    ],
    "Counts": [
        "let dense = Counts::dense(3, 4, vec![1u16, 0, 2, 3, 0, 5, 0, 1, 4, 0, 0, 2])?;",
        "let csr = Counts::csr(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;",
        'let npy = dense.write_npy("walk.npy")?; let wide = dense.write_npy_as("wide.npy", Dtype::F32)?;',
        'let narrow = dense.write_npy_narrow("narrow.npy")?; let npz = csr.write_npz("walk.npz")?;',
        'csr.write_mtx("walk.mtx")?; let packed = csr.write_packed("walk.tbc")?;',
        'let opened = Counts::open("walk.npy")?; let drawn = opened.resample(9);',
        'let shards = Counts::open_files(["walk.npy", "walk.npy"])?; let parquet = csr.write_parquet("walk.parquet")?;',
        'let writer = Counts::writer("written.npz", 3)?;',
        'std::fs::write("walk.csv", "doc,term,count\\n0,1,2\\n1,0,3\\n")?;',
        'let triplets = Counts::open_triplets("walk.csv", 3, 3)?; let of_frame = Counts::from_frame(&Table::open("walk.csv")?)?;',
        "let documents = dense.documents(); let terms = dense.terms(); let shape = dense.shape();",
        "let dtype = dense.dtype(); let layout = dense.layout(); let location = opened.location();",
        "let stored = dense.bytes_stored(); let as_f32 = dense.bytes_dense_f32();",
        "let summary = dense.summary()?; let few = dense.select([2, 0])?;",
        "dense.check_documents(Documents::numbered(3)?)?;",
        "let mut batch = vec![0.0f32; 8]; dense.fill_rows(&[2, 0], &mut batch)?;",
        'let four = Terms::new(["ant", "bee", "cat", "dog"])?; let (train, test) = dense.split(0.6, 1)?;',
        'let h5ad = dense.write_h5ad("walk.h5ad", Some(&four), None)?;',
        "let (first_half, second_half) = dense.split_tokens(1)?;",
        'let some = dense.select_terms([2, 0])?; let (rest, left) = dense.drop_terms(&four, ["ant"])?; let filled = dense.drop_empty()?;',
        'let (kept, names) = dense.keep_terms(&four, ["dog", "bee"])?; let (often, common) = dense.filter_terms(&four, 1, 1.0)?;',
        "let with_term = opened.documents_with(1)?; let totals = csr.term_totals()?; let df = csr.document_frequencies()?;",
        "let by_term = dense.term_table(&four)?; let batches = dense.batches(2)?;",
    ],
    "Batches": [
        "let batches = batches.epochs(2); let batches = batches.seed(1); let straight = batches.in_order();",
        "let in_place = batches.reading(Reading::InPlace); let resumed_batches = batches.start_at(1, 0);",
        "let numbered = Batches::of_rows(4, 2)?; let given_rows = Batches::of_matrix(&Matrix::new(4, 4, vec![0.5; 16])?, 2)?;",
        'let labelled = given_rows.labels(["a", "b", "a", "b"])?; let classes = labelled.classes();',
        "let (part, held) = given_rows.split(0.5, 1)?; let all_rows = given_rows.rows();",
        "let how_many = batches.batches_per_epoch(); let mut batches = batches;",
    ],
    "CountBatch": [
        'let batch = batches.next().expect("there are four")?; let batch_rows = batch.rows();',
        "let batch_documents = batch.documents(); let epoch_of = batch.epoch(); let batch_of = batch.batch();",
        "let at_the_end = batch.is_last(); let its_classes = batch.labels(); let nonzeros = batch.nonzeros();",
    ],
    "Trainer": [
        "use topicbook::burn::nn::Linear; use topicbook::burn::tensor::{Int, Tensor, backend::Backend};",
        "fn square<B: Backend>(net: &Linear<B>, batch: &CountBatch) -> Tensor<B, 1> {\n"
        "    net.forward(batch.rows().to_tensor(&Default::default())).powf_scalar(2.0).mean()\n}",
        "let layer = topicbook::burn::nn::LinearConfig::new(4, 1).init::<Cpu>(&Default::default()); let trainer = Trainer::new(layer);",
        "let trainer = trainer.epochs(2); let trainer = trainer.seed(1); let trainer = trainer.learning_rate(0.01);",
        "let trainer = trainer.lr_scheduler(topicbook::burn::lr_scheduler::constant::ConstantLr::new(0.01));",
        "let trainer = trainer.optimizer(topicbook::burn::optim::AdamConfig::new()); let trainer = trainer.micro_batch(1);",
        "let trainer = trainer.clip_grad_norm(1.0); let trainer = trainer.clip_grad_value(1.0); let trainer = trainer.budget(Budget::new());",
        "let trainer = trainer.loss_scale(LossScale::dynamic()); let trainer = trainer.checkpointing(Checkpointing::All);",
        "let trainer = trainer.validation(&given_rows, square); let trainer = trainer.patience(3);",
        'let trainer = trainer.checkpoint("walk-net.checkpoint"); let trainer = trainer.quiet();',
        "let trainer = trainer.on_epoch(|_| std::ops::ControlFlow::Continue(()));",
        "let taken = trainer.estimate(&given_rows, square)?; let trained = trainer.fit(&given_rows, square)?;",
        "let resumed_net = trainer.resume(&given_rows, square)?; let behind_net = trainer.spawn(&given_rows, square)?.join()?;",
    ],
    "Trained": [
        "let outputs = trained.predict(&given_rows, |net, batch| net.forward(batch.rows().to_tensor(&Default::default())))?;",
        "let trained_layer = trained.module(); let measured = trained.measure(&given_rows, square)?; let net_epochs = trained.epochs();",
        "let net_loss = trained.loss(); let net_validation = trained.validation_loss(); let net_table = trained.table();",
        "let net_curve = trained.plot_loss(); let net_memory = trained.plot_memory(); let by_part = trained.memory_by_part();",
        "let by_module = trained.memory_by_module(); let part_times = trained.times(); let step_peak = trained.peak_of_a_step();",
        "let net_kept = trained.activations(); let net_skipped = trained.skipped_steps(); let net_notes = trained.notes();",
        'let checked = checkpointed("layer", &trained_layer, Tensor::<Cpu, 2>::ones([2, 4], &Default::default()), |layer, x| layer.forward(x));',
        "let own_nmf = NeuralPoissonNmf::<Cpu>::new(&Matrix::new(4, 2, vec![0.1; 8])?, &Matrix::new(2, 3, vec![0.1; 6])?, &Default::default());",
        "let own_rates = own_nmf.forward(Tensor::<Cpu, 1, Int>::from_data([0, 1], &Default::default()));",
        "let own_nats = poisson_nmf_loss(own_rates.ones_like(), own_rates.clone()); let (own_l, own_f) = own_nmf.topics()?;",
    ],
    "TrainingEstimate": [
        "let net_bytes = taken.parameters(); let net_state = taken.optimizer_state(); let net_activations = taken.activations(2);",
        "let net_parts = taken.table();",
    ],
    "Cells": [
        'std::fs::write("matrix.mtx", "%%MatrixMarket matrix coordinate integer general\\n3 2 2\\n1 1 5\\n3 2 7\\n")?;',
        'std::fs::write("genes.tsv", "a\\tant\\nb\\tbee\\nc\\tcat\\n")?; std::fs::write("barcodes.tsv", "AAAC\\nAAAG\\n")?;',
        'let cells = Cells::open("matrix.mtx")?; let cell_counts = cells.counts()?; cell_counts.write_mtx("cells.mtx.gz")?;',
        "let genes = cells.terms()?; let barcodes = cells.names()?; let named_cells = cells.documents()?;",
        'let layers = cells.layers()?; let layer = cells.layer("counts"); let raw = cells.raw();',
        'let of_type = cells.feature_type("Gene Expression");',
    ],
    "TextFormat": [
        'let text_format = TextFormat::new().encoding("utf-8")?; let text_format = text_format.separator(\',\')?;',
        "let text_format = text_format.decimal('.')?; let of_sheet = TextFormat::new().sheet(2);",
    ],
    "CountTable": [
        'std::fs::write("dtm.csv", "doc,year,ant,bee\\na,1811,0,2\\nb,1819,3,1\\n")?;',
        'let dtm = CountTable::open("dtm.csv")?.labels(["year"])?; let dtm_counts = dtm.counts()?;',
        "let dtm_terms = dtm.terms()?; let dtm_documents = dtm.documents()?;",
        'let by_year = dtm.names("year")?; let as_long = dtm.long("doc", "year", "ant")?;',
        "let as_wide = dtm.wide(); let with_zeros = dtm.missing_as_zero(); let by_point = dtm.format(text_format);",
        'let dtm_table = Table::open("dtm.csv")?; let dtm_frame = CountTable::from_frame(&dtm_table).labels(["year"])?;',
    ],
    "CountsWriter": [
        "let mut writer = writer;",
        "writer.append(Counts::dense(1, 3, vec![1u8, 0, 2])?)?; writer.append_document(&[1], &[4.0])?;",
        "let documents = writer.documents(); let written = writer.finish()?;",
        'let writer = Counts::writer("written.npz", 3)?;',
    ],
    "Resample": [
        "let drawn = drawn.seed(1);",
        'let more = drawn.write_npy("more.npy")?; let more = drawn.write_npy_as("more.npy", Dtype::U32)?;',
        'let more = drawn.write_npy_narrow("more.npy")?; let more = drawn.write_npz("more.npz")?;',
        'let more = drawn.write_packed("more.tbc")?;',
    ],
    "Layout": ["let dense_layout = topicbook::Layout::Dense;"],
    "Location": ["let memory = topicbook::Location::Memory;"],
    "Summary": [
        "let total = summary.total(); let nonzeros = summary.nonzeros(); let density = summary.density();",
        "let largest = summary.largest(); let lengths = summary.document_lengths().to_vec();",
        "let no_documents = summary.empty_documents().to_vec(); let no_terms = summary.empty_terms().to_vec();",
    ],
    "Terms": [
        'let vocabulary = Terms::new(["ant", "bee", "cat"])?;',
        'std::fs::write("terms.txt", "ant\\nbee\\ncat\\n")?;',
        'let vocabulary = Terms::open("terms.txt")?;',
        "let len = vocabulary.len(); let none = vocabulary.is_empty();",
        "let first = vocabulary.get(0).map(str::to_owned); let all = vocabulary.as_slice().to_vec();",
        "let longest = vocabulary.iter().map(str::len).max(); let twice = vocabulary.duplicates();",
        'let bee = vocabulary.find("bee")?; let two = vocabulary.select([2, 0])?;',
    ],
    "Documents": [
        'let letters = Documents::new(["a", "b", "c"])?.with_labels("book", ["x", "y", "x"])?;',
        'let letters = letters.with_numbers("year", [1987, 1998, 1987])?;',
        'let letters = letters.with_dates("sent", ["1811-10-30", "", "1813-01-28"])?;',
        'let numbered = Documents::numbered(4)?; let letter_table = letters.table();',
        'letter_table.write_csv("letters.csv")?; let letters = Documents::open("letters.csv")?;',
        "let letters = Documents::from_table(&letter_table)?; let len = letters.len(); let none = letters.is_empty();",
        "let first_name = letters.name(0); let all_names = letters.names(); let label_columns = letters.column_names();",
        'let books = letters.labels("book")?; let letter_years = letters.numbers("year")?;',
        "let two_letters = letters.select([2, 0])?; let letter_parts = numbered.split(0.5, 1)?;",
        "let many_letters = letters.resample(9, 1)?;",
    ],
    "Texts": [
        'std::fs::write("texts.csv", "book,letter\\nx,to be\\ny,or not to be\\n")?;',
        'let raw_texts = Texts::open("texts.csv")?; let raw_texts = raw_texts.column("letter");',
        'let framed_texts = Texts::from_frame(Table::open("texts.csv")?, "letter")?;',
        "let raw_texts = raw_texts.format(text_format)?;",
        'let some_texts = Texts::new(["to be", "or not"])?; let starts = some_texts.beginnings(2)?;',
    ],
    "Vectorizer": [
        'let counter = Vectorizer::new().lowercase(true); let counter = counter.strip_accents(true);',
        'let counter = counter.stop_words("french"); let counter = counter.stop_words(["or"]);',
        'let left_out = counter.stop_words_list(); let counter = counter.ngram_range(1, 2);',
        'let counter = counter.token_pattern("[a-z]{2,}"); let counter = counter.min_df(1); let counter = counter.max_df(1.0);',
        'let counter = counter.max_terms(9); let counter = counter.budget(Budget::new()); let counter = counter.out("texts.npz");',
        'let of_hindi = Vectorizer::new().language("hindi"); let with_phrases = Vectorizer::new().phrases(5, 0.5);',
        "let of_letters = Vectorizer::new().tokenizer(|text| text.chars().map(String::from).collect());",
        'let stems = Vectorizer::new().stem("english"); let fixed = stems.vocabulary(Terms::new(["be", "or"])?);',
        "let counted_texts = counter.fit_transform(&raw_texts)?; let fixed_counts = fixed.transform(&some_texts)?;",
        'fixed.save("words.json")?; let fixed = Vectorizer::open("words.json")?;',
    ],
    "TextCounts": [
        "let of_texts = counted_texts.counts(); let text_terms = counted_texts.terms(); let filled_texts = counted_texts.drop_empty()?;",
        "let text_documents = counted_texts.documents(); let fitted_counter = counted_texts.vectorizer();",
        "let left_away = counted_texts.dropped();",
    ],
    "Dropped": [
        "let (too_rare, too_frequent) = (left_away.rare(), left_away.frequent());",
        "let (beyond, pruned) = (left_away.beyond_max_terms(), left_away.pruned());",
    ],
    "Synthetic": [
        "let recipe = Synthetic::new(60, 30, 3);",
        "let recipe = recipe.avg_doc_length(200);",
        "let recipe = recipe.seed(1);",
        'let written = recipe.write_npy("synthetic.npy")?; let packed = recipe.write_packed("synthetic.tbc")?;',
        "show_progress(false); let corpus = recipe.generate()?; show_progress(true);",
    ],
    "Corpus": [
        "let counts = corpus.counts(); let true_l = corpus.true_l(); let true_f = corpus.true_f();",
        "let truth = corpus.plot_structure();",
    ],
    "RowTableBuilder": [
        'let new_rows = RowTable::builder(100, 4); let new_rows = new_rows.precision(Precision::Bf16);',
        "let new_rows = new_rows.optimizer(Optimizer::RowwiseAdam); let new_rows = new_rows.init_uniform(-0.5, 0.5);",
        'let new_rows = new_rows.seed(1); let in_file = new_rows.file("rows.safetensors");',
        "let embeddings = new_rows.create()?;",
    ],
    "RowTable": [
        'let new_rows = RowTable::builder(100, 4); let embeddings = new_rows.file("walk_rows.safetensors").create()?;',
        "let few_rows = embeddings.gather([7, 3, 7])?; embeddings.scatter([7, 3, 7], &few_rows)?;",
        "embeddings.update([7, 3, 7], &few_rows, 0.1)?; embeddings.flush()?; drop(embeddings);",
        'let reopened = RowTable::open("walk_rows.safetensors")?; let nearest = reopened.nearest(3, 2)?; drop(reopened);',
        'let embeddings = RowTable::open_unflushed("walk_rows.safetensors")?;',
        "let rows = embeddings.rows(); let width = embeddings.width(); let shape = embeddings.shape();",
        "let steps_taken = embeddings.steps(); let bytes_of_rows = embeddings.bytes();",
        "let updated_by = embeddings.optimizer(); let dtype_of_rows = embeddings.precision();",
    ],
    "Device": ["let device = Device::Cpu;", "let described = device.describe();"],
    "Solver": [
        "let steps = Solver::mini_batch(); let em = Solver::em();",
        "let descent = Solver::coordinate_descent(); let solver = Solver::auto();",
    ],
    "FullPass": ["let pass_parameters = topicbook::FullPass::default();"],
    "Doctor": ["let machine = topicbook::doctor(); let well = machine.is_well();"],
    "Reading": ["let reading = Reading::Auto;"],
    "ByteSize": ['let byte_size: ByteSize = "1.5 GiB".parse()?; let size = byte_size.bytes();'],
    "Budget": [
        'let budget = Budget::new(); let budget = budget.ram("3 GiB")?; let budget = budget.vram(3_000_000_000u64)?;',
        'let budget = budget.spill_dir(".");',
    ],
    "Cluster": [
        'let two_ranks = Cluster::local(2); let by_hosts = Cluster::hosts("hosts.txt"); let by_slurm = Cluster::slurm("-n 4");',
        'let by_command = Cluster::command("mpiexec -n 4"); let two_ranks = two_ranks.retries(1).folder(".");',
        "let patient = two_ranks.clone().patience(std::time::Duration::from_secs(60));",
    ],
    "Optimizer": ["let optimizer = Optimizer::RowwiseAdamW;"],
    "Precision": ["let precision = Precision::Bf16;"],
    "GradientStep": ["let step = GradientStep::CustomBackward;"],
    "TableStorage": ['let storage = TableStorage::File(".".into());'],
    "MiniBatch": [
        "let adam = Solver::mini_batch().batch_size(8); let adam = adam.base_lr(0.01); let adam = adam.max_lr(0.05);",
        "let adam = adam.t_0(20); let adam = adam.t_mult(1); let adam = adam.weight_decay(1e-5);",
        "let adam = adam.optimizer(optimizer); let adam = adam.table_storage(TableStorage::Memory);",
        "let adam = adam.gpu_precision(precision); let adam = adam.table_precision(Precision::F32);",
        "let adam = adam.step(step); let adam = adam.micro_batch(4); let adam = adam.clip_grad_norm(1e6);",
    ],
    "TopicModel": [
        "let model = TopicModel::new(3).reading(Reading::InPlace); let model = model.reading(reading);",
        "let model = model.solver(&steps); let passes = TopicModel::new(3).solver(&descent).tolerance(1e-8);",
        "let model = model.epochs(4); let model = model.batch_size(8); let model = model.seed(1);",
        "let model = model.device(Device::Cpu); let model = model.smoothing(0.0);",
        "let model = model.terms(Terms::new((0..30).map(|i| format!(\"term {i}\")))?);",
        "let estimate = model.estimate(60, 30); let sweep = TopicModel::sweep([2, 3]);",
        "let model = model.quiet();",
        "let model = model.on_epoch(|_| std::ops::ControlFlow::Continue(()));",
        'let saving = model.checkpoint("walk.checkpoint");',
        "let distributed = TopicModel::new(3).solver(Solver::em()).cluster(Cluster::local(2));",
        'let nothing_to_join = TopicModel::attach(".").unwrap_err();',
        'let model = model.budget(Budget::new().ram("3 GiB")?);',
        "let settings = model.settings(); let same = TopicModel::from_settings(settings.clone());",
        "let plan = model.plan(corpus.counts())?;",
        "let fit = saving.fit(corpus.counts())?;",
        "let training = model.spawn(corpus.counts())?;",
    ],
    "Settings": ["let (k, passes) = (settings.topics, settings.epochs);"],
    "Plan": [
        "let ram = plan.peak_ram(); let vram = plan.peak_vram(); let part = plan.micro_batch();",
        "let items = plan.table(); let consumers = plan.consumers(); let bars = plan.plot(); let fit = plan.fit()?; let behind = plan.spawn()?;",
    ],
    "Training": [
        "let ended = training.is_finished(); let done = training.epochs_done();",
        "let so_far = training.plot_loss(); let early = training.snapshot()?;",
        "training.stop();",
        "let learned = model.spawn(corpus.counts())?.join()?;",
    ],
    "Checkpoint": [
        'let checkpoint = Checkpoint::open("walk.checkpoint")?; let note = checkpoint.note().map(str::to_owned);',
        "let done = checkpoint.epochs_done(); let settings = checkpoint.settings();",
        "let checkpoint = checkpoint.budget(Budget::new()); let checkpoint = checkpoint.epochs(5); let checkpoint = checkpoint.device(Device::Cpu);",
        "let checkpoint = checkpoint.quiet();",
        "let behind = checkpoint.clone().spawn(corpus.counts())?.join()?;",
        "let resumed = checkpoint.clone().fit(corpus.counts())?;",
    ],
    "Fit": [
        "let l = fit.l(); let f = fit.f(); let given = Fit::from_matrices(&l, &f)?;",
        'let given = given.with_terms(Terms::new((0..30).map(|i| format!("term {i}")))?)?;',
        "let documents = fit.documents(); let topics = fit.topics(); let terms = fit.terms();",
        "let settings = fit.settings(); let loss = fit.loss(); let duration = fit.duration();",
        "let names = fit.term_names(); let peak = fit.peak_memory(); let epochs = fit.epochs();",
        "let trouble = fit.note().map(str::to_owned);",
        "let likelihood = fit.log_likelihood_per_token(); let score = fit.score(corpus.counts())?;",
        "let aligned = fit.align_to(corpus.true_f())?; let again = fit.transform(corpus.counts())?;",
        "let per_token = fit.score_per_token(corpus.counts())?; let perplexity = fit.perplexity(corpus.counts())?;",
        "let evaluation = fit.evaluate(corpus.counts())?; let coherence = fit.coherence(corpus.counts(), 5)?;",
        "let elsewhere = fit.coherence_in(corpus.counts(), fit.term_names().unwrap(), 5)?;",
        "let diversity = fit.diversity(10); let exclusivity = fit.exclusivity(10);",
        "let (observed, completed) = corpus.counts().split_tokens(1)?; let ranking = fit.evaluate_ranking(&observed, &completed, 5)?;",
        "let for_one = fit.recommend(&observed, 7, 5)?; let for_all = fit.recommend_all(&observed, 5)?;",
        "let best = fit.top_documents(3); let of_topic = fit.documents_of_topic(1, 3)?; let of_document = fit.topics_of_document(7)?;",
        'let in_topic = fit.terms_of_topic(1, 5)?; let of_term = fit.topics_of_term("term 7")?; let sizes = fit.topic_sizes();',
        "let alike = fit.similar_documents(7, 5)?; let correlation = fit.topic_correlation();",
        "let map = fit.topic_map(); let page = fit.explore();",
        "let top = fit.top_terms(5); let proportions = fit.doc_topics(); let history = fit.history();",
        "let curve = fit.plot_loss(); let bars = fit.plot_structure(); let words = fit.plot_top_terms(5);",
        "let memory = fit.memory(); let memory_chart = fit.plot_memory(); let network = fit.plot_topic_network();",
        'let phases = fit.memory_by_phase(); fit.save_memory_html("walk.html")?;',
        "let order = fit.sort_documents(); let ranks = fit.ranks();",
        "let in_memory = fit.transform_on(Cluster::local(2), corpus.counts()).unwrap_err();",
        "let unscored = fit.score_on(Cluster::local(2), corpus.counts()).unwrap_err();",
        'let named = fit.name_topics(["ants", "bees", "cats"])?; let renamed = named.name_topics([(2, "dogs")])?;',
        "let second = renamed.topic_name(1); let all_names = renamed.topic_names();",
        "let lifted = fit.top_terms_by(5, TermScore::Lift)?; let relevant = fit.terms_of_topic_by(1, 5, TermScore::Relevance(0.6))?;",
        "let distinctive = fit.distinctive(corpus.counts())?; let update = fit.update(corpus.counts())?;",
        "let topic_order = fit.topic_order(); let reordered = fit.reorder_topics(&topic_order)?; let merged = fit.merge_topics([0, 2])?; let fewer = merged.drop_topics([1])?;",
        "let distances = fit.topic_distances(); let points = fit.document_map(); let map = fit.plot_topic_map();",
        "let tree = fit.plot_topic_tree(); let cloud = fit.plot_document_map();",
        "let by_label = fit.by((0..60).map(|document| document / 20).collect::<Vec<usize>>())?;",
        'let described = fit.with_documents(Documents::numbered(60)?)?; let described_by = described.document_names();',
        'let labelled = fit.with_documents(Documents::numbered(60)?.with_numbers("year", 0..60)?)?; let effects = labelled.effects("year")?;',
        'let text_fit = TopicModel::new(2).epochs(2).quiet().fit(counted_texts.counts())?.with_texts(&counted_texts)?;',
        'let text_counter = text_fit.vectorizer()?; let words = text_fit.words(0)?; let new_words = text_fit.words_in("to be")?;',
        "let read = text_fit.read(1, 2)?;",
        'fit.save("walk.safetensors")?; let loaded = Fit::load("walk.safetensors")?;',
    ],
    "Explorer": [
        "let explorer = fit.explore(); let explorer = explorer.counts(corpus.counts())?;",
        'let explorer = explorer.documents((0..60).map(|i| format!("text {i}")))?; let explorer = explorer.labels(0..60)?;',
        'let explorer = explorer.title("Walk"); let explorer = explorer.terms_shown(5)?; let page = explorer.to_html()?;',
        'explorer.save_html("walk.html")?; explorer.write_pyldavis_json("walk.json")?;',
    ],
    "Words": [
        "let slider = interact(0.0..=1.0, |x| format!(\"{x}\")); let word_table = words.table(); let along = words.plot(); let coloured = words.to_html();",
    ],
    "Distinctive": [
        "let changes = distinctive.log_fold_changes(); let errors = distinctive.standard_errors();",
        "let best = distinctive.top_terms(5); let of_topic = distinctive.terms_of_topic(1, 5)?; let volcano = distinctive.plot_volcano(1);",
    ],
    "ByLabel": [
        "let labels = by_label.labels(); let means = by_label.means(); let means_table = by_label.table();",
        "let means_chart = by_label.plot();",
    ],
    "Effects": ["let coefficients = effects.terms(); let effects_table = effects.table(); let effects_chart = effects.plot();"],
    "Update": ["let updated = update.fit(); let moved = update.distances(); let moved_table = update.table();"],
    "Evaluation": [
        "let nats = evaluation.score_per_token(); let error = evaluation.standard_error(); let uncertain = evaluation.perplexity();",
        "let scored = evaluation.tokens(); let given = evaluation.observed_tokens(); let impossible = evaluation.impossible_tokens();",
        "let concentration = evaluation.concentration(); let smoothing = evaluation.smoothing();",
        "let judged = evaluation.documents(); let empty = evaluation.empty_documents();",
        "let unknown = evaluation.documents_without_first_half(); let unscored = evaluation.documents_without_second_half();",
        "let by_document = evaluation.table(); let gap = evaluation.difference(&evaluation)?;",
    ],
    "RankingEvaluation": [
        "let recall = ranking.recall(); let give = ranking.recall_error(); let ndcg = ranking.ndcg(); let take = ranking.ndcg_error();",
        "let popular_recall = ranking.popularity_recall(); let popular_ndcg = ranking.popularity_ndcg(); let first = ranking.n();",
        "let ranked = ranking.documents(); let unranked = ranking.documents_left_out(); let known = ranking.left_out();",
        "let ranked_table = ranking.table();",
    ],
    "ScoreDifference": ["let (by, give_or_take) = (gap.per_token, gap.standard_error);"],
    "Coherence": [
        "let per_topic = coherence.topics().to_vec(); let npmi = coherence.npmi(); let u_mass = coherence.u_mass();",
        "let missing = coherence.absent(); let of_terms = coherence.terms(); let in_documents = coherence.documents();",
        "let coherence_table = coherence.table();",
    ],
    "TopicCoherence": ["let first_topic = per_topic[0].clone(); let its_npmi = first_topic.npmi;"],
    "Sweep": [
        "let sweep = sweep.seeds(2); let sweep = sweep.model(TopicModel::new(1).solver(Solver::em())); let sweep = sweep.quiet();",
        "let held = sweep.held_out(corpus.counts());",
        "let sweep = sweep.on_fit(|_| std::ops::ControlFlow::Continue(()));",
        'let sweep = sweep.checkpoint("walk_sweep");',
        "let sweep_plan = sweep.plan(corpus.counts())?; let swept = sweep.fit(corpus.counts())?;",
    ],
    "SweepPlan": [
        "let sweep_ram = sweep_plan.peak_ram(); let sweep_vram = sweep_plan.peak_vram();",
        "let sweep_peaks = sweep_plan.table(); let swept = sweep_plan.fit()?;",
    ],
    "SweepFits": [
        "let numbers_of_topics = swept.topics(); let runs = swept.runs(); let one = swept.fit(3)?;",
        "let advice = swept.recommendation(); let compared = swept.table(); let over_topics = swept.plot();",
        "let consensus = swept.consensus(3)?;",
    ],
    "Consensus": [
        "let agreed = consensus.fit(); let how_stable = consensus.stability(); let outliers = consensus.dropped();",
        "let agreement = consensus.table(); let clustergram = consensus.plot();",
    ],
    "SweepRun": ["let run = runs[0].clone(); let (of_topics, of_seed) = (run.topics, run.seed);"],
    "Epoch": ["let epoch = epochs[0]; let (number, took) = (epoch.epoch, epoch.duration);"],
    "Estimate": [
        "let estimate = estimate.density(0.1); let estimate = estimate.dtype(Dtype::U16);",
        "let estimate = estimate.layout(Layout::Csr); let estimated = estimate.plan()?;",
        "let what_fits = estimate.table([2, 3], [8])?;",
    ],
    "MemoryNow": ["let memory_now = topicbook::memory();"],
    "Released": ["let given_back = release();"],
    "Shown": [
        'let sentence = markdown("**12** documents"); let page = html(format!("<p>{}</p>", 12));',
    ],
    "MemoryScope": [
        "let holding = live();",
        'let scope = memory_scope("walk"); let mut scope = scope; scope.mark("nothing"); let marks = scope.table();',
        "let highest = scope.peak(); let change = scope.change(); let over_time = scope.plot();",
        'scope.save_html("walk_scope.html")?;',
        "let mut scope = scope; scope.finish();",
    ],
    "Table": [
        'let papers = Table::new().with_column("document", [0u64, 1, 2])?.with_column("year", [1987, 1998, 1987])?;',
        'let papers = papers.with_columns((col("year") - lit(1987)).alias("age"))?;',
        "let shape = papers.shape(); let height = papers.height(); let width = papers.width();",
        "let names = papers.column_names(); let types = papers.dtypes(); let described = papers.describe()?;",
        'let mean = papers.mean("age")?;',
        'let few = papers.select(["document", "year"])?; let fewer = papers.drop("age")?;',
        'let renamed = papers.rename("document", "id")?; let old = papers.filter(col("year").lt(1990))?;',
        'let sorted = papers.sort_by("year")?; let newest = papers.sort_by_desc(["year", "document"])?;',
        "let first = papers.head(2); let last = papers.tail(1); let part = papers.slice(1, 1); let row = papers.row(0)?; let drawn = papers.sample(2, 1);",
        'let letters = Table::new().with_column("price", ["1,5"])?.with_column("sent", ["28.01.1813"])?;',
        "let priced = letters.to_number(\"price\", ',')?; let dated = priced.to_date(\"sent\", \"%d.%m.%Y\")?;",
        'let years = papers.unique("year")?; let complete = papers.drop_nulls()?; let twice = papers.vstack(&papers)?;',
        'let joined = papers.join(&renamed, ("document", "id"))?; let outer = papers.left_join(&few, "document")?;',
        'let counted = papers.value_counts("year")?; let wide = papers.pivot("year", "document", "age")?;',
        'let numbers = papers.numbers("year")?; let features = papers.matrix("year")?; let texts = papers.texts("year")?; let longer = papers.rows(100);',
        'papers.write_csv("papers.csv")?; let read = Table::open("papers.csv")?; let groups = papers.group_by("year")?;',
        "let by_comma = Table::open_with(\"papers.csv\", text_format)?;",
        'top.write_csv("top.csv")?; top.write_parquet("top.parquet")?;',
        "let frame = top.clone().into_inner();",
        "let table = Table::from(frame); let lazy = table.lazy();",
    ],
    "GroupBy": [
        'let sizes = groups.count()?; let firsts = groups.head(1)?;',
        'let means = groups.mean("age")?; let sums = groups.sum("age")?; let medians = groups.median("age")?;',
        'let deviations = groups.std("age")?; let least = groups.min("age")?; let most = groups.max("age")?;',
        'let both = groups.agg([col("age").min().alias("least"), col("age").max().alias("most")])?;',
    ],
    "Chart": [
        "let curve = Chart::loss(&[3.0, 2.0, 1.5], &[-3.0, -2.5, -2.0]);",
        "let bars = Chart::structure(&true_l); let words = Chart::top_terms(&true_f, None, 5);",
        'let both = Chart::losses([("first", &fit), ("second", &resumed)]);',
        'let spread = Chart::histogram(&lengths).bins(10); let spread = spread.log_x(); let spread = spread.x_label("tokens");',
        'let own = Chart::lines(&lengths); let own = own.x(0..lengths.len()); let own = own.y_label("tokens"); let own = own.log_y();',
        "let band = own.clone().bands(&lengths, &lengths); let grouped = bars.clone().by(vec![\"a\", \"b\", \"a\"]);",
        'let years = Chart::bars([("2019", 3), ("2020", 5)]); let cloud = Chart::scatter(&lengths, &lengths);',
        'let table = Chart::heatmap(&true_f); let table = table.y(["a", "b", "c"]);',
        'let spread = Chart::box_plot(&lengths).horizontal(); let lying = years.clone().horizontal();',
        'let certain = years.clone().error_bars([2, 4], [4, 6]); let own = certain.colors(["#1b9e77", "tomato"]);',
        'let line = cloud.fit_line(); let pale = line.opacity(0.5); let sharp = pale.dpi(300);',
        "let some = words.clone().topics([0, 2]); let some = some.size(600, 400); let some = some.font_size(16);",
        "let night = some.clone().dark(); let slide = some.clone().large(); let slide = slide.transparent();",
        'let bars = bars.title("True"); let png = bars.to_png()?; let svg = bars.to_svg()?;',
        'bars.save_png("bars.png")?; bars.save_svg("bars.svg")?; let pdf = bars.to_pdf()?; bars.save_pdf("bars.pdf")?;',
        "let colours = topicbook::palette(3); let order = topicbook::sort_documents(&true_l);",
        "let pair = side_by_side([bars.clone(), words]); let column = stack([curve, pair]);",
    ],
    "Error": [
        'let error = Counts::open("no-such-file.npy").unwrap_err();',
        "let kind = error.kind(); let place = error.place().map(str::to_owned);",
        "let remedy = error.remedy().map(str::to_owned);",
    ],
}

# The last line of a cell that shows a value of each type.
SHOWN = {
    "Matrix": ["m", "left"],
    "Dtype": ["dtype"],
    "Counts": ["dense", "csr", "npz"],
    "Batches": ["batches"],
    "CountBatch": ["batch"],
    "Trainer": ["trainer"],
    "Trained": ["trained"],
    "TrainingEstimate": ["taken"],
    "Cells": ["cells"],
    "TextFormat": ["text_format"],
    "CountTable": ["dtm", "dtm_frame"],
    "CountsWriter": ["writer"],
    "Resample": ["drawn"],
    "Layout": ["layout"],
    "Location": ["location"],
    "Summary": ["summary"],
    "Terms": ["vocabulary"],
    "Documents": ["letters", "numbered"],
    "Texts": ["raw_texts"],
    "Vectorizer": ["counter", "fixed"],
    "TextCounts": ["counted_texts"],
    "Dropped": ["left_away"],
    "Synthetic": ["recipe"],
    "Corpus": ["corpus"],
    "RowTableBuilder": ["new_rows"],
    "RowTable": ["embeddings"],
    "Device": ["device"],
    "Solver": ["descent"],
    "MiniBatch": ["adam"],
    "FullPass": ["pass_parameters"],
    "Doctor": ["machine"],
    "Reading": ["reading"],
    "TopicModel": ["model"],
    "Settings": ["settings"],
    "Training": ["training"],
    "Checkpoint": ["checkpoint"],
    "Cluster": ["patient", "by_hosts"],
    "Optimizer": ["optimizer"],
    "Precision": ["precision"],
    "GradientStep": ["step"],
    "Estimate": ["estimate"],
    "MemoryNow": ["memory_now"],
    "Released": ["given_back"],
    "TableStorage": ["storage"],
    "ByteSize": ["byte_size"],
    "Budget": ["budget"],
    "Plan": ["plan"],
    "Shown": ["sentence", "page"],
    "MemoryScope": ["scope"],
    "Fit": ["fit", "loaded", "given", "resumed"],
    "Explorer": ["explorer"],
    "Words": ["words", "read"],
    "Distinctive": ["distinctive"],
    "ByLabel": ["by_label"],
    "Effects": ["effects"],
    "Update": ["update"],
    "Epoch": ["epoch"],
    "Evaluation": ["evaluation"],
    "RankingEvaluation": ["ranking"],
    "ScoreDifference": ["gap"],
    "Coherence": ["coherence"],
    "TopicCoherence": ["first_topic"],
    "Sweep": ["sweep"],
    "SweepPlan": ["sweep_plan"],
    "SweepFits": ["swept"],
    "SweepRun": ["run"],
    "Consensus": ["consensus"],
    "Table": ["top", "history", "wide"],
    "GroupBy": ["groups"],
    "Chart": ["column"],
    "Error": ["error"],
}


def exported():
    """The names that `lib.rs` exports, without modules and without names that are hidden from the documentation."""
    library = (ROOT / "src/lib.rs").read_text()
    library = library[: library.index("pub mod prelude")]
    names = set()
    for hidden, found in re.findall(r"(#\[doc\(hidden\)\]\s+)?pub use \w+::(\{[^}]*\}|\w+);", library):
        if not hidden:
            names.update(re.findall(r"\w+", found))
    return names


def methods(types):
    """(type, name, signature) of the public methods in `impl` blocks; rustfmt ends a block with a brace in column 1."""
    for path in sorted(path for folder in SOURCES for path in folder.rglob("*.rs")):
        source = path.read_text()
        for name, block in re.findall(r"^impl(?:<[^>]*>)? (\w+)[^{\n]*\{\n(.*?)^\}", source, re.M | re.S):
            if name in types:
                # Hidden functions are for the crates of this repository.
                block = re.sub(r"    #\[doc\(hidden\)\]\n(?:    #\[.*\n)*    pub fn", "    fn", block)
                for found in re.finditer(r"^    pub (?:const )?fn (\w+)(.*?) \{\n", block, re.M | re.S):
                    yield name, found[1], found[2]


def cells():
    """(types, lines, names to show) of cells with at most a dozen lines, or the lines of one type."""
    owners, lines, shown = [], [], []
    for owner, more in WALK.items():
        if owners and len(lines) + len(more) > 12:
            yield owners, lines, shown
            owners, lines, shown = [], [], []
        owners, lines, shown = owners + [owner], lines + more, shown + SHOWN.get(owner, [])
    yield owners, lines, shown


def statements(lines):
    return [part.strip() for line in lines for part in line.split(";") if part.strip()]


def unwalked():
    """A message for each exported name that is neither in a cell nor among the exceptions."""
    names = exported()
    types = {name for name in names if name[0].isupper()} - set(NOT_SHOWN)
    everything = [line for lines in WALK.values() for line in statements(lines)]
    missing = [f"{name} is never shown" for name in sorted(types - set(SHOWN))]
    missing += [f"{name} is not exported" for name in sorted((set(SHOWN) | set(WALK)) - types)]
    for name in sorted(names - types - set(NOT_SHOWN)):
        start = "" if name in RETURNS_NOTHING else r"let \w+ = .*\b"
        if not any(re.match(rf"{start}{name}\(", line) for line in everything):
            missing.append(f"{name}() is never {'called' if name in RETURNS_NOTHING else 'bound'}")
    seen = set()
    for owner, name, signature in methods(types):
        seen.add(owner)
        returns_nothing = "->" not in signature or "-> Result<()>" in signature
        start = "" if returns_nothing else r"let \(?\w+(?:, \w+)*\)? = "
        call = rf"{start}.*(?:\.|\b{owner}(?:::<\w+>)?::){name}(?:::<[^(]*>)?\("
        if not any(re.match(call, line, re.S) for line in statements(WALK.get(owner, []))):
            missing.append(f"{owner}::{name} is never {'called' if returns_nothing else 'bound'}")
    # After a change of style the expressions above might find nothing, and the test would always pass.
    if not {"Counts", "Fit", "Chart", "TopicModel"} <= seen:
        missing.append(f"the sources were not parsed: methods were found only for {sorted(seen)}")
    return missing
