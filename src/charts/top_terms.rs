//! The most probable terms of each topic, as small bar charts on one scale.

use crate::data::{Matrix, Terms, top_n};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{count, counted};

use super::axis::{BELOW, Scale, horizontal, tick_labels};
use super::canvas::{Anchor, Area, Canvas, FAINT, INK, SMALL, SOFT_INK, fit_text, text_width};
use super::palette::colours;
use super::{Panel, not_drawable, nothing};

/// Heights of a bar and of a panel's heading, and the space between panels.
const ROW: i64 = 32;
const HEADING: i64 = 44;
const SPACING: i64 = 24;
/// Least width of a panel.
const MIN_WIDTH: i64 = 230;
/// Most panels in a row.
const MAX_COLUMNS: i64 = 5;

pub(crate) struct TopTerms {
    shape: (usize, usize),
    /// Number of names, if terms have names.
    names: Option<usize>,
    n: usize,
    /// For each topic, the names and probabilities of its most probable terms.
    topics: Vec<Vec<(String, f32)>>,
}

impl TopTerms {
    pub(crate) fn new(f: &Matrix, terms: Option<&Terms>, n: usize) -> Self {
        let name = |term: usize| match terms.and_then(|terms| terms.get(term)) {
            Some(name) => name.to_string(),
            None => term.to_string(),
        };
        let topics = (0..f.rows())
            .map(|topic| {
                let row = f.row(topic);
                // `top_n` orders NaN first, so `check` finds it among the `n` terms.
                top_n(row, n)
                    .into_iter()
                    .map(|term| (name(term), row[term]))
                    .collect()
            })
            .collect();
        Self {
            shape: f.shape(),
            names: terms.map(Terms::len),
            n,
            topics,
        }
    }

    fn check(&self) -> Result<()> {
        let (topics, terms) = self.shape;
        if topics == 0 || terms == 0 {
            return Err(nothing(&format!("F has {topics} topics and {terms} terms")));
        }
        if self.n == 0 {
            return Err(nothing("zero terms per topic"));
        }
        if let Some(names) = self.names
            && names != terms
        {
            return Err(Error::new(
                ErrorKind::Drawing,
                format!("{names} names for {terms} terms"),
            )
            .fix("pass one name per column of F"));
        }
        for (topic, bars) in self.topics.iter().enumerate() {
            if let Some((term, value)) = bars
                .iter()
                .find(|(_, value)| !(0.0..=f32::MAX).contains(value))
            {
                let place = format!("topic {topic}, term {term}");
                return Err(not_drawable("a probability", (*value).into(), place));
            }
        }
        Ok(())
    }

    fn columns(&self, width: i64) -> i64 {
        let max = (width / MIN_WIDTH).clamp(1, MAX_COLUMNS);
        max.min(self.topics.len().max(1) as i64)
    }

    fn panel_height(&self) -> i64 {
        let bars = self.n.min(self.shape.1).min(1_000_000) as i64;
        HEADING + ROW * bars + i64::from(BELOW)
    }
}

impl Panel for TopTerms {
    fn title(&self) -> &str {
        "Top terms"
    }

    fn describe(&self) -> String {
        let (topics, terms) = self.shape;
        format!(
            "the {} most probable of {}, {}",
            count(self.n.min(terms) as u64),
            counted(terms, "term"),
            counted(topics, "topic")
        )
    }

    fn height(&self, width: i64) -> i64 {
        let rows = self.topics.len().div_ceil(self.columns(width) as usize) as i64;
        rows * (self.panel_height() + SPACING) - SPACING + i64::from(BELOW)
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        self.check()?;
        let columns = self.columns(area.width().into()) as usize;
        let width = area.width() / columns as i32;
        let values = || {
            self.topics
                .iter()
                .flatten()
                .map(|(_, value)| f64::from(*value))
        };
        let largest = values().fold(0.0, f64::max);
        let names = || self.topics.iter().flatten().map(|(name, _)| name);
        let widest = names()
            .map(|name| text_width(name, SMALL))
            .max()
            .unwrap_or(0);
        // Names get at most 55% of a panel's width; longer ones end in an ellipsis.
        let name_width = (widest + widest / 8 + 12).min(width * 11 / 20);
        for (topic, (bars, colour)) in self
            .topics
            .iter()
            .zip(colours(self.topics.len()))
            .enumerate()
        {
            let left = area.left + (topic % columns) as i32 * width;
            let top = area.top + (topic / columns) as i32 * (self.panel_height() + SPACING) as i32;
            let plot = Area {
                left: left + name_width,
                top: top + HEADING as i32,
                right: left + width - 24,
                bottom: top + HEADING as i32 + bars.len() as i32 * ROW as i32,
            };
            let x = Scale::new(0.0, 1.05 * largest, plot.left, plot.right);
            let ticks = x.ticks(3);
            for &tick in &ticks {
                let at = x.pixel(tick);
                canvas.line(vec![(at, plot.top), (at, plot.bottom)], FAINT, 2)?;
            }
            let heading = format!("Topic {topic}");
            let middle = plot.top - HEADING as i32 / 2;
            canvas.text(&heading, (plot.left, middle), Anchor::Left, SMALL, INK)?;
            for (row, (name, value)) in bars.iter().enumerate() {
                let middle = plot.top + row as i32 * ROW as i32 + ROW as i32 / 2;
                let bar = Area {
                    left: plot.left,
                    top: middle - 12,
                    right: x.pixel(f64::from(*value)),
                    bottom: middle + 12,
                };
                canvas.rectangle(bar, colour)?;
                let name = fit_text(name, SMALL, name_width - 12);
                canvas.text(&name, (plot.left - 10, middle), Anchor::Right, SMALL, INK)?;
            }
            horizontal(canvas, plot, &x, &ticks, &tick_labels(&ticks))?;
        }
        let below = (
            (area.left + area.right) / 2,
            area.top + self.height(area.width().into()) as i32 - 20,
        );
        let title = "probability of the term in the topic";
        canvas.text(title, below, Anchor::Centre, SMALL, SOFT_INK)
    }
}
