//! Points in groups, some of them with names: volcano plots, and maps of topics and documents.

use crate::error::Result;
use crate::text::counted;

use super::axis::{above, below};
use super::canvas::{Anchor, Area, Canvas, Point, SMALL, text_width};
use super::frame::{Frame, Plot, Range};
use super::layout::Heights;
use super::options::Options;
use super::palette::colours;
use super::plain::span;
use super::point_groups::{Grouping, PointGroup};
use super::theme::mix;
use super::topics::{TopicNames, Topics};
use super::{Chart, Panel, nothing};

const PLOT_HEIGHT: i64 = 640;
/// Height of a name, and its distance from its dot.
const NAME: (i32, i32) = (30, 8);

/// One point of a chart.
#[derive(Clone, Copy)]
struct Dot {
    x: f64,
    y: f64,
}

/// The points that have names.
struct Names {
    /// Index of a point and its name, the most important first.
    of: Vec<(usize, String)>,
    /// Whether names that would overlap others are drawn too.
    all: bool,
}

pub struct Points {
    kind: &'static str,
    title: &'static str,
    description: String,
    labels: [&'static str; 2],
    dots: Vec<Dot>,
    /// The index of the group of each dot.
    group_of: Vec<usize>,
    /// The radius of each dot, where they differ.
    radii: Option<Vec<i32>>,
    groups: Vec<PointGroup>,
    names: Names,
    /// Pairs of dots that a line joins, and how strongly, to 1.
    links: Vec<([usize; 2], f64)>,
    /// Whether both axes have the same scale.
    is_map: bool,
}

impl Chart {
    /// A volcano plot of the terms of topic `topic` of `of`: changes and z, whether each is above zero, and the names of some.
    #[doc(hidden)]
    pub fn volcano(
        (topic, of): (usize, usize),
        topic_name: &str,
        points: Vec<(f64, f64)>,
        above_zero: Vec<bool>,
        names: Vec<(usize, String)>,
    ) -> Self {
        let certain = above_zero.iter().filter(|&&above| above).count();
        let listed: Vec<&str> = names.iter().map(|name| name.1.as_str()).collect();
        let description = format!(
            "volcano plot of {topic_name}: {}, of which {} certainly more probable than in the next topic: {}",
            counted(points.len(), "term"),
            certain,
            listed.join(", ")
        );
        let dots = points.into_iter().map(|(x, y)| Dot { x, y });
        let group = |colour, name: String| PointGroup { colour, name };
        let chart = Self::panel(Points {
            kind: "a volcano plot",
            title: "",
            description,
            labels: [
                "log2 fold change against the next topic",
                "standard errors from zero",
            ],
            dots: dots.collect(),
            group_of: above_zero.into_iter().map(usize::from).collect(),
            radii: None,
            groups: vec![
                group(None, "other terms".into()),
                group(
                    colours(of).get(topic).copied(),
                    "more probable than in the next topic (95%)".into(),
                ),
            ],
            names: Names {
                of: names,
                all: false,
            },
            links: Vec::new(),
            is_map: false,
        });
        chart.title(format!("Distinctive terms of {topic_name}"))
    }

    /// A map of topics at `points`, with the shares of the topics as areas, and lines between some.
    #[doc(hidden)]
    pub fn topic_map_of(
        points: &[[f64; 2]],
        shares: &[f64],
        names: TopicNames,
        part_shown: f64,
        links: &[([usize; 2], f64)],
    ) -> Self {
        /// Radius of the largest topic, and the least radius.
        const RADII: (f64, f64) = (46.0, 8.0);
        let topics = Topics::all(points.len(), names);
        let largest = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let radius = |share: f64| (RADII.0 * (share / largest).sqrt()).max(RADII.1) as i32;
        // The largest topics are drawn first, so that they do not hide others.
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        let mut place = vec![0; order.len()];
        for (at, &topic) in order.iter().enumerate() {
            place[topic] = at;
        }
        let joined: Vec<String> = links
            .iter()
            .map(|([a, b], _)| format!("{} and {}", topics.heading(*a), topics.heading(*b)))
            .collect();
        let joined = match joined.is_empty() {
            true => String::new(),
            false => format!("; joined: {}", joined.join(", ")),
        };
        let heading = |&topic: &usize| topics.heading(topic);
        let listed: Vec<String> = order.iter().map(heading).collect();
        let all = topics.colours(&Options::default());
        let group = |&topic: &usize| PointGroup {
            colour: all.get(topic).copied(),
            name: String::new(),
        };
        Self::panel(Points {
            kind: "a map of topics",
            title: "Map of topics",
            description: format!(
                "map of {}, {:.0}% of their distances, the largest first: {}{joined}",
                counted(points.len(), "topic"),
                100.0 * part_shown,
                listed.join(", ")
            ),
            labels: ["first principal coordinate", "second principal coordinate"],
            dots: order
                .iter()
                .map(|&topic| Dot {
                    x: points[topic][0],
                    y: points[topic][1],
                })
                .collect(),
            group_of: (0..order.len()).collect(),
            radii: Some(order.iter().map(|&topic| radius(shares[topic])).collect()),
            groups: order.iter().map(group).collect(),
            names: Names {
                of: listed.into_iter().enumerate().collect(),
                all: true,
            },
            links: links
                .iter()
                .map(|(pair, strength)| (pair.map(|topic| place[topic]), *strength))
                .collect(),
            is_map: true,
        })
    }

