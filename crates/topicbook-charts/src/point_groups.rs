//! The groups of points, by labels of the documents.

use std::borrow::Cow;

use crate::error::Result;
#[cfg(feature = "polars")]
use crate::text::counted;

use super::options::Options;
use super::palette::Rgb;
#[cfg(feature = "polars")]
use super::palette::colours;

/// Points of one colour.
#[derive(Clone)]
pub struct PointGroup {
    /// The colour of the points; `None` for grey.
    pub colour: Option<Rgb>,
    /// The entry in the legend; empty for none.
    pub name: String,
}

/// Groups, and the group of each point.
pub struct Grouping<'a> {
    pub groups: Cow<'a, [PointGroup]>,
    pub of: Cow<'a, [usize]>,
    /// `, in the colours of 12 groups`, if labels make the groups.
    pub described: String,
}

impl<'a> Grouping<'a> {
    /// The chart's own groups, unless labels are set.
    ///
    /// # Errors
    /// When there is not one label for each point, or the labels make fewer than two groups.
    #[cfg(feature = "polars")]
    pub fn new(groups: &'a [PointGroup], of: &'a [usize], options: &Options) -> Result<Self> {
        let Some(labels) = options.labels()? else {
            return Ok(Self::own(groups, of));
        };
        labels.check(of.len())?;
        let colours = colours(labels.names.len()).into_iter().map(Some);
        let named = labels.names.iter().zip(colours);
        let mut groups: Vec<PointGroup> = named
            .map(|(name, colour)| PointGroup {
                colour,
                name: name.clone(),
            })
            .collect();
        let described = format!(", in the colours of {}", counted(groups.len(), "group"));
        let unlabelled = groups.len();
        if labels.of.contains(&None) {
            groups.push(PointGroup {
                colour: None,
                name: "no label".into(),
            });
        }
        let of = labels.of.iter().map(|group| group.unwrap_or(unlabelled));
        Ok(Self {
            groups: groups.into(),
            of: of.collect(),
            described,
        })
    }

    /// Labels come with the tables of Polars.
    #[cfg(not(feature = "polars"))]
    pub fn new(groups: &'a [PointGroup], of: &'a [usize], _: &Options) -> Result<Self> {
        Ok(Self::own(groups, of))
    }

    fn own(groups: &'a [PointGroup], of: &'a [usize]) -> Self {
        Self {
            groups: groups.into(),
            of: of.into(),
            described: String::new(),
        }
    }

    /// The entries of the legend, and the groups of the entries.
    pub fn entries(&self) -> (Vec<String>, Vec<usize>) {
        let named = self.groups.iter().enumerate();
        let named = named.filter(|(_, group)| !group.name.is_empty());
        named
            .map(|(index, group)| (group.name.clone(), index))
            .unzip()
    }
}
