//! Memory over time: curves with lines for budget and prediction, below a strip of phases.

use crate::error::Result;
use crate::system::memory::kind_of_phase;
use crate::text::bytes;

use super::axis::{
    BELOW, LABEL_HEIGHT, Scale, horizontal, left_of, tick_labels, title_above, title_below,
    vertical,
};
use super::canvas::{Anchor, Area, Canvas, SMALL, text_width};
use super::layout::Heights;
use super::options::Options;
use super::palette::{Rgb, colours};
use super::theme::Theme;
use super::{Panel, not_drawable, nothing};

/// The plot of one kind of memory.
pub struct MemoryPanel {
    /// Above the plot.
    pub label: String,
    /// Drawn in this order, so that later curves cover earlier ones.
    pub curves: Vec<MemoryCurve>,
    /// Budget and prediction.
    pub lines: Vec<MemoryLine>,
}

/// Bytes over seconds.
pub struct MemoryCurve {
    /// Empty for the only curve of a panel.
    pub label: String,
    /// Seconds and bytes.
    pub points: Vec<(f64, f64)>,
}

/// A horizontal line, such as a budget.
pub struct MemoryLine {
    /// Drawn next to the line.
    pub label: String,
    /// Its height.
    pub bytes: u64,
    /// Whether it is drawn as dashes.
    pub dashed: bool,
}

pub struct Memory {
    panels: Vec<MemoryPanel>,
    /// Phases: name, start and end in seconds.
    spans: Vec<(String, f64, f64)>,
    /// End of the time axis, in seconds.
    end: f64,
}

/// Heights of the first plot and of the others.
const FIRST_HEIGHT: i64 = 340;
const OTHER_HEIGHT: i64 = 170;
/// Space between the plots.
const SPACING: i64 = 26;
/// Heights of the strip of phases and of its legend.
const STRIP_HEIGHT: i64 = 34;
const LEGEND_HEIGHT: i64 = 48;
/// Margin on the right of the plots.
const RIGHT_MARGIN: i32 = 16;

/// Colours of solid lines (budgets, limits) and dashed lines (predictions).
const BUDGET: Rgb = [0xC8, 0x32, 0x2B];
const PREDICTED: Rgb = [0x7A, 0x4B, 0x00];

impl Memory {
    pub fn new(panels: Vec<MemoryPanel>, spans: Vec<(String, f64, f64)>, end: f64) -> Self {
        Self {
            panels,
            spans: merged(spans),
            end,
        }
    }

    fn plot_height(index: usize) -> i64 {
        if index == 0 {
            FIRST_HEIGHT
        } else {
            OTHER_HEIGHT
        }
    }

    /// The kinds of phases in the order of their first appearance, with their colours.
    fn kinds(&self, theme: &Theme) -> Vec<(&str, Rgb)> {
        let mut kinds: Vec<&str> = Vec::new();
        for (name, ..) in &self.spans {
            if !kinds.contains(&kind_of_phase(name)) {
                kinds.push(kind_of_phase(name));
            }
        }
        let palette = colours(kinds.len().max(1));
        kinds
            .into_iter()
            .zip(palette)
            .map(|(kind, colour)| (kind, theme.pale(colour, 0.45)))
            .collect()
    }

