//! Plans without counts: the same as with them, for machines that are not this one.

use testkit::refused;
use topicbook::{Budget, Device, Dtype, ErrorKind, Layout, Plan, Solver, Synthetic, TopicModel};

/// Items of a plan with their bytes, without the process and the checks, which may have been made.
fn items(plan: &Plan) -> Vec<(String, f64)> {
    let table = plan.table();
    let (what, bytes) = (table.texts("what"), table.numbers("bytes"));
    let rows = what.unwrap().into_iter().zip(bytes.unwrap());
    rows.filter(|(what, _)| {
        !["process before", "while checking", "lengths"]
            .iter()
            .any(|part| what.contains(part))
    })
    .collect()
}

#[test]
fn an_estimate_is_the_plan_of_the_counts() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Synthetic::new(3_000, 2_000, 5).avg_doc_length(100).seed(1);
    let dense = recipe
        .write_npy(folder.path().join("X.npy"))
        .unwrap()
        .counts();
    let sparse = dense.write_npz(folder.path().join("X.npz")).unwrap();
    let density = dense.summary().unwrap().density();
    let tight = Budget::new().ram("400 MiB").unwrap();
    let simulated = tight.vram("30 MiB").unwrap();
    let models = [
        TopicModel::new(5).budget(&tight),
        TopicModel::new(20).batch_size(256).budget(&tight),
        TopicModel::new(5).solver(Solver::em()).budget(&tight),
        TopicModel::new(5).solver(Solver::auto()).budget(&tight),
    ];
    for model in models.map(|model| model.device(Device::Cpu)) {
        for (counts, dtype, layout) in [
            (&dense, Dtype::U8, Layout::Dense),
            (&sparse, Dtype::F32, Layout::Csr),
        ] {
            let estimate = model.estimate(3_000, 2_000).density(density);
            let estimate = estimate.dtype(dtype).layout(layout).plan().unwrap();
            let counts = topicbook::Counts::open(match layout {
                Layout::Dense => folder.path().join("X.npy"),
                _ => folder.path().join("X.npz"),
            })
            .unwrap_or(counts.clone());
            if layout == Layout::Dense {
                // Otherwise the plan reads them first, and the length of each document is known already.
                counts.summary().unwrap();
            }
            let plan = model.plan(&counts).unwrap();
            assert_eq!(items(&estimate), items(&plan), "{plan}\n{estimate}");
        }
    }
    // A GPU that is only described.
    let gpu = TopicModel::new(5).batch_size(256).budget(&simulated);
    let plan = gpu.estimate(3_000, 2_000).density(density).plan().unwrap();
    assert!(plan.to_string().contains("CUDA GPU"), "{plan}");
    let simulated = gpu.device(Device::Cpu).plan(&dense).unwrap();
    assert_eq!(plan.peak_vram(), simulated.peak_vram());
}

#[test]
fn the_sizes_of_the_article_are_planned_on_its_machine() {
    let machine = Budget::new().ram("64 GB").unwrap().vram("24 GB").unwrap();
    let model = TopicModel::new(20).batch_size(256).budget(&machine);
    for (documents, resident) in [(100_000, true), (500_000, false)] {
        let plan = model
            .estimate(documents, 100_000)
            .density(0.47)
            .plan()
            .unwrap();
        let (ram, vram) = (plan.peak_ram(), plan.peak_vram().unwrap());
        assert!(ram < 64_000_000_000 && vram < 24_000_000_000, "{plan}");
        // 10 GB of counts fit into the GPU's memory, 50 GB do not.
        assert_eq!(vram > 10_000_000_000, resident, "{plan}");
        // Whatever memory this machine has: 10 GB are less than half of the described one's.
        let streamed = plan.to_string().contains("streamed once per epoch");
        assert_eq!(streamed, !resident, "{plan}");
        refused! {
            plan.fit() => Value, "an estimate has no counts";
            plan.spawn() => Value, "an estimate has no counts";
        }
    }
    let small = model.budget(Budget::new().ram("1 GB").unwrap().vram("10 MB").unwrap());
    refused! { small.estimate(500_000, 100_000).plan() => Space; }
}

#[test]
fn a_table_says_what_fits() {
    let machine = Budget::new().ram("8 GB").unwrap().vram("300 MB").unwrap();
    let estimate = TopicModel::new(1)
        .budget(&machine)
        .estimate(5_000_000, 20_000)
        .density(0.01);
    let table = estimate.table([10, 100, 1_000], [16, 4_096]).unwrap();
    assert_eq!(table.shape(), (6, 5));
    let verdicts = table.texts("verdict").unwrap();
    assert!(verdicts[0].starts_with("fits"), "{verdicts:?}");
    assert!(
        verdicts
            .iter()
            .any(|verdict| verdict.contains("L offloaded")),
        "{verdicts:?}"
    );
    assert_eq!(verdicts[5], "refused");
    let vram = table.numbers("vram").unwrap();
    for (vram, verdict) in vram.iter().zip(&verdicts) {
        assert_eq!(vram.is_nan(), verdict == "refused");
    }
}

#[test]
fn estimates_of_nothing_are_refused() {
    let model = TopicModel::new(10);
    for density in [0.0, -0.1, 1.5, f64::NAN] {
        let estimate = model.estimate(100, 100).density(density);
        refused! { estimate.plan() => Setting, "density is"; }
    }
    for (documents, terms) in [(0, 100), (100, 0), (5, 100), (100, 5), (usize::MAX, 100)] {
        refused! { model.estimate(documents, terms).plan(); }
    }
}
