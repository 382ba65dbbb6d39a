//! Charts of people's own numbers, and what can be set on every chart.

use topicbook::{Chart, ErrorKind, Matrix, side_by_side};

use crate::pictures::{assert_well_formed, decode, proportions};

/// One chart of each kind.
fn one_of_each() -> Vec<Chart> {
    let l = proportions(60, 12, 0.5);
    vec![
        Chart::structure(&l),
        Chart::top_terms(&proportions(6, 12, 0.5), None, 5),
        Chart::loss(&[3.0, 2.5, 2.0], &[-3.0, -2.5, -2.0]),
        Chart::lines([("a", [1.0, 2.0]), ("b", [2.0, 3.0])]),
        Chart::bars([3, 1, 2]),
        Chart::bars((0..9).map(|i| (format!("a long name of a bar {i}"), i - 4))),
        Chart::scatter([1.0, 2.0, 3.0], [4, 5, 9]),
        Chart::scatter(["2023-11", "2024-02-03", "2024-05"], [4, 5, 9])
            .opacity(0.5)
            .fit_line(),
        Chart::bars([("a", 3), ("b", 4)])
            .error_bars([2, 3], [4, 6])
            .horizontal(),
        Chart::box_plot([("a", vec![1.0, 2.0, 9.0]), ("b", vec![3.0; 4])]),
        Chart::box_plot((0..9).map(|i| (format!("a long name of a box {i}"), [i, 2 * i]))),
        Chart::histogram((0..50).map(|i| i * i)),
        Chart::heatmap(&l),
    ]
}

