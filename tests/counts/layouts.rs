//! The same counts in every layout, dtype and file format have the same rows, summary and shape.

use std::collections::HashMap;
use std::path::Path;

#[cfg(feature = "polars")]
use polars::prelude::{Column, CsvWriter, DataFrame, ParquetWriter, SerWriter};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use safetensors::tensor::{Dtype as TensorDtype, TensorView};
use topicbook::{Counts, Dtype, Layout, Location, Summary};

/// Counts as a plain table: the reference for all layouts.
struct Table {
    name: &'static str,
    documents: usize,
    terms: usize,
    values: Vec<u8>,
}

/// Shapes around the widths of vectorised loops, dense and sparse.
fn tables() -> Vec<Table> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut table = |name, documents: usize, terms: usize, density: f64| Table {
        name,
        documents,
        terms,
        values: (0..documents * terms)
            .map(|_| {
                if random.random::<f64>() < density {
                    random.random_range(1..=255)
                } else {
                    0
                }
            })
            .collect(),
    };
    let mut tables = vec![
        table("dense", 7, 19, 1.0),
        table("sparse", 50, 33, 0.05),
        table("one row", 1, 64, 0.5),
        table("one column", 65, 1, 0.5),
        table("all zero", 3, 8, 0.0),
        // More than one block of the parallel pass.
        table("many values", 600, 1000, 0.2),
    ];
    tables.push(Table {
        name: "one",
        documents: 1,
        terms: 1,
        values: vec![255],
    });
    tables
}

impl Table {
    fn row(&self, row: usize) -> &[u8] {
        &self.values[row * self.terms..(row + 1) * self.terms]
    }

    fn cast<T: From<u8>>(&self) -> Vec<T> {
        self.values.iter().map(|&value| T::from(value)).collect()
    }

    fn dense<T: topicbook::CountValue + From<u8>>(&self) -> Counts {
        Counts::dense(self.documents, self.terms, self.cast::<T>()).unwrap()
    }

    /// Documents, terms and counts of the nonzeros.
    fn triplets(&self) -> (Vec<u32>, Vec<u32>, Vec<f32>) {
        let mut triplets = (vec![], vec![], vec![]);
        for (index, &value) in self.values.iter().enumerate() {
            if value != 0 {
                triplets.0.push((index / self.terms) as u32);
                triplets.1.push((index % self.terms) as u32);
                triplets.2.push(f32::from(value));
            }
        }
        triplets
    }

    fn csr(&self) -> Counts {
        let (documents, terms, counts) = self.triplets();
        let mut indptr = vec![0; self.documents + 1];
        for document in documents {
            indptr[document as usize + 1] += 1;
        }
        for row in 0..self.documents {
            indptr[row + 1] += indptr[row];
        }
        Counts::csr(self.documents, self.terms, indptr, terms, counts).unwrap()
    }

    /// The triplets in reverse order, with a column that is not read.
    #[cfg(feature = "polars")]
    fn frame(&self) -> DataFrame {
        let (mut documents, mut terms, mut counts) = self.triplets();
        documents.reverse();
        terms.reverse();
        counts.reverse();
        DataFrame::new_infer_height(vec![
            Column::new("count".into(), counts),
            Column::new("term".into(), terms),
            Column::new("note".into(), vec!["ignored"; documents.len()]),
            Column::new("doc".into(), documents),
        ])
        .unwrap()
    }

