//! What a step on a card takes: there, and beside it.

use super::fused::{Documents, place_of_l};
use super::kernels;
use crate::plan::{Item, Lives, Shape, When};

/// Tables of batch x topics that live at once while gradients are made. L beside the card has one there, and its rows and
/// gradients, which are not padded.
const BATCH_TABLES: u64 = 5;

/// What the runtime keeps of the host's memory.
pub(crate) const PINNED: &str =
    "pinned memory for the way to the card and back, in the runtime's pages";

/// What lives on the card. `padded`: rows begin at the addresses that CUDA's runtime chooses.
///
/// Memory is used again for what has the same size, and for nothing else: all sizes that ever come are there at once.
pub(crate) fn on_card(shape: &Shape, resident: bool, padded: bool) -> Vec<Item> {
    let table = |rows: u64, columns: u64| table_bytes(rows, columns, padded);
    let rows = |documents: u64| 4 * documents * shape.topics;
    let l = match shape.l_on_host {
        true => 0,
        false => table(shape.documents, shape.topics),
    };
    let f = table(shape.topics, shape.terms);
    let mut items = vec![
        Item::card("L's table", When::Fit, l),
        Item::card("L's moments (AdamW)", When::Fit, 2 * l),
        Item::card("F's table", When::Fit, f),
        Item::card("F's moments (AdamW)", When::Fit, 2 * f),
        Item::card("gradients of L and F", When::Steps, l + f),
    ];
    if shape.l_on_host {
        items[4].what = "gradient of F".into();
        items.push(Item::card(
            "rows of L, and their gradients of the batch and the one before it",
            When::Steps,
            rows(shape.micro_batch) + 2 * rows(shape.batch),
        ));
    }
    if resident {
        let counts = kernels::bytes_of_counts(shape, shape.documents);
        items.push(Item::card("X, as stored", When::Fit, counts));
    }
    let parts = parts(shape);
    for &documents in &parts {
        items.push(Item::card(
            format!("X of {documents} documents, as stored"),
            When::Steps,
            kernels::bytes_of_batch(shape, documents),
        ));
    }
    let of_part = |&micro_batch: &u64| {
        let part = Shape {
            micro_batch,
            ..*shape
        };
        let table = table(micro_batch, shape.topics);
        let tables = match (shape.l_on_host, micro_batch == shape.micro_batch) {
            (false, _) => BATCH_TABLES * table,
            (true, true) => table,
            (true, false) => table + 2 * rows(micro_batch),
        };
        let mut buffers = kernels::buffers(&part);
        buffers.push(tables);
        buffers
    };
    items.push(sums(parts.iter().flat_map(of_part).collect()));
    // AdamW works in a gradient and one more table; and a part's gradient is added to that of the parts before it.
    let spare = match shape.batch > shape.micro_batch {
        true => 2 * f,
        false => f,
    };
    items.push(Item::card("workspace: AdamW", When::Steps, l + spare));
    items.retain(|item| item.bytes > 0);
    items
}

/// What sums take that need memory of these sizes: what has the same size has the same memory.
pub(crate) fn sums(mut sizes: Vec<u64>) -> Item {
    sizes.sort_unstable();
    sizes.dedup();
    Item::card("workspace: sums", When::Steps, sizes.iter().sum())
}

/// The sizes that parts of batches have: most, what is left of a batch, and what is left of the last one of an epoch.
fn parts(shape: &Shape) -> Vec<u64> {
    let last = shape.documents % shape.batch;
    let part = shape.micro_batch;
    let mut parts = vec![part, shape.batch % part, last.min(part), last % part];
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|documents| *documents > 0);
    parts.reverse();
    parts
}

/// What lives beside the card, in RAM.
pub(crate) fn beside_card(shape: &Shape, resident: bool, resumed: bool) -> Vec<Item> {
    let (n, m, k) = (shape.documents, shape.terms, shape.topics);
    // On its way a table is there twice.
    let mut items = match shape.l_on_host {
        false => vec![Item::ram("L and F", When::End, 8 * k * (n + m))],
        true => vec![
            Item::new("L", place_of_l(shape), When::End, 4 * k * n),
            Item::ram("F", When::End, 8 * k * m),
        ],
    };
    let rows = if shape.l_on_host { shape.batch } else { 0 };
    items.push(Item::ram(
        PINNED,
        When::Fit,
        kernels::bytes_pinned(shape, resident, rows),
    ));
    if resident && shape.bytes_of_count.is_none() {
        let what = "where each document's counts begin";
        items.push(Item::ram(what, When::Fit, 8 * (n + 1)));
    }
    if shape.l_on_host {
        items.extend(Documents::memory(shape));
    }
    if !resumed && shape.l_on_host {
        let start = |what: &str, lives, size| Item::new(what, lives, When::Starting, size);
        let l = start(
            "the table behind L that it starts from",
            place_of_l(shape),
            4 * k * n,
        );
        items.push(l);
        items.push(start(
            "the table behind F that it starts from",
            Lives::Ram,
            8 * k * m,
        ));
    } else if !resumed {
        // The free tables, and the copy of one of them on its way.
        let start = 4 * k * (n + m) + 4 * k * n.max(m);
        items.push(Item::ram("the starting tables", When::Starting, start));
    }
    items
}

