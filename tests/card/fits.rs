//! Fits of every kind.

use topicbook::{Counts, Device, TopicModel};

use crate::machine::Machine;

fn dense() -> Counts {
    let (documents, terms) = (300, 200);
    let values = (0..documents * terms).map(|at| (at * at % 97 / 9) as u8);
    Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap()
}

#[test]
fn counts_of_every_kind_are_fitted() {
    let report = Machine::default().run("fits::counts_of_every_kind_are_fitted", || {
        let fit = TopicModel::new(10)
            .epochs(3)
            .batch_size(64)
            .device(Device::Cuda(0))
            .fit(dense())
            .unwrap();
        println!("{:?}", fit.memory());
    });
    let Some(report) = report else { return };
    println!("{}", report.text());
}