    /// Draws the phases as bands.
    fn strip(&self, canvas: &dyn Canvas, area: Area, x: &Scale) -> Result<()> {
        let theme = canvas.theme();
        let kinds = self.kinds(theme);
        canvas.rectangle(area, theme.surface.into())?;
        // Shorter phases are drawn last, because they may lie within longer ones: a checkpoint within an epoch.
        let mut spans: Vec<_> = self.spans.iter().collect();
        spans.sort_by(|a, b| (b.2 - b.1).total_cmp(&(a.2 - a.1)));
        for (name, from, to) in spans {
            let Some((_, colour)) = kinds
                .iter()
                .find(|(known, _)| *known == kind_of_phase(name))
            else {
                continue;
            };
            let (left, right) = (x.pixel(*from), x.pixel(*to));
            let band = Area {
                left,
                right: right.max(left + 3),
                ..area
            };
            canvas.rectangle(band, (*colour).into())?;
            if left > area.left {
                canvas.line(
                    vec![(left, area.top), (left, area.bottom)],
                    theme.background,
                    2,
                )?;
            }
            // If the whole name is too wide, only its number is drawn: the colour shows the kind.
            let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let fits =
                |text: &&str| !text.is_empty() && text_width(text, SMALL) + 12 < band.width();
            if let Some(text) = [name.as_str(), number].into_iter().find(fits) {
                let at = ((band.left + band.right) / 2, (area.top + area.bottom) / 2);
                canvas.text(text, at, Anchor::Centre, SMALL, theme.ink)?;
            }
        }
        Ok(())
    }

    /// Draws as many kinds of phases and their colours as fit.
    fn legend(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        let mut left = area.left;
        let middle = (area.top + area.bottom) / 2;
        let theme = canvas.theme();
        for (kind, colour) in self.kinds(theme) {
            let width = 36 + text_width(kind, SMALL) + 30;
            if left + width > area.right {
                break;
            }
            let square = Area {
                left,
                top: middle - 12,
                right: left + 24,
                bottom: middle + 12,
            };
            canvas.rectangle(square, colour.into())?;
            canvas.outline(square, theme.line(colour), 2)?;
            let at = (left + 36, middle);
            canvas.text(kind, at, Anchor::Left, SMALL, theme.soft_ink)?;
            left += width;
        }
        Ok(())
    }
}

impl Panel for Memory {
    fn kind(&self) -> &'static str {
        "a memory chart"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label"]
    }

    fn title(&self) -> &str {
        "Memory"
    }

    fn describe(&self, _options: &Options) -> String {
        let parts: Vec<String> = self.panels.iter().map(MemoryPanel::describe).collect();
        parts.join("; ")
    }

    fn heights(&self, _width: i64, _options: &Options) -> Heights {
        let panels = self.panels.len() as i64;
        let strip = if self.spans.is_empty() {
            0
        } else {
            STRIP_HEIGHT + LEGEND_HEIGHT
        };
        Heights {
            fixed: strip + panels * (LABEL_HEIGHT + SPACING) - SPACING + i64::from(2 * BELOW),
            plots: (0..self.panels.len()).map(Self::plot_height).sum(),
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        for panel in &self.panels {
            panel.check()?;
        }
        if self.panels.iter().all(|panel| panel.curves.is_empty()) {
            return Err(nothing("no samples"));
        }
        let heights = self.heights(area.width().into(), options);
        let stretch = f64::from(area.height() - heights.fixed as i32) / heights.plots as f64;
        let labels = self.panels.iter().map(|panel| left_of(&panel.ticks().1));
        let left = labels.max().unwrap_or(0);
        let area = area.inset(left, 0, RIGHT_MARGIN, 0);
        let (unit, unit_name) = if self.end > 300.0 {
            (60.0, "minutes")
        } else {
            (1.0, "seconds")
        };
        let x = Scale::new(0.0, self.end.max(1e-3), area.left, area.right);
        let mut top = area.top;
        if !self.spans.is_empty() {
            let strip = Area {
                top,
                bottom: top + STRIP_HEIGHT as i32,
                ..area
            };
            self.strip(canvas, strip, &x)?;
            let legend = Area {
                top: strip.bottom,
                bottom: strip.bottom + LEGEND_HEIGHT as i32,
                ..area
            };
            self.legend(canvas, legend)?;
            top = legend.bottom;
        }
        let mut plot = area;
        for (index, panel) in self.panels.iter().enumerate() {
            plot = Area {
                top: top + LABEL_HEIGHT as i32,
                bottom: top
                    + LABEL_HEIGHT as i32
                    + (stretch * Self::plot_height(index) as f64).round() as i32,
                ..area
            };
            panel.draw(canvas, plot, &x, index)?;
            top = plot.bottom + SPACING as i32;
        }
        let ticks = Scale::new(0.0, self.end.max(1e-3) / unit, area.left, area.right);
        let marks = ticks.ticks((area.width() / 110).clamp(2, 11) as usize);
        horizontal(canvas, plot, &ticks, &marks, &tick_labels(&marks))?;
        title_below(canvas, plot, options.x_label(unit_name))
    }
}

