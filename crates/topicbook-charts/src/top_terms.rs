//! The most probable terms of each topic, as small bar charts.

use crate::data::{Matrix, Terms, top_n};
use crate::error::{Error, Result};
use crate::text::{count, counted, shorten};

use super::bars::draw_bar;
use super::canvas::{Anchor, Area, Canvas, SMALL, fit_text, text_width};
use super::layout::Heights;
use super::options::Options;
use super::palette::Rgb;
use super::topics::Topics;
use super::{Panel, not_drawable, nothing};

/// Heights of a bar and of a panel's heading, and the space between panels.
const ROW: i64 = 34;
const HEADING: i64 = 44;
const SPACING: i64 = 22;
/// Least width of the longest bar with its number, the widest names for which panels are widened, and the space at the right
/// of a panel.
const BAR: i64 = 160;
const NAMES: i64 = 230;
const RIGHT: i32 = 28;
/// Height of the line of text below.
const BELOW: i64 = 44;

pub struct TopTerms {
    shape: (usize, usize),
    /// Number of names, if terms have names.
    names: Option<usize>,
    n: usize,
    /// For each topic, the names and probabilities of its most probable terms.
    bars: Vec<Vec<(String, f32)>>,
    topics: Topics,
}

impl TopTerms {
    pub fn new(f: &Matrix, terms: Option<&Terms>, n: usize, topics: Topics) -> Self {
        let name = |term: usize| match terms.and_then(|terms| terms.get(term)) {
            Some(name) => name.to_string(),
            None => term.to_string(),
        };
        let bars = (0..f.rows())
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
            bars,
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
            return Err(Error::drawing(format!("{names} names for {terms} terms"))
                .fix("pass one name per column of F"));
        }
        for (topic, bars) in self.bars.iter().enumerate() {
            if let Some((term, value)) = bars
                .iter()
                .find(|(_, value)| !(0.0..=f32::MAX).contains(value))
            {
                let place = format!("topic {}, term {term}", self.topics.number(topic));
                return Err(not_drawable("a probability", (*value).into(), place));
            }
        }
        Ok(())
    }

    /// Positions of the topics that are shown.
    fn shown(&self, options: &Options) -> Result<Vec<usize>> {
        match &options.topics {
            Some(wanted) => self.topics.positions(wanted),
            None => Ok((0..self.topics.len()).collect()),
        }
    }

    /// Number of panels in a row, chosen so that they fit and rows have about equal lengths.
    fn columns(&self, panels: usize, width: i64) -> usize {
        let names = self.bars.iter().flatten();
        let widest = names.map(|(name, _)| text_width(name, SMALL)).max();
        let names = i64::from(widest.unwrap_or(0) * 9 / 8 + 12).min(NAMES);
        let most = (width / (names + BAR + i64::from(RIGHT))).max(1) as usize;
        let rows = panels.div_ceil(most).max(1);
        panels.div_ceil(rows).max(1)
    }

    fn bars(&self) -> i64 {
        self.n.min(self.shape.1).min(1_000_000) as i64
    }

    /// Draws one topic: names on the left, bars, and the probabilities at their ends.
    fn panel(&self, canvas: &dyn Canvas, area: Area, topic: usize, colour: Rgb) -> Result<()> {
        let theme = canvas.theme();
        let bars = &self.bars[topic];
        let widest = |texts: &mut dyn Iterator<Item = &str>| {
            let widths = texts.map(|text| text_width(text, SMALL));
            let width = widths.max().unwrap_or(0);
            // One eighth more, because in an SVG the browser's font may be wider than the embedded one.
            width + width / 8
        };
        let values: Vec<String> = bars.iter().map(|(_, value)| share(*value)).collect();
        let names = widest(&mut bars.iter().map(|(name, _)| name.as_str()));
        let value_width = widest(&mut values.iter().map(String::as_str)) + 10;
        // Names get at most half of a panel's width; longer ones end in an ellipsis.
        let names = (names + 12).min(area.width() / 2);
        let left = area.left + names;
        let longest = (area.right - RIGHT - value_width - left).max(20);
        let largest = bars.iter().map(|bar| bar.1).fold(0.0, f32::max);
        let heading = fit_text(
            &self.topics.heading(topic),
            SMALL * 1.1,
            area.right - area.left - RIGHT,
        );
        let middle = area.top + HEADING as i32 / 2;
        canvas.text(
            &heading,
            (area.left, middle),
            Anchor::Left,
            SMALL * 1.1,
            theme.ink,
        )?;
        let top = area.top + HEADING as i32;
        let row = f64::from(area.bottom - top) / self.bars() as f64;
        for (index, ((name, value), text)) in bars.iter().zip(&values).enumerate() {
            let edge = |part: f64| top + ((index as f64 + part) * row).round() as i32;
            let length = match largest > 0.0 {
                true => f64::from(value / largest) * f64::from(longest),
                false => 0.0,
            };
            let bar = Area {
                left,
                top: edge(0.12),
                right: left + length.round() as i32,
                bottom: edge(0.88),
            };
            draw_bar(canvas, bar, colour)?;
            let middle = edge(0.5);
            let name = fit_text(name, SMALL, names - 12);
            canvas.text(&name, (left - 10, middle), Anchor::Right, SMALL, theme.ink)?;
            let at = (bar.right + 10, middle);
            canvas.text(text, at, Anchor::Left, SMALL, theme.soft_ink)?;
        }
        canvas.line(vec![(left, top), (left, area.bottom)], theme.soft_ink, 2)
    }
}

