//! What writers do with links, permissions, devices, FIFOs and odd names. The same for all of them.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;

use testkit::Tmpfs;
use topicbook::{Chart, Checkpoint, Counts, ErrorKind, Fit, Result, Synthetic, Table, TopicModel};

type Write = Box<dyn Fn(&Path) -> Result<()>>;

/// A method that writes a file, the extension that it requires, and whether the library reads that file again.
type Writer = (&'static str, &'static str, bool, Write);

fn writer(name: &'static str, write: impl Fn(&Path) -> Result<()> + 'static) -> Writer {
    (name, "", false, Box::new(write))
}

/// What it returns is read from the file.
fn reader<T>(
    name: &'static str,
    ending: &'static str,
    write: impl Fn(&Path) -> Result<T> + 'static,
) -> Writer {
    (
        name,
        ending,
        true,
        Box::new(move |path| write(path).map(drop)),
    )
}

fn writers() -> Vec<Writer> {
    let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0]).unwrap();
    let model = TopicModel::new(2).epochs(2).quiet();
    let fit = model.fit(&counts).unwrap();
    let chart = Chart::histogram([1.0, 2.0, 2.0]);
    let table = Table::new().with_column("x", [1, 2]).unwrap();
    let (png, csv, npy, npz) = (chart.clone(), table.clone(), counts.clone(), counts.clone());
    let (h5ad, packed) = (counts.clone(), counts.clone());
    vec![
        writer("save", move |path| fit.save(path)),
        writer("save_png", move |path| png.save_png(path)),
        writer("save_svg", move |path| chart.save_svg(path)),
        writer("write_csv", move |path| csv.write_csv(path)),
        writer("write_parquet", move |path| table.write_parquet(path)),
        reader("write_npy", ".npy", move |path| npy.write_npy(path)),
        reader("write_npz", ".npz", move |path| npz.write_npz(path)),
        reader("write_packed", ".tbc", move |path| {
            packed.write_packed(path)
        }),
        reader("write_h5ad", ".h5ad", move |path| {
            h5ad.write_h5ad(path, None, None)
        }),
        reader("Synthetic", ".npy", |path| {
            Synthetic::new(5, 4, 2).write_npy(path)
        }),
        reader("checkpoint", "", move |path| {
            model.checkpoint(path).fit(&counts)
        }),
    ]
}

/// All writers except the checkpoint, which replaces checkpoints alone; where one cannot be written, the fit continues.
fn file_writers() -> impl Iterator<Item = Writer> {
    writers()
        .into_iter()
        .filter(|writer| writer.0 != "checkpoint")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn links_stay_and_files_keep_their_permissions() {
    for (name, ending, _, write) in writers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(format!("{name}{ending}"));
        fs::create_dir(folder.path().join("links")).unwrap();
        let link = folder.path().join(format!("links/link{ending}"));
        symlink(format!("../far{ending}"), &link).unwrap();
        symlink(format!("file{ending}"), at("far")).unwrap();
        // The link names a file that is not there yet.
        write(&link).unwrap();
        fs::set_permissions(at("file"), Permissions::from_mode(0o600)).unwrap();
        let first = fs::read(at("file")).unwrap();
        assert!(!first.is_empty(), "{name}");
        write(&link).unwrap();
        assert_eq!(mode(&at("file")), 0o600, "{name}");
        for link in [&link, &at("far")] {
            assert!(fs::symlink_metadata(link).unwrap().is_symlink(), "{name}");
        }
        // Neither a temporary file nor a checkpoint of an earlier fit is left.
        let left = [folder.path(), &folder.path().join("links")]
            .map(|folder| fs::read_dir(folder).unwrap().count());
        assert_eq!(left, [3, 1], "{name}");
    }
}

#[test]
fn a_checkpoint_behind_a_link_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    symlink("real", at("link")).unwrap();
    let counts = Synthetic::new(40, 20, 2).generate().unwrap().counts();
    let model = TopicModel::new(2).epochs(3).seed(1).quiet();
    model.checkpoint(at("link")).fit(&counts).unwrap();
    let resumed = Checkpoint::open(at("link")).unwrap().epochs(6).quiet();
    let resumed = resumed.fit(&counts).unwrap();
    assert!(resumed.l() == model.epochs(6).fit(&counts).unwrap().l());
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    // The checkpoint before the newest lies next to the newest.
    assert!(at("real.previous").exists() && !at("link.previous").exists());
    fs::write(at("real"), "damaged").unwrap();
    assert_eq!(Checkpoint::open(at("link")).unwrap().epochs_done(), 3);
}

