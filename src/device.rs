//! Where the training runs, chosen when the fit starts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cuda;
use crate::error::{Error, ErrorKind, Result};

/// The device a model is trained on.
///
/// ```
/// use topicbook::Device;
/// println!("{}", Device::Auto.describe());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Device {
    /// The first CUDA card that can be used, if a driver and NVRTC are found, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA card of this number; a fit is refused when it cannot be used.
    Cuda(usize),
}

impl Device {
    /// What this device stands for on this machine, and why.
    pub fn describe(&self) -> String {
        match (self, self.resolve()) {
            (_, Ok(Resolved::Cuda(card))) => format!("CUDA card {card}"),
            (Device::Auto, Ok(Resolved::Cpu)) => match cuda::find() {
                Ok(_) => "CPU".into(),
                Err(missing) => format!("CPU ({missing})"),
            },
            (_, Ok(Resolved::Cpu)) => "CPU".into(),
            (_, Err(error)) => error.to_string(),
        }
    }

    /// Shows [`describe`](Self::describe) below a cell.
    pub fn evcxr_display(&self) {
        let text = self.describe();
        crate::display::show(&crate::display::escape(&text), &text);
    }

    pub(crate) fn resolve(&self) -> Result<Resolved> {
        match *self {
            Device::Cpu => Ok(Resolved::Cpu),
            Device::Auto => Ok(match cuda::find().ok().and_then(|cuda| cuda.first()) {
                Some(card) => Resolved::Cuda(card),
                None => Resolved::Cpu,
            }),
            Device::Cuda(card) => {
                let refused = |missing| {
                    Error::new(
                        ErrorKind::Device,
                        format!("CUDA card {card} was asked for, but {missing}"),
                    )
                    .fix("install what is missing, or use Device::Auto or Device::Cpu")
                };
                let cuda = cuda::find().map_err(refused)?;
                match cuda.cards.get(card).map(|card| card.refused.clone()) {
                    Some(None) => Ok(Resolved::Cuda(card)),
                    Some(Some(missing)) => Err(refused(missing)),
                    None => Err(Error::new(
                        ErrorKind::Device,
                        format!(
                            "CUDA card {card} was asked for, but this machine has {}",
                            cuda.cards.len()
                        ),
                    )
                    .fix("cards are numbered from 0")),
                }
            }
        }
    }
}

/// A device that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    Cpu,
    Cuda(usize),
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resolved::Cpu => write!(f, "CPU ({} threads)", rayon::current_num_threads()),
            Resolved::Cuda(card) => write!(f, "CUDA card {card}"),
        }
    }
}
