//! Numbers of a record.

use serde_json::Value;

/// The numbers of an array.
pub fn numbers(values: &Value) -> Vec<f64> {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    values.iter().filter_map(Value::as_f64).collect()
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let [below, above] = [sorted.len().saturating_sub(1) / 2, sorted.len() / 2];
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => (below + above) / 2.0,
        _ => f64::NAN,
    }
}
