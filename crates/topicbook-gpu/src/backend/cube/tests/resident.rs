//! Resident counts.

use cubecl::prelude::Runtime;
use cubecl::server::Handle;

use crate::backend::cube::lavapipe;
use crate::backend::cube::lavapipe::{Processor, Software};
use crate::backend::cube::upload::Dense;

use super::*;

/// Dense and sparse counts in several pieces.
#[test]
fn resident_counts_are_gathered_from_all_pieces() {
    if !lavapipe::has_lavapipe() {
        return;
    }
    let (documents, terms) = (23, 37);
    let values: Vec<u8> = (0..documents * terms).map(|at| (at % 251) as u8).collect();
    let counts = Counts::dense(documents, terms, values.clone()).unwrap();
    let client = Software::client(&Processor);
    let target = (&client, &Processor);
    let chosen = [22, 0, 7, 8, 1, 21, 7];
    let stride = terms.div_ceil(4) * 4;
    for max_piece in [1, stride, 3 * stride, 8 * stride, 1 << 20] {
        let resident = Resident::new::<Software>(target, &counts, max_piece).unwrap();
        let Uploaded::Dense(Dense { words, .. }) =
            resident.gather::<Software>(target, &chosen).unwrap()
        else {
            panic!("dense counts stay dense");
        };
        let bytes = client.read_one(words).unwrap();
        for (row, document) in bytes.chunks(stride).zip(chosen) {
            assert_eq!(
                row[..terms],
                values[document * terms..(document + 1) * terms]
            );
            assert!(row[terms..].iter().all(|padding| *padding == 0));
        }
    }
    // Documents of 0 to 6 counts.
    let lengths: Vec<usize> = (0..documents).map(|document| document * 3 % 7).collect();
    let mut starts = vec![0u64];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for (document, length) in lengths.iter().enumerate() {
        columns.extend((0..*length).map(|at| (at * 5 + document % 5) as u32));
        values.extend((0..*length).map(|at| (1 + document * 10 + at) as f32));
        starts.push(columns.len() as u64);
    }
    let (all_columns, all_values) = (columns.clone(), values.clone());
    let counts = Counts::csr(documents, terms, starts.clone(), columns, values).unwrap();
    let expected = |document: usize| starts[document] as usize..starts[document + 1] as usize;
    for max_piece in [1, 16, 100, 1 << 20] {
        let resident = Resident::new::<Software>(target, &counts, max_piece).unwrap();
        let Uploaded::Sparse(batch) = resident.gather::<Software>(target, &chosen).unwrap() else {
            panic!("sparse counts stay sparse");
        };
        let read = |handle: &Handle| client.read_one(handle.clone()).unwrap();
        let [begins, columns] = [&batch.starts, &batch.columns].map(|handle| -> Vec<u32> {
            let bytes = read(handle);
            let words = bytes.as_chunks::<4>().0.iter();
            words.map(|word| u32::from_ne_bytes(*word)).collect()
        });
        let bytes = read(&batch.counts);
        let counts = bytes.as_chunks::<4>().0.iter();
        let counts: Vec<f32> = counts.map(|word| f32::from_ne_bytes(*word)).collect();
        for (number, document) in chosen.into_iter().enumerate() {
            let ours = begins[number] as usize..begins[number + 1] as usize;
            assert_eq!(columns[ours.clone()], all_columns[expected(document)]);
            assert_eq!(counts[ours], all_values[expected(document)]);
        }
    }
}