    /// These counts in every layout.
    fn layouts(&self, folder: &Path) -> Vec<(String, Counts)> {
        let csr = self.csr();
        let mut layouts = vec![
            ("u8".to_string(), self.dense::<u8>()),
            ("u16".to_string(), self.dense::<u16>()),
            ("u32".to_string(), self.dense::<u32>()),
            ("i32".to_string(), self.dense::<i32>()),
            ("i64".to_string(), self.dense::<i64>()),
            ("f32".to_string(), self.dense::<f32>()),
            ("f64".to_string(), self.dense::<f64>()),
        ];
        let dtypes: HashMap<String, Dtype> = layouts
            .iter()
            .map(|(name, counts)| (name.clone(), counts.dtype()))
            .collect();
        let wide = self.dense::<f64>();
        for (name, dtype) in &dtypes {
            let from_dense = folder.join(format!("dense-{name}.npy"));
            let from_sparse = folder.join(format!("sparse-{name}.npy"));
            layouts.push((
                format!("dense {name}.npy"),
                wide.write_npy_as(from_dense, *dtype).unwrap(),
            ));
            layouts.push((
                format!("sparse {name}.npy"),
                csr.write_npy_as(from_sparse, *dtype).unwrap(),
            ));
        }
        layouts.push((
            "dense .npz".into(),
            wide.write_npz(folder.join("dense.npz")).unwrap(),
        ));
        layouts.push((
            "sparse .npz".into(),
            csr.write_npz(folder.join("sparse.npz")).unwrap(),
        ));
        for (name, counts) in [("dense", &wide), ("sparse", &csr)] {
            let packed = counts.write_packed(folder.join(format!("{name}.tbc")));
            layouts.push((format!("{name} .tbc"), packed.unwrap()));
        }
        if self.documents > 1 {
            let half = self.documents / 2;
            for (name, extension) in [("u8", "npy"), ("csr", "npz"), ("packed", "tbc")] {
                let paths = [0..half, half..self.documents].map(|rows| {
                    let path = folder.join(format!("half-{}.{extension}", rows.start));
                    let rows: Vec<usize> = rows.collect();
                    match name {
                        "u8" => self.dense::<u8>().select(&rows).unwrap().write_npy(&path),
                        "packed" => csr.select(&rows).unwrap().write_packed(&path),
                        _ => csr.select(&rows).unwrap().write_npz(&path),
                    }
                    .unwrap();
                    path
                });
                let counts = Counts::open_files(paths).unwrap();
                layouts.push((format!("files of {name}.{extension}"), counts));
            }
        }
        layouts.push(("csr".into(), csr));

        let path = folder.join("X.safetensors");
        let view = TensorView::new(
            TensorDtype::U8,
            vec![self.documents, self.terms],
            &self.values,
        )
        .unwrap();
        let other = TensorView::new(TensorDtype::U8, vec![1, 1], &[7]).unwrap();
        safetensors::serialize_to_file([("other", other), ("X", view)], None, &path).unwrap();
        layouts.push((".safetensors".into(), Counts::open(&path).unwrap()));

        #[cfg(feature = "polars")]
        if self.values.iter().any(|&value| value > 0) {
            let mut frame = self.frame();
            let path = folder.join("X.pq");
            ParquetWriter::new(std::fs::File::create(&path).unwrap())
                .finish(&mut frame)
                .unwrap();
            let counts = Counts::open_triplets(&path, self.documents, self.terms).unwrap();
            layouts.push((".pq".into(), counts));
            let path = folder.join("X.csv");
            CsvWriter::new(std::fs::File::create(&path).unwrap())
                .finish(&mut frame)
                .unwrap();
            let counts = Counts::open_triplets(&path, self.documents, self.terms).unwrap();
            layouts.push((".csv".into(), counts));
        }
        layouts
    }

    fn check_summary(&self, summary: &Summary, what: &str) {
        let lengths: Vec<f64> = (0..self.documents)
            .map(|row| self.row(row).iter().map(|&value| f64::from(value)).sum())
            .collect();
        let used = |column| (0..self.documents).any(|row| self.row(row)[column] != 0);
        let nonzeros = self.values.iter().filter(|&&value| value != 0).count();
        assert_eq!(summary.total(), lengths.iter().sum::<f64>(), "{what}");
        assert_eq!(summary.nonzeros(), nonzeros as u64, "{what}");
        assert_eq!(
            summary.density(),
            nonzeros as f64 / self.values.len() as f64,
            "{what}"
        );
        let largest = self.values.iter().max().copied().unwrap_or_default();
        assert_eq!(summary.largest(), f64::from(largest), "{what}");
        assert_eq!(summary.document_lengths(), lengths, "{what}");
        let empty: Vec<usize> = (0..self.documents)
            .filter(|&row| lengths[row] == 0.0)
            .collect();
        assert_eq!(summary.empty_documents(), empty, "{what}");
        let empty: Vec<usize> = (0..self.terms).filter(|&column| !used(column)).collect();
        assert_eq!(summary.empty_terms(), empty, "{what}");
    }

