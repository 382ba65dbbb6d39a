//! The structure plot: topic proportions of all documents as stacked bars.

use crate::data::{Matrix, dominant, row_sum, sort_documents};
use crate::error::Result;
use crate::text::counted;

use super::axis::{
    BELOW, LABEL_HEIGHT, Scale, left_of, tick_labels, title_above, title_below, vertical,
};
use super::canvas::{Anchor, Area, Canvas, Fill, Point, SMALL, text_width};
use super::layout::Heights;
use super::legend::Legend;
use super::lines::apart;
use super::options::Options;
#[cfg(feature = "polars")]
use super::structure_groups;
use super::topics::Topics;
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 460;
/// Space between the labels below the plot and the legend.
const SPACE: i64 = 12;
/// Height of the lines from groups to labels that were moved.
pub const LEADER: i32 = 12;
/// Most points of all polygons of an SVG, nine bytes each.
const MAX_POINTS: usize = 40_000;

pub struct Structure {
    l: Matrix,
    topics: Topics,
}

/// What is drawn: the topics that are shown, and above them the sum of all others.
struct Shown {
    l: Matrix,
    topics: Topics,
    has_rest: bool,
    /// The documents from left to right, and the column of `l` to whose group each belongs.
    order: Vec<usize>,
    groups: Vec<usize>,
}

impl Shown {
    /// The names in the legend.
    fn entries(&self) -> Vec<String> {
        let topics = (0..self.topics.len()).map(|topic| self.topics.entry(topic));
        let rest = self.has_rest.then(|| "other topics".to_string());
        topics.chain(rest).collect()
    }

    fn fills(&self, canvas: &dyn Canvas, options: &Options) -> Vec<Fill> {
        let rest = self.has_rest.then(|| canvas.theme().rest.into());
        self.topics.fills(options).into_iter().chain(rest).collect()
    }
}

impl Structure {
    pub fn new(l: Matrix, topics: Topics) -> Self {
        Self { l, topics }
    }

    fn check(&self) -> Result<()> {
        let (documents, topics) = self.l.shape();
        if documents == 0 || topics == 0 {
            return Err(nothing(&format!(
                "L has {documents} documents and {topics} topics"
            )));
        }
        for document in 0..documents {
            let row = self.l.row(document);
            if let Some(topic) = row
                .iter()
                .position(|&value| !(0.0..=f32::MAX).contains(&value))
            {
                let place = format!("document {document}, topic {}", self.topics.number(topic));
                return Err(not_drawable("a proportion", row[topic].into(), place));
            }
            if row.iter().all(|&value| value == 0.0) {
                let place = format!("document {document}");
                return Err(not_drawable("the sum of the proportions", 0.0, place));
            }
        }
        Ok(())
    }

    /// The topics that the options select, or all.
    fn shown(&self, options: &Options) -> Result<Shown> {
        let order = sort_documents(&self.l);
        let dominant = |&document: &usize| dominant(self.l.row(document));
        let Some(wanted) = &options.topics else {
            return Ok(Shown {
                l: self.l.clone(),
                topics: self.topics.clone(),
                has_rest: false,
                groups: order.iter().map(dominant).collect(),
                order,
            });
        };
        let positions = self.topics.positions(wanted)?;
        let (documents, all) = self.l.shape();
        let others: Vec<usize> = (0..all)
            .filter(|topic| !positions.contains(topic))
            .collect();
        let mut values = Vec::with_capacity(documents * (positions.len() + 1));
        for document in 0..documents {
            let row = self.l.row(document);
            values.extend(positions.iter().map(|&topic| row[topic]));
            values.push(others.iter().map(|&topic| row[topic]).sum());
        }
        let l = Matrix::from_parts(documents, positions.len() + 1, values);
        // Documents of other topics come last, by falling proportion of the topics that are shown.
        let group = |document: &usize| {
            let topic = dominant(document);
            let shown = positions.iter().position(|&position| position == topic);
            shown.unwrap_or(positions.len())
        };
        let rest = |document: usize| {
            let row = l.row(document);
            f64::from(row[positions.len()]) / row_sum(row)
        };
        let mut order = order;
        order.sort_by(|a, b| match (group(a), group(b)) {
            (first, second) if first == second && first == positions.len() => {
                rest(*a).total_cmp(&rest(*b))
            }
            (first, second) => first.cmp(&second),
        });
        Ok(Shown {
            groups: order.iter().map(group).collect(),
            topics: self.topics.at(&positions),
            has_rest: true,
            order,
            l,
        })
    }

