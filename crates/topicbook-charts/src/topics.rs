//! The topics of a chart: their numbers among all topics of the fit, their names and their colours.

use std::sync::Arc;

use crate::data::{Matrix, Picked};
use crate::error::{Error, Result};
use crate::text::counted;

use super::canvas::{Fill, Hatch};
use super::options::Options;
use super::palette::{Rgb, colours, to_lab};

/// The names of all topics of a fit; `None` for a topic without a name. Empty if no topic has one.
pub type TopicNames = Arc<[Option<String>]>;

/// Up to this many topics, a legend says "Topic 3"; with more it says "3".
const MAX_SPELLED: usize = 20;
/// Number of topics that colours alone tell apart.
const MAX_PLAIN: usize = 10;

/// The topics that a chart shows.
#[derive(Clone)]
pub struct Topics {
    /// The number in the fit of each topic that is shown.
    numbers: Vec<usize>,
    /// Number of topics of the fit, on which the colours depend.
    of: usize,
    names: TopicNames,
}

impl Topics {
    pub fn of_columns(l: &Matrix, names: TopicNames) -> Self {
        Self::new(l.columns(), l.picked_columns(), names)
    }

    pub fn of_rows(f: &Matrix, names: TopicNames) -> Self {
        Self::new(f.rows(), f.picked_rows(), names)
    }

    /// All topics of a fit.
    pub fn all(topics: usize, names: TopicNames) -> Self {
        Self::new(topics, None, names)
    }

    fn new(shown: usize, picked: Option<&Picked>, names: TopicNames) -> Self {
        let (numbers, of) = match picked {
            Some(picked) => (picked.numbers.clone(), picked.of),
            None => ((0..shown).collect(), shown),
        };
        Self { numbers, of, names }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Positions among these topics of the topics with the numbers `wanted`.
    pub fn positions(&self, wanted: &[usize]) -> Result<Vec<usize>> {
        if wanted.is_empty() {
            return Err(Error::drawing("no topics are selected")
                .fix("name at least one topic, as in `.topics([2, 5])`"));
        }
        let position = |&topic: &usize| {
            let found = self.numbers.iter().position(|&number| number == topic);
            found.ok_or_else(|| {
                Error::drawing(format!(
                    "topic {topic} of a chart with {}",
                    counted(self.len(), "topic")
                ))
                .fix("topics are counted from 0")
            })
        };
        wanted.iter().map(position).collect()
    }

    /// The topics at these positions.
    pub fn at(&self, positions: &[usize]) -> Self {
        let numbers = positions.iter().map(|&at| self.numbers[at]).collect();
        Self {
            numbers,
            of: self.of,
            names: self.names.clone(),
        }
    }

    /// The number of a topic in the fit.
    pub fn number(&self, position: usize) -> usize {
        self.numbers[position]
    }

    pub fn has_names(&self) -> bool {
        (0..self.len()).any(|position| self.name(position).is_some())
    }

    fn name(&self, position: usize) -> Option<&str> {
        self.names.get(self.numbers[position])?.as_deref()
    }

    /// The heading of a topic: its name, or `Topic 3`.
    pub fn heading(&self, position: usize) -> String {
        match self.name(position) {
            Some(name) => name.into(),
            None => format!("Topic {}", self.number(position)),
        }
    }

    /// The entry of a legend, where an axis has numbers too: `3 networks`, `Topic 3`, or `3` with many topics.
    pub fn entry(&self, position: usize) -> String {
        let number = self.number(position);
        match self.name(position) {
            Some(name) => format!("{number} {name}"),
            None if self.len() <= MAX_SPELLED && !self.has_names() => format!("Topic {number}"),
            None => number.to_string(),
        }
    }

    /// Their colours, of the colours of all topics.
    pub fn colours(&self, options: &Options) -> Vec<Rgb> {
        let all = options.colours(self.of, colours(self.of));
        self.numbers.iter().map(|&number| all[number]).collect()
    }

    /// Colours, and above ten topics hatches.
    pub fn fills(&self, options: &Options) -> Vec<Fill> {
        let all = fills(self.of);
        let colours = self.colours(options).into_iter();
        let fills = self.numbers.iter().zip(colours);
        fills
            .map(|(&number, colour)| Fill {
                colour,
                ..all[number]
            })
            .collect()
    }
}

/// The fills of `k` topics. Each topic has the hatch whose other topics have the least similar colours, so that equal
/// hatches have colours far apart.
fn fills(k: usize) -> Vec<Fill> {
    const HATCHES: [Hatch; 4] = [Hatch::None, Hatch::Rising, Hatch::Level, Hatch::Falling];
    if k <= MAX_PLAIN {
        return colours(k).into_iter().map(Fill::from).collect();
    }
    let mut used: [Vec<[f64; 3]>; HATCHES.len()] = Default::default();
    colours(k)
        .into_iter()
        .map(|colour| {
            let lab = to_lab(colour);
            let nearest = |hatch: usize| {
                let distances = used[hatch].iter().map(|other| distance(lab, *other));
                distances.fold(f64::INFINITY, f64::min)
            };
            let mut best = 0;
            for hatch in 1..HATCHES.len() {
                if nearest(hatch) > nearest(best) {
                    best = hatch;
                }
            }
            used[best].push(lab);
            Fill {
                colour,
                hatch: HATCHES[best],
            }
        })
        .collect()
}

/// The distance of two colours in CIELAB.
fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_with_the_same_hatch_have_colours_far_apart() {
        for k in 11..=30 {
            let fills = fills(k);
            for (index, first) in fills.iter().enumerate() {
                for second in &fills[..index] {
                    let distance = distance(to_lab(first.colour), to_lab(second.colour));
                    assert!(
                        first.hatch != second.hatch || distance > 22.0,
                        "{k} topics: {first:?} and {second:?}, {distance}"
                    );
                }
            }
        }
    }
}
