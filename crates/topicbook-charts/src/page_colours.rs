//! The colours of charts as CSS custom properties, for pages.

use std::fmt::Write;

use super::palette::{Rgb, colours};
use super::theme::{DARK, LIGHT, Theme};

/// CSS declarations of the colours of a page with `k` topics, on a light or a dark background: `--background`, `--ink`,
/// `--soft-ink`, `--faint`, `--surface`, and `--topic-0` and so on, the colours of lines in charts.
pub fn page_colours(k: usize, dark: bool) -> String {
    let theme: &Theme = if dark { &DARK } else { &LIGHT };
    let scheme = if dark { "dark" } else { "light" };
    let mut css = format!("color-scheme:{scheme};");
    let mut declare = |name: &str, colour: Rgb| {
        let [red, green, blue] = colour;
        // Writing to a string cannot fail.
        let _ = write!(css, "--{name}:#{red:02x}{green:02x}{blue:02x};");
    };
    declare("background", theme.background);
    declare("ink", theme.ink);
    declare("soft-ink", theme.soft_ink);
    declare("faint", theme.faint);
    declare("surface", theme.surface);
    for (topic, colour) in colours(k).into_iter().enumerate() {
        declare(&format!("topic-{topic}"), theme.line(colour));
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_colour_in_both_themes() {
        let light = page_colours(3, false);
        assert!(light.starts_with("color-scheme:light;--background:#ffffff;"));
        assert!(light.contains("--topic-2:#") && !light.contains("--topic-3:"));
        assert!(page_colours(3, true).contains("--background:#111111;"));
    }
}
