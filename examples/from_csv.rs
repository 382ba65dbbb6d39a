//! Topics of counts in a table, one row for each document and term that occur together:
//! `cargo run --example from_csv -- counts.csv terms.txt 10`. Without arguments a small table is made first.
//!
//! The table has the columns `doc`, `term` (numbers from 0) and `count`; the file of terms has one name a line.

use std::fs;

use topicbook::{Counts, Terms, TopicModel};

fn main() -> topicbook::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (counts, terms, topics) = match arguments.as_slice() {
        [counts, terms, topics] => (
            counts.clone(),
            terms.clone(),
            topics.parse().expect("the third argument is a number"),
        ),
        _ => small_table(),
    };

    let counts = Counts::open(counts)?;
    println!("{counts}");
    let fit = TopicModel::new(topics)
        .terms(Terms::open(terms)?)
        .epochs(100)
        .fit(&counts)?;
    println!("{}", fit.top_terms(4));
    println!("{}", fit.doc_topics());
    Ok(())
}

/// Six documents about fruit or tools.
fn small_table() -> (String, String, usize) {
    let rows = [
        "doc,term,count",
        "0,0,9\n0,1,7\n0,2,5",
        "1,0,6\n1,1,8",
        "2,1,7\n2,2,9",
        "3,3,8\n3,4,6",
        "4,3,5\n4,4,9\n4,5,7",
        "5,4,4\n5,5,9",
    ];
    fs::write("fruit_and_tools.csv", rows.join("\n")).expect("the folder can be written to");
    let terms = "apple\npear\nplum\nhammer\nsaw\ndrill\n";
    fs::write("fruit_and_tools.txt", terms).expect("the folder can be written to");
    (
        "fruit_and_tools.csv".into(),
        "fruit_and_tools.txt".into(),
        2,
    )
}