    /// The legend; without entries where the options select a topic that is not there.
    fn legend(&self, width: i64, options: &Options) -> Legend {
        let entries = self.shown_topics(options);
        Legend::new(entries, width as i32)
    }

    fn shown_topics(&self, options: &Options) -> Vec<String> {
        let Some(wanted) = &options.topics else {
            return (0..self.topics.len())
                .map(|topic| self.topics.entry(topic))
                .collect();
        };
        let positions = self.topics.positions(wanted).unwrap_or_default();
        let topics = self.topics.at(&positions);
        let entries = (0..topics.len()).map(|topic| topics.entry(topic));
        entries.chain(["other topics".into()]).collect()
    }
}

impl Panel for Structure {
    fn kind(&self) -> &'static str {
        "a structure plot"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "y_label", "topics", "by", "colors"]
    }

    fn title(&self) -> &str {
        "Structure plot"
    }

    fn describe(&self, options: &Options) -> String {
        let (documents, topics) = self.l.shape();
        let documents = counted(documents, "document") + &in_groups(options);
        match &options.topics {
            None => {
                let names = match self.topics.has_names() {
                    true => format!(" ({})", self.shown_topics(options).join(", ")),
                    false => String::new(),
                };
                format!(
                    "topic proportions of {documents}, {}{names}",
                    counted(topics, "topic")
                )
            }
            Some(_) => format!(
                "topic proportions of {documents}: {}",
                self.shown_topics(options).join(", ")
            ),
        }
    }

    fn heights(&self, width: i64, options: &Options) -> Heights {
        let legend = self.legend(width, options);
        Heights {
            fixed: LABEL_HEIGHT + i64::from(2 * BELOW + LEADER) + SPACE + legend.height(),
            plots: PLOT_HEIGHT,
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        self.check()?;
        let shown = self.shown(options)?;
        let fills = shown.fills(canvas, options);
        let legend = Legend::new(shown.entries(), area.width());
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0];
        let labels = tick_labels(&ticks);
        let legend_top = area.bottom - legend.height() as i32;
        let plot = Area {
            left: area.left + left_of(&labels),
            top: area.top + LABEL_HEIGHT as i32,
            right: area.right - 8,
            bottom: legend_top - SPACE as i32 - 2 * BELOW - LEADER,
        };
        title_above(canvas, plot, options.y_label("topic proportions"))?;
        let y = Scale::new(0.0, 1.0, plot.bottom, plot.top);
        vertical(canvas, plot, &y, &ticks, &labels)?;

        let draw = if canvas.is_vector() { polygons } else { bars };
        let documents = counted(shown.l.rows(), "document");
        let title = match options.labels()? {
            None => {
                draw(canvas, plot, &shown.l, &shown.order, &fills)?;
                groups(canvas, plot, &shown)?;
                format!("{documents}, by dominant topic")
            }
            #[cfg(feature = "polars")]
            Some(labels) => {
                let groups = structure_groups::groups(labels, &shown.order, plot)?;
                for group in &groups {
                    draw(canvas, group.area, &shown.l, &group.order, &fills)?;
                }
                structure_groups::name_groups(canvas, plot, &groups)?;
                documents + &in_groups(options)
            }
            #[cfg(not(feature = "polars"))]
            Some(never) => match *never {},
        };
        let below = plot.inset(0, 0, 0, -LEADER);
        title_below(canvas, below, options.x_label(&title))?;
        legend.draw(canvas, area.left, legend_top, &fills)
    }
}

