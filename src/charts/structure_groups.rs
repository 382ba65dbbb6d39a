//! A structure plot whose documents stand in groups side by side.

use crate::data::Labels;
use crate::error::{Error, ErrorKind, Result};
use crate::text::counted;

use super::canvas::{Anchor, Area, Canvas, SMALL, fit_text, text_width};
use super::lines::apart;
use super::structure::LEADER;

/// Space between groups, least width of a group, and of a name that is worth reading.
const GAP: i32 = 10;
const LEAST: i32 = 4;
const LEAST_NAME: i32 = 64;

/// A group of documents and where it is drawn.
pub(crate) struct Group {
    pub(crate) name: String,
    /// The documents from left to right.
    pub(crate) order: Vec<usize>,
    pub(crate) area: Area,
}

/// Cuts the plot into the groups of the labels, each as wide as its documents, in which the documents keep `order`.
pub(crate) fn groups(labels: &Labels, order: &[usize], plot: Area) -> Result<Vec<Group>> {
    labels.check(order.len())?;
    let mut members: Vec<(String, Vec<usize>)> = labels
        .names
        .iter()
        .map(|name| (name.clone(), Vec::new()))
        .collect();
    let mut missing = Vec::new();
    for &document in order {
        match labels.of[document] {
            Some(group) => members[group].1.push(document),
            None => missing.push(document),
        }
    }
    if !missing.is_empty() {
        members.push(("no label".into(), missing));
    }
    let number = members.len() as i32;
    let room = plot.width() - GAP * (number - 1) - LEAST * number;
    if room < 0 {
        return Err(Error::new(
            ErrorKind::Drawing,
            format!(
                "{} have no room side by side",
                counted(members.len(), "group")
            ),
        )
        .fix("draw the means of the groups: fit.by(labels)?.plot(), or use fewer labels"));
    }
    let mut before = 0;
    let placed = members
        .into_iter()
        .enumerate()
        .map(|(index, (name, documents))| {
            let at =
                |documents: usize| (documents as i64 * i64::from(room) / order.len() as i64) as i32;
            let shift = plot.left + index as i32 * (GAP + LEAST);
            let (left, right) = (
                shift + at(before),
                shift + at(before + documents.len()) + LEAST,
            );
            before += documents.len();
            Group {
                name,
                order: documents,
                area: Area {
                    left,
                    right,
                    ..plot
                },
            }
        });
    Ok(placed.collect())
}

/// Draws the axes of the groups, and their names below. Names that would overlap are moved apart, with lines to their groups,
/// and shortened; of too many, every second one is drawn, or every third.
pub(crate) fn name_groups(canvas: &dyn Canvas, plot: Area, groups: &[Group]) -> Result<()> {
    let theme = canvas.theme();
    let axis = plot.bottom + 1;
    for group in groups {
        let (left, right) = (group.area.left, group.area.right);
        canvas.line(vec![(left, axis), (right, axis)], theme.soft_ink, 2)?;
    }
    let wide = |group: &Group| text_width(&group.name, SMALL) * 9 / 8 + 8;
    let fit = groups
        .iter()
        .all(|group| wide(group) <= group.area.width() + GAP);
    let every = match fit {
        true => 1,
        false => {
            let most = (plot.width() / LEAST_NAME).max(1) as usize;
            groups.len().div_ceil(most)
        }
    };
    let named: Vec<&Group> = groups.iter().step_by(every).collect();
    let middles: Vec<i32> = named
        .iter()
        .map(|group| (group.area.left + group.area.right) / 2)
        .collect();
    let widest = named.iter().map(|group| wide(group)).max().unwrap_or(0);
    let slot = widest.min(plot.width() / named.len().max(1) as i32);
    let places = match fit {
        true => middles.clone(),
        false => apart(
            &middles,
            slot,
            (plot.left + slot / 2 - 20, plot.right - slot / 2 + 8),
        ),
    };
    for ((group, &middle), at) in named.iter().zip(&middles).zip(places) {
        let moved = (at - middle).abs() > 8;
        if moved {
            let leader = vec![(middle, axis + 3), (at, axis + 9 + LEADER)];
            canvas.line(leader, theme.soft_ink, 2)?;
        }
        let room = if fit { widest } else { slot - 8 };
        let name = fit_text(&group.name, SMALL, room);
        let place = (at, plot.bottom + 24 + LEADER);
        canvas.text(&name, place, Anchor::Centre, SMALL, theme.ink)?;
    }
    Ok(())
}
