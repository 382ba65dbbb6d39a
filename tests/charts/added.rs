//! What is added to charts of people's own numbers: groups, colours, error bars, lines, dates, and sharper or vector files.

use topicbook::{Chart, ErrorKind, Matrix};

use crate::pictures::{assert_well_formed, decode, proportions};

/// The attributes of the elements of an SVG with this name that have all these words.
fn elements<'a>(svg: &'a str, name: &str, words: &[&str]) -> Vec<&'a str> {
    let begin = format!("<{name} ");
    svg.lines()
        .filter(|line| line.starts_with(&begin) && words.iter().all(|word| line.contains(word)))
        .collect()
}

/// The numbers of an attribute.
fn numbers(element: &str, attribute: &str) -> Vec<f64> {
    let value = element.split(&format!(" {attribute}=\"")).nth(1);
    let value = value.and_then(|rest| rest.split('"').next()).unwrap();
    let numbers = value.split([' ', ',']).map(|number| number.parse());
    numbers.collect::<Result<_, _>>().unwrap()
}

/// The texts along the axes, and all others.
fn texts(svg: &str) -> Vec<&str> {
    let texts = svg.lines().filter(|line| line.starts_with("<text "));
    texts
        .filter_map(|line| line.split('>').nth(1)?.split('<').next())
        .collect()
}

#[test]
fn groups_of_points_have_colours_a_legend_and_lines() {
    let (x, y) = ([1, 2, 3, 1, 2, 3], [2.0, 4.0, 6.0, 3.0, 2.0, 1.0]);
    let chart = Chart::scatter(x, y).by(["b", "b", "b", "a", "a", "a"]);
    let svg = chart
        .clone()
        .colors(["#1b9e77", "#7570b3"])
        .to_svg()
        .unwrap();
    for colour in ["#1B9E77", "#7570B3"] {
        assert_eq!(elements(&svg, "circle", &[colour]).len(), 3, "{svg}");
        assert_eq!(elements(&svg, "rect", &[colour]).len(), 1, "legend");
    }
    let described = format!("{:?}", chart.fit_line());
    for part in [
        "in the colours of 2 groups",
        "line of b: slope 2",
        "line of a: slope -1",
    ] {
        assert!(described.contains(part), "{described}");
    }
    // Without a label, points are grey and in the legend too; a missing coordinate is no point.
    let chart = Chart::scatter([Some(1.0), Some(2.0), None, Some(4.0)], [1, 2, 3, 4]);
    let svg = chart.by(["a", "b", "a", ""]).to_svg().unwrap();
    assert_eq!(elements(&svg, "circle", &[]).len(), 3);
    assert!(texts(&svg).contains(&"no label"));
}

#[test]
fn dots_upon_each_other_are_more_opaque() {
    let svg = Chart::scatter([1, 1, 2], [3, 3, 4]).opacity(0.3).to_svg();
    let svg = svg.unwrap();
    assert_eq!(elements(&svg, "circle", &["fill-opacity=\"0.3\""]).len(), 1);
    assert_eq!(
        elements(&svg, "circle", &["fill-opacity=\"0.51\""]).len(),
        1
    );
}

#[test]
fn a_fit_line_goes_through_points_on_a_line() {
    for chart in [
        Chart::scatter([1.0, 2.0, 4.0], [3.0, 5.0, 9.0]),
        Chart::scatter([1.0, 10.0, 100.0], [5.0, 50.0, 500.0])
            .log_x()
            .log_y(),
        Chart::scatter(["2024-01-01", "2024-01-02", "2024-01-05"], [3.0, 5.0, 11.0]),
    ] {
        let svg = chart.fit_line().to_svg().unwrap();
        let dots = elements(&svg, "circle", &[]);
        let ends = |at: usize| [numbers(dots[at], "cx")[0], numbers(dots[at], "cy")[0]];
        let line = elements(&svg, "polyline", &["stroke-width=\"4\""]);
        assert_eq!(
            numbers(line[0], "points"),
            [ends(0), ends(2)].concat(),
            "{svg}"
        );
    }
}