    fn check_rows(&self, counts: &Counts, rows: &[usize], what: &str) {
        let expected: Vec<f32> = rows
            .iter()
            .flat_map(|&row| self.row(row).iter().map(|&value| f32::from(value)))
            .collect();
        let mut found = vec![f32::NAN; rows.len() * self.terms];
        counts.fill_rows(rows, &mut found).unwrap();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn every_layout_has_the_same_counts() {
    for table in tables() {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<usize> = (0..table.documents).collect();
        // A few rows, unsorted, one of them twice.
        let selection: Vec<usize> = [all.len() - 1, 0, all.len() / 2, 0].to_vec();
        for (layout, counts) in table.layouts(folder.path()) {
            let what = format!("{} as {layout}", table.name);
            assert_eq!(counts.shape(), (table.documents, table.terms), "{what}");
            assert_eq!(counts.documents(), table.documents, "{what}");
            assert_eq!(counts.terms(), table.terms, "{what}");
            assert_eq!(counts.bytes_dense_f32(), table.values.len() as u64 * 4);
            table.check_rows(&counts, &all, &what);
            table.check_rows(&counts, &selection, &what);
            table.check_rows(&counts, &[], &what);
            table.check_summary(&counts.summary().unwrap(), &what);

            let selected = counts.select(&selection).unwrap();
            assert_eq!(selected.layout(), counts.layout(), "{what}");
            assert_eq!(selected.dtype(), counts.dtype(), "{what}");
            assert_eq!(selected.location(), Location::Memory, "{what}");
            let mut rows = vec![0.0; selection.len() * table.terms];
            let mut selected_rows = rows.clone();
            counts.fill_rows(&selection, &mut rows).unwrap();
            selected
                .fill_rows(&[0, 1, 2, 3], &mut selected_rows)
                .unwrap();
            assert_eq!(rows, selected_rows, "{what}");

            let expected = match counts.layout() {
                Layout::Csr => {
                    counts.summary().unwrap().nonzeros() * 8 + (table.documents as u64 + 1) * 8
                }
                _ => (table.values.len() * counts.dtype().bytes()) as u64,
            };
            assert_eq!(counts.bytes_stored(), expected, "{what}");
        }
    }
}

#[test]
#[cfg(feature = "polars")]
fn the_largest_ids_of_triplets_give_the_shape() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("X.csv", "count,doc,term\n4,2,0\n1,0,5\n"),
        (
            "Y.csv",
            "\n count ; doc ; term ;name\n4;2;0;3\" nail\n1;0;5;\"a;b\"\n",
        ),
        ("X.tsv", "count\tdoc\tterm\n4\t2\t0\n1\t0\t5\n"),
        ("X.TAB", "note,\tterm\tdoc\tcount\na\t0\t2\t4\n\t5\t0\t1\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let counts = Counts::open(&path).unwrap();
        assert_eq!(counts.shape(), (3, 6), "{name}");
        let summary = counts.summary().unwrap();
        assert_eq!(summary.document_lengths(), [1.0, 0.0, 4.0], "{name}");
        assert_eq!(counts.location(), Location::Loaded(path));
    }
}

/// With any number of threads, the result is the same, and the first invalid value is reported.
#[test]
fn the_summary_does_not_depend_on_the_number_of_threads() {
    let (documents, terms) = (3_000, 300);
    let mut values: Vec<f64> = (0..documents * terms)
        .map(|index| (index % 7) as f64)
        .collect();
    let summary = |threads: usize, values: &[f64]| {
        let counts = Counts::dense(documents, terms, values.to_vec()).unwrap();
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
            .install(|| counts.summary().map_err(|error| error.to_string()))
    };
    let one = summary(1, &values);
    assert!(one.is_ok());
    for threads in [2, 3, 8] {
        assert!(summary(threads, &values) == one, "{threads} threads");
    }
    for index in [2_999 * terms, 1_777 * terms + 299, 1_777 * terms + 5] {
        values[index] = -1.0;
        let expected = format!("row {}, column {}", index / terms, index % terms);
        for threads in [1, 2, 8] {
            let message = summary(threads, &values).unwrap_err();
            assert!(message.contains(&expected), "{message}");
        }
    }
}

#[test]
fn write_npy_narrow_chooses_the_narrowest_dtype() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (255.0, Dtype::U8),
        (256.0, Dtype::U16),
        (65_536.0, Dtype::U32),
        (4_294_967_296.0, Dtype::I64),
        (1e30, Dtype::F64),
    ];
    for (largest, dtype) in cases {
        let counts = Counts::dense(2, 2, vec![0.0, 1.0, largest, 0.0]).unwrap();
        let narrow = counts
            .write_npy_narrow(folder.path().join("X.npy"))
            .unwrap();
        assert_eq!(narrow.dtype(), dtype, "{largest}");
        assert_eq!(narrow.summary().unwrap(), counts.summary().unwrap());
    }
}

/// `Debug`, `Display` and the display in a cell do not read the values, which are invalid here.
#[test]
fn counts_describe_themselves_without_reading_values() {
    let counts = Counts::dense(1_000, 20, vec![-1.0f32; 20_000]).unwrap();
    assert!(format!("{counts:?}").starts_with("Counts {"));
    let line = counts.to_string();
    assert!(!line.contains('\n'), "{line}");
    for fragment in ["documents", "20 terms", "dense f32", "memory"] {
        assert!(line.contains(fragment), "{line}");
    }
}
