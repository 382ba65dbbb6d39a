//! The structure plot: topic proportions of all documents as stacked bars.

use crate::data::{Matrix, dominant, row_sum, sort_documents};
use crate::error::Result;
use crate::text::counted;

use super::axis::{BELOW, Scale, left_of, tick_labels, title_below, vertical};
use super::canvas::{Anchor, Area, Canvas, INK, Point, SMALL, SOFT_INK, text_width};
use super::palette::{Rgb, colours};
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 460;
/// Height of the line of text above the plot.
const LABEL_HEIGHT: i64 = 44;
const LEGEND_ROW_HEIGHT: i64 = 38;
const SWATCH: i32 = 24;
/// Most topics for which the legend says "Topic 3"; with more it says "3".
const MAX_NAMED: usize = 20;
/// Most points of all polygons of an SVG, nine bytes each.
const MAX_POINTS: usize = 40_000;

pub(crate) struct Structure {
    l: Matrix,
}

impl Structure {
    pub(crate) fn new(l: Matrix) -> Self {
        Self { l }
    }

    fn topics(&self) -> usize {
        self.l.columns()
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
                let place = format!("document {document}, topic {topic}");
                return Err(not_drawable("a proportion", row[topic].into(), place));
            }
            if row.iter().all(|&value| value == 0.0) {
                let place = format!("document {document}");
                return Err(not_drawable("the sum of the proportions", 0.0, place));
            }
        }
        Ok(())
    }
}

impl Panel for Structure {
    fn title(&self) -> &str {
        "Structure plot"
    }

    fn describe(&self) -> String {
        let (documents, topics) = self.l.shape();
        format!(
            "topic proportions of {}, {}",
            counted(documents, "document"),
            counted(topics, "topic")
        )
    }

    fn height(&self, width: i64) -> i64 {
        let legend = Legend::new(self.topics(), width as i32);
        LABEL_HEIGHT + PLOT_HEIGHT + i64::from(2 * BELOW) + LEGEND_ROW_HEIGHT * legend.rows() as i64
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        self.check()?;
        let palette = colours(self.topics());
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0];
        let labels = tick_labels(&ticks);
        let plot = Area {
            left: area.left + left_of(&labels),
            top: area.top + LABEL_HEIGHT as i32,
            right: area.right - 8,
            bottom: area.top + (LABEL_HEIGHT + PLOT_HEIGHT) as i32,
        };
        let above = (plot.left, plot.top - LABEL_HEIGHT as i32 / 2 - 2);
        canvas.text("topic proportions", above, Anchor::Left, SMALL, SOFT_INK)?;
        let y = Scale::new(0.0, 1.0, plot.bottom, plot.top);
        vertical(canvas, plot, &y, &ticks, &labels)?;

        let order = sort_documents(&self.l);
        match canvas.is_vector() {
            true => polygons(canvas, plot, &self.l, &order, &palette)?,
            false => bars(canvas, plot, &self.l, &order, &palette)?,
        }
        groups(canvas, plot, &self.l, &order)?;
        let documents = counted(self.l.rows(), "document");
        title_below(canvas, plot, &format!("{documents}, by dominant topic"))?;
        let legend = Legend::new(self.topics(), area.width());
        legend.draw(canvas, area.left, plot.bottom + 2 * BELOW + 12, &palette)
    }
}

/// Heights in pixels of the upper edges of the topics, one vector per column of the picture.
///
/// A column shows the mean of the documents that it covers, weighted by the part of each that it covers. If documents
/// are wider than columns, it shows the document at its centre.
fn edges(l: &Matrix, order: &[usize], columns: usize, height: i32) -> Vec<Vec<i32>> {
    let (documents, topics) = l.shape();
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
    palette: &[Rgb],
) -> Result<()> {
    let columns = edges(l, order, plot.width().max(1) as usize, plot.height());
    for (first, end) in runs(&columns) {
        let mut bottom = plot.bottom;
        for (&edge, &colour) in columns[first].iter().zip(palette) {
            let top = plot.bottom - edge;
            let bar = Area {
                left: plot.left + first as i32,
                right: plot.left + end as i32,
                top,
                bottom,
            };
            canvas.rectangle(bar, colour)?;
            bottom = top;
        }
    }
    Ok(())
}

