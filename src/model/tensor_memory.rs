//! What a tensor step takes: on a device, and beside it.

use super::operation::FusedLoss;
use super::step::TensorStep;
use crate::plan::{Item, Shape, When};

/// Tables of batch x terms that live at once: counts, rates, logarithms, what automatic differentiation keeps of them,
/// their gradients. These numbers were measured with the CPU backend (the test below).
const BATCH_TABLES: u64 = 5;
/// The same for tables of topics x terms, beside F itself, its moments and its gradient.
const F_TABLES: u64 = 2;

impl<B: FusedLoss> TensorStep<B> {
    /// What lives on the device. `padded`: rows begin at the addresses that CUDA's runtime chooses.
    pub(crate) fn memory(shape: &Shape, resident: bool, padded: bool) -> Vec<Item> {
        let table = |rows: u64, columns: u64| table_bytes(rows, columns, padded);
        let l = table(shape.documents, shape.topics);
        let f = table(shape.topics, shape.terms);
        let part = table(shape.micro_batch, shape.terms);
        let parts = shape.batch.div_ceil(shape.micro_batch);
        let mut items = vec![
            Item::card("L's table", When::Fit, l),
            Item::card("L's moments (AdamW)", When::Fit, 2 * l),
            Item::card("F's table", When::Fit, f),
            Item::card("F's moments (AdamW)", When::Fit, 2 * f),
            Item::card("gradients of L and F", When::Steps, l + f),
        ];
        if resident {
            let counts = table(shape.documents, shape.terms);
            items.push(Item::card("X as f32", When::Fit, counts));
        }
        // They take turns: what gradients are made from, the gradients of a part before they are added to those before
        // it, and AdamW, which works in a gradient and one more table.
        let making = BATCH_TABLES * part + F_TABLES * f;
        let adding = if parts > 1 { l + f } else { 0 };
        let updating = l.max(f);
        items.push(Item::card(
            format!(
                "workspace: batches of {} documents, their gradients, AdamW",
                shape.micro_batch
            ),
            When::Steps,
            making.max(adding).max(updating),
        ));
        items
    }

    /// What lives beside a device, in RAM.
    pub(crate) fn host_memory(shape: &Shape, resident: bool, resumed: bool) -> Vec<Item> {
        let (n, m, k) = (shape.documents, shape.terms, shape.topics);
        let part = 4 * shape.micro_batch * m;
        let mut items = vec![Item::ram("L and F", When::End, 8 * k * (n + m))];
        if !resident {
            // The rows as f32, and their copy on the way to the card.
            items.push(Item::ram(
                "batch on its way to the card",
                When::Steps,
                2 * part,
            ));
        }
        if !resumed {
            // The free tables, and the copy of one of them on its way.
            let start = 4 * k * (n + m) + 4 * k * n.max(m);
            items.push(Item::ram("the starting tables", When::Starting, start));
        }
        items
    }
}

/// Bytes of a table of f32. CUDA's runtime begins rows at multiples of the next power of two of their length, from 16 to
/// 512 bytes.
fn table_bytes(rows: u64, columns: u64, padded: bool) -> u64 {
    let row = 4 * columns;
    let align = match (padded, columns) {
        (false, _) | (_, 1) => 4,
        _ => row.next_power_of_two().clamp(16, 512),
    };
    rows.saturating_mul(row.next_multiple_of(align))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use burn::backend::flex::FlexDevice;
    use burn::backend::{Autodiff, Flex};

    use super::*;
    use crate::counts::Counts;
    use crate::loader::Batch;
    use crate::matrix::Matrix;
    use crate::memory::{Monitor, process_memory};
    use crate::model::Settings;
    use crate::model::step::{State, Step};
    use crate::plan::{Lives, Placement, peak};

    /// Documents, terms, topics, batch, part.
    const CASES: [[usize; 5]; 5] = [
        // The batch, F and L are the largest; then a batch in parts.
        [2_000, 20_000, 4, 500, 500],
        [200, 100_000, 60, 16, 16],
        [300_000, 400, 40, 64, 64],
        [2_000, 20_000, 4, 1_600, 400],
        [100_000, 20_000, 30, 300, 100],
    ];

    /// Run by the test below in a process of its own: prints predicted and measured bytes.
    #[test]
    #[ignore = "one case, in a process of its own"]
    fn measure() {
        let case: usize = std::env::var("CASE").unwrap().parse().unwrap();
        let [n, m, k, batch, part] = CASES[case];
        let settings = Settings {
            batch_size: batch,
            ..Settings::new(k)
        };
        let shape = Shape {
            documents: n as u64,
            terms: m as u64,
            topics: k as u64,
            batch: batch as u64,
            micro_batch: part as u64,
            nonzeros: 1,
            l_in_file: false,
        };
        let starts = (0..=n as u64).collect();
        let columns = (0..n).map(|row| (row % m) as u32).collect();
        let counts = Counts::csr(n, m, starts, columns, vec![1.0; n]).unwrap();
        let placement = Placement {
            micro_batch: part,
            resident: false,
        };
        let before = process_memory().anonymous;
        let state = {
            let table =
                |rows, columns| Matrix::from_parts(rows, columns, vec![0.1; rows * columns]);
            State::new(table(n, k), table(k, m), &crate::place::TablePlace::Memory).unwrap()
        };
        let mut step = TensorStep::<Autodiff<Flex>>::new(&settings, placement, state, FlexDevice);
        let rows: Vec<usize> = (0..batch).collect();
        let monitor = Monitor::start();
        for _ in 0..3 {
            let batch = Batch {
                view: counts.view().unwrap(),
                rows: &rows,
                documents: &rows,
            };
            step.step(&batch, 0.01).unwrap();
        }
        let measured = monitor.log().peak.anonymous - before;
        let items = TensorStep::<Autodiff<Flex>>::memory(&shape, false, false);
        println!("{} {measured}", peak(&items, Lives::Card).0);
    }

    #[test]
    fn the_formula_holds_on_the_cpu() {
        let mut wrong = Vec::new();
        for (case, sizes) in CASES.iter().enumerate() {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--ignored", "--nocapture"])
                .arg("model::tensor_memory::tests::measure")
                .env("CASE", case.to_string())
                // What is freed goes back at once: the allocator of a card keeps books of its own.
                .env("MALLOC_MMAP_THRESHOLD_", "131072")
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&child.stdout).to_string();
            let numbers: Vec<f64> = text
                .lines()
                .filter_map(|line| line.split_once(' '))
                .filter_map(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]))
                .flatten()
                .collect();
            let [predicted, measured] = numbers[..] else {
                panic!("{text}");
            };
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            let line = format!(
                "{sizes:?}: {:.1} MiB predicted, {:.1} measured",
                mib(predicted),
                mib(measured)
            );
            println!("{line}");
            if (predicted / measured - 1.0).abs() > 0.1 {
                wrong.push(line);
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