/// Bytes of a table of f32. CUDA's runtime begins rows at multiples of the next power of two of their length, from 16 to
/// 512 bytes.
pub(crate) fn table_bytes(rows: u64, columns: u64, padded: bool) -> u64 {
    let row = 4 * columns;
    let align = match (padded, columns) {
        (false, _) | (_, 1) => 4,
        _ => row.next_power_of_two().clamp(16, 512),
    };
    rows.saturating_mul(row.next_multiple_of(align))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use burn::backend::Autodiff;
    use cubecl::prelude::Runtime;
    use cubecl::stream_id::StreamId;

    use super::*;
    use crate::counts::Counts;
    use crate::loader::Batch;
    use crate::matrix::Matrix;
    use crate::model::kernels::software::{Processor, Software, SoftwareBackend, there};
    use crate::model::loss::Fused;
    use crate::model::step::{State, Step, TensorStep};
    use crate::model::{Precision, Settings};
    use crate::place::TablePlace;
    use crate::plan::{Placement, peak};

    /// Documents, terms, topics, batch, part; dense counts or sparse ones; how batches that are sent meet the tables.
    const CASES: [([usize; 5], bool, Precision); 6] = [
        // The batch, F and L are the largest; then a batch in parts.
        ([300, 20_000, 4, 150, 150], false, Precision::F32),
        ([40, 50_000, 30, 16, 16], false, Precision::Bf16),
        ([60_000, 100, 20, 64, 64], false, Precision::F32),
        ([300, 20_000, 4, 200, 50], false, Precision::F32),
        ([10_000, 10_000, 30, 300, 100], true, Precision::Bf16),
        ([300, 60_000, 10, 16, 16], true, Precision::F32),
    ];

    /// Memory in use on the driver that needs no card: the most that was seen while a few steps were made, and after
    /// them.
    fn measured(
        [n, m, k, batch, part]: [usize; 5],
        counts: &Counts,
        (resident, precision): (bool, Precision),
    ) -> [u64; 2] {
        let settings = Settings {
            batch_size: batch,
            precision,
            ..Settings::new(k)
        };
        let placement = Placement {
            micro_batch: part,
            resident,
            l_on_host: false,
        };
        let table = |rows, columns| Matrix::from_parts(rows, columns, vec![0.1; rows * columns]);
        let state = State::new(table(n, k), table(k, m), &TablePlace::Memory).unwrap();
        let rows: Vec<usize> = (0..batch).collect();
        // Memory is counted by stream, and every thread has one of its own.
        let stream = StreamId::current();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut client = Software::client(&Processor);
                // SAFETY: only asks.
                unsafe { client.set_stream(stream) };
                let mut largest = 0;
                while !done.load(Ordering::Relaxed) {
                    largest = largest.max(client.memory_usage().unwrap().bytes_in_use);
                }
                largest
            });
            let mut step = TensorStep::<_, Fused<Autodiff<SoftwareBackend>>>::new(
                &settings, placement, state, Processor,
            );
            if resident {
                step.hold(counts).unwrap();
            }
            for _ in 0..3 {
                let batch = Batch {
                    view: counts.view().unwrap(),
                    rows: &rows,
                    documents: &rows,
                };
                step.step(&batch, 0.01).unwrap();
                step.take_losses().unwrap();
            }
            done.store(true, Ordering::Relaxed);
            let after = Software::client(&Processor).memory_usage().unwrap();
            [watch.join().unwrap(), after.bytes_in_use]
        })
    }

    #[test]
    fn the_formula_holds_without_a_card() {
        if !there() {
            return;
        }
        let mut wrong = Vec::new();
        for (sizes, sparse, precision) in CASES {
            let [n, m, k, batch, part] = sizes;
            let counts = if sparse {
                let each = 40;
                let starts = (0..=n as u64).map(|row| row * each as u64).collect();
                let columns = (0..n * each).map(|at| (at % each * (m / each)) as u32);
                Counts::csr(n, m, starts, columns.collect(), vec![1.0; n * each]).unwrap()
            } else {
                Counts::dense(n, m, vec![1u8; n * m]).unwrap()
            };
            for (resident, precision) in [(false, precision), (true, Precision::F32)] {
                let shape = Shape {
                    documents: n as u64,
                    terms: m as u64,
                    topics: k as u64,
                    batch: batch as u64,
                    micro_batch: part as u64,
                    nonzeros: counts.mean_nonzeros().unwrap_or(m) as u64,
                    bytes_of_count: (!sparse).then_some(1),
                    largest_page: 0,
                    precision,
                    l_in_file: false,
                    l_on_host: false,
                };
                let items = on_card(&shape, resident, false);
                let predicted = peak(&items, Lives::Card).0 as f64;
                let stays = items.iter().filter(|item| item.when == When::Fit);
                let stays = stays.map(|item| item.bytes).sum::<u64>() as f64;
                let [most, after] =
                    measured(sizes, &counts, (resident, precision)).map(|bytes| bytes as f64);
                let line = format!(
                    "{sizes:?} {sparse} {resident} {precision}: {predicted} predicted, {most} seen; {stays} stay, {after} left"
                );
                println!("{line}");
                // What is seen from outside is rarely the most there was.
                if most > 1.01 * predicted || (after / stays - 1.0).abs() > 0.01 {
                    wrong.push(line);
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn rows_are_padded_as_the_runtime_does() {
        let cases = [
            // 80 bytes become 128, 40 become 64, 400 become 512, 4,000 become 4,096.
            ((10, 20), 1280),
            ((10, 10), 640),
            ((1, 100), 512),
            ((1, 1000), 4096),
            ((7, 1), 28),
            ((3, 2), 48),
        ];
        for ((rows, columns), expected) in cases {
            assert_eq!(
                table_bytes(rows, columns, true),
                expected,
                "{rows} x {columns}"
            );
            assert_eq!(table_bytes(rows, columns, false), 4 * rows * columns);
        }
    }
}