/// A probability in percent, with two significant digits.
fn share(probability: f32) -> String {
    let percent = 100.0 * probability;
    match percent {
        0.0 => "0%".into(),
        p if p < 0.001 => "<0.001%".into(),
        p if p < 0.01 => format!("{p:.3}%"),
        p if p < 0.1 => format!("{p:.2}%"),
        p if p < 9.95 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

impl Panel for TopTerms {
    fn kind(&self) -> &'static str {
        "top terms"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "topics", "colors"]
    }

    fn title(&self) -> &str {
        "Top terms"
    }

    fn describe(&self, options: &Options) -> String {
        const SHOWN: usize = 3;
        let terms = self.shape.1;
        let shown = self.shown(options).unwrap_or_default();
        let first = |&topic: &usize| {
            let names = self.bars[topic]
                .iter()
                .take(SHOWN)
                .map(|(name, _)| shorten(name, 30));
            let names: Vec<String> = names.collect();
            format!("{}: {}", self.topics.heading(topic), names.join(", "))
        };
        let first: Vec<String> = shown.iter().map(first).collect();
        format!(
            "the {} most probable of {}, {}; first of {}",
            count(self.n.min(terms) as u64),
            counted(terms, "term"),
            counted(shown.len(), "topic"),
            first.join("; ")
        )
    }

    fn heights(&self, width: i64, options: &Options) -> Heights {
        let panels = self.shown(options).map_or(0, |shown| shown.len());
        let rows = panels.div_ceil(self.columns(panels, width)) as i64;
        Heights {
            fixed: rows * HEADING + (rows - 1).max(0) * SPACING + BELOW,
            plots: rows * self.bars() * ROW,
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        self.check()?;
        let shown = self.shown(options)?;
        let columns = self.columns(shown.len(), area.width().into());
        let rows = shown.len().div_ceil(columns) as i32;
        let all = area.height() - BELOW as i32 + SPACING as i32;
        let width = area.width() / columns as i32;
        let colours = self.topics.colours(options);
        for (index, &topic) in shown.iter().enumerate() {
            let (row, column) = (index / columns, index % columns);
            let left = area.left + column as i32 * width;
            let panel = Area {
                left,
                right: left + width,
                top: area.top + all * row as i32 / rows,
                bottom: area.top + all * (row as i32 + 1) / rows - SPACING as i32,
            };
            self.panel(canvas, panel, topic, colours[topic])?;
        }
        let below = ((area.left + area.right) / 2, area.bottom - 14);
        let title = match shown.len() {
            1 => "probability of the term in the topic",
            _ => "probability of the term in the topic; each topic has its own scale",
        };
        let title = options.x_label(title);
        canvas.text(title, below, Anchor::Centre, SMALL, canvas.theme().soft_ink)
    }
}