    /// A map of documents at `points`, in the colours of their dominant topics.
    #[doc(hidden)]
    pub fn document_map_of(
        points: &[[f64; 2]],
        dominant: Vec<usize>,
        topics: (usize, TopicNames),
        part_shown: f64,
    ) -> Self {
        let topics = Topics::all(topics.0, topics.1);
        let groups = topics.colours(&Options::default()).into_iter().enumerate();
        Self::panel(Points {
            kind: "a map of documents",
            title: "Map of documents",
            description: format!(
                "map of {} by their {}, {:.0}% of the variance",
                counted(points.len(), "document"),
                counted(topics.len(), "topic"),
                100.0 * part_shown,
            ),
            labels: ["first principal component", "second principal component"],
            dots: points
                .iter()
                .map(|point| Dot {
                    x: point[0],
                    y: point[1],
                })
                .collect(),
            group_of: dominant,
            radii: None,
            groups: groups
                .map(|(topic, colour)| PointGroup {
                    colour: Some(colour),
                    name: topics.entry(topic),
                })
                .collect(),
            names: Names {
                of: Vec::new(),
                all: false,
            },
            links: Vec::new(),
            is_map: true,
        })
    }
}

impl Points {
    /// The groups of the dots: by labels, where they are set.
    fn grouping(&self, options: &Options) -> Result<Grouping<'_>> {
        Grouping::new(&self.groups, &self.group_of, options, "document")
    }

    /// Whether its points are documents, which can have labels.
    fn is_of_documents(&self) -> bool {
        self.is_map && self.radii.is_none()
    }

    /// The ranges of both axes; on a map of this size, with the same units per pixel.
    fn ranges(&self, options: &Options, (width, height): (i32, i32)) -> Result<(Range, Range)> {
        let x: Vec<f64> = self.dots.iter().map(|dot| dot.x).collect();
        let y: Vec<f64> = self.dots.iter().map(|dot| dot.y).collect();
        let margin = if self.radii.is_some() { 0.12 } else { 0.04 };
        let (log_x, log_y) = (options.log_x, options.log_y);
        let mut x = Range::of(&x, log_x, margin, |at| format!("x of point {at}"))?;
        let mut y = Range::of(&y, log_y, margin, |at| format!("y of point {at}"))?;
        if self.is_map {
            let per_pixel = ((x.high - x.low) / f64::from(width.max(1)))
                .max((y.high - y.low) / f64::from(height.max(1)));
            let extend = |range: &mut Range, pixels: i32| {
                let by = (per_pixel * f64::from(pixels) - (range.high - range.low)) / 2.0;
                if by.is_finite() && by > 0.0 {
                    (range.low, range.high) = (range.low - by, range.high + by);
                }
            };
            extend(&mut x, width);
            extend(&mut y, height);
        }
        Ok((x, y))
    }

    /// The pixels of the dots.
    fn pixels(&self, plot: &Plot) -> Vec<Point> {
        let pixel = |dot: &Dot| (plot.x.pixel(dot.x), plot.y.pixel(dot.y));
        self.dots.iter().map(pixel).collect()
    }

