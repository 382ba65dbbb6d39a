//! What mutants are made with.

use fuzz::mutate::header::{CHECKSUM, METADATA, checksum, parts};
use fuzz::mutate::pages::varint;
use serde_json::Value;

#[test]
fn the_checksum_is_that_of_saved_files() {
    for file in [
        &include_bytes!("../corpus/fit/em.safetensors")[..],
        include_bytes!("../corpus/checkpoint/mini-batch"),
    ] {
        let (header, values) = parts(file).unwrap();
        let header: Value = serde_json::from_slice(header).unwrap();
        let texts = &header["__metadata__"];
        let metadata = METADATA.iter().find_map(|key| texts[key].as_str()).unwrap();
        assert_eq!(texts[CHECKSUM], checksum(metadata, values));
    }
}

#[test]
fn numbers_are_written_in_groups_of_seven_bits() {
    assert_eq!(varint(1), [1]);
    assert_eq!(varint(300), [0xac, 2]);
    assert_eq!(varint(u64::MAX).len(), 10);
}
