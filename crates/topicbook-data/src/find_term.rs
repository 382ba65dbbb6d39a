//! Looks up terms, and names the nearest ones where a term is missing.

use std::collections::HashMap;

use strsim::levenshtein;

use crate::error::{Error, Result};
use crate::text::count;

use super::indices::Indices;
use super::terms::Terms;

/// Number of terms that a message names.
const NAMED: usize = 3;

impl Terms {
    /// The column of a term, the first of them if there are several.
    ///
    /// ```
    /// let terms = topicbook::Terms::new(["spike", "neuron"])?;
    /// assert_eq!(terms.find("neuron")?, 1);
    /// let error = terms.find("neurons").unwrap_err();
    /// assert!(error.to_string().contains("the nearest is `neuron`"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is not among the terms: the message names the nearest ones. Case matters.
    ///
    /// # Cost
    /// O(terms).
    #[doc(alias("index", "position", "get_loc"))]
    pub fn find(&self, term: &str) -> Result<usize> {
        self.iter()
            .position(|candidate| candidate == term)
            .ok_or_else(|| {
                let what = format!(
                    "`{term}` is not among the {} terms",
                    count(self.len() as u64)
                );
                Error::value(what).fix(
                    remedy_by_nearest(self.iter(), term)
                        .unwrap_or("look for it in as_slice(); case matters".into()),
                )
            })
    }

    /// The terms of these columns, in the order given (columns may repeat or be left out).
    ///
    /// ```
    /// let terms = topicbook::Terms::new(["spike", "neuron", "cell"])?;
    /// assert_eq!(terms.select([2, 0])?.as_slice(), ["cell", "spike"]);
    /// assert!(terms.select([3]).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or no column at all.
    #[doc(alias = "take")]
    pub fn select(&self, columns: impl Indices) -> Result<Self> {
        let picked = columns.to_indices().into_iter().map(|column| {
            self.get(column).ok_or_else(|| {
                Error::shape(format!(
                    "column {column} of {} terms",
                    count(self.len() as u64)
                ))
                .fix("columns are counted from 0")
            })
        });
        Self::new(picked.collect::<Result<Vec<&str>>>()?)
    }

    /// The column of each term; the first, of a term that comes twice.
    #[doc(hidden)]
    pub fn columns(&self) -> HashMap<&str, usize> {
        let mut columns = HashMap::with_capacity(self.len());
        for (column, term) in self.iter().enumerate() {
            columns.entry(term).or_insert(column);
        }
        columns
    }
}

/// The remedy for a name that is not among `names`: up to three that differ from it in case, or in few letters, the nearest
/// first; `None` if there are none.
pub fn remedy_by_nearest<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Option<String> {
    let lower = wanted.to_lowercase();
    let farthest = (lower.chars().count() / 3).max(1);
    let distances = names.map(|name| (levenshtein(&lower, &name.to_lowercase()), name));
    let mut near: Vec<(usize, &str)> = distances.filter(|pair| pair.0 <= farthest).collect();
    near.sort_by_key(|pair| pair.0);
    let near: Vec<&str> = near.iter().take(NAMED).map(|pair| pair.1).collect();
    match near.as_slice() {
        [] => None,
        [one] => Some(format!("the nearest is `{one}`")),
        several => Some(format!("the nearest are `{}`", several.join("`, `"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_term_names_the_nearest() {
        let terms = Terms::new(["Network", "networks", "neuron", "spike", "works"]).unwrap();
        let remedy = |term: &str| terms.find(term).unwrap_err().remedy().unwrap().to_owned();
        assert_eq!(remedy("network"), "the nearest are `Network`, `networks`");
        assert_eq!(remedy("spikes"), "the nearest is `spike`");
        assert_eq!(remedy("xyz"), "look for it in as_slice(); case matters");
    }
}
