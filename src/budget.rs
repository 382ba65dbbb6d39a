//! How much memory a fit may take.

use std::fmt;

use crate::display::{Card, bytes};
use crate::error::{Error, Result};
use crate::memory::free_memory;

/// What is left to others where no budget is given: a tenth of what is free, and at least this, or a quarter of what is
/// free where that is less.
const LEAST_MARGIN: u64 = 256 << 20;

/// How much memory a fit may take: RAM, and VRAM of the card.
///
/// RAM is the anonymous memory of the whole process, that of the kernel and its libraries included: what a container's
/// limit counts, without the pages of files that the system can take back. Left out, it is what the process has and the
/// machine (or its control group) has free now, less a margin: a tenth of what is free, and at least 256 MiB,
/// or a quarter of what is free where that is less.
///
/// VRAM is what this process takes of the card; left out, nine tenths of what is free there. On a machine without a
/// card a budget of VRAM stands for one: the plan shows what would live there.
///
/// A size is a number of bytes or a text with a unit: `"1.5 GiB"`, `"800 MB"`. What cannot be read as one is refused
/// when the plan is made.
///
/// ```
/// use topicbook::Budget;
/// let budget = Budget::new().ram("1 GiB").vram(1_500_000_000u64);
/// assert_eq!(budget.to_string(), "1 GiB of RAM, 1.4 GiB of VRAM");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    ram: Option<String>,
    vram: Option<String>,
}

impl Budget {
    /// What is free, less the margins.
    pub fn new() -> Self {
        Self::default()
    }

    /// The process's anonymous memory at most, as `"1 GiB"` or in bytes.
    pub fn ram(mut self, size: impl fmt::Display) -> Self {
        self.ram = Some(size.to_string());
        self
    }

    /// The card's memory at most, as `"1.5 GiB"` or in bytes; never more than is free there. On a machine without a card,
    /// or on the CPU, the budget stands for one.
    pub fn vram(mut self, size: impl fmt::Display) -> Self {
        self.vram = Some(size.to_string());
        self
    }

    /// Shows the budget below a cell.
    pub fn evcxr_display(&self) {
        let size = |given: &Option<String>, free: &str| match given {
            None => format!("what is free, less {free}"),
            Some(text) => match parse(text) {
                Ok(size) => bytes(size),
                Err(error) => error.headline().to_string(),
            },
        };
        Card::new("Budget")
            .row("RAM", size(&self.ram, "a margin"))
            .row("VRAM", size(&self.vram, "a tenth"))
            .show();
    }

    /// Bytes of RAM for a process that is known to hold `held` now.
    pub(crate) fn ram_bytes(&self, held: u64) -> Result<u64> {
        match &self.ram {
            Some(text) => parse(text),
            None => {
                let free = free_memory();
                Ok(held + free - (free / 10).max(LEAST_MARGIN.min(free / 4)))
            }
        }
    }

    pub(crate) fn gives_ram(&self) -> bool {
        self.ram.is_some()
    }

    /// Bytes of VRAM, if given.
    pub(crate) fn vram_bytes(&self) -> Result<Option<u64>> {
        self.vram.as_deref().map(parse).transpose()
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |given: &Option<String>| match given {
            None => "what is free".to_string(),
            Some(text) => parse(text).map_or_else(|_| text.clone(), bytes),
        };
        write!(
            f,
            "{} of RAM, {} of VRAM",
            size(&self.ram),
            size(&self.vram)
        )
    }
}

/// `1.5 GiB`, `800 MB`, `4096`; units of either kind in any case.
fn parse(text: &str) -> Result<u64> {
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
        Error::setting(format!("a budget of {text:?}"))
            .fix("write a positive number with a unit, such as \"1.5 GiB\" or \"800 MB\", or a number of bytes")
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|character: char| !(character.is_ascii_digit() || ".,_".contains(character)))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim().to_lowercase();
    let (_, size) = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(refused)?;
    let number: f64 = number.replace('_', "").parse().map_err(|_| refused())?;
    let size = number * size;
    // Comparisons with NaN and infinity are false: refused as well.
    if size >= 1.0 && size < u64::MAX as f64 {
        Ok(size as u64)
    } else {
        Err(refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::process_memory;

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
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        for text in [
            "", "GiB", "1.5 G", "1,5 GiB", "-1 GiB", "0", "1e400", "a lot", "NaN",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.remedy().is_some(), "{text}");
        }
    }

    #[test]
    fn without_a_budget_a_margin_is_left() {
        let held = process_memory().anonymous;
        let budget = Budget::new().ram_bytes(held).unwrap();
        assert!(budget <= held + free_memory());
        assert!(budget > held);
    }
}
