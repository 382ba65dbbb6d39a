//! PNG encoding with at most 256 colours, which keeps files small: at most one byte per pixel before compression.

use std::collections::HashMap;

use png::{
    BitDepth, ColorType, Compression, Encoder, EncodingError, Filter, PixelDimensions, Unit,
};

use crate::error::{Error, Result};

use super::palette::Rgb;

/// Encodes RGB pixels, given row by row, as a PNG file with a palette.
///
/// Charts consist of flat colours and the antialiased edges of text and lines. Of more than 256 colours, the 256 most frequent
/// are kept exactly. The others, nearly all of them edges, are replaced by the nearest of these.
pub fn encode(rgb: &[u8], size: (u32, u32), dpi: Option<f64>) -> Result<Vec<u8>> {
    let (width, _) = size;
    let (pixels, _) = rgb.as_chunks::<3>();
    let mut frequency: HashMap<Rgb, usize> = HashMap::new();
    // Per run of equal pixels: thousands of look-ups instead of millions.
    for run in pixels.chunk_by(|a, b| a == b) {
        *frequency.entry(run[0]).or_default() += run.len();
    }
    let mut colours: Vec<(Rgb, usize)> = frequency.into_iter().collect();
    colours.sort_unstable_by_key(|&(colour, pixels)| (std::cmp::Reverse(pixels), colour));
    let palette: Vec<Rgb> = colours
        .iter()
        .take(256)
        .map(|&(colour, _)| colour)
        .collect();
    let index_of: HashMap<Rgb, u8> = colours
        .iter()
        .map(|&(colour, _)| (colour, nearest(&palette, colour)))
        .collect();

    let mut indices = Vec::with_capacity(pixels.len());
    for run in pixels.chunk_by(|a, b| a == b) {
        indices.resize(indices.len() + run.len(), index_of[&run[0]]);
    }
    let depth = match palette.len() {
        ..=2 => BitDepth::One,
        3..=4 => BitDepth::Two,
        5..=16 => BitDepth::Four,
        _ => BitDepth::Eight,
    };
    let packed = pack(&indices, width, depth);

    write(&packed, size, dpi, |encoder| {
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(depth);
        encoder.set_palette(palette.concat());
    })
}

/// Writes a file of packed pixels.
fn write(
    packed: &[u8],
    (width, height): (u32, u32),
    dpi: Option<f64>,
    set_colours: impl FnOnce(&mut Encoder<'_, &mut Vec<u8>>),
) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    set_colours(&mut encoder);
    encoder.set_compression(Compression::High);
    // PNG filters store differences of neighbours, which do not help with palette indices.
    encoder.set_filter(Filter::NoFilter);
    encoder.set_pixel_dims(dpi.map(|dpi| {
        let per_metre = (dpi / 0.0254).round() as u32;
        PixelDimensions {
            xppu: per_metre,
            yppu: per_metre,
            unit: Unit::Meter,
        }
    }));
    let mut writer = encoder.write_header().map_err(not_encoded)?;
    writer.write_image_data(packed).map_err(not_encoded)?;
    writer.finish().map_err(not_encoded)?;
    Ok(file)
}

/// Encodes a picture without its background as a PNG file, from the same drawing on white and on black. Opaque pixels are
/// equal on both, and pixels without drawing differ by 255.
pub fn encode_transparent(
    on_white: &[u8],
    on_black: &[u8],
    size: (u32, u32),
    dpi: Option<f64>,
) -> Result<Vec<u8>> {
    write(&transparent(on_white, on_black), size, dpi, |encoder| {
        encoder.set_color(ColorType::Rgba);
        encoder.set_depth(BitDepth::Eight);
    })
}

/// Red, green, blue and opacity of each pixel.
fn transparent(on_white: &[u8], on_black: &[u8]) -> Vec<u8> {
    let (white, _) = on_white.as_chunks::<3>();
    let (black, _) = on_black.as_chunks::<3>();
    let pairs = white.iter().zip(black);
    pairs
        .flat_map(|(white, black)| {
            let differences = white.iter().zip(black).map(|(w, b)| w.saturating_sub(*b));
            let opacity = 255 - differences.min().unwrap_or(0);
            let part = u32::from(opacity.max(1));
            let [r, g, b] = black.map(|c| (u32::from(c) * 255 / part).min(255) as u8);
            [r, g, b, opacity]
        })
        .collect()
}

/// Packs several indices into a byte, the first in the highest bits. Each row begins a new byte.
fn pack(indices: &[u8], width: u32, depth: BitDepth) -> Vec<u8> {
    let bits = depth as usize;
    let rows = indices.chunks(width.max(1) as usize);
    let bytes = rows.flat_map(|row| row.chunks(8 / bits));
    bytes
        .map(|group| {
            let parts = group.iter().enumerate();
            parts.fold(0, |byte, (slot, index)| {
                byte | index << (8 - bits * (slot + 1))
            })
        })
        .collect()
}

/// The index of the palette's colour with the least squared distance in RGB.
fn nearest(palette: &[Rgb], colour: Rgb) -> u8 {
    let distance = |other: &Rgb| -> u32 {
        let parts = other.iter().zip(colour);
        parts.map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    let nearest = palette
        .iter()
        .enumerate()
        .min_by_key(|(_, other)| distance(other));
    nearest.map_or(0, |(index, _)| index as u8)
}

fn not_encoded(error: EncodingError) -> Error {
    Error::drawing(format!("cannot encode the picture: {error}"))
        .fix("this is a bug in topicbook: please report it")
        .because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(file: &[u8]) -> Vec<u8> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        pixels.truncate(frame.buffer_size());
        pixels
    }

    #[test]
    fn up_to_256_colours_are_exact_at_every_bit_depth() {
        for colours in [1u32, 2, 3, 4, 5, 16, 17, 256] {
            let (width, height) = (37, 29);
            let rgb: Vec<u8> = (0..width * height)
                .flat_map(|i| {
                    let c = (i % colours) as u8;
                    [c, c.wrapping_mul(7), 255 - c]
                })
                .collect();
            let file = encode(&rgb, (width, height), None).unwrap();
            assert_eq!(decode(&file), rgb, "{colours} colours");
        }
    }

    #[test]
    fn frequent_colours_are_exact_among_many() {
        let flat = [66, 105, 208];
        let rgb: Vec<u8> = (0..64 * 64u32)
            .flat_map(|i| match i % 2 {
                0 => flat,
                _ => [(i % 251) as u8, (i / 251) as u8, 0],
            })
            .collect();
        let decoded = decode(&encode(&rgb, (64, 64), None).unwrap());
        let exact = decoded.chunks(3).filter(|pixel| *pixel == flat).count();
        assert_eq!(exact, 64 * 32);
    }

    #[test]
    fn opacity_is_found_from_two_drawings() {
        // An opaque pixel, an empty pixel, and one half covered by red.
        let on_white = [9, 8, 7, 255, 255, 255, 255, 127, 127];
        let on_black = [9, 8, 7, 0, 0, 0, 128, 0, 0];
        let expected = [9, 8, 7, 255, 0, 0, 0, 0, 255, 0, 0, 128];
        assert_eq!(transparent(&on_white, &on_black), expected);
    }
}
