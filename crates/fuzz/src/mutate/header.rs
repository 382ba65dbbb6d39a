//! Changes of safetensors files, and of fits and checkpoints, which are safetensors files with a checksum.

use serde_json::{Map, Value};
use testkit::Random;

use super::{extreme_value, text};

/// The keys under which a fit and a checkpoint hold their settings and history as JSON.
pub const METADATA: [&str; 2] = ["topicbook", "topicbook-checkpoint"];
pub const CHECKSUM: &str = "checksum";
const DTYPES: [&str; 8] = ["U8", "I8", "U16", "I32", "F32", "F64", "F16", "U64"];

/// Changes a number or a type in the header, or a value, and corrects the header's length.
pub(crate) fn safetensors(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (header, values) = parts(data)?;
    let (mut header, mut values) = (header.to_vec(), values.to_vec());
    match random.below(5) {
        0 | 1 => header = text::number(&header, random)?,
        2 => header = text::json(&header, random)?,
        3 => {
            let text = String::from_utf8(header).ok()?;
            let old = *DTYPES.iter().find(|dtype| text.contains(**dtype))?;
            header = text.replace(old, random.of::<&str>(&DTYPES)).into_bytes();
        }
        _ => extreme_value(&mut values, random),
    }
    Some(written(header, &values))
}

/// Changes settings, history, names or a table of a fit or a checkpoint, and corrects its checksum.
pub(crate) fn saved(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (header, values) = parts(data)?;
    let mut header: Map<String, Value> = serde_json::from_slice(header).ok()?;
    let mut values = values.to_vec();
    let texts = header.get_mut("__metadata__")?.as_object_mut()?;
    let key = METADATA.into_iter().find(|key| texts.contains_key(*key))?;
    let mut metadata = texts.get(key)?.as_str()?.to_owned();
    match random.below(4) {
        0 => extreme_value(&mut values, random),
        _ => metadata = String::from_utf8(text::json(metadata.as_bytes(), random)?).ok()?,
    }
    texts.insert(CHECKSUM.into(), checksum(&metadata, &values).into());
    texts.insert(key.into(), metadata.into());
    Some(written(serde_json::to_vec(&header).ok()?, &values))
}

/// Header and values.
pub fn parts(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn written(mut header: Vec<u8>, values: &[u8]) -> Vec<u8> {
    while !header.len().is_multiple_of(8) {
        header.push(b' ');
    }
    [&(header.len() as u64).to_le_bytes()[..], &header, values].concat()
}

/// The checksum that `Fit::save` writes: the mixing step of FxHash over the metadata's bytes and the tables' words.
pub fn checksum(metadata: &str, values: &[u8]) -> String {
    let mix = |sum: u64, word: u32| {
        (sum.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let sum = metadata
        .bytes()
        .fold(0, |sum, byte| mix(sum, u32::from(byte)));
    let words = values
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word));
    format!("{:016x}", words.fold(sum, mix))
}
