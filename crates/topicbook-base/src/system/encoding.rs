//! Encodings of text: UTF-8, UTF-16 with a byte order mark, and Windows-1252, which is Latin-1 with quotation marks and dashes.
//!
//! Bytes do not say their encoding. A text is Windows-1252 if its first character beyond ASCII is not UTF-8, and all of them
//! are as in Western European words: letters such as `é`, few in a row, and signs between words. Windows-1250 (Polish, Czech),
//! Mac Roman, or the encodings of Russian, Greek, Chinese and Japanese give other letters and signs within words, so that a text
//! of a few sentences in them is refused.

use std::fmt;
use std::path::Path;

use crate::error::Error;
use crate::text::{occurrences, shown_path};

/// The encoding of the text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Encoding {
    /// There has been no other character.
    #[default]
    Ascii,
    Utf8,
    Utf16Little,
    Utf16Big,
    Windows1252,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ascii | Self::Utf8 => "UTF-8",
            Self::Utf16Little | Self::Utf16Big => "UTF-16",
            Self::Windows1252 => "Windows-1252",
        })
    }
}

/// Bytes that are not a text in one of the encodings.
pub(super) struct NotText {
    line: u64,
    byte: u8,
    /// What it may be, for iconv.
    likely: &'static str,
}

impl NotText {
    pub(super) fn in_file(&self, path: &Path) -> Error {
        let (shown, likely) = (shown_path(path), self.likely);
        Error::format(path, "is not UTF-8 text, and not Windows-1252")
            .at(format!("byte {:02x} (hexadecimal), in line {}", self.byte, self.line))
            .fix(format!(
                "convert it: iconv -f {likely} -t UTF-8 {shown:?} > new.txt; if the letters are wrong then, take another name \
                 of iconv -l, such as WINDOWS-1250 (Polish, Czech), WINDOWS-1251 (Russian), MACINTOSH or GB18030"
            ))
    }
}

/// Most letters beyond ASCII in a row: Estonian has `jäääär`.
const MOST_LETTERS: u32 = 4;
/// The characters of the bytes 80 to 9F; NUL where there is none.
const SIGNS: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘',
    '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Takes a text piece by piece.
#[derive(Default)]
pub(super) struct Decoder {
    pub(super) encoding: Encoding,
    started: bool,
    lines: u64,
    /// In Windows-1252: the last bytes, whether they are letters, and how many letters beyond ASCII are in a row.
    last: u8,
    before: u8,
    letters: u32,
}

impl Decoder {
    /// Appends the text of `raw` to `text`, which is empty; leaves bytes in `raw` whose character has not ended.
    pub(super) fn decode(
        &mut self,
        raw: &mut Vec<u8>,
        text: &mut Vec<u8>,
        ended: bool,
    ) -> Result<(), NotText> {
        if !std::mem::replace(&mut self.started, true) {
            self.start(raw)?;
        }
        if self.encoding == Encoding::Ascii {
            match raw.iter().position(|byte| !byte.is_ascii()) {
                None => self.lines += occurrences(raw, b'\n'),
                Some(at) => match std::str::from_utf8(&raw[at..]) {
                    Ok(_) => self.encoding = Encoding::Utf8,
                    Err(wrong) if wrong.valid_up_to() > 0 => self.encoding = Encoding::Utf8,
                    Err(wrong) if wrong.error_len().is_none() && !ended => {
                        text.extend_from_slice(&raw[..at]);
                        self.lines += occurrences(text, b'\n');
                        raw.drain(..at);
                        return Ok(());
                    }
                    // A character that the end of the file cuts.
                    Err(wrong) if wrong.error_len().is_none() && raw.len() - at > 1 => {
                        self.encoding = Encoding::Utf8;
                    }
                    Err(_) => self.encoding = Encoding::Windows1252,
                },
            }
        }
        match self.encoding {
            Encoding::Ascii | Encoding::Utf8 => std::mem::swap(raw, text),
            Encoding::Utf16Little | Encoding::Utf16Big => return self.utf16(raw, text, ended),
            Encoding::Windows1252 => {
                text.reserve(raw.len() + raw.len() / 8);
                for &byte in raw.iter() {
                    self.western(byte, text)?;
                }
            }
        }
        raw.clear();
        Ok(())
    }

