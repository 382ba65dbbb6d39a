//! Changes of text: numbers, markup, values of JSON.

use serde_json::Value;
use testkit::Random;

use super::LARGEST;

/// Numbers and words in the place of a number.
const NUMBERS: [&str; 34] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "7",
    "127",
    "255",
    "256",
    "65535",
    "65536",
    "1000000",
    "16777217",
    "100000000",
    "200000000",
    "1000000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1e9",
    "1e30",
    "1e400",
    "NaN",
    "inf",
    "",
];

/// Texts that end something: an element of HTML, a block of evcxr's protocol, a line, a string.
const MARKUP: [&str; 16] = [
    "<script>alert(1)</script>",
    "</td></table><b>",
    "\nEVCXR_END_CONTENT\nEVCXR_BEGIN_CONTENT text/html\n<b>x</b>\n",
    "EVCXR_BEGIN_CONTENT text/html\n",
    "\nEVCXR_END_CONTENT\n",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "&lt;&amp;&#60;",
    "]]></text><script>",
    "\u{0}\u{1}\u{b}\u{1b}[31m\u{7f}\u{9b}",
    "\u{feff}\u{202e}\u{2028}\u{fffe}",
    "\r\n\r",
    "\t",
    "=cmd|' /C calc'!A0",
    "\u{1f4a9}\u{301}\u{5d0}\u{627}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Replaces a number in a text.
pub(crate) fn number(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let is_start =
        |at: usize| data[at].is_ascii_digit() && (at == 0 || !data[at - 1].is_ascii_digit());
    let starts: Vec<usize> = (0..data.len()).filter(|&at| is_start(at)).collect();
    if starts.is_empty() {
        return None;
    }
    let start = *random.of(&starts);
    let digits = data[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let end = start + digits.count();
    let new = random.of(&NUMBERS).as_bytes();
    Some([&data[..start], new, &data[end..]].concat())
}

/// Inserts markup into a text, once, or again and again until the text is long.
pub(crate) fn markup(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(data);
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let (before, after) = text.split_at(*random.of(&ends));
    let times = *random.of(&[1, 1, 1, 1, 2, 100]);
    let new = random.of(&MARKUP).repeat(times);
    (text.len() + new.len() <= LARGEST).then(|| format!("{before}{new}{after}").into_bytes())
}

/// Replaces a value inside a JSON text.
pub(crate) fn json(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(data).ok()?;
    let mut leaves = leaves(&mut value);
    if leaves.is_empty() {
        return None;
    }
    let chosen = random.below(leaves.len());
    let leaf = leaves.swap_remove(chosen);
    *leaf = replaced(leaf, random);
    serde_json::to_vec(&value).ok()
}

/// Another value, mostly of the same type.
fn replaced(old: &Value, random: &mut Random) -> Value {
    let number = *random.of(&NUMBERS);
    // Settings hold floating-point numbers as text.
    let text = matches!(old, Value::String(_));
    match (random.below(8), serde_json::from_str(number)) {
        (0, _) => Value::Null,
        (1, _) => Value::Array(vec![old.clone(), old.clone()]),
        (2, _) => Value::String((*random.of(&MARKUP)).into()),
        (_, Ok(value)) if !text => value,
        _ => Value::String(number.into()),
    }
}

/// The values that hold no others.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(values) => values.iter_mut().flat_map(leaves).collect(),
        Value::Object(map) => map.values_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}
