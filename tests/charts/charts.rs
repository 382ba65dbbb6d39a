//! Charts: size, margins, titles, composition, texts, files, and what a notebook cell receives.

use base64::Engine;
use testkit::{one_test, passed, refused};
use topicbook::{Chart, ErrorKind, Matrix, Terms, side_by_side, stack};

use crate::pictures::{assert_well_formed, decode, proportions};

#[test]
fn names_are_escaped_and_shortened() {
    let f = Matrix::new(1, 4, vec![0.4, 0.3, 0.2, 0.1]).unwrap();
    let long = "Donaudampfschifffahrtsgesellschaftskapitänspatent".repeat(9);
    let terms = ["<b>&\"'", long.as_str(), "\u{1F600}", "\u{200b}"];
    let terms = Terms::new(terms).unwrap();
    let chart = Chart::top_terms(&f, Some(&terms), 4).title("</svg> & co");
    let svg = chart.to_svg().unwrap();
    assert_well_formed(&svg);
    assert!(svg.contains("&lt;b&gt;&amp;&quot;&#39;"));
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
    let positions: Vec<usize> = [">27<", ">54<", ">81<"]
        .map(|term| svg.find(term).unwrap_or_else(|| panic!("{term} in {svg}")))
        .to_vec();
    assert!(positions.is_sorted());
}

#[test]
fn png_and_svg_have_the_same_size_and_a_white_margin() {
    let l = proportions(50, 3, 1.0);
    for chart in [
        Chart::structure(&l),
        Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]).title("Fit"),
        Chart::histogram([1.0, 2.0, 3.0]),
    ] {
        let (width, height, pixels) = decode(&chart.to_png().unwrap());
        assert_eq!(pixels.len(), width * height);
        let svg = chart.to_svg().unwrap();
        assert!(svg.contains(&format!("viewBox=\"0 0 {width} {height}\"")));
        let shown = format!("<svg width=\"{}\"", (width as f64 * 900.0 / 1600.0).round());
        assert!(svg.starts_with(&shown), "{}", &svg[..80]);
        // The white margin keeps the chart legible on a dark page.
        let is_white = |row: usize| {
            pixels[row * width..(row + 1) * width]
                .iter()
                .all(|p| *p == [255; 3])
        };
        assert!((0..10).all(is_white) && (height - 10..height).all(is_white));
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
    // Two or three charts fit in one line, four take two.
    assert!(height(&side_by_side([structure(), structure()])) < one + 200);
    assert!(height(&side_by_side([structure(), structure(), structure()])) < one + 400);
    let four = height(&side_by_side((0..4).map(|_| structure())));
    assert!(four > one + 400 && four < 2 * one + 400);
    assert!(height(&stack([structure(), structure()])) > 2 * one - 100);

    let mut nested = structure();
    for level in 0..12 {
        nested = match level % 2 {
            0 => side_by_side([nested, Chart::histogram([1.0, 2.0])]),
            _ => stack([nested]).title(format!("Level {level}")),
        };
    }
    assert_well_formed(&nested.to_svg().unwrap());
    assert_eq!(decode(&nested.to_png().unwrap()).0, 1600);
}

#[test]
fn a_title_can_be_changed_and_removed() {
    let chart = Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]);
    let titled = chart.clone().title("My fit").to_svg().unwrap();
    assert!(titled.contains("My fit") && !titled.contains("Loss curve"));
    assert!(chart.to_svg().unwrap().contains("Loss curve"));
    let untitled = chart.clone().title("");
    assert!(!untitled.to_svg().unwrap().contains("Loss curve"));
    assert!(decode(&untitled.to_png().unwrap()).1 < decode(&chart.to_png().unwrap()).1);
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

/// Prints what evcxr would receive.
#[test]
#[ignore = "started by the next test, in a process of its own"]
fn show_in_cell() {
    Chart::loss(&[3.0, 2.0], &[-3.0, -2.0]).evcxr_display();
}

#[test]
fn a_cell_receives_a_png_and_a_text() {
    let output = passed(one_test("charts::show_in_cell").output());
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
fn the_second_panel_names_the_epoch_from_which_it_is_scaled() {
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
fn files_are_written_completely_or_not_at_all() {
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
    refused! {
        bad.save_png(&png) => Drawing;
        bad.save_svg(&svg) => Drawing;
        good.save_png(folder.path().join("no/such/folder/a.png")) => Io;
        good.save_png(folder.path()) => Io;
        good.save_png("") => Io;
    }
    assert_eq!(std::fs::read(&png).unwrap(), good.to_png().unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