/// Draws one polygon per topic, for SVG: from the axis to the topic's upper edge.
///
/// The highest polygon is drawn first and the others over it, so that each edge is stored only once. Columns are
/// widened until there are at most [`MAX_POINTS`] points.
fn polygons(
    canvas: &dyn Canvas,
    plot: Area,
    l: &Matrix,
    order: &[usize],
    palette: &[Rgb],
) -> Result<()> {
    let mut columns = plot.width().max(1) as usize;
    let outlines = loop {
        let edges = edges(l, order, columns, plot.height());
        let outlines: Vec<Vec<Point>> = (0..palette.len())
            .map(|topic| {
                let edge: Vec<i32> = edges.iter().map(|column| column[topic]).collect();
                outline(plot, &edge, l.rows() > columns)
            })
            .collect();
        let points: usize = outlines.iter().map(Vec::len).sum();
        if points <= MAX_POINTS || columns <= 16 {
            break outlines;
        }
        columns -= columns / 8;
    };
    for (outline, &colour) in outlines.into_iter().zip(palette).rev() {
        canvas.polygon(outline, colour)?;
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

/// Draws the horizontal axis with ticks between the groups of dominant topics, and their numbers where they fit.
fn groups(canvas: &dyn Canvas, plot: Area, l: &Matrix, order: &[usize]) -> Result<()> {
    let topics: Vec<usize> = order
        .iter()
        .map(|&document| dominant(l.row(document)))
        .collect();
    let x = |position: usize| {
        plot.left + (position as f64 / order.len() as f64 * f64::from(plot.width())).round() as i32
    };
    let axis = plot.bottom + 1;
    canvas.line(vec![(plot.left, axis), (plot.right, axis)], SOFT_INK, 2)?;
    // Left end of the space that no label uses yet.
    let mut free_from = plot.left - 20;
    for (first, end) in runs(&topics) {
        for edge in [x(first), x(end)] {
            canvas.line(vec![(edge, axis), (edge, axis + 7)], SOFT_INK, 2)?;
        }
        let label = topics[first].to_string();
        let half = text_width(&label, SMALL) / 2;
        let middle = (x(first) + x(end)) / 2;
        if middle - half >= free_from {
            canvas.text(
                &label,
                (middle, plot.bottom + 24),
                Anchor::Centre,
                SMALL,
                INK,
            )?;
            free_from = middle + half + 10;
        }
    }
    Ok(())
}

/// The legend: topics and their colours in rows below the plot.
struct Legend {
    topics: usize,
    /// Width of an entry in pixels.
    entry: i32,
    /// Entries per row.
    columns: usize,
}

impl Legend {
    fn new(topics: usize, width: i32) -> Self {
        let longest = Self::label(topics, topics.saturating_sub(1));
        let text = text_width(&longest, SMALL);
        let entry = SWATCH + 10 + text + text / 8 + 24;
        let max = (width / entry.max(1)).max(1) as usize;
        // As few rows as possible, and of equal length.
        let rows = topics.div_ceil(max).max(1);
        Self {
            topics,
            entry,
            columns: topics.div_ceil(rows).max(1),
        }
    }

    fn rows(&self) -> usize {
        self.topics.div_ceil(self.columns)
    }

    fn label(topics: usize, topic: usize) -> String {
        match topics {
            ..=MAX_NAMED => format!("Topic {topic}"),
            _ => topic.to_string(),
        }
    }

    fn draw(&self, canvas: &dyn Canvas, left: i32, top: i32, palette: &[Rgb]) -> Result<()> {
        for (topic, &colour) in palette.iter().enumerate() {
            let left = left + (topic % self.columns) as i32 * self.entry;
            let middle =
                top + (topic / self.columns) as i32 * LEGEND_ROW_HEIGHT as i32 + SWATCH / 2;
            let swatch = Area {
                left,
                top: middle - SWATCH / 2,
                right: left + SWATCH,
                bottom: middle + SWATCH / 2,
            };
            canvas.rectangle(swatch, colour)?;
            let at = (swatch.right + 10, middle);
            canvas.text(
                &Self::label(self.topics, topic),
                at,
                Anchor::Left,
                SMALL,
                INK,
            )?;
        }
        Ok(())
    }
}