/// ` in 12 groups` of labels.
#[cfg(feature = "polars")]
fn in_groups(options: &Options) -> String {
    match options.labels() {
        Ok(Some(labels)) => format!(" in {}", counted(labels.names.len(), "group")),
        _ => String::new(),
    }
}

#[cfg(not(feature = "polars"))]
fn in_groups(_: &Options) -> String {
    String::new()
}

/// Heights in pixels of the upper edges of the topics, one vector per column of the picture.
///
/// A column shows the mean of the documents that it covers, weighted by the covered fraction of each. If documents are wider
/// than columns, it shows the document at its centre.
fn edges(l: &Matrix, order: &[usize], columns: usize, height: i32) -> Vec<Vec<i32>> {
    let (documents, topics) = (order.len(), l.columns());
    let mut mean = vec![0.0f64; topics];
    let add = |mean: &mut [f64], position: usize, weight: f64| {
        let row = l.row(order[position]);
        let weight = weight / row_sum(row);
        for (mean, &value) in mean.iter_mut().zip(row) {
            *mean += weight * f64::from(value);
        }
    };
    (0..columns)
        .map(|column| {
            mean.fill(0.0);
            let scale = documents as f64 / columns as f64;
            if documents < columns {
                let middle = (column as f64 + 0.5) * scale;
                add(&mut mean, (middle as usize).min(documents - 1), 1.0);
            } else {
                let (from, to) = (column as f64 * scale, (column + 1) as f64 * scale);
                let last = (to.ceil() as usize).min(documents);
                for position in from as usize..last {
                    let overlap = to.min((position + 1) as f64) - from.max(position as f64);
                    add(&mut mean, position, overlap.max(0.0));
                }
            }
            let all: f64 = mean.iter().sum();
            let mut below = 0.0;
            mean.iter()
                .map(|value| {
                    below += value;
                    (below / all * f64::from(height)).round() as i32
                })
                .collect()
        })
        .collect()
}

/// Runs of equal columns: index of the first, and one past the last.
fn runs<T: PartialEq>(columns: &[T]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut first = 0;
    for column in 1..=columns.len() {
        if column == columns.len() || columns[column] != columns[first] {
            runs.push((first, column));
            first = column;
        }
    }
    runs
}

/// Draws a rectangle per topic and run of equal columns, for pixels.
fn bars(
    canvas: &dyn Canvas,
    plot: Area,
    l: &Matrix,
    order: &[usize],
    fills: &[Fill],
) -> Result<()> {
    let columns = edges(l, order, plot.width().max(1) as usize, plot.height());
    for (first, end) in runs(&columns) {
        let mut bottom = plot.bottom;
        for (&edge, &fill) in columns[first].iter().zip(fills) {
            let top = plot.bottom - edge;
            let bar = Area {
                left: plot.left + first as i32,
                right: plot.left + end as i32,
                top,
                bottom,
            };
            canvas.rectangle(bar, fill)?;
            bottom = top;
        }
    }
    Ok(())
}

/// Draws one polygon per topic, for SVG: from the axis to the topic's upper edge.
///
/// The highest polygon is drawn first and the others over it, so that each edge is stored only once. Columns are
/// widened until there are at most [`MAX_POINTS`] points; a group of a larger plot gets its part of them.
fn polygons(
    canvas: &dyn Canvas,
    plot: Area,
    l: &Matrix,
    order: &[usize],
    fills: &[Fill],
) -> Result<()> {
    let mut columns = plot.width().max(1) as usize;
    let outlines = loop {
        let edges = edges(l, order, columns, plot.height());
        let outlines: Vec<Vec<Point>> = (0..fills.len())
            .map(|topic| {
                let edge: Vec<i32> = edges.iter().map(|column| column[topic]).collect();
                outline(plot, &edge, order.len() > columns)
            })
            .collect();
        let points: usize = outlines.iter().map(Vec::len).sum();
        if points <= MAX_POINTS * order.len() / l.rows().max(1) || columns <= 16 {
            break outlines;
        }
        columns -= columns / 8;
    };
    for (outline, &fill) in outlines.into_iter().zip(fills).rev() {
        canvas.polygon(outline, fill)?;
    }
    Ok(())
}

