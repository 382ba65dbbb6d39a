//! A tree of topics: a horizontal dendrogram.

use crate::error::Result;
use crate::text::counted;

use super::axis::{Scale, above, below, horizontal, title_below};
use super::canvas::{Anchor, Area, Canvas, Point, SMALL, fit_text, text_width};
use super::layout::Heights;
use super::options::Options;
use super::topics::{TopicNames, Topics};
use super::{Chart, Panel, not_drawable, nothing};

/// Height of a topic.
const ROW: i64 = 40;
const X_LABEL: &str = "mean distance of the topics (Jensen-Shannon)";

pub struct Tree {
    topics: Topics,
    /// The topics from top to bottom.
    order: Vec<usize>,
    /// Two clusters and their distance; cluster `topics + i` is the result of the i-th join.
    joins: Vec<(usize, usize, f64)>,
}

impl Chart {
    #[doc(hidden)]
    pub fn topic_tree_of(
        order: Vec<usize>,
        joins: Vec<(usize, usize, f64)>,
        names: TopicNames,
    ) -> Self {
        Self::panel(Tree {
            topics: Topics::all(order.len(), names),
            order,
            joins,
        })
    }
}

impl Panel for Tree {
    fn kind(&self) -> &'static str {
        "a tree of topics"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "colors"]
    }

    fn title(&self) -> &str {
        "Tree of topics"
    }

    fn describe(&self, _options: &Options) -> String {
        let headings = self.order.iter().map(|&topic| self.topics.heading(topic));
        let headings: Vec<String> = headings.collect();
        format!(
            "tree of {}, similar ones beside each other: {}",
            counted(headings.len(), "topic"),
            headings.join(", ")
        )
    }

    fn heights(&self, _width: i64, options: &Options) -> Heights {
        Heights {
            fixed: above("") + below(options.x_label(X_LABEL)),
            plots: ROW * self.order.len().max(1) as i64,
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        if self.joins.is_empty() {
            return Err(nothing("a tree needs two topics or more"));
        }
        if let Some(join) = self.joins.iter().find(|join| !join.2.is_finite()) {
            return Err(not_drawable("a distance", join.2, "two topics".into()));
        }
        let theme = canvas.theme();
        let names = self.order.iter().map(|&topic| self.topics.heading(topic));
        let names: Vec<String> = names.collect();
        let widest = names.iter().map(|name| text_width(name, SMALL)).max();
        let gutter = (widest.unwrap_or(0) * 9 / 8 + 14).min(area.width() * 2 / 5);
        let plot = Area {
            left: area.left + gutter,
            top: area.top + above("") as i32,
            right: area.right - 24,
            bottom: area.bottom - below(options.x_label(X_LABEL)) as i32,
        };
        let far = self.joins.iter().map(|join| join.2).fold(0.0, f64::max);
        let x = Scale::new(0.0, far * 1.03, plot.left, plot.right);
        let ticks = x.ticks((plot.width() / 120).clamp(2, 10) as usize);
        horizontal(canvas, plot, &x, &ticks, &x.labels(&ticks))?;
        title_below(canvas, plot, options.x_label(X_LABEL))?;
        let row = f64::from(plot.height()) / names.len() as f64;
        let mut ends: Vec<Point> = vec![(plot.left, plot.top); names.len()];
        for (at, (&topic, name)) in self.order.iter().zip(&names).enumerate() {
            let middle = plot.top + ((at as f64 + 0.5) * row).round() as i32;
            let place = (plot.left - 12, middle);
            let name = fit_text(name, SMALL, gutter - 14);
            canvas.text(&name, place, Anchor::Right, SMALL, theme.ink)?;
            ends[topic] = (plot.left, middle);
        }
        let colours = self.topics.colours(options);
        for &(left, right, distance) in &self.joins {
            let at = x.pixel(distance);
            for end in [left, right] {
                let colour = match colours.get(end) {
                    Some(&colour) => theme.line(colour),
                    None => theme.soft_ink,
                };
                canvas.line(vec![ends[end], (at, ends[end].1)], colour, 4)?;
            }
            let (top, bottom) = (ends[left].1, ends[right].1);
            canvas.line(vec![(at, top), (at, bottom)], theme.soft_ink, 4)?;
            ends.push((at, (top + bottom) / 2));
        }
        Ok(())
    }
}
