//! Structure plots by labels, bands around lines, and pictures of a fit.

use testkit::refused;
use topicbook::{Chart, ErrorKind, Matrix, Synthetic, TopicModel, palette};

use crate::pictures::{assert_well_formed, decode, proportions};

/// Largest size of a picture in bytes.
const LIMIT: usize = 500_000;

fn rgb(hex: &str) -> [u8; 3] {
    std::array::from_fn(|i| u8::from_str_radix(&hex[1 + 2 * i..3 + 2 * i], 16).unwrap())
}

#[test]
fn groups_stand_side_by_side_with_their_own_proportions() {
    // The first label has topic 0 alone, the second one topic 1, and documents without a label topic 2.
    let row = |document: usize| match document % 6 {
        0 => [0.0, 0.0, 1.0],
        1 | 2 => [1.0, 0.0, 0.0],
        _ => [0.0, 1.0, 0.0],
    };
    let values: Vec<f32> = (0..600).flat_map(row).collect();
    let label = |document: usize| match document % 6 {
        0 => None,
        1 | 2 => Some("left"),
        _ => Some("right"),
    };
    let labels: Vec<Option<&str>> = (0..600).map(label).collect();
    // The first labelled document is one of `left`.
    let chart = Chart::structure(&Matrix::new(600, 3, values).unwrap()).by(&labels);
    let (width, height, pixels) = decode(&chart.to_png().unwrap());
    let middle = &pixels[width * (height / 2)..][..width];
    let span = |colour: &str| {
        let colour = rgb(colour);
        let at = || {
            middle
                .iter()
                .enumerate()
                .filter(|(_, pixel)| **pixel == colour)
        };
        (
            at().next().unwrap().0,
            at().next_back().unwrap().0,
            at().count(),
        )
    };
    let colours = palette(3);
    let [left, right, rest] = [0, 1, 2].map(|topic| span(&colours[topic]));
    // Each group is one piece, in this order, with a gap between.
    for (first, last, number) in [left, right, rest] {
        assert_eq!(last + 1 - first, number);
    }
    assert!(left.1 + 8 < right.0 && right.1 + 8 < rest.0);
    let all = (left.2 + right.2 + rest.2) as f64;
    for (span, part) in [(left, 2.0), (right, 3.0), (rest, 1.0)] {
        assert!((span.2 as f64 / all - part / 6.0).abs() < 0.01);
    }
    let svg = chart.to_svg().unwrap();
    assert_well_formed(&svg);
    assert!(
        ["left", "right", "no label", "in 2 groups"]
            .iter()
            .all(|text| svg.contains(text))
    );
}

#[test]
fn a_map_of_documents_has_the_colours_of_labels() {
    let counts = Synthetic::new(60, 30, 3).seed(1).generate().unwrap();
    let fit = TopicModel::new(3).epochs(2).quiet();
    let fit = fit.fit(counts.counts()).unwrap();
    let label = |document: usize| match document % 4 {
        0 => None,
        1 => Some("odd"),
        _ => Some("<other>"),
    };
    let labels: Vec<Option<&str>> = (0..60).map(label).collect();
    let svg = fit.plot_document_map().by(&labels).to_svg().unwrap();
    assert_well_formed(&svg);
    testkit::assert_has(
        &svg,
        [
            "in the colours of 2 groups",
            "odd",
            "&lt;other&gt;",
            "no label",
        ],
    );
    // The colour of the first label fills its dots, and one square of the legend.
    let drawn = |labels: &[Option<&str>]| {
        let chart = fit.plot_document_map().by(labels);
        let (_, _, pixels) = decode(&chart.to_png().unwrap());
        let colour = rgb(&palette(2)[0]);
        pixels.iter().filter(|pixel| **pixel == colour).count()
    };
    let few: Vec<Option<&str>> = (0..60)
        .map(|document| match document {
            0 => Some("<other>"),
            1..8 => Some("odd"),
            _ => None,
        })
        .collect();
    assert!(drawn(&labels) > drawn(&few) && drawn(&few) > 0);
    let of_topics = fit.plot_document_map().to_svg().unwrap();
    assert!(!of_topics.contains("no label") && of_topics.contains("Topic 2"));
    let by = |labels| fit.plot_document_map().by(labels).to_png();
    refused! {
        by(vec!["a"; 60]) => Value, "`a` is the label";
        by(vec!["a", "b"]) => Shape, "2 labels";
    }
    assert!(fit.plot_topic_map().by(&labels).to_png().is_err());
}

#[test]
fn many_groups_and_documents_stay_small() {
    for (documents, groups) in [(100_000, 3), (100_000, 40), (300, 60)] {
        let labels: Vec<usize> = (0..documents).map(|document| document % groups).collect();
        let chart = Chart::structure(&proportions(documents, 10, 0.3)).by(&labels);
        let (png, svg) = (chart.to_png().unwrap().len(), chart.to_svg().unwrap().len());
        assert!(
            png < LIMIT && svg < LIMIT,
            "{documents}, {groups}: PNG {png}, SVG {svg}"
        );
    }
}

