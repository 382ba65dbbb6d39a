//! The groups of points, by labels, and clouds of points in their colours.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::Result;
#[cfg(feature = "polars")]
use crate::text::counted;

use super::canvas::{Area, Canvas, Point};
use super::legend::Legend;
use super::options::Options;
use super::palette::Rgb;
#[cfg(feature = "polars")]
use super::palette::colours;
use super::theme::mix;

/// Space above a legend.
const SPACE: i64 = 16;
/// Most dots of a picture: 60 bytes each in an SVG.
const MAX_DOTS: usize = 6_000;
/// Sides of the squares of pixels whose points become one dot, where there are too many points.
const SIDES: [i32; 9] = [1, 2, 3, 4, 6, 8, 11, 16, 24];

/// Points of one colour.
#[derive(Clone)]
pub struct PointGroup {
    /// The colour of the points; `None` for grey.
    pub colour: Option<Rgb>,
    /// The entry in the legend; empty for none.
    pub name: String,
}

/// Groups, and the group of each point.
pub struct Grouping<'a> {
    pub groups: Cow<'a, [PointGroup]>,
    pub of: Cow<'a, [usize]>,
    /// `, in the colours of 12 groups`, if labels make the groups.
    pub described: String,
}

impl<'a> Grouping<'a> {
    /// The chart's own groups, unless labels are set.
    ///
    /// # Errors
    /// When there is not one label for each point, or the labels make fewer than two groups.
    #[cfg(feature = "polars")]
    pub fn new(
        groups: &'a [PointGroup],
        of: &'a [usize],
        options: &Options,
        what: &str,
    ) -> Result<Self> {
        let Some(labels) = options.labels()? else {
            return Ok(Self::own(groups, of, options));
        };
        labels.check(of.len(), what)?;
        let number = labels.names.len();
        let colours = options.colours(number, colours(number)).into_iter();
        let named = labels.names.iter().zip(colours.map(Some));
        let mut groups: Vec<PointGroup> = named
            .map(|(name, colour)| PointGroup {
                colour,
                name: name.clone(),
            })
            .collect();
        let described = format!(", in the colours of {}", counted(groups.len(), "group"));
        let unlabelled = groups.len();
        if labels.of.contains(&None) {
            groups.push(PointGroup {
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
    pub fn new(
        groups: &'a [PointGroup],
        of: &'a [usize],
        options: &Options,
        _: &str,
    ) -> Result<Self> {
        Ok(Self::own(groups, of, options))
    }

    /// The chart's own groups. Colours that are set replace all but grey.
    fn own(groups: &'a [PointGroup], of: &'a [usize], options: &Options) -> Self {
        let usual: Vec<Rgb> = groups.iter().filter_map(|group| group.colour).collect();
        let mut colours = options.colours(usual.len(), usual).into_iter();
        let own = groups.iter().map(|group| PointGroup {
            colour: group.colour.and_then(|_| colours.next()),
            name: group.name.clone(),
        });
        Self {
            groups: own.collect(),
            of: of.into(),
            described: String::new(),
        }
    }

    fn legend(&self, width: i64) -> Option<Legend> {
        let names = self.groups.iter().map(|group| &group.name);
        let entries: Vec<String> = names.filter(|name| !name.is_empty()).cloned().collect();
        (!entries.is_empty()).then(|| Legend::new(entries, width as i32))
    }

    /// The height of the legend with the space above it; none without names.
    pub fn legend_height(&self, width: i64) -> i64 {
        self.legend(width)
            .map_or(0, |legend| SPACE + legend.height())
    }

    /// Draws the legend at the bottom of the area, and returns the rest.
    pub fn draw_legend(&self, canvas: &dyn Canvas, area: Area) -> Result<Area> {
        let width = i64::from(area.width());
        let Some(legend) = self.legend(width) else {
            return Ok(area);
        };
        let named = self.groups.iter().filter(|group| !group.name.is_empty());
        let fills: Vec<_> = named.map(|group| group.colour_on(canvas).into()).collect();
        let top = area.bottom - legend.height() as i32;
        legend.draw(canvas, area.left, top, &fills)?;
        Ok(area.inset(0, 0, 0, self.legend_height(width) as i32))
    }

    /// Draws dots of equal weight at the pixels of the points: one for all points of a pixel, or of a square of pixels where
    /// there are too many. The dot of a square has the colour of the group with most points in it, and grows with their number.
    pub fn cloud(&self, canvas: &dyn Canvas, pixels: &[Point], opacity: f64) -> Result<()> {
        let radius = match pixels.len() {
            ..=300 => 7,
            301..=3_000 => 5,
            _ => 3,
        };
        for side in SIDES {
            let mut squares: BTreeMap<Point, BTreeMap<usize, u32>> = BTreeMap::new();
            for (&group, &(x, y)) in self.of.iter().zip(pixels) {
                let square = (x.div_euclid(side), y.div_euclid(side));
                *squares.entry(square).or_default().entry(group).or_default() += 1;
            }
            if squares.len() > MAX_DOTS && Some(&side) != SIDES.last() {
                continue;
            }
            let mut dots: Vec<(usize, Point, i32, u32)> = squares
                .into_iter()
                .filter_map(|((x, y), groups)| {
                    let number: u32 = groups.values().sum();
                    // Of groups with equally many points, the last one is taken: a colour before grey.
                    let group = groups.into_iter().max_by_key(|group| group.1)?.0;
                    let middle = (x * side + side / 2, y * side + side / 2);
                    let grown = match side {
                        1 => radius,
                        _ => (2 + number.ilog2() as i32 / 2).clamp(2, side * 3 / 4 + 1),
                    };
                    Some((group, middle, grown, number))
                })
                .collect();
            // Grey dots are drawn below coloured ones.
            dots.sort_by_key(|dot| self.groups[dot.0].colour.is_some());
            for (group, at, radius, number) in dots {
                // That of as many dots upon each other.
                let opacity = 1.0 - (1.0 - opacity).powf(number.into());
                canvas.dot(at, radius, self.groups[group].colour_on(canvas), opacity)?;
            }
            break;
        }
        Ok(())
    }
}

impl PointGroup {
    /// The colour of the points on a background.
    pub fn colour_on(&self, canvas: &dyn Canvas) -> Rgb {
        let theme = canvas.theme();
        let grey = || mix(theme.background, theme.soft_ink, 0.4);
        theme.line(self.colour.unwrap_or_else(grey))
    }
}
