//! Structure plots: colours, areas, size of the files, and the order of the documents.

use std::collections::HashMap;

use proptest::prelude::*;
use topicbook::{Chart, Matrix, palette, sort_documents};

use crate::pictures::{decode, proportions};

/// Largest size of a picture in bytes.
const LIMIT: usize = 500_000;

/// Red, green and blue of a colour such as `#4269d0`.
fn rgb(hex: &str) -> [u8; 3] {
    std::array::from_fn(|i| u8::from_str_radix(&hex[1 + 2 * i..3 + 2 * i], 16).unwrap())
}

#[test]
fn structure_plots_of_any_size_stay_small() {
    let cases = [
        (100_000, 3, 1.0),
        (100_000, 10, 1.0),
        (100_000, 25, 1.0),
        (100_000, 25, 0.05),
        (100_000, 100, 0.1),
        // About one document per column of pixels, so that no averaging smooths the picture.
        (1_500, 25, 0.1),
        (1_500, 100, 1.0),
    ];
    for (documents, topics, concentration) in cases {
        let chart = Chart::structure(&proportions(documents, topics, concentration));
        let (png, svg) = (chart.to_png().unwrap().len(), chart.to_svg().unwrap().len());
        assert!(
            png < LIMIT && svg < LIMIT,
            "{documents} x {topics}: PNG {png}, SVG {svg}"
        );
    }
}

#[test]
fn the_area_of_a_colour_is_the_mean_proportion_of_its_topic() {
    // Above ten topics stripes have shades of their own.
    for (documents, topics) in [
        (1, 4),
        (60, 10),
        (500, 3),
        (1_499, 7),
        (5_000, 10),
        (100_000, 9),
    ] {
        let l = proportions(documents, topics, 0.5);
        let (width, _, pixels) = decode(&Chart::structure(&l).to_png().unwrap());
        let topic_of: HashMap<[u8; 3], usize> = palette(topics)
            .iter()
            .enumerate()
            .map(|(topic, hex)| (rgb(hex), topic))
            .collect();
        // Rows of pixels in the plot are mostly coloured; rows in the legend are mostly white.
        let mut areas = vec![0usize; topics];
        for row in pixels.chunks(width) {
            let topics: Vec<usize> = row
                .iter()
                .filter_map(|pixel| topic_of.get(pixel).copied())
                .collect();
            if topics.len() > width / 2 {
                topics.iter().for_each(|&topic| areas[topic] += 1);
            }
        }
        let total: usize = areas.iter().sum();
        assert!(
            total > width * 400,
            "{documents} x {topics}: the plot has {total} pixels"
        );
        for (topic, &area) in areas.iter().enumerate() {
            let mean = (0..documents)
                .map(|d| f64::from(l.row(d)[topic]))
                .sum::<f64>()
                / documents as f64;
            let proportion = area as f64 / total as f64;
            assert!(
                (proportion - mean).abs() < 0.002,
                "{documents} x {topics}, topic {topic}: {proportion} of the area, {mean} on average"
            );
        }
    }
}

#[test]
fn svg_polygons_have_the_heights_of_the_topics() {
    // Polygons are painted over one another, the highest first, so the visible part of a topic lies between two edges.
    let l = Matrix::new(1, 4, vec![0.5, 0.0, 0.25, 0.25]).unwrap();
    let svg = Chart::structure(&l).to_svg().unwrap();
    let shapes: Vec<(String, i32)> = svg
        .lines()
        .filter(|line| line.starts_with("<polygon"))
        .filter_map(|line| {
            let attribute =
                |name: &str| line.split(&format!("{name}=\"")).nth(1)?.split('"').next();
            let heights = attribute("points")?
                .split_whitespace()
                .map(|point| point.split(',').nth(1).unwrap().parse::<i32>().unwrap());
            let heights: Vec<i32> = heights.collect();
            let height = heights.iter().max()? - heights.iter().min()?;
            Some((attribute("fill")?.to_lowercase(), height))
        })
        .filter(|(fill, _)| palette(4).contains(fill))
        .collect();
    let fills: Vec<&String> = shapes.iter().map(|(fill, _)| fill).collect();
    let expected = palette(4);
    assert_eq!(fills, expected.iter().rev().collect::<Vec<_>>());
    let heights: Vec<i32> = shapes.iter().map(|&(_, height)| height).collect();
    assert_eq!(heights, [460, 345, 230, 230]);
}

#[test]
fn rows_are_normalised() {
    let l = Matrix::new(2, 2, vec![3.0, 1.0, 1.0, 1.0]).unwrap();
    let scaled = Matrix::new(2, 2, vec![0.75, 0.25, 0.5, 0.5]).unwrap();
    assert_eq!(
        Chart::structure(&l).to_png().unwrap(),
        Chart::structure(&scaled).to_png().unwrap()
    );
}

#[test]
fn colours_are_those_of_tinytopics() {
    let ten = [
        "#4269d0", "#efb118", "#3ca951", "#ff725c", "#a463f2", "#9c6b4e", "#ff8ab7", "#9498a0",
        "#6cc5b0", "#97bbf5",
    ];
    for k in 0..=10 {
        assert_eq!(palette(k), ten[..k]);
    }
    // scale_color_tinytopics(12) and (25) of tinytopics 0.9.3.
    let twelve = [
        "#4269d0", "#ffa723", "#65b444", "#9d9945", "#ff5f8c", "#9864ec", "#976956", "#f08393",
        "#d192ba", "#75a59a", "#73ccbb", "#97bbf5",
    ];
    let twenty_five = [
        "#4269d0", "#ff826a", "#ffa22b", "#d8b51c", "#84b73b", "#3aad4f", "#6ea14c", "#c29043",
        "#ff725c", "#ff5ba1", "#d15de5", "#9564e8", "#8c65a2", "#95685a", "#b57351", "#e58082",
        "#ff8ab7", "#e791c1", "#b594ae", "#879b9c", "#6eab9c", "#69bfa9", "#76cec0", "#8ad0dc",
        "#97bbf5",
    ];
    for (k, expected) in [(12, &twelve[..]), (25, &twenty_five[..])] {
        for (found, expected) in palette(k).iter().zip(expected) {
            let difference = rgb(found)
                .iter()
                .zip(rgb(expected))
                .map(|(a, b)| a.abs_diff(b))
                .max();
            assert!(
                difference <= Some(1),
                "of {k}: {found}, in tinytopics {expected}"
            );
        }
    }
}

#[test]
fn colours_are_distinct() {
    for k in [11, 20, 50, 100, 256] {
        let mut colours = palette(k);
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), k);
    }
}

proptest! {
    #[test]
    fn documents_are_sorted_as_by_a_naive_sort(
        (topics, values) in (1usize..6).prop_flat_map(|topics| {
            (Just(topics), prop::collection::vec(1u8..5, topics * 30))
        })
    ) {
        // Few distinct values make many ties.
        let values: Vec<f32> = values.iter().map(|&value| f32::from(value)).collect();
        let l = Matrix::new(30, topics, values).unwrap();
        let mut naive = Vec::new();
        for topic in 0..topics {
            let mut group: Vec<(f64, usize)> = Vec::new();
            for document in 0..30 {
                let row = l.row(document);
                let dominant = (0..topics).find(|&t| row.iter().all(|&value| value <= row[t])).unwrap();
                if dominant == topic {
                    let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
                    group.push((f64::from(row[topic]) / sum, document));
                }
            }
            group.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
            naive.extend(group.into_iter().map(|(_, document)| document));
        }
        prop_assert_eq!(sort_documents(&l), naive);
    }
}
