//! Plots of measured points and predicted lines with logarithmic axes, two plots in a row.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::register_font;

pub struct Curve {
    pub name: String,
    pub measured: Vec<(f64, f64)>,
    pub predicted: Vec<(f64, f64)>,
}

pub struct Plot {
    /// Empty for none.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    pub curves: Vec<Curve>,
}

const COLOURS: [RGBColor; 3] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 130, 100),
];

/// Writes an SVG file. `unit` is the label of the vertical axis, whose range is the same in all plots.
pub fn draw(plots: &[Plot], unit: &str, path: &Path) {
    // If this fails, drawing text with the font gives the error.
    let _ = register_font(
        "sans-serif",
        FontStyle::Normal,
        epaint_default_fonts::UBUNTU_LIGHT,
    );
    let y_values = plots
        .iter()
        .flat_map(|plot| &plot.curves)
        .flat_map(|curve| curve.measured.iter().chain(&curve.predicted))
        .map(|point| point.1);
    let low = y_values.clone().fold(f64::INFINITY, f64::min) / 1.5;
    let high = y_values.fold(0.0, f64::max) * 1.5;
    let rows = plots.len().div_ceil(2);
    let root = SVGBackend::new(path, (1100, 410 * rows as u32)).into_drawing_area();
    root.fill(&WHITE).expect("a white background");
    let areas = root.split_evenly((rows, 2));
    for (number, (plot, area)) in plots.iter().zip(areas).enumerate() {
        let curves = plot.curves.iter();
        let x_values = curves
            .flat_map(|curve| curve.measured.iter().chain(&curve.predicted))
            .map(|point| point.0);
        let left = x_values.clone().fold(f64::INFINITY, f64::min) / 1.15;
        let right = x_values.fold(0.0, f64::max) * 1.15;
        let mut builder = ChartBuilder::on(&area);
        if !plot.title.is_empty() {
            builder.caption(&plot.title, ("sans-serif", 18));
        }
        let mut chart = builder
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(56)
            .build_cartesian_2d(
                (left..right)
                    .log_scale()
                    .with_key_points(tick_marks(left, right)),
                (low..high)
                    .log_scale()
                    .with_key_points(tick_marks(low, high)),
            )
            .expect("axes");
        chart
            .configure_mesh()
            .x_desc(&plot.x_label)
            .y_desc(unit)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .light_line_style(WHITE)
            .draw()
            .expect("a mesh");
        for (curve, colour) in plot.curves.iter().zip(COLOURS) {
            chart
                .draw_series(LineSeries::new(
                    curve.predicted.clone(),
                    colour.stroke_width(2),
                ))
                .expect("a line")
                .label(&curve.name)
                .legend(move |(x, y)| Circle::new((x + 10, y), 4, colour.filled()));
            let points = curve.measured.iter();
            chart
                .draw_series(points.map(|&point| Circle::new(point, 4, colour.filled())))
                .expect("points");
        }
        if number == 0 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .label_font(("sans-serif", 15))
                .background_style(WHITE.mix(0.8))
                .draw()
                .expect("a legend");
        }
    }
    root.present().expect("the picture in its file");
}

/// A tick mark's number, with as many digits behind the point as it has.
fn label(value: &f64) -> String {
    let digits = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

/// 1, 2 and 5 times each power of ten, between two numbers.
fn tick_marks(low: f64, high: f64) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let marks = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    marks.filter(|mark| (low..=high).contains(mark)).collect()
}
