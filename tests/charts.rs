//! Charts through the public API: sizes, pixels, files, and data that cannot be drawn.

use std::collections::HashMap;
use std::io::Cursor;

use base64::Engine;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use topicbook::{Chart, ErrorKind, Matrix, palette, side_by_side, sort_documents, stack};

const LIMIT: usize = 500_000;

/// Rows from a Dirichlet distribution.
fn proportions(documents: usize, topics: usize, concentration: f64) -> Matrix {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let gamma = Gamma::new(concentration, 1.0).unwrap();
    let mut values = Vec::with_capacity(documents * topics);
    for _ in 0..documents {
        let row: Vec<f64> = (0..topics)
            .map(|_| gamma.sample(&mut random) + 1e-9)
            .collect();
        let sum: f64 = row.iter().sum();
        values.extend(row.iter().map(|value| (value / sum) as f32));
    }
    Matrix::new(documents, topics, values).unwrap()
}

/// Width, height and RGB pixels of a PNG.
fn decode(png: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut buffer).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    let pixels = buffer[..frame.buffer_size()].as_chunks::<3>().0.to_vec();
    (frame.width as usize, frame.height as usize, pixels)
}

fn rgb(hex: &str) -> [u8; 3] {
    std::array::from_fn(|i| u8::from_str_radix(&hex[1 + 2 * i..3 + 2 * i], 16).unwrap())
}

/// Every tag closed in order, every attribute quoted, every ampersand an entity.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let (text, tag) = rest.split_at(start);
        assert!(!text.contains('>'), "{text}");
        check_entities(text);
        let end = tag.find('>').expect("a tag ends");
        let inside = &tag[1..end];
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let empty = inside.ends_with('/');
            let inside = inside.trim_end_matches('/');
            let name = inside.split_whitespace().next().expect("a tag has a name");
            let parts: Vec<&str> = inside[name.len()..].split('"').collect();
            assert_eq!(parts.len() % 2, 1, "{inside}");
            for pair in parts.chunks_exact(2) {
                assert!(
                    pair[0].starts_with(' ') && pair[0].ends_with('='),
                    "{inside}"
                );
                check_entities(pair[1]);
            }
            if !empty {
                open.push(name);
            }
        }
        rest = &tag[end + 1..];
    }
    assert!(open.is_empty(), "left open: {open:?}");
    assert!(xml.starts_with("<svg ") && xml.trim_end().ends_with("</svg>"));
}

fn check_entities(text: &str) {
    for (position, _) in text.match_indices('&') {
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;"];
        assert!(
            entities
                .iter()
                .any(|entity| text[position..].starts_with(entity)),
            "{text}"
        );
    }
}