#[test]
fn error_bars_go_from_their_lower_to_their_upper_end() {
    let (lower, upper) = ([1.0, f64::NAN], [4.0, 6.0]);
    for chart in [
        Chart::bars([("a", 2.0), ("b", 5.0)]),
        Chart::bars([("a", 2.0), ("b", 5.0)]).horizontal(),
        Chart::scatter([0, 1], [2.0, 5.0]),
    ] {
        let svg = chart.error_bars(lower, upper).to_svg().unwrap();
        let lines = elements(&svg, "polyline", &["stroke-width=\"3\""]);
        // The second value has no lower end. The first has a bar and two caps.
        assert_eq!(lines.len(), 3, "{svg}");
        let points = numbers(lines[0], "points");
        let along = [points[2] - points[0], points[3] - points[1]];
        assert!(along.contains(&0.0) && along != [0.0; 2], "{svg}");
    }
    // A bar of 2, with an error bar of half that length on both sides.
    let svg = Chart::bars([2.0])
        .error_bars([1.0], [3.0])
        .to_svg()
        .unwrap();
    let bar = numbers(elements(&svg, "rect", &["#4269D0"])[0], "height")[0];
    let error = numbers(
        elements(&svg, "polyline", &["stroke-width=\"3\""])[0],
        "points",
    );
    assert!((bar - (error[3] - error[1]).abs()).abs() <= 2.0, "{svg}");
}

#[test]
fn dates_have_the_distances_of_the_calendar() {
    let chart = Chart::lines([1.0, 2.0, 3.0]).x(["2023-01-01", "2023-01-31", "2023-04-01"]);
    let svg = chart.clone().to_svg().unwrap();
    let dots = elements(&svg, "circle", &[]);
    let at: Vec<f64> = dots.iter().map(|dot| numbers(dot, "cx")[0]).collect();
    assert!(
        (3.0 * (at[1] - at[0]) - (at[2] - at[0])).abs() <= 2.0,
        "{at:?}"
    );
    assert!(texts(&svg).contains(&"2023-02-15"), "{:?}", texts(&svg));
    // A text that is no date makes names of all.
    let names = chart.x(["2023-01-01", "2023-01-31", "later"]);
    assert!(texts(&names.to_svg().unwrap()).contains(&"later"));
    let years = Chart::scatter([1987, 1990, 2001], [1, 2, 3])
        .to_svg()
        .unwrap();
    assert!(texts(&years).contains(&"1990"), "{:?}", texts(&years));
}

#[test]
fn whole_numbers_have_whole_ticks() {
    for chart in [
        Chart::scatter([1, 2, 3], [5, 5, 6]),
        Chart::lines([1, 2, 3]),
        Chart::bars([1, 2]),
        Chart::histogram([1, 2, 2, 3]),
        Chart::box_plot([1, 2, 3]),
    ] {
        let svg = chart.to_svg().unwrap();
        let numbers = texts(&svg)
            .into_iter()
            .filter(|text| text.parse::<f64>().is_ok());
        assert!(numbers.clone().count() >= 3, "{svg}");
        for number in numbers {
            assert!(!number.contains('.'), "{number}: {svg}");
        }
    }
    let halves = Chart::scatter([1.5, 2.0], [5, 6]).to_svg().unwrap();
    assert!(texts(&halves).contains(&"1.50"), "{halves}");
}

#[test]
fn an_empty_label_is_a_label() {
    let chart = Chart::bars([("", 1.0), ("b", 2.0)]);
    assert_eq!(format!("{chart:?}"), "2 bars:  1, b 2");
    let named = Chart::bars([1.0, 2.0]).x(["", "b"]);
    assert_eq!(chart.to_svg().unwrap(), named.to_svg().unwrap());
}

#[test]
fn a_histogram_has_the_bins_that_are_asked_for() {
    for bins in [1, 7, 30] {
        let chart = Chart::histogram((0..3_000).map(|i| f64::from(i) / 7.0)).bins(bins);
        let svg = chart.to_svg().unwrap();
        assert_eq!(elements(&svg, "rect", &["#4269D0"]).len(), bins);
    }
}