#[test]
fn labels_that_make_no_groups_are_refused_when_the_chart_is_drawn() {
    let chart = Chart::structure(&proportions(300, 4, 1.0));
    let by = |labels| chart.clone().by(labels).to_png();
    let (lines, bars) = (Chart::lines([1.0, 2.0]), Chart::bars([1, 2]));
    let points = Chart::scatter([1, 2], [3, 4]);
    let boxes = Chart::box_plot([("a", [1, 2]), ("b", [3, 4])]);
    let named = Chart::lines([("a", [1, 2])]).bands([("a", [1, 2]), ("b", [1, 2])], [1, 2]);
    refused! {
        by(vec!["a", "b"]) => Shape, "2 labels for 300 documents";
        by(vec!["a"; 300]) => Value, "`a` is the label of all documents";
        by(vec![" "; 300]) => Value, "all 300 labels are missing";
        points.by(["a"]).to_png() => Shape, "1 label for 2 points";
        boxes.clone().by([1, 2]).to_png() => Drawing, "the values of one series, and there are 2";
        Chart::box_plot([1, 2]).by(["a"]).to_png() => Shape, "1 label for 2 values";
        chart.clone().by(0..300).to_png() => Drawing, "300 groups have no room side by side";
        bars.clone().by(["a", "b"]).to_png() => Drawing, "`by` does not apply to bars";
        bars.bands([0], [1]).to_png() => Drawing, "`bands` does not apply to bars";
        lines.clone().bands([0], [1]).to_png() => Drawing, "1 value of `lower` for 2 values";
        named.to_png() => Drawing, "2 lists of `lower` for 1 list of values";
        lines.bands([0.0, 1.0], [1.0, f64::INFINITY]).to_png() => Drawing, "a value is inf";
    }
}

#[test]
fn a_band_goes_from_its_lower_to_its_upper_end() {
    let chart = Chart::lines([1.0, 1.0])
        .bands([0.0, 0.0], [2.0, 1.5])
        .x([0, 10]);
    let svg = chart.to_svg().unwrap();
    let polygon = svg
        .lines()
        .find(|line| line.starts_with("<polygon"))
        .unwrap();
    let points = polygon
        .split("points=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let points: Vec<(i32, i32)> = points
        .split(' ')
        .map(|point| point.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    let [left_top, right_top, right, left] = points[..] else {
        panic!("{points:?}")
    };
    assert!(left_top.0 == left.0 && right_top.0 == right.0 && left.0 < right.0);
    assert_eq!(left.1, right.1);
    let (two, one_and_a_half) = (left.1 - left_top.1, right.1 - right_top.1);
    assert!((f64::from(one_and_a_half) / f64::from(two) - 0.75).abs() < 0.01);
    // A missing end interrupts the band, and the axis reaches the ends.
    let gap = [0.0, f64::NAN, 0.0, 0.0];
    let chart = Chart::lines([1.0; 4]).bands(gap, [2.0; 4]);
    let polygons = chart.to_svg().unwrap().matches("<polygon").count();
    assert_eq!(polygons, 1);
}

#[test]
fn pictures_of_a_fit_are_small_readable_and_described() {
    let corpus = Synthetic::new(100_000, 50, 12)
        .avg_doc_length(40)
        .seed(3)
        .generate()
        .unwrap();
    let fit = TopicModel::new(12)
        .solver(topicbook::Solver::em())
        .epochs(3)
        .quiet();
    let fit = fit
        .fit(corpus.counts())
        .unwrap()
        .name_topics([(2, "<science> & more")])
        .unwrap();
    let distinctive = fit.distinctive(corpus.counts()).unwrap();
    let charts = [
        (
            fit.plot_document_map(),
            "map of 100,000 documents by their 12 topics",
        ),
        (fit.plot_topic_map(), "map of 12 topics"),
        (fit.plot_topic_tree(), "tree of 12 topics"),
        (
            distinctive.plot_volcano("<science> & more"),
            "volcano plot of <science> & more",
        ),
    ];
    for (chart, expected) in charts {
        assert!(format!("{chart:?}").contains(expected), "{chart:?}");
        for chart in [chart.clone(), chart.dark()] {
            let (png, svg) = (chart.to_png().unwrap(), chart.to_svg().unwrap());
            assert_well_formed(&svg);
            assert!(
                png.len() < LIMIT && svg.len() < LIMIT,
                "{chart:?}: {} {}",
                png.len(),
                svg.len()
            );
        }
    }
    refused! {
        distinctive.plot_volcano(12).to_png() => Shape, "topic 12 of a fit with 12 topics";
        distinctive.plot_volcano("art").to_png() => Value, "no topic is called `art`";
    }
}