    /// Draws the names next to their dots, where they overlap no other name.
    fn names(&self, canvas: &dyn Canvas, plot: Area, pixels: &[Point]) -> Result<()> {
        let mut placed: Vec<Area> = Vec::new();
        for (at, name) in &self.names.of {
            let radius = self.radii.as_ref().map_or(5, |radii| radii[*at]);
            let (x, y) = pixels[*at];
            let width = text_width(name, SMALL) * 9 / 8;
            let (beside, over) = (radius + NAME.1, radius + NAME.0 / 2 + 2);
            let boxed = |left: i32, middle: i32| Area {
                left,
                right: left + width,
                top: middle - NAME.0 / 2,
                bottom: middle + NAME.0 / 2,
            };
            let places = [
                boxed(x + beside, y),
                boxed(x - beside - width, y),
                boxed(x - width / 2, y - over),
                boxed(x - width / 2, y + over),
                boxed(x + beside, y - NAME.0 * 2 / 3),
                boxed(x + beside, y + NAME.0 * 2 / 3),
                boxed(x - beside - width, y - NAME.0 * 2 / 3),
                boxed(x - beside - width, y + NAME.0 * 2 / 3),
            ];
            let inside = |place: &&Area| place.left >= plot.left && place.right <= plot.right + 20;
            let free = |place: &&Area| placed.iter().all(|other| !overlap(**place, *other));
            // The place that hides the fewest dots is chosen.
            let hidden = |place: &&Area| {
                let covers = |dot: usize| {
                    let radius = self.radii.as_ref().map_or(3, |radii| radii[dot]);
                    overlap(**place, around(pixels[dot], radius))
                };
                (0..pixels.len())
                    .filter(|&dot| dot != *at && covers(dot))
                    .count()
            };
            let place = places.iter().filter(inside).filter(free).min_by_key(hidden);
            let place = match (place, self.names.all) {
                (None, true) => places.iter().find(inside).or(places.first()),
                (place, _) => place,
            };
            if let Some(&place) = place {
                let middle = (place.left, (place.top + place.bottom) / 2);
                let ink = canvas.theme().ink;
                canvas.text(name, middle, Anchor::Left, SMALL, ink)?;
                placed.push(place);
            }
        }
        Ok(())
    }
}

/// The square around a dot.
fn around((x, y): Point, radius: i32) -> Area {
    Area {
        left: x - radius,
        right: x + radius,
        top: y - radius,
        bottom: y + radius,
    }
}

fn overlap(a: Area, b: Area) -> bool {
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

impl Panel for Points {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn takes(&self) -> &'static [&'static str] {
        match self.is_of_documents() {
            true => &["x_label", "y_label", "by", "colors", "opacity"],
            false => &["x_label", "y_label", "colors"],
        }
    }

    fn title(&self) -> &str {
        self.title
    }

    fn describe(&self, options: &Options) -> String {
        let range = |value: fn(&Dot) -> f64| span(self.dots.iter().map(value));
        let grouped = self
            .grouping(options)
            .map_or(String::new(), |grouping| grouping.described);
        match self.dots.is_empty() {
            true => self.description.clone(),
            false => format!(
                "{}{grouped}; from left to right {}, upwards {}",
                self.description,
                range(|dot| dot.x),
                range(|dot| dot.y)
            ),
        }
    }

    fn heights(&self, width: i64, options: &Options) -> Heights {
        let [x, y] = self.labels;
        let mut heights = Frame::heights(PLOT_HEIGHT, options.x_label(x), options.y_label(y));
        // Errors in labels are reported when the chart is drawn.
        if let Ok(grouping) = self.grouping(options) {
            heights.fixed += grouping.legend_height(width);
        }
        heights
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        if self.dots.is_empty() {
            return Err(nothing("no points"));
        }
        let grouping = self.grouping(options)?;
        let inner = grouping.draw_legend(canvas, area)?;
        let [x_label, y_label] = self.labels;
        let (x_label, y_label) = (options.x_label(x_label), options.y_label(y_label));
        // About the size of the plot without its axes, whose labels depend on the ranges.
        let size = (
            inner.width() - 110,
            inner.height() - (above(y_label) + below(x_label)) as i32,
        );
        let (x, y) = self.ranges(options, size)?;
        let frame = Frame {
            x,
            y,
            x_label,
            y_label,
            ..Frame::default()
        };
        let plot = frame.draw(canvas, inner)?;
        if x.low < 0.0 && x.high > 0.0 && !options.log_x {
            let zero = plot.x.pixel(0.0);
            let line = vec![(zero, plot.area.top), (zero, plot.area.bottom)];
            canvas.line(line, canvas.theme().faint, 2)?;
        }
        let pixels = self.pixels(&plot);
        match &self.radii {
            None => grouping.cloud(canvas, &pixels, options.opacity.unwrap_or(1.0))?,
            Some(radii) => {
                let theme = canvas.theme();
                for (pair, strength) in &self.links {
                    let width = 2.0 + 14.0 * strength;
                    let colour = mix(theme.background, theme.soft_ink, 0.4);
                    canvas.line(pair.map(|dot| pixels[dot]).to_vec(), colour, width as u32)?;
                }
                for ((&group, &at), &radius) in grouping.of.iter().zip(&pixels).zip(radii) {
                    let colour = grouping.groups[group].colour_on(canvas);
                    canvas.dot(at, radius + 2, canvas.theme().background, 1.0)?;
                    canvas.dot(at, radius, colour, 1.0)?;
                }
            }
        }
        self.names(canvas, plot.area, &pixels)
    }
}