#[test]
fn own_colours_are_those_of_topics_too() {
    let l = proportions(60, 3, 0.5);
    let f = proportions(3, 8, 0.5);
    for chart in [
        Chart::structure(&l),
        Chart::top_terms(&f, None, 3),
        Chart::bars([("a", [1, 2]), ("b", [2, 3]), ("c", [2, 3])]),
    ] {
        let svg = chart.colors(["#1b9e77", "Teal"]).to_svg().unwrap();
        // The third has the first colour again.
        assert!(svg.contains("#1B9E77") && svg.contains("#008080") && !svg.contains("#3CA951"));
    }
}

#[test]
fn boxes_are_drawn_for_each_group_or_label() {
    let values = [1, 2, 3, 4, 40, 2, 3, 4, 5, 6];
    let labels = ["x", "x", "x", "x", "x", "y", "y", "y", "y", "y"];
    let by = Chart::box_plot(values).by(labels);
    let series = Chart::box_plot([("x", &values[..5]), ("y", &values[5..])]);
    assert_eq!(by.to_svg().unwrap(), series.to_svg().unwrap());
    assert_eq!(
        format!("{by:?}"),
        "2 boxes: x: median 3, quartiles 2 and 4; y: median 4, quartiles 3 and 5"
    );
    // One value is farther than 1.5 times the height of its box.
    assert_eq!(elements(&by.to_svg().unwrap(), "circle", &[]).len(), 1);
    assert!(by.clone().horizontal().to_svg().unwrap() != by.to_svg().unwrap());
}

#[test]
fn a_sharper_png_has_more_pixels_and_states_its_resolution() {
    let chart = Chart::lines([9.0, 7.0, 6.0]).size(480, 288);
    let (width, height, _) = decode(&chart.clone().dpi(300).to_png().unwrap());
    assert_eq!((width, height), (1_500, 900));
    let png = chart.clone().dpi(300).to_png().unwrap();
    let decoder = png::Decoder::new(std::io::Cursor::new(&png));
    let reader = decoder.read_info().unwrap();
    assert_eq!(reader.info().pixel_dims.unwrap().xppu, 11_811);
    // Below a cell, on a page and in a composition.
    assert_eq!(chart.clone().dpi(300).css_size().unwrap(), (480, 288));
    assert_eq!(
        chart.clone().dpi(96).to_svg().unwrap(),
        chart.to_svg().unwrap()
    );
    let pair = topicbook::stack([chart.clone().dpi(192), chart]);
    assert_eq!(decode(&pair.to_png().unwrap()).0, 1_800);
    let wide = Chart::lines([1, 2]).size(17_000, 400).dpi(300);
    testkit::refused! { wide.to_png() => Drawing, "pixels wide"; }
}

#[test]
fn a_page_of_pdf_has_the_size_of_the_picture() {
    let l = Matrix::new(2, 12, [0.05; 24].to_vec()).unwrap();
    let charts = [
        Chart::structure(&l).title("Topics 海 <&>"),
        Chart::scatter([1, 1, 2], [3, 3, 4]).opacity(0.3).dark(),
    ];
    for chart in charts {
        let pdf = chart.size(480, 360).to_pdf().unwrap();
        let head = String::from_utf8_lossy(&pdf);
        assert!(head.starts_with("%PDF-1.4") && head.ends_with("%%EOF\n"));
        assert!(
            head.contains("/MediaBox [0 0 360.000 270.000]"),
            "{head:.400}"
        );
        // The table at the end has the place of each object.
        let table: usize = head
            .rsplit("startxref\n")
            .next()
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(pdf[table..].starts_with(b"xref\n0 6\n"));
        let rows = std::str::from_utf8(&pdf[table..])
            .unwrap()
            .lines()
            .skip(3)
            .take(5);
        for (index, row) in rows.enumerate() {
            let place: usize = row[..10].parse().unwrap();
            let object = format!("{} 0 obj\n", index + 1);
            assert!(pdf[place..].starts_with(object.as_bytes()), "{object}");
        }
    }
    assert_well_formed(
        &Chart::scatter([1, 2], [3, 4])
            .opacity(0.5)
            .to_svg()
            .unwrap(),
    );
}