#[test]
fn a_read_only_file_stays_as_it_is() {
    for (name, ending, _, write) in file_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("file{ending}"));
        fs::write(&path, "kept").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let error = write(&path).unwrap_err();
        assert!(
            error.to_string().contains("is read-only"),
            "{name}: {error}"
        );
        assert!(error.remedy().is_some(), "{name}");
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path)),
            (b"kept".to_vec(), 0o444),
            "{name}"
        );
    }
}

#[test]
fn devices_are_written_to_and_not_replaced() {
    for (name, ending, reads_again, write) in writers() {
        let folder = tempfile::tempdir().unwrap();
        for device in ["/dev/null", "/dev/full"] {
            let link = folder.path().join(format!("{}{ending}", &device[5..]));
            symlink(device, &link).unwrap();
            let outcome = write(&link);
            let kind = fs::metadata(device).unwrap().file_type();
            assert!(kind.is_char_device(), "{name}: {device} was replaced");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{name}");
            assert_eq!(
                outcome.is_ok(),
                device == "/dev/null" && !reads_again,
                "{name} {device}"
            );
        }
    }
    // It also works without a link.
    Chart::histogram([1.0, 2.0]).save_png("/dev/null").unwrap();
}

#[test]
fn a_fifo_is_written_to_where_somebody_reads_it() {
    for (name, ending, reads_again, write) in writers() {
        let folder = tempfile::tempdir().unwrap();
        let [fifo, file] =
            ["fifo", "file"].map(|name| folder.path().join(format!("{name}{ending}")));
        assert!(
            Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let error = write(&fifo).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{name}: {error}");
        assert!(
            error.to_string().contains("FIFO") || name == "checkpoint",
            "{name}: {error}"
        );
        assert!(error.remedy().is_some(), "{name}");
        if !reads_again {
            let reader = {
                let fifo = fifo.clone();
                thread::spawn(move || {
                    let mut bytes = Vec::new();
                    File::open(fifo).unwrap().read_to_end(&mut bytes).unwrap();
                    bytes
                })
            };
            // Until the reader has opened it, nobody reads the FIFO.
            testkit::wait_for("reader", || write(&fifo).is_ok());
            write(&file).unwrap();
            // The metadata of a fit come in any order.
            let (read, written) = (reader.join().unwrap(), fs::read(&file).unwrap());
            assert_eq!((read.len(), read[0]), (written.len(), written[0]), "{name}");
        }
        assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo(), "{name}");
    }
}

#[test]
fn odd_names_are_written_and_shown_in_one_line() {
    for (name, ending, _, write) in file_writers() {
        let folder = tempfile::tempdir().unwrap();
        let long = "n".repeat(255 - ending.len());
        let odd: [&[u8]; 3] = [long.as_bytes(), b"a\nb", b"\xff\xfe"];
        for stem in odd {
            let file = OsStr::from_bytes(&[stem, ending.as_bytes()].concat()).to_owned();
            write(&folder.path().join(&file)).unwrap();
            // Refused in a folder of that name, which is a file, or is missing.
            let error = write(&folder.path().join(&file).join(format!("x{ending}"))).unwrap_err();
            let text = error.to_string();
            let shown = String::from_utf8_lossy(stem).replace('\n', "\\n");
            assert!(
                text.lines().next().unwrap().contains(&*shown),
                "{name}: {text}"
            );
        }
        let error = write(&folder.path().join(format!("n{long}{ending}"))).unwrap_err();
        assert!(
            error.to_string().contains("at most 255 bytes"),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_folder_that_is_not_writable_is_an_error() {
    let Some(disk) = Tmpfs::or_skip("8m") else {
        return;
    };
    assert!(disk.make_read_only());
    for (name, ending, _, write) in file_writers() {
        let error = write(&disk.path().join(format!("file{ending}"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{name}: {error}");
        assert!(
            error.to_string().contains("name a folder on another disk"),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_saved_fit_is_private_where_the_file_was() {
    // The temporary file never has wider permissions than the file: it is seen while it is written.
    let (folder, path) = testkit::temp_path("fit");
    let counts = Synthetic::new(3000, 300, 2).generate().unwrap().counts();
    let fit = TopicModel::new(100).epochs(1).quiet().fit(&counts).unwrap();
    fit.save(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let saving = {
        let path = path.clone();
        thread::spawn(move || (0..20).for_each(|_| fit.save(&path).unwrap()))
    };
    let mut seen = 0;
    while !saving.is_finished() {
        for entry in fs::read_dir(folder.path()).unwrap().flatten() {
            if let Ok(metadata) = entry.metadata() {
                assert_eq!(metadata.permissions().mode() & 0o077, 0, "{entry:?}");
                seen += 1;
            }
        }
    }
    saving.join().unwrap();
    assert!(seen > 0);
    assert_eq!(Fit::load(&path).unwrap().topics(), 100);
}