#[test]
fn numbers_of_any_type_are_drawn() {
    let values = vec![1.5f32, 2.5];
    let pairs = vec![("a".to_string(), vec![1u64, 2])];
    let matrix = Matrix::new(2, 2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let charts = [
        Chart::lines(&values),
        Chart::lines(values.clone()),
        Chart::lines(values.iter().map(|value| value * 2.0)),
        Chart::lines([1, 2, 3]),
        Chart::lines(0..10u8),
        Chart::lines([Some(1), None, Some(4)]),
        Chart::lines([1.0, f64::NAN, 3.0]),
        Chart::lines([("a", &values), ("b", &values)]),
        Chart::lines(&pairs),
        Chart::lines(&matrix),
        Chart::lines([std::time::Duration::from_secs(2)]),
        Chart::bars(&values),
        Chart::bars(vec![("a", 1), ("b", -2)]),
        Chart::bars([(2019, &values), (2020, &values)]).x(["spring", "autumn"]),
        Chart::scatter(&values, &values),
        Chart::scatter(values.as_slice(), [1, 2]),
        Chart::scatter(vec!["2024-01".to_string(), String::new()], [1, 2]),
        Chart::scatter(["1.5", "2"].as_slice(), [1, 2]),
        Chart::box_plot(&values),
        Chart::box_plot([1.0, f64::NAN]),
        Chart::histogram(&values),
        Chart::histogram([7; 30]),
        Chart::heatmap([[1, 2], [3, 4]]),
        Chart::heatmap(vec![vec![1.0, f64::NAN], vec![-3.0, 4.0]]),
        Chart::heatmap([&values, &values]),
    ];
    for chart in charts {
        assert_well_formed(&chart.to_svg().unwrap());
        let ink = decode(&chart.to_png().unwrap()).2;
        assert!(ink.iter().any(|pixel| *pixel != [255; 3]), "{chart:?}");
    }
}

#[test]
#[rustfmt::skip] // one case a line
fn numbers_that_do_not_fit_are_refused_with_both_lengths() {
    let (two, three) = (vec![1.0, 2.0], vec![1.0, 2.0, 3.0]);
    let cases = [
        (Chart::lines(&two).x([1, 2, 3]), "3 positions of `x` for 2 values"),
        (Chart::lines([("a", &two), ("b", &three)]).x([1, 2]), "2 positions of `x` for 3 values of b"),
        (Chart::lines([("a", vec![]), ("b", two.clone())]), "no values of a"),
        (Chart::lines([0.0; 0]), "no numbers"),
        (Chart::lines([f64::NAN; 3]), "all 3 numbers are missing"),
        (Chart::lines([1.0, f64::INFINITY]), "a value is inf"),
        (Chart::lines([1.0, 0.0]).log_y(), "0 has no place on a logarithmic axis"),
        (Chart::lines(&two).log_x(), "0 has no place"),
        (Chart::bars([("a", &two), ("b", &three)]), "2 values of a, but 3 values of b"),
        (Chart::bars(&two).x(["a"]), "1 name for 2 bars"),
        (Chart::bars([1.0, f64::NAN]), "a value is NaN"),
        (Chart::bars([0; 0]), "no numbers"),
        (Chart::scatter(&two, &three), "2 values of x and 3 values of y"),
        (Chart::scatter([0.0; 0], [0.0; 0]), "no numbers"),
        (Chart::scatter(&two, &two).x([1, 2]), "`x` does not apply to points"),
        (Chart::scatter(["2024-01", "May"], &two), "`May` is neither a number nor a date"),
        (Chart::scatter(["2024-01", "2024-02"], &two).log_x(), "dates have no place on a logarithmic axis"),
        (Chart::scatter(&two, &two).opacity(1.5), "an opacity of 1.5"),
        (Chart::scatter(&two, &two).error_bars([1.0], [2.0]), "1 value of `lower` for 2 values"),
        (Chart::bars(&two).error_bars([0.1, 0.1], [0.1, 0.1]), "an error bar from 0.1 to 0.1 for the value 1"),
        (Chart::bars([("a", 1), ("b", 2)]).error_bars([1], [2]), "1 value of `lower` for 2 values"),
        (Chart::bars(&two).opacity(0.5), "`opacity` does not apply to bars"),
        (Chart::bars(&two).fit_line(), "`fit_line` does not apply to bars"),
        (Chart::bars(&two).colors(["oragne"]), "`oragne` is not a colour"),
        (Chart::bars(&two).colors(["#12345"]), "`#12345` is not a colour"),
        (Chart::bars(&two).colors([""; 0]), "without a colour"),
        (Chart::lines(&two).horizontal(), "`horizontal` does not apply to lines"),
        (Chart::lines(&two).error_bars(&two, &two), "`error_bars` does not apply to lines"),
        (Chart::heatmap([[1.0]]).colors(["red"]), "`colors` does not apply to a heat map"),
        (Chart::box_plot([0.0; 0]), "no numbers"),
        (Chart::box_plot([("a", vec![]), ("b", two.clone())]), "no values of a"),
        (Chart::box_plot([("a", vec![1.0, f64::INFINITY])]), "a value is inf"),
        (Chart::box_plot([("a", &two), ("b", &two)]).x(["c"]), "1 name for 2 groups"),
        (Chart::box_plot([1.0, 0.0]).log_y(), "0 has no place"),
        (Chart::box_plot(&two).log_x(), "`log_x` does not apply to a box plot"),
        (Chart::lines(&two).dpi(5_000), "a resolution of 5000 dpi"),
        (Chart::histogram([-1.0, 0.0]).log_x(), "no value above zero"),
        (Chart::histogram(&two).bins(0), "0 bins"),
        (Chart::heatmap(vec![two.clone(), three.clone()]), "row 1 has 3 values, but row 0 has 2 values"),
        (Chart::heatmap([[1.0, 2.0]]).x(["a"]), "1 name for 2 columns"),
        (Chart::heatmap([[0.0; 0]; 2]), "2 rows with 0 columns"),
        (Chart::structure(&proportions(9, 3, 1.0)).log_y(), "`log_y` does not apply to a structure plot"),
        (Chart::structure(&proportions(9, 3, 1.0)).topics([3]), "topic 3 of a chart with 3 topics"),
        (Chart::lines(&two).size(900, 60), "a size of 900 x 60 pixels, but this chart needs at least"),
        (Chart::lines(&two).size(60, 600), "a size of 60 x 600 pixels"),
        (Chart::lines(&two).font_size(f64::NAN), "a font size of NaN"),
        (side_by_side([Chart::lines(&two)]).x_label("x"), "does not apply to a composition"),
    ];
    for (chart, expected) in cases {
        for error in [chart.to_png().unwrap_err(), chart.to_svg().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Drawing);
            assert!(error.to_string().contains(expected), "{expected}: {error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}

#[test]
fn every_chart_takes_a_size_a_font_and_a_background() {
    for chart in one_of_each() {
        let sized = chart.clone().size(700, 900);
        let (width, height, _) = decode(&sized.to_png().unwrap());
        assert_eq!((width, height), (1244, 1600), "{chart:?}");
        let svg = sized.to_svg().unwrap();
        assert!(
            svg.starts_with("<svg width=\"700\" height=\"900\""),
            "{svg:.80}"
        );

        let large = chart.clone().large();
        let (width, height, _) = decode(&large.to_png().unwrap());
        assert!(width == 1600 && height > decode(&chart.to_png().unwrap()).1 * 5 / 4);

        let (_, _, pixels) = decode(&chart.clone().dark().to_png().unwrap());
        let dark = pixels.iter().filter(|pixel| **pixel == [0x11; 3]).count();
        assert!(dark > pixels.len() / 20, "{chart:?}");
        assert!(!pixels.contains(&[255; 3]) || dark > pixels.len() / 20);
    }
}

#[test]
fn a_transparent_picture_has_the_colours_of_an_opaque_one() {
    let chart = Chart::lines([1, 5, 2]).title("Title");
    let (_, _, opaque) = decode(&chart.to_png().unwrap());
    let mut decoder = png::Decoder::new(std::io::Cursor::new(
        chart.clone().transparent().to_png().unwrap(),
    ));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgba);
    let (pixels, _) = pixels[..frame.buffer_size()].as_chunks::<4>();
    assert_eq!(pixels[0][3], 0);
    // On white, every pixel equals the opaque picture's, except for rounding and the opaque one's palette.
    for (&[red, green, blue, opacity], expected) in pixels.iter().zip(opaque) {
        for (channel, expected) in [red, green, blue].into_iter().zip(expected) {
            let on_white = 255.0 + (f64::from(channel) - 255.0) * f64::from(opacity) / 255.0;
            assert!(
                (on_white - f64::from(expected)).abs() < 20.0,
                "{on_white} for {expected}"
            );
        }
    }
    let svg = chart.transparent().to_svg().unwrap();
    assert!(!svg.contains("<rect"));
}

#[test]
fn selected_topics_keep_their_numbers_and_colours() {
    let l = proportions(200, 6, 0.3);
    let palette = topicbook::palette(6);
    let colours = |svg: &str| -> Vec<String> {
        let shown = palette
            .iter()
            .filter(|colour| svg.contains(&colour.to_uppercase()));
        shown.cloned().collect()
    };
    let expected = [palette[2].clone(), palette[5].clone()];
    let by_matrix = Chart::structure(&l.select_columns([2, 5]).unwrap());
    let by_chart = Chart::structure(&l).topics([2, 5]);
    for chart in [by_matrix, by_chart] {
        let svg = chart.to_svg().unwrap();
        assert!(svg.contains("Topic 2") && svg.contains("Topic 5") && !svg.contains("Topic 1"));
        assert_eq!(colours(&svg), expected);
    }
    let f = proportions(6, 30, 0.3);
    let by_matrix = Chart::top_terms(&f.select_rows([2, 5]).unwrap(), None, 4);
    let by_chart = Chart::top_terms(&f, None, 4).topics([2, 5]);
    assert_eq!(by_matrix.to_svg().unwrap(), by_chart.to_svg().unwrap());
    assert_eq!(colours(&by_chart.to_svg().unwrap()), expected);
}

#[test]
fn descriptions_say_what_is_drawn() {
    let described = |chart: Chart| format!("{chart:?}");
    let table = [
        (
            described(
                Chart::lines([("a", [1.0, 2.5])])
                    .x_label("epoch")
                    .y_label("loss"),
            ),
            "1 line of loss over epoch: a: 2 values from 1 to 2.5, last 2.5",
        ),
        (
            described(Chart::bars([("a", 3), ("b", 4)]).title("Sizes")),
            "Sizes: 2 bars: a 3, b 4",
        ),
        (
            described(Chart::scatter([1, 2, 3], [2, 4, 6]).x_label("length")),
            "3 points, length from 1 to 3, y from 2 to 6, correlation 1.00",
        ),
        (
            described(
                Chart::histogram([1, 2, 9])
                    .x_label("tokens")
                    .y_label("documents"),
            ),
            "Histogram: histogram of tokens: 3 documents, from 1 to 9",
        ),
        (
            described(Chart::heatmap([[1.0, -0.5]])),
            "heat map of 1 row x 2 columns, values from -0.5 to 1",
        ),
        (
            described(Chart::structure(&proportions(9, 4, 1.0)).topics([3])),
            "Structure plot: topic proportions of 9 documents: Topic 3, other topics",
        ),
    ];
    for (found, expected) in table {
        assert_eq!(found, expected);
    }
    let svg = Chart::lines([1, 2]).to_svg().unwrap();
    assert!(svg.contains("aria-label=\"1 line: 2 values from 1 to 2, last 2\""));
}

#[test]
fn a_composition_is_dark_if_a_chart_in_it_is() {
    let line = || Chart::lines([1, 2, 3]);
    let pair = side_by_side([line(), line().dark()]);
    assert!(pair.to_svg().unwrap().contains("#111111"));
    let (_, height, _) = decode(
        &side_by_side([line(), line().size(900, 700)])
            .to_png()
            .unwrap(),
    );
    assert!((1200..1300).contains(&height), "{height}");
}

#[test]
fn a_million_values_make_a_small_picture() {
    let values: Vec<f64> = (0..1_000_000)
        .map(|i| (f64::from(i) * 0.01).sin())
        .collect();
    for chart in [
        Chart::lines(&values),
        Chart::scatter(&values, &values),
        Chart::heatmap(values.chunks(1_000)),
        Chart::histogram(&values),
    ] {
        assert!(chart.to_png().unwrap().len() < 500_000, "{chart:?}");
    }
}
