//! A fit to counts that are larger than the memory it gets: the small version of `cargo xtask bench memory`.

#[path = "support/cgroup.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;

use support::Cgroup;
use topicbook::{Counts, Device, Dtype, Reading, Synthetic, TopicModel};

const FILE: &str = "TOPICBOOK_TEST_FILE";
const LIMIT: u64 = 256 << 20;

/// The process inside the cgroup; alone it does nothing.
#[test]
fn inside() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let counts = Counts::open(PathBuf::from(path)).unwrap();
    assert!(counts.bytes_stored() > LIMIT);
    for batch in [16, 256] {
        let fit = TopicModel::new(5)
            .epochs(2)
            .batch_size(batch)
            .seed(1)
            .device(Device::Cpu)
            .reading(Reading::Stream {
                block: 8,
                blocks: 32,
            })
            .quiet()
            .fit(&counts)
            .unwrap();
        assert!(fit.loss().is_finite());
    }
}

#[test]
fn counts_larger_than_memory_are_fitted_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("X.npy");
    let narrow = Synthetic::new(3_000, 30_000, 5)
        .avg_doc_length(200)
        .seed(1)
        .write_npy(folder.path().join("narrow.npy"))
        .unwrap();
    narrow.counts().write_npy_as(&path, Dtype::F32).unwrap();
    let group = match Cgroup::new(LIMIT) {
        Ok(group) => group,
        Err(reason) => {
            println!("SKIPPED: {reason}");
            return;
        }
    };
    let output = group
        .run(
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "inside"])
                .env(FILE, &path),
        )
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    if let Some(largest) = group.largest_use() {
        assert!(largest <= LIMIT, "{largest} bytes");
    }
}