#[test]
fn structure_plots_of_any_size_stay_small() {
    let cases = [
        (100_000, 3, 1.0),
        (100_000, 10, 1.0),
        (100_000, 25, 1.0),
        (100_000, 25, 0.05),
        (100_000, 100, 0.1),
        // About as many documents as columns of pixels: nothing to average.
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
    for (documents, topics) in [
        (1, 4),
        (60, 10),
        (500, 3),
        (1_499, 7),
        (5_000, 10),
        (100_000, 25),
    ] {
        let l = proportions(documents, topics, 0.5);
        let (width, _, pixels) = decode(&Chart::structure(&l).to_png().unwrap());
        let topic_of: HashMap<[u8; 3], usize> = palette(topics)
            .iter()
            .enumerate()
            .map(|(topic, hex)| (rgb(hex), topic))
            .collect();
        // Rows that are mostly topics are the plot; the legend's are mostly white.
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
        let all: usize = areas.iter().sum();
        assert!(
            all > width * 400,
            "{documents} x {topics}: the plot has {all} pixels"
        );
        for (topic, &area) in areas.iter().enumerate() {
            let mean = (0..documents)
                .map(|d| f64::from(l.row(d)[topic]))
                .sum::<f64>()
                / documents as f64;
            let share = area as f64 / all as f64;
            assert!(
                (share - mean).abs() < 0.002,
                "{documents} x {topics}, topic {topic}: {share} of the area, {mean} on average"
            );
        }
    }
}

#[test]
fn shapes_cover_what_pixels_cover() {
    // Painted one over the other, the highest edge first: what is seen of a topic lies between two edges.
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
fn rows_need_not_sum_to_one() {
    let l = Matrix::new(2, 2, vec![3.0, 1.0, 1.0, 1.0]).unwrap();
    let scaled = Matrix::new(2, 2, vec![0.75, 0.25, 0.5, 0.5]).unwrap();
    assert_eq!(
        Chart::structure(&l).to_png().unwrap(),
        Chart::structure(&scaled).to_png().unwrap()
    );
}

#[test]
fn up_to_ten_colours_are_the_ten_and_more_are_those_of_tinytopics() {
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
            let apart = rgb(found)
                .iter()
                .zip(rgb(expected))
                .map(|(a, b)| a.abs_diff(b))
                .max();
            assert!(
                apart <= Some(1),
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
    fn documents_are_sorted_as_the_naive_way_sorts_them(
        (topics, values) in (1usize..6).prop_flat_map(|topics| {
            (Just(topics), prop::collection::vec(1u8..5, topics * 30))
        })
    ) {
        // Few distinct values make many ties; powers of two keep the proportions exact.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_data_panics(
        (rows, columns, values) in (0usize..5, 0usize..13).prop_flat_map(|(rows, columns)| {
            (Just(rows), Just(columns), prop::collection::vec(any::<f32>(), rows * columns))
        }),
        n in 0usize..20,
        series in prop::collection::vec(any::<f64>(), 0..30),
    ) {
        let matrix = Matrix::new(rows, columns, values).unwrap();
        sort_documents(&matrix);
        let charts = [
            Chart::structure(&matrix),
            Chart::top_terms(&matrix, None, n),
            Chart::loss(&series, &series),
            Chart::histogram(&series, "words", "documents"),
        ];
        for chart in charts {
            for outcome in [chart.to_png().map(|_| ()), chart.to_svg().map(|_| ())] {
                if let Err(error) = outcome {
                    prop_assert_eq!(error.kind(), ErrorKind::Drawing);
                    prop_assert!(error.remedy().is_some());
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_an_error_that_says_why() {
    let matrix =
        |rows, columns, values: &[f32]| Matrix::new(rows, columns, values.to_vec()).unwrap();
    let names = vec!["one".to_string(); 3];
    let table = [
        (
            Chart::structure(&matrix(0, 0, &[])),
            "0 documents and 0 topics",
            None,
        ),
        (
            Chart::structure(&matrix(2, 0, &[])),
            "2 documents and 0 topics",
            None,
        ),
        (
            Chart::structure(&matrix(1, 2, &[0.5, f32::NAN])),
            "NaN",
            Some("document 0, topic 1"),
        ),
        (
            Chart::structure(&matrix(2, 1, &[1.0, -0.5])),
            "-0.5",
            Some("document 1, topic 0"),
        ),
        (
            Chart::structure(&matrix(2, 1, &[1.0, f32::INFINITY])),
            "inf",
            Some("document 1, topic 0"),
        ),
        (
            Chart::structure(&matrix(2, 2, &[0.5, 0.5, 0.0, 0.0])),
            "sum",
            Some("document 1"),
        ),
        (
            Chart::top_terms(&matrix(0, 3, &[]), None, 5),
            "0 topics",
            None,
        ),
        (
            Chart::top_terms(&matrix(3, 0, &[]), None, 5),
            "0 terms",
            None,
        ),
        (
            Chart::top_terms(&matrix(1, 3, &[0.1; 3]), None, 0),
            "zero terms",
            None,
        ),
        (
            Chart::top_terms(&matrix(1, 2, &[0.1; 2]), Some(&names), 2),
            "3 names for 2 terms",
            None,
        ),
        (
            Chart::top_terms(&matrix(1, 3, &[0.1, f32::NAN, 0.2]), None, 1),
            "NaN",
            Some("topic 0, term 1"),
        ),
        (
            Chart::top_terms(&matrix(1, 3, &[-1.0; 3]), None, 1),
            "-1",
            Some("topic 0, term 0"),
        ),
        (Chart::loss(&[], &[]), "no epochs", None),
        (Chart::loss(&[1.0], &[]), "1 value of the loss and 0", None),
        (
            Chart::loss(&[1.0, f64::NAN], &[0.0, 0.0]),
            "NaN",
            Some("epoch 2"),
        ),
        (
            Chart::loss(&[1.0], &[f64::NEG_INFINITY]),
            "log-likelihood is -inf",
            Some("epoch 1"),
        ),
        (
            Chart::histogram(&[], "words", "documents"),
            "without values",
            None,
        ),
        (
            Chart::histogram(&[1.0, f64::NAN], "words", "documents"),
            "NaN",
            Some("index 1"),
        ),
        (side_by_side([]), "no charts", None),
        (stack([]), "no charts", None),
        (stack([side_by_side([])]), "no charts", None),
        (
            stack((0..100).map(|_| Chart::structure(&matrix(1, 1, &[1.0])))),
            "pixels high",
            None,
        ),
        (
            Chart::top_terms(&matrix(1, 5_000, &[0.1; 5_000]), None, 5_000),
            "pixels high",
            None,
        ),
    ];
    for (chart, what, place) in table {
        for error in [chart.to_png().unwrap_err(), chart.to_svg().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Drawing, "{error}");
            assert!(error.to_string().contains(what), "{what}: {error}");
            assert_eq!(error.place(), place, "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
        // Shown in a cell, it is text.
        chart.evcxr_display();
    }
}

#[test]
fn small_and_constant_data_are_drawn() {
    let one = Matrix::new(1, 1, vec![1.0]).unwrap();
    let zeros = Matrix::new(2, 3, vec![0.0; 6]).unwrap();
    let charts = [
        Chart::structure(&one),
        Chart::top_terms(&one, None, 10),
        Chart::top_terms(&zeros, None, 2),
        Chart::loss(&[5.0], &[-7.0]),
        Chart::loss(&[5.0, 4.0], &[-7.0, -6.0]),
        Chart::loss(&[5.0; 300], &[0.0; 300]),
        Chart::loss(&[0.0; 12], &[-1e-300; 12]),
        Chart::histogram(&[3.0], "words", "documents"),
        Chart::histogram(&[3.0; 100], "words", "documents"),
        Chart::histogram(&[-1e300, 1e300], "words", "documents"),
    ];
    for chart in charts {
        assert!(
            decode(&chart.to_png().unwrap())
                .2
                .iter()
                .any(|pixel| *pixel != [255; 3]),
            "{chart:?}"
        );
        assert_well_formed(&chart.to_svg().unwrap());
    }
}

#[test]
fn names_are_escaped_and_shortened() {
    let f = Matrix::new(1, 4, vec![0.4, 0.3, 0.2, 0.1]).unwrap();
    let terms = [
        "<b>&\"'",
        "Donaudampfschifffahrtsgesellschaftskapitänspatent"
            .repeat(9)
            .as_str(),
        "\u{1F600}",
        "",
    ]
    .map(String::from);
    let chart = Chart::top_terms(&f, Some(&terms), 4).title("</svg> & co");
    let svg = chart.to_svg().unwrap();
    assert_well_formed(&svg);
    assert!(svg.contains("&lt;b&gt;&amp;&quot;&apos;"));
    assert!(svg.contains("Donaudampf") && svg.contains('…') && !svg.contains(&terms[1]));
    chart.to_png().unwrap();
}

#[test]
fn terms_are_those_with_the_largest_probability_in_their_order() {
    let values: Vec<f32> = (0..1000)
        .map(|term| ((term * 37) % 1000) as f32 / 1e6)
        .collect();
    let f = Matrix::new(1, 1000, values).unwrap();
    let svg = Chart::top_terms(&f, None, 3).to_svg().unwrap();
    // 37 * 27 = 999; 37 * 54 = 1,998; 37 * 81 = 2,997.
    let places: Vec<usize> = ["\n27\n", ">\n54\n", ">\n81\n"]
        .map(|term| svg.find(term).unwrap_or_else(|| panic!("{term} in {svg}")))
        .to_vec();
    assert!(places.is_sorted());
}

#[test]
fn pictures_have_the_size_they_say() {
    let l = proportions(50, 3, 1.0);
    for chart in [
        Chart::structure(&l),
        Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]).title("Fit"),
        Chart::histogram(&[1.0, 2.0, 3.0], "words", "documents"),
    ] {
        let (width, height, pixels) = decode(&chart.to_png().unwrap());
        assert_eq!(pixels.len(), width * height);
        let svg = chart.to_svg().unwrap();
        assert!(svg.contains(&format!("viewBox=\"0 0 {width} {height}\"")));
        let shown = format!("<svg width=\"{}\"", (width as f64 * 900.0 / 1600.0).round());
        assert!(svg.starts_with(&shown), "{}", &svg[..80]);
        // A margin of white all around, so that it is legible on a dark page.
        let edge = |at: usize| {
            pixels[at * width..(at + 1) * width]
                .iter()
                .all(|p| *p == [255; 3])
        };
        assert!((0..10).all(edge) && (height - 10..height).all(edge));
        assert!(pixels.chunks(width).all(|row| {
            row[..10]
                .iter()
                .chain(&row[width - 10..])
                .all(|p| *p == [255; 3])
        }));
    }
}

#[test]
fn charts_compose_at_any_depth() {
    let l = proportions(50, 12, 1.0);
    let structure = || Chart::structure(&l);
    let height = |chart: &Chart| decode(&chart.to_png().unwrap()).1;
    let one = height(&structure());
    // Two and three fit beside each other, four make two lines.
    assert!(height(&side_by_side([structure(), structure()])) < one + 200);
    assert!(height(&side_by_side([structure(), structure(), structure()])) < one + 400);
    let four = height(&side_by_side((0..4).map(|_| structure())));
    assert!(four > one + 400 && four < 2 * one + 400);
    assert!(height(&stack([structure(), structure()])) > 2 * one - 100);

    let mut deep = structure();
    for level in 0..12 {
        deep = match level % 2 {
            0 => side_by_side([deep, Chart::histogram(&[1.0, 2.0], "words", "documents")]),
            _ => stack([deep]).title(format!("Level {level}")),
        };
    }
    assert_well_formed(&deep.to_svg().unwrap());
    assert_eq!(decode(&deep.to_png().unwrap()).0, 1600);
}

#[test]
fn a_title_can_be_changed_and_left_out() {
    let chart = Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]);
    let with = chart.clone().title("My fit").to_svg().unwrap();
    assert!(with.contains("My fit") && !with.contains("Loss curve"));
    assert!(chart.to_svg().unwrap().contains("Loss curve"));
    let without = chart.clone().title("");
    assert!(!without.to_svg().unwrap().contains("Loss curve"));
    assert!(decode(&without.to_png().unwrap()).1 < decode(&chart.to_png().unwrap()).1);
}

#[test]
fn charts_describe_themselves() {
    let chart = Chart::structure(&proportions(5_000, 10, 1.0));
    assert_eq!(
        format!("{chart:?}"),
        "Structure plot: topic proportions of 5,000 documents, 10 topics"
    );
    let pair = side_by_side([chart.clone().title("True"), chart.title("Learned")]);
    assert!(format!("{pair:?}").starts_with("[True: topic"));
}

#[test]
#[ignore = "a cell of what_a_cell_gets"]
fn a_cell() {
    Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]).evcxr_display();
}

#[test]
fn what_a_cell_gets() {
    let cell = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["a_cell", "--exact", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let output = String::from_utf8(cell.stdout).unwrap();
    let block = |mime: &str| {
        let begin = format!("EVCXR_BEGIN_CONTENT {mime}\n");
        let (_, rest) = output
            .split_once(&begin)
            .unwrap_or_else(|| panic!("{mime}: {output}"));
        rest.split_once("\nEVCXR_END_CONTENT\n")
            .unwrap()
            .0
            .to_string()
    };
    let png = base64::engine::general_purpose::STANDARD
        .decode(block("image/png"))
        .unwrap();
    assert_eq!(
        png,
        Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]).to_png().unwrap()
    );
    assert!(block("text/plain").starts_with("Loss curve: 2 epochs, at the end loss 2"));
    assert_eq!(output.matches("EVCXR_BEGIN_CONTENT").count(), 2);
}

#[test]
fn the_second_panel_says_where_its_scale_begins() {
    let falling: Vec<f64> = (0..200)
        .map(|epoch| 1.0 + 9.0 * (-f64::from(epoch) / 5.0).exp())
        .collect();
    let negative: Vec<f64> = falling.iter().map(|value| -value).collect();
    let svg = Chart::loss(&falling, &negative).to_svg().unwrap();
    assert!(svg.contains("scaled from epoch 21 on"));
    let flat = Chart::loss(&[1.0; 200], &[-1.0; 200]).to_svg().unwrap();
    assert!(!flat.contains("scaled from"));
}

#[test]
fn files_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (png, svg) = (folder.path().join("a.png"), folder.path().join("a.svg"));
    let good = Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]);
    good.save_png(&png).unwrap();
    good.save_svg(&svg).unwrap();
    assert_eq!(std::fs::read(&png).unwrap(), good.to_png().unwrap());
    assert_eq!(
        std::fs::read_to_string(&svg).unwrap(),
        good.to_svg().unwrap()
    );

    let bad = Chart::loss(&[], &[]);
    assert_eq!(bad.save_png(&png).unwrap_err().kind(), ErrorKind::Drawing);
    assert_eq!(bad.save_svg(&svg).unwrap_err().kind(), ErrorKind::Drawing);
    assert_eq!(std::fs::read(&png).unwrap(), good.to_png().unwrap());

    let nowhere = folder.path().join("no/such/folder/a.png");
    assert_eq!(good.save_png(&nowhere).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(
        good.save_png(folder.path()).unwrap_err().kind(),
        ErrorKind::Io
    );
    assert_eq!(good.save_png("").unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
