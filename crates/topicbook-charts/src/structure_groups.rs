//! A structure plot whose documents stand in groups side by side.

use crate::data::Labels;
use crate::error::{Error, Result};
use crate::text::counted;

use super::canvas::{Anchor, Area, Canvas, SMALL, fit_text, text_width};
use super::structure::LEADER;

/// Space between groups, least width of a group, and of a name that is worth reading.
const GAP: i32 = 10;
const LEAST: i32 = 4;
const LEAST_NAME: i32 = 64;
/// Space between names.
const SPACE: i32 = 14;

/// A group of documents and where it is drawn.
pub struct DocumentGroup {
    pub name: String,
    /// The documents from left to right.
    pub order: Vec<usize>,
    pub area: Area,
}

/// Cuts the plot into the groups of the labels, each as wide as its documents, in which the documents keep `order`.
pub fn groups(labels: &Labels, order: &[usize], plot: Area) -> Result<Vec<DocumentGroup>> {
    labels.check(order.len(), "document")?;
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
        return Err(Error::drawing(format!(
            "{} have no room side by side",
            counted(members.len(), "group")
        ))
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
            DocumentGroup {
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
/// and shortened. Of too many names, every second one is drawn, or every third.
pub fn name_groups(canvas: &dyn Canvas, plot: Area, groups: &[DocumentGroup]) -> Result<()> {
    let theme = canvas.theme();
    let axis = plot.bottom + 1;
    for group in groups {
        let (left, right) = (group.area.left, group.area.right);
        canvas.line(vec![(left, axis), (right, axis)], theme.soft_ink, 2)?;
    }
    let most = (plot.width() / LEAST_NAME).max(1) as usize;
    let every = groups.len().div_ceil(most).max(1);
    let named: Vec<&DocumentGroup> = groups.iter().step_by(every).collect();
    let wide = |group: &&DocumentGroup| text_width(&group.name, SMALL) * 9 / 8;
    let natural: Vec<i32> = named.iter().map(wide).collect();
    let widths = shortened(&natural, plot.width());
    let middles: Vec<i32> = named
        .iter()
        .map(|group| (group.area.left + group.area.right) / 2)
        .collect();
    let places = apart(&middles, &widths, (plot.left - 20, plot.right + 8));
    for (((group, &middle), at), width) in named.iter().zip(&middles).zip(places).zip(widths) {
        let moved = (at - middle).abs() > 8;
        if moved {
            let leader = vec![(middle, axis + 3), (at, axis + 9 + LEADER)];
            canvas.line(leader, theme.soft_ink, 2)?;
        }
        let name = fit_text(&group.name, SMALL, width);
        let place = (at, plot.bottom + 24 + LEADER);
        canvas.text(&name, place, Anchor::Centre, SMALL, theme.ink)?;
    }
    Ok(())
}

/// The widths; the largest are cut so that all fit next to each other.
fn shortened(widths: &[i32], room: i32) -> Vec<i32> {
    let gaps = SPACE * widths.len() as i32;
    let cut = |most: i32| widths.iter().map(move |&width| width.min(most));
    let fits = |most: &i32| cut(*most).sum::<i32>() + gaps <= room;
    let most = (1..=room.max(1)).rev().find(fits).unwrap_or(1);
    cut(most).collect()
}

/// Sorted middles of texts of these widths, moved to the right and then to the left where they would overlap or leave the room.
fn apart(middles: &[i32], widths: &[i32], (left, right): (i32, i32)) -> Vec<i32> {
    let mut places = middles.to_vec();
    let mut limit = left;
    for (at, width) in places.iter_mut().zip(widths) {
        *at = (*at).max(limit + width / 2);
        limit = *at + width / 2 + SPACE;
    }
    let mut limit = right;
    for (at, width) in places.iter_mut().zip(widths).rev() {
        *at = (*at).min(limit - width / 2);
        limit = *at - width / 2 - SPACE;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_moved_only_where_they_have_no_room() {
        assert_eq!(shortened(&[100, 40], 400), [100, 40]);
        let cut = shortened(&[100, 40, 300], 300);
        assert_eq!(cut[1], 40);
        assert!(cut[0] == cut[2].min(100) && cut.iter().sum::<i32>() + 3 * SPACE <= 300);
        assert_eq!(apart(&[50, 200], &[80, 80], (0, 300)), [50, 200]);
        assert_eq!(apart(&[50, 60], &[40, 40], (0, 300)), [50, 90 + SPACE]);
        assert_eq!(apart(&[250, 290], &[40, 40], (0, 300)), [240 - SPACE, 280]);
    }
}
