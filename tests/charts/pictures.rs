//! Random matrices to draw, and checks of the pictures.

use std::io::Cursor;

use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_xoshiro::Xoshiro256PlusPlus;
use topicbook::Matrix;

/// A matrix of proportions, with rows from a Dirichlet distribution.
pub fn proportions(documents: usize, topics: usize, concentration: f64) -> Matrix {
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
pub fn decode(png: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut buffer).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    let pixels = buffer[..frame.buffer_size()].as_chunks::<3>().0.to_vec();
    (frame.width as usize, frame.height as usize, pixels)
}

/// Asserts that tags are closed in order, attributes are quoted, and each ampersand begins an entity.
pub fn assert_well_formed(xml: &str) {
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
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        assert!(
            entities
                .iter()
                .any(|entity| text[position..].starts_with(entity)),
            "{text}"
        );
    }
}
