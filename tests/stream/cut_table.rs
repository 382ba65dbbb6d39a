//! Tables whose files are cut while they are read.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use topicbook::{Counts, Error, Table};

use crate::cut::cut;

#[test]
fn a_table_cut_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 0..200_000i64;
    let documents: Vec<i64> = rows.clone().map(|row| row / 500).collect();
    let terms: Vec<i64> = rows.map(|row| row % 500).collect();
    let table = Table::new().with_column("doc", documents).unwrap();
    let table = table.with_column("count", terms.clone()).unwrap();
    let table = table.with_column("term", terms).unwrap();
    let paths = ["X.csv", "X.parquet"].map(|name| folder.path().join(name));
    table.write_csv(&paths[0]).unwrap();
    table.write_parquet(&paths[1]).unwrap();
    type Read = fn(&Path) -> Option<Error>;
    let readers: [Read; 2] = [
        |path| Counts::open(path).err(),
        |path| Table::open(path).err(),
    ];
    for path in &paths {
        let whole = fs::read(path).unwrap();
        for read in readers {
            let start = Instant::now();
            assert!(read(path).is_none());
            let time = start.elapsed();
            let mut failed = 0;
            for part in 0..16 {
                let reading = {
                    let path = path.clone();
                    thread::spawn(move || read(&path))
                };
                thread::sleep(time * part / 16);
                cut(path, 0);
                if let Some(error) = reading.join().unwrap() {
                    let text = error.to_string();
                    assert!(text.contains("X."), "{text}");
                    assert!(error.remedy().is_some(), "{text}");
                    failed += 1;
                }
                fs::write(path, &whole).unwrap();
            }
            assert!(failed > 0, "{}", path.display());
        }
    }
}
