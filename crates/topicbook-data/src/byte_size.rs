//! Numbers of bytes, written with a unit.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::text::bytes;

/// A number of bytes: a plain number, or a text with a unit.
///
/// Units are `B`, `kB`, `MB`, `GB`, `TB` (powers of 1,000) and `KiB`, `MiB`, `GiB`, `TiB` (powers of 1,024), in any case,
/// with or without a space; digits may be grouped by underscores. A text names 1 byte to 16 EiB, and fails where it is
/// converted if it does not.
///
/// ```
/// use topicbook::ByteSize;
/// let size: ByteSize = "1.5 GiB".parse()?;
/// assert_eq!(size.bytes(), 3 << 29);
/// assert_eq!(size, ByteSize::from(1_610_612_736u64));
/// assert!("a lot".parse::<ByteSize>().is_err());
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    /// The number of bytes.
    ///
    /// ```
    /// use topicbook::ByteSize;
    /// assert_eq!(ByteSize::try_from("800 MB")?.bytes(), 800_000_000);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl From<u64> for ByteSize {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

impl From<usize> for ByteSize {
    fn from(bytes: usize) -> Self {
        Self(bytes as u64)
    }
}

/// A literal without a type is an `i32`.
impl TryFrom<i32> for ByteSize {
    type Error = Error;

    fn try_from(bytes: i32) -> Result<Self> {
        u64::try_from(bytes)
            .map(Self)
            .map_err(|_| Error::setting(format!("{bytes} bytes")).fix("use a positive number"))
    }
}

impl TryFrom<&str> for ByteSize {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        text.parse()
    }
}

impl TryFrom<String> for ByteSize {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for ByteSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const UNITS: [(&str, f64); 10] = [
            ("", 1.0),
            ("b", 1.0),
            ("kb", 1e3),
            ("mb", 1e6),
            ("gb", 1e9),
            ("tb", 1e12),
            ("kib", 1024.0),
            ("mib", 1048576.0),
            ("gib", 1073741824.0),
            ("tib", 1099511627776.0),
        ];
        let refused = || {
            Error::setting(format!("{text:?} is no size in bytes")).fix(
                "write a positive number with a unit, such as \"1.5 GiB\" or \"800 MB\", or a number of bytes",
            )
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|character: char| !(character.is_ascii_digit() || "._".contains(character)))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = unit.trim().to_lowercase();
        let (_, size) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(refused)?;
        let number: f64 = number.replace('_', "").parse().map_err(|_| refused())?;
        let size = number * size;
        // Comparisons with NaN and infinity are false, so both are refused.
        if size >= 1.0 && size < u64::MAX as f64 {
            Ok(Self(size as u64))
        } else {
            Err(refused())
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused() {
        let read = [
            ("1 GiB", 1 << 30),
            ("1.5GiB", 3 << 29),
            ("800 MB", 800_000_000),
            ("16 gb", 16_000_000_000),
            ("4096", 4096),
            ("1_000_000 B", 1_000_000),
            (" 2 kib ", 2048),
        ];
        for (text, expected) in read {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(size.bytes(), expected, "{text}");
        }
        for text in [
            "", "GiB", "1.5 G", "1,5 GiB", "-1 GiB", "0", "1e400", "a lot", "NaN",
        ] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(error.remedy().is_some(), "{text}");
        }
    }
}