/// The outline of the area below an edge.
///
/// Columns of single documents are steps, with two points each. Columns of means (`joined`) are connected by lines
/// through their centres, with one point each.
fn outline(plot: Area, edge: &[i32], joined: bool) -> Vec<Point> {
    let x = |column: f64| {
        plot.left + (column / edge.len() as f64 * f64::from(plot.width())).round() as i32
    };
    let y = |column: usize| plot.bottom - edge[column];
    let mut points = vec![(plot.left, plot.bottom)];
    if joined {
        points.push((plot.left, y(0)));
    }
    for (first, end) in runs(edge) {
        let (from, to) = (first as f64, end as f64);
        match (joined, end - first) {
            (false, _) => points.extend([(x(from), y(first)), (x(to), y(first))]),
            (true, 1) => points.push((x(from + 0.5), y(first))),
            (true, _) => points.extend([(x(from + 0.5), y(first)), (x(to - 0.5), y(first))]),
        }
    }
    if joined {
        points.push((plot.right, y(edge.len() - 1)));
    }
    points.push((plot.right, plot.bottom));
    points
}

/// Draws the horizontal axis with ticks between the groups of dominant topics, and below each group the number of its topic,
/// or its name if all names have room. Labels that would overlap are moved apart, with lines to their groups.
fn groups(canvas: &dyn Canvas, plot: Area, shown: &Shown) -> Result<()> {
    let theme = canvas.theme();
    let documents = shown.order.len() as f64;
    let x = |position: usize| {
        plot.left + (position as f64 / documents * f64::from(plot.width())).round() as i32
    };
    let axis = plot.bottom + 1;
    canvas.line(
        vec![(plot.left, axis), (plot.right, axis)],
        theme.soft_ink,
        2,
    )?;
    let groups: Vec<(usize, i32, i32)> = runs(&shown.groups)
        .into_iter()
        .map(|(first, end)| (shown.groups[first], x(first), x(end)))
        .collect();
    for &(_, left, right) in &groups {
        for edge in [left, right] {
            canvas.line(vec![(edge, axis), (edge, axis + 7)], theme.soft_ink, 2)?;
        }
    }
    let label = |topic: usize, named: bool| match (topic < shown.topics.len(), named) {
        (false, _) => "other".to_string(),
        (true, true) => shown.topics.heading(topic),
        (true, false) => shown.topics.number(topic).to_string(),
    };
    let fit = |named: bool| {
        groups.iter().all(|&(topic, left, right)| {
            text_width(&label(topic, named), SMALL) + 12 <= right - left
        })
    };
    let named = shown.topics.has_names() && fit(true);
    let texts: Vec<String> = groups.iter().map(|group| label(group.0, named)).collect();
    let middles: Vec<i32> = groups
        .iter()
        .map(|(_, left, right)| (left + right) / 2)
        .collect();
    let widths = texts.iter().map(|text| text_width(text, SMALL));
    let widest = widths.max().unwrap_or(0);
    let half = widest / 2;
    // If not even touching numbers fit, every second one is shown, or every third.
    let most = ((plot.width() + widest) / (widest + 5)).max(1) as usize;
    let every = groups.len().div_ceil(most).max(1);
    let pick = |values: &[i32]| -> Vec<i32> { values.iter().copied().step_by(every).collect() };
    let middles = pick(&middles);
    let places = match named {
        true => middles.clone(),
        false => apart(
            &middles,
            widest + 5,
            (plot.left + half - 20, plot.right - half + 8),
        ),
    };
    for ((text, &middle), at) in texts.iter().step_by(every).zip(&middles).zip(places) {
        if (at - middle).abs() > 8 {
            let leader = vec![(middle, axis + 7), (at, axis + 9 + LEADER)];
            canvas.line(leader, theme.soft_ink, 2)?;
        }
        let at = (at, plot.bottom + 24 + LEADER);
        canvas.text(text, at, Anchor::Centre, SMALL, theme.ink)?;
    }
    Ok(())
}