impl MemoryPanel {
    fn check(&self) -> Result<()> {
        for curve in &self.curves {
            let bad = |&(seconds, bytes): &(f64, f64)| !(seconds.is_finite() && bytes.is_finite());
            if let Some(point) = curve.points.iter().position(bad) {
                let place = format!("sample {}", point + 1);
                return Err(not_drawable(&self.label, f64::NAN, place));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        for curve in &self.curves {
            let name = if curve.label.is_empty() {
                "peak".into()
            } else {
                format!("{} peak", curve.label)
            };
            parts.push(format!("{name} {}", bytes(curve.highest() as u64)));
        }
        for line in &self.lines {
            parts.push(format!("{} {}", line.label, bytes(line.bytes)));
        }
        format!("{}: {}", self.label, parts.join(", "))
    }

    /// The highest value of the vertical scale, at least 1.
    ///
    /// Solid lines count only up to four times the other values, because a much larger budget would flatten the curves.
    fn highest(&self) -> f64 {
        let curves = self.curves.iter().map(MemoryCurve::highest);
        let curves = curves.fold(0.0, f64::max);
        let dashed = self.lines.iter().filter(|line| line.dashed);
        let inner = dashed.fold(curves, |high, line| high.max(line.bytes as f64));
        let lines = self.lines.iter().map(|line| line.bytes as f64);
        lines
            .filter(|&line| line <= 4.0 * inner)
            .fold(inner, f64::max)
            .max(1.0)
    }

    /// Ticks in bytes, and their labels in KiB, MiB or GiB.
    fn ticks(&self) -> (Vec<f64>, Vec<String>) {
        let high = 1.2 * self.highest();
        let (unit, name) = match high {
            h if h >= 2.0 * GIB => (GIB, "GiB"),
            h if h >= 2.0 * MIB => (MIB, "MiB"),
            _ => (1024.0, "KiB"),
        };
        let ticks = Scale::new(0.0, high / unit, 1, 0).ticks(5);
        let labels = tick_labels(&ticks);
        let labels = labels.into_iter().map(|label| match label.as_str() {
            "0" => label,
            _ => format!("{label} {name}"),
        });
        (
            ticks.iter().map(|tick| tick * unit).collect(),
            labels.collect(),
        )
    }

    /// Draws the panel; its `index` selects its colours.
    fn draw(&self, canvas: &dyn Canvas, plot: Area, x: &Scale, index: usize) -> Result<()> {
        let theme = canvas.theme();
        let high = 1.2 * self.highest();
        let y = Scale::new(0.0, high, plot.bottom, plot.top);
        let above = plot.top - LABEL_HEIGHT as i32 / 2 - 2;
        title_above(canvas, plot, &self.label)?;
        let (ticks, labels) = self.ticks();
        vertical(canvas, plot, &y, &ticks, &labels)?;
        let palette = colours(self.curves.len() + index + 1);
        let mut peaks = Vec::new();
        for (curve, &colour) in self.curves.iter().zip(&palette[index..]) {
            let colour = theme.line(colour);
            let mut points: Vec<(i32, i32)> = curve
                .points
                .iter()
                .map(|&(seconds, bytes)| (x.pixel(seconds), y.pixel(bytes)))
                .collect();
            points.dedup();
            if let (Some(first), Some(last)) = (points.first(), points.last()) {
                let mut area = points.clone();
                area.extend([(last.0, plot.bottom), (first.0, plot.bottom)]);
                canvas.polygon(area, theme.pale(colour, 0.25).into())?;
            }
            canvas.line(points, colour, 4)?;
            let peak = bytes(curve.highest() as u64);
            peaks.push(match curve.label.as_str() {
                "" => format!("measured peak {peak}"),
                label => format!("{label} peak {peak}"),
            });
        }
        let mut right = peaks.join(", ");
        for line in &self.lines {
            let (colour, at) = match line.dashed {
                false => (BUDGET, (plot.right - 8, Anchor::Right)),
                true => (PREDICTED, (plot.left + 8, Anchor::Left)),
            };
            let colour = theme.text(colour);
            let height = line.bytes as f64;
            let text = format!("{} {}", line.label, bytes(line.bytes));
            if height > high {
                right = format!("{right}, {text} (beyond the scale)");
                continue;
            }
            let level = y.pixel(height);
            let dashes: Vec<(i32, i32)> = match line.dashed {
                false => vec![(plot.left, plot.right)],
                true => (plot.left..plot.right)
                    .step_by(28)
                    .map(|left| (left, (left + 16).min(plot.right)))
                    .collect(),
            };
            for (from, to) in dashes {
                canvas.line(vec![(from, level), (to, level)], colour, 3)?;
            }
            canvas.text(&text, (at.0, level - 18), at.1, SMALL, colour)?;
        }
        let right = right.trim_start_matches(", ");
        canvas.text(right, (plot.right, above), Anchor::Right, SMALL, theme.ink)?;
        canvas.line(
            vec![(plot.left, plot.bottom), (plot.right, plot.bottom)],
            theme.faint,
            2,
        )
    }
}

const MIB: f64 = 1048576.0;
const GIB: f64 = 1024.0 * MIB;

impl MemoryCurve {
    /// The largest number of bytes.
    fn highest(&self) -> f64 {
        self.points.iter().map(|point| point.1).fold(0.0, f64::max)
    }
}

/// Merges consecutive epochs, so that the strip has at most 12 bands of epochs.
fn merged(mut spans: Vec<(String, f64, f64)>) -> Vec<(String, f64, f64)> {
    const MAX_BANDS: usize = 12;
    spans.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (epochs, mut others): (Vec<_>, Vec<_>) = spans
        .into_iter()
        .partition(|(name, ..)| kind_of_phase(name) == "epoch");
    let per_band = epochs.len().div_ceil(MAX_BANDS).max(1);
    for group in epochs.chunks(per_band) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let number = |text: &str| {
            text.trim_start_matches(char::is_alphabetic)
                .trim()
                .to_string()
        };
        let from = number(first.0.split('–').next().unwrap_or_default());
        let to = number(last.0.rsplit('–').next().unwrap_or_default());
        let name = match from == to {
            true => first.0.clone(),
            false => format!("epochs {from}–{to}"),
        };
        others.push((name, first.1, last.2));
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_epochs_are_merged_into_bands() {
        let spans: Vec<_> = (0..100)
            .map(|epoch| {
                (
                    format!("epoch {}", epoch + 1),
                    f64::from(epoch),
                    f64::from(epoch) + 1.0,
                )
            })
            .chain([("checkpoint".to_string(), 3.0, 3.5)])
            .collect();
        let merged = merged(spans);
        assert!(merged.len() <= 13);
        assert_eq!(merged[1], ("epochs 1–9".to_string(), 0.0, 9.0));
        let grouped = vec![
            ("epochs 1–10".to_string(), 0.0, 1.0),
            ("epochs 11–20".to_string(), 1.0, 2.0),
        ];
        assert_eq!(super::merged(grouped.clone()), grouped);
    }

    #[test]
    fn a_budget_far_above_does_not_change_the_scale() {
        let panel = |budget: u64| MemoryPanel {
            label: String::new(),
            curves: vec![MemoryCurve {
                label: String::new(),
                points: vec![(0.0, 100.0), (1.0, 200.0)],
            }],
            lines: vec![MemoryLine {
                label: "budget".into(),
                bytes: budget,
                dashed: false,
            }],
        };
        assert_eq!(panel(500).highest(), 500.0);
        assert_eq!(panel(5_000).highest(), 200.0);
    }
}
