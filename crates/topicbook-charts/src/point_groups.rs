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
pub struct Group {
    /// `None` for grey.
    pub colour: Option<Rgb>,
    /// The entry in the legend; empty for none.
    pub name: String,
}

/// Groups, and the group of each point.
pub struct Grouping<'a> {
    pub groups: Cow<'a, [Group]>,
    pub of: Cow<'a, [usize]>,
    /// `, in the colours of 12 groups`, where labels make them.
    pub described: String,
}

impl<'a> Grouping<'a> {
    /// The groups that a chart has by itself, unless labels are set.
    ///
    /// # Errors
    /// When there is not one label for each point, or the labels make no two groups.
    #[cfg(feature = "polars")]
    pub fn new(groups: &'a [Group], of: &'a [usize], options: &Options) -> Result<Self> {
        let Some(labels) = options.labels()? else {
            return Ok(Self::own(groups, of));
        };
        labels.check(of.len())?;
        let colours = colours(labels.names.len()).into_iter().map(Some);
        let named = labels.names.iter().zip(colours);
        let mut groups: Vec<Group> = named
            .map(|(name, colour)| Group {
                colour,
                name: name.clone(),
            })
            .collect();
        let described = format!(", in the colours of {}", counted(groups.len(), "group"));
        let unlabelled = groups.len();
        if labels.of.contains(&None) {
            groups.push(Group {
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
    pub fn new(groups: &'a [Group], of: &'a [usize], _: &Options) -> Result<Self> {
        Ok(Self::own(groups, of))
    }

    fn own(groups: &'a [Group], of: &'a [usize]) -> Self {
        Self {
            groups: groups.into(),
            of: of.into(),
            described: String::new(),
        }
    }

    /// The entries of the legend, and the groups that they are of.
    pub fn entries(&self) -> (Vec<String>, Vec<usize>) {
        let named = self.groups.iter().enumerate();
        let named = named.filter(|(_, group)| !group.name.is_empty());
        named
            .map(|(index, group)| (group.name.clone(), index))
            .unzip()
    }
}
