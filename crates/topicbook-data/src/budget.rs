//! How much memory a fit may use.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::or_ref;
use crate::system::memory::free_memory;
use crate::text::bytes;

use super::byte_size::ByteSize;
use super::with::With;

/// Without a budget a fit leaves a tenth of the free memory to other programs, and at least this many bytes. Where this is
/// more than a quarter of the free memory, the fit leaves a quarter.
const SMALLEST_MARGIN: u64 = 256 << 20;

/// How much memory a fit may use: RAM, VRAM of the GPU, and a folder on a disk for what does not fit into RAM.
///
/// *RAM* is the anonymous memory of the whole process, including the kernel and its libraries. This is what the memory limit
/// of a container counts, without the page cache of files, which the system can take back. By default it is what the process
/// already uses plus what the machine (or its control group) has free, less a margin. The margin is a tenth of the free memory
/// and at least 256 MiB, but never more than a quarter of the free memory.
///
/// *VRAM* is what this process uses on the GPU; by default nine tenths of what is free there. On a machine without a GPU a
/// budget of VRAM stands for one: the plan shows what a fit would allocate there.
///
/// ```
/// use topicbook::Budget;
/// let budget = Budget::new().ram("1 GiB")?.vram(1_500_000_000u64)?;
/// assert_eq!(budget.to_string(), "1 GiB of RAM, 1.4 GiB of VRAM");
/// let error = Budget::new().ram("a lot").unwrap_err();
/// assert!(error.to_string().contains("no size in bytes"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a budget limits nothing before it is given to `TopicModel::budget`"]
#[doc(alias = "memory_limit")]
pub struct Budget {
    ram: Option<ByteSize>,
    vram: Option<ByteSize>,
    spill_dir: Option<PathBuf>,
}

or_ref!(Budget);

impl Budget {
    /// What is free, less the margins, and no spill folder: the default of every model.
    ///
    /// ```
    /// use topicbook::Budget;
    /// assert_eq!(Budget::new(), Budget::default());
    /// assert_eq!(Budget::new().to_string(), "what is free of RAM, what is free of VRAM");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The largest anonymous memory of the process, as `"1 GiB"` or in bytes: from 1 byte to 16 EiB. A budget below what the
    /// process already uses refuses every fit. By default what it uses plus what is free, less a margin (see [`Budget`]).
    ///
    /// ```
    /// use topicbook::Budget;
    /// assert_eq!(Budget::new().ram("1 GiB")?, Budget::new().ram(1u64 << 30)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the text is no size (see [`ByteSize`]), or the number is negative.
    #[doc(alias = "max_memory")]
    pub fn ram<S>(&self, size: S) -> Result<Self>
    where
        S: TryInto<ByteSize>,
        Error: From<S::Error>,
    {
        Ok(Self {
            ram: Some(size.try_into()?),
            ..self.clone()
        })
    }

    /// The largest use of the GPU's memory, as `"1.5 GiB"` or in bytes: from 1 byte to 16 EiB, and never more than is
    /// free there. Nine tenths of what is free by default. On a machine without a GPU, or on the CPU, the budget stands
    /// for one.
    ///
    /// ```
    /// use topicbook::{Budget, Device, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let budget = Budget::new().vram("1.5 GiB")?;
    /// let plan = TopicModel::new(3).device(Device::Cpu).budget(budget).plan(&counts)?;
    /// assert!(plan.peak_vram().is_some_and(|bytes| bytes < 3 << 29)); // what a GPU would need
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the text is no size (see [`ByteSize`]), or the number is negative.
    pub fn vram<S>(&self, size: S) -> Result<Self>
    where
        S: TryInto<ByteSize>,
        Error: From<S::Error>,
    {
        Ok(Self {
            vram: Some(size.try_into()?),
            ..self.clone()
        })
    }

    /// A folder on a disk for L's logits and their optimizer state where they do not fit into RAM, in memory-mapped files
    /// that vanish with the fit. None by default: then such a fit is refused, and nothing is written into a folder that
    /// nobody has named.
    ///
    /// ```
    /// use topicbook::{Budget, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let budget = Budget::new().spill_dir(std::env::temp_dir());
    /// let fit = TopicModel::new(3).epochs(2).budget(budget).quiet().fit(&counts)?;
    /// assert_eq!(fit.l().shape(), (60, 3)); // it fits into RAM here, and the folder stays unused
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "temp_dir")]
    pub fn spill_dir(&self, folder: impl Into<PathBuf>) -> Self {
        self.with(|changed| changed.spill_dir = Some(folder.into()))
    }

    /// The folder that [`spill_dir`](Self::spill_dir) has named.
    #[doc(hidden)]
    pub fn spill_dir_path(&self) -> Option<PathBuf> {
        self.spill_dir.clone()
    }

    /// Both sizes in words.
    #[doc(hidden)]
    pub fn described(&self) -> (String, String) {
        let size = |given: Option<ByteSize>, free: &str| match given {
            None => format!("what is free, less {free}"),
            Some(size) => size.to_string(),
        };
        (size(self.ram, "a margin"), size(self.vram, "a tenth"))
    }

    /// Bytes of RAM for a process that uses `used` bytes now.
    #[doc(hidden)]
    pub fn ram_bytes(&self, used: u64) -> u64 {
        self.ram.map_or_else(
            || {
                let free = free_memory();
                used + free - (free / 10).max(SMALLEST_MARGIN.min(free / 4))
            },
            ByteSize::bytes,
        )
    }

    /// Whether RAM is limited by the budget, and not by what is free.
    #[doc(hidden)]
    pub fn gives_ram(&self) -> bool {
        self.ram.is_some()
    }

    /// Bytes of VRAM, where the budget names them.
    #[doc(hidden)]
    pub fn vram_bytes(&self) -> Option<u64> {
        self.vram.map(ByteSize::bytes)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |given: Option<ByteSize>| {
            given.map_or_else(|| "what is free".to_string(), |size| bytes(size.bytes()))
        };
        write!(f, "{} of RAM, {} of VRAM", size(self.ram), size(self.vram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::memory::process_memory;

    #[test]
    fn without_a_budget_a_margin_is_left() {
        let used = process_memory().anonymous;
        let budget = Budget::new().ram_bytes(used);
        assert!(budget <= used + free_memory());
        assert!(budget > used);
    }
}
