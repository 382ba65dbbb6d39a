//! Formats of numbers, sizes and durations, and padding of text.

/// Width of a text in characters, each of which is assumed to be one column wide.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// Pads the text with spaces on the right to `to` characters.
pub fn pad_right(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

/// Pads the text with spaces on the left to `to` characters.
pub fn pad_left(text: &str, to: usize) -> String {
    format!("{}{text}", " ".repeat(to.saturating_sub(width(text))))
}

/// The text if it has at most `longest` characters; otherwise its beginning and an ellipsis, `longest` in all.
pub fn shorten(text: &str, longest: usize) -> String {
    if width(text) <= longest {
        return text.into();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Bytes in binary units: `512 B`, `1.5 GiB`, `186 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.5 would be rounded to 1024.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 99.95 { 1 } else { 0 };
    let number = format!("{value:.digits$}");
    format!("{} {}", number.trim_end_matches(".0"), UNITS[unit])
}

/// How often a byte occurs.
pub fn occurrences(bytes: &[u8], byte: u8) -> u64 {
    bytes.iter().filter(|&&found| found == byte).count() as u64
}

/// An integer with separators: `1,304,438`.
pub fn count(count: u64) -> String {
    separate(&count.to_string())
}

/// A number with its noun in singular or plural: `1 topic`, `5,000 documents`.
pub fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", count(number as u64)),
    }
}

/// The number of indices and the first five of them: `none`, `2 (3, 7)`, `12 (0, 1, 2, 3, 4, …)`.
pub fn listed(indices: &[usize]) -> String {
    const SHOWN: usize = 5;
    if indices.is_empty() {
        return "none".into();
    }
    let first: Vec<String> = indices.iter().take(SHOWN).map(usize::to_string).collect();
    let more = if indices.len() > SHOWN { ", …" } else { "" };
    format!(
        "{} ({}{more})",
        count(indices.len() as u64),
        first.join(", ")
    )
}

/// The first `most` names in quotation marks: `"a", "b", … 3 more`.
pub fn quoted_list<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown = names.iter().take(most);
    let mut shown: Vec<String> = shown.map(|name| format!("{:?}", name.as_ref())).collect();
    if names.len() > most {
        shown.push(format!("… {} more", names.len() - most));
    }
    shown.join(", ")
}

/// A duration: `0.3 ms`, `48 ms`, `2.3 s`, `2 min 05 s`, `3 h 07 min`.
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".into();
    }
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 59.95 => format!("{s:.1} s"),
        _ if whole < 3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A ratio in percent: `3.2%`, `100%`.
pub fn percent(ratio: f64) -> String {
    let value = 100.0 * ratio;
    match value.abs() {
        v if !v.is_finite() => "unknown".into(),
        0.0 => "0%".into(),
        v if v < 0.095 => format!("{value:.3}%"),
        v if v < 9.95 => format!("{value:.1}%"),
        _ => format!("{value:.0}%"),
    }
}

/// A number with at least four significant digits: `1,234.6`, `0.01234`, `5.123e-9`. Integers are written in full.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        value.to_string()
    } else if value.fract() == 0.0 && size < 1e15 {
        fixed(value, 0)
    } else if !(1e-4..1e15).contains(&size) {
        format!("{value:.3e}")
    } else {
        let written = fixed(value, decimals_for(size).max(1));
        written.trim_end_matches(".0").to_string()
    }
}

/// Decimal places for numbers that are shown next to each other: as many as they need, but at most four, or more where four
/// significant digits of the largest need more. A number that would be shown as zero uses the maximum.
pub fn decimals_of(numbers: impl Iterator<Item = f64> + Clone) -> usize {
    const MOST: usize = 4;
    let numbers = numbers.filter(|number| number.is_finite());
    let largest = numbers.clone().map(f64::abs).fold(0.0, f64::max);
    let most = decimals_for(largest).max(MOST);
    let needed = numbers.map(|number| {
        let written = format!("{number:.most$}");
        match written.trim_end_matches('0') {
            "0." | "-0." if number != 0.0 => most,
            rest if rest.ends_with('.') && number.fract() != 0.0 => most,
            rest => most + rest.len() - written.len(),
        }
    });
    needed.max().unwrap_or(0)
}

/// Decimal places that show four significant digits of a number of this magnitude, at most 9.
fn decimals_for(size: f64) -> usize {
    if !size.is_finite() || size <= 0.0 {
        return 0;
    }
    (3 - size.log10().floor() as i32).clamp(0, 9) as usize
}

/// A number with `decimals` decimal places, and separators between its thousands.
pub fn fixed(value: f64, decimals: usize) -> String {
    separate(&format!("{value:.decimals$}"))
}

/// Inserts separators between the thousands of a formatted number.
fn separate(number: &str) -> String {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (whole, fraction) = match number.find('.') {
        Some(point) => number.split_at(point),
        None => (number, ""),
    };
    let mut separated = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position) % 3 == 0 {
            separated.push(',');
        }
        separated.push(digit);
    }
    separated + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_separators() {
        let table = [
            (bytes(0), "0 B"),
            (bytes(1023), "1023 B"),
            (bytes(1024), "1 KiB"),
            (bytes(1024 * 1024 - 1), "1 MiB"),
            (bytes(3 << 29), "1.5 GiB"),
            (bytes(186 << 30), "186 GiB"),
            (bytes(u64::MAX), "16 EiB"),
            (count(0), "0"),
            (count(999), "999"),
            (count(1_304_438), "1,304,438"),
            (seconds(0.000_31), "0.3 ms"),
            (seconds(0.048), "48 ms"),
            (seconds(0.9999), "1.00 s"),
            (seconds(12.34), "12.3 s"),
            (seconds(59.97), "1 min 00 s"),
            (seconds(125.0), "2 min 05 s"),
            (seconds(3599.8), "1 h 00 min"),
            (seconds(11_220.0), "3 h 07 min"),
            (seconds(f64::NAN), "unknown"),
            (percent(0.0317), "3.2%"),
            (percent(1.0), "100%"),
            (percent(0.0), "0%"),
            (number(-24_873_012.0), "-24,873,012"),
            (number(1234.56), "1,234.6"),
            (number(63_309.03), "63,309"),
            (number(0.012_342), "0.01234"),
            (number(5.123e-9), "5.123e-9"),
            (number(f64::NAN), "NaN"),
            (fixed(-1234.5, 2), "-1,234.50"),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn numbers_beside_each_other_keep_the_decimals_that_they_have() {
        let cases: [(&[f64], usize); 10] = [
            (&[0.99, 119.95], 2),
            (&[1234.56, 0.99, 19.95], 2),
            (&[0.1 + 0.2, 24_873_012.0], 1),
            (&[1.0 / 6.0, 100.0], 4),
            (&[10.0, 0.5], 1),
            (&[1.0 / 60.0, 0.5], 4),
            (&[1.0 / 60.0, 0.0], 5),
            (&[0.25, -1e-9], 4),
            (&[3.0, f64::NAN, 10.0], 0),
            (&[], 0),
        ];
        for (numbers, expected) in cases {
            assert_eq!(
                decimals_of(numbers.iter().copied()),
                expected,
                "{numbers:?}"
            );
        }
    }

    #[test]
    fn long_text_ends_in_an_ellipsis() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("Überlänge", 5), "Über…");
        assert_eq!(shorten("a b", 2), "a…");
    }
}