    /// Takes the byte order mark away.
    fn start(&mut self, raw: &mut Vec<u8>) -> Result<(), NotText> {
        let (encoding, mark) = match raw.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [0xff, 0xfe, ..] => (Encoding::Utf16Little, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16Big, 2),
            [0, 1..=255, 0, 1..=255, ..] => return Err(self.wrong(0, "UTF-16BE")),
            [1..=255, 0, 1..=255, 0, ..] => return Err(self.wrong(0, "UTF-16LE")),
            _ => return Ok(()),
        };
        self.encoding = encoding;
        raw.drain(..mark);
        Ok(())
    }

    fn wrong(&self, byte: u8, likely: &'static str) -> NotText {
        NotText {
            line: self.lines + 1,
            byte,
            likely,
        }
    }

    fn utf16(&mut self, raw: &mut Vec<u8>, text: &mut Vec<u8>, ended: bool) -> Result<(), NotText> {
        let unit = |pair: &[u8]| match self.encoding {
            Encoding::Utf16Big => u16::from_be_bytes([pair[0], pair[1]]),
            _ => u16::from_le_bytes([pair[0], pair[1]]),
        };
        let mut units: Vec<u16> = raw.chunks_exact(2).map(unit).collect();
        // The second half of a character is in the next piece.
        let is_cut = units
            .last()
            .is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        if is_cut && !ended {
            units.pop();
        }
        let mut whole = String::with_capacity(units.len());
        for found in char::decode_utf16(units.iter().copied()) {
            match found {
                Ok(character) => whole.push(character),
                Err(half) => {
                    self.lines += occurrences(whole.as_bytes(), b'\n');
                    return Err(self.wrong((half.unpaired_surrogate() >> 8) as u8, "UTF-16"));
                }
            }
        }
        self.lines += occurrences(whole.as_bytes(), b'\n');
        text.append(&mut whole.into_bytes());
        raw.drain(..units.len() * 2);
        match ended && !raw.is_empty() {
            true => Err(self.wrong(raw[0], "UTF-16")),
            false => Ok(()),
        }
    }

    /// Appends the character of a byte of Windows-1252.
    fn western(&mut self, byte: u8, text: &mut Vec<u8>) -> Result<(), NotText> {
        let is_letter = |byte: u8| {
            byte.is_ascii_alphabetic()
                || matches!(byte, 0x8c | 0x9c | 0x9f | 0xc0..=0xff) && !matches!(byte, 0xd7 | 0xf7)
        };
        self.lines += u64::from(byte == b'\n');
        // A sign that stands between two letters in a word of another encoding.
        let is_inside = |sign: u8| matches!(sign, 0x80..=0x84 | 0x86..=0x8b | 0x98 | 0x99 | 0xa1..=0xa9 | 0xac | 0xae..=0xb3 | 0xb5 | 0xb6 | 0xb8..=0xba | 0xbc..=0xbf | 0xd7 | 0xf7);
        if is_inside(self.last) && is_letter(self.before) && is_letter(byte) {
            let likely = match self.last < 0xa0 {
                true => "MACINTOSH",
                false => "WINDOWS-1250",
            };
            return Err(self.wrong(self.last, likely));
        }
        let likely = match byte {
            0x8a | 0x8e | 0x9a | 0x9d | 0x9e | 0x8d | 0x8f => Some("WINDOWS-1250"),
            0x81 | 0x90 => Some("GB18030"),
            // Icelandic, or Turkish.
            0xd0 | 0xdd | 0xde | 0xf0 | 0xfd | 0xfe => Some("WINDOWS-1254"),
            0xff => Some("WINDOWS-1251"),
            _ => None,
        };
        if let Some(likely) = likely {
            return Err(self.wrong(byte, likely));
        }
        self.letters = match is_letter(byte) && !byte.is_ascii() {
            true => self.letters + 1,
            false => 0,
        };
        if self.letters > MOST_LETTERS {
            return Err(self.wrong(byte, "WINDOWS-1251"));
        }
        (self.before, self.last) = (self.last, byte);
        let character = match byte {
            0x80..=0x9f => SIGNS[usize::from(byte - 0x80)],
            _ => char::from(byte),
        };
        let mut utf8 = [0; 4];
        text.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text and the encoding of bytes that come in pieces of `piece` bytes; the likely encoding where they are refused.
    fn read(bytes: &[u8], piece: usize) -> Result<(String, Encoding), &'static str> {
        let (mut decoder, mut raw, mut all) = (Decoder::default(), Vec::new(), Vec::new());
        let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
        for (at, piece) in pieces.iter().enumerate() {
            raw.extend_from_slice(piece);
            let mut text = Vec::new();
            let decoded = decoder.decode(&mut raw, &mut text, at + 1 == pieces.len());
            decoded.map_err(|wrong| wrong.likely)?;
            all.extend(text);
        }
        Ok((String::from_utf8(all).unwrap(), decoder.encoding))
    }

    #[test]
    fn texts_are_read_in_pieces_of_any_size() {
        let utf16 = |text: &str, mark: &[u8], of: fn(u16) -> [u8; 2]| {
            let units = text.encode_utf16().flat_map(of);
            mark.iter().copied().chain(units).collect::<Vec<u8>>()
        };
        let text = "a,b\nGrün,🦀\n";
        for (bytes, expected, encoding) in [
            (b"plain\n".to_vec(), "plain\n", Encoding::Ascii),
            (text.into(), text, Encoding::Utf8),
            (
                [b"\xef\xbb\xbf", text.as_bytes()].concat(),
                text,
                Encoding::Utf8,
            ),
            (
                utf16(text, b"\xff\xfe", u16::to_le_bytes),
                text,
                Encoding::Utf16Little,
            ),
            (
                utf16(text, b"\xfe\xff", u16::to_be_bytes),
                text,
                Encoding::Utf16Big,
            ),
            (
                b"Fl\xe9au \x96 l\x92\xe9t\xe9, \x80 5, 3 m\xb2, \x9cuvre".to_vec(),
                "Fléau – l’été, € 5, 3 m², œuvre",
                Encoding::Windows1252,
            ),
            (
                b"Gr\xfc\xdfe, j\xe4\xe4\xe4\xe4r\n".to_vec(),
                "Grüße, jääääer\n".replace("äer", "är").leak(),
                Encoding::Windows1252,
            ),
        ] {
            for piece in [4, 5, 7, 1000] {
                assert_eq!(
                    read(&bytes, piece),
                    Ok((expected.into(), encoding)),
                    "{piece}"
                );
            }
        }
    }

    #[test]
    fn texts_of_other_encodings_are_refused() {
        for (bytes, likely) in [
            // Polish "był", Czech "věž", Russian "слово" and Mac Roman "café au".
            (&b"zosta\xb3a by\xb3"[..], "WINDOWS-1250"),
            (b"v\xec\x9e.", "WINDOWS-1250"),
            (b"\xf1\xeb\xee\xe2\xee\xf1\xf2\xfc", "WINDOWS-1251"),
            (b"caf\x8e au", "WINDOWS-1250"),
            (b"d\x87j\x88", "MACINTOSH"),
            (b"a\0b\0", "UTF-16LE"),
            (b"\0a\0b", "UTF-16BE"),
            (b"\xff\xfea", "UTF-16"),
            (b"\x81\x41", "GB18030"),
        ] {
            assert_eq!(read(bytes, 1000), Err(likely), "{bytes:?}");
        }
    }
}
