//! Numbers of a record.

use serde_json::Value;

/// The numbers of an array.
pub fn numbers(values: &Value) -> Vec<f64> {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    values.iter().filter_map(Value::as_f64).collect()
}

/// The middle one of an odd number of values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
