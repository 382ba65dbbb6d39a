//! Charts of measured and predicted curves with logarithmic axes, two in a row.

use std::path::Path;

use topicbook::{Chart, side_by_side, stack};

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

/// Writes an SVG file. `unit` is the label of the vertical axis.
pub fn draw(plots: &[Plot], unit: &str, path: &Path) {
    let charts: Vec<Chart> = plots.iter().map(|plot| chart(plot, unit)).collect();
    let rows = charts.chunks(2).map(|row| side_by_side(row.to_vec()));
    stack(rows).save_svg(path).expect("the picture in its file");
}

fn chart(plot: &Plot, unit: &str) -> Chart {
    let curves = plot.curves.iter();
    let mut positions: Vec<f64> = curves
        .flat_map(|curve| curve.measured.iter().chain(&curve.predicted))
        .map(|point| point.0)
        .collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup();
    let on_axis = |points: &[(f64, f64)]| -> Vec<Option<f64>> {
        let value = |x: &f64| Some(points.iter().find(|point| point.0 == *x)?.1);
        positions.iter().map(value).collect()
    };
    let series: Vec<(String, Vec<Option<f64>>)> = plot
        .curves
        .iter()
        .flat_map(|curve| {
            [
                (curve.name.clone(), on_axis(&curve.measured)),
                (
                    format!("{}, predicted", curve.name),
                    on_axis(&curve.predicted),
                ),
            ]
        })
        .collect();
    Chart::lines(&series)
        .title(&plot.title)
        .x(&positions)
        .x_label(&plot.x_label)
        .y_label(unit)
        .log_x()
        .log_y()
}
