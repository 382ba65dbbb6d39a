//! Encodings of text: UTF-16 with a byte order mark, any that is stated, or else UTF-8 and Windows-1252, which is Latin-1
//! with quotation marks and dashes.
//!
//! Bytes do not say their encoding. A text is Windows-1252 if its first character beyond ASCII is not UTF-8, and all of them
//! are as in Western European words: letters such as `é`, few in a row, and signs between words. Windows-1250 (Polish, Czech),
//! Mac Roman, or the encodings of Russian, Greek, Chinese and Japanese give other letters and signs within words, so that a text
//! of a few sentences in them is refused.

use std::fmt;
use std::path::Path;

use encoding_rs::{DecoderResult, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::error::Error;
use crate::text::{occurrences, shown_path};

/// The encoding of the text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// There has been no other character.
    #[default]
    Ascii,
    Utf8,
    Other(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// The encoding of this name, which is one of the web's: `gb18030`, `windows-1251`.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        match encoding_rs::Encoding::for_label(name.as_bytes()) {
            Some(found) if found == UTF_8 => Ok(Self::Utf8),
            Some(found) if found != REPLACEMENT => Ok(Self::Other(found)),
            _ => Err(Error::setting(format!("{name:?} is no encoding")).fix(
                "write a name such as utf-8, utf-16le, windows-1252, windows-1251, koi8-r, gb18030, big5, shift_jis, euc-jp or \
                 euc-kr",
            )),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii | Self::Utf8 => f.write_str("UTF-8"),
            Self::Other(found) if *found == UTF_16LE || *found == UTF_16BE => f.write_str("UTF-16"),
            Self::Other(found) => f.write_str(&found.name().replace("windows", "Windows")),
        }
    }
}

/// Bytes that are not a text in one of the encodings, or in the stated one.
#[derive(Debug)]
pub(super) struct NotText {
    line: u64,
    byte: u8,
    /// What it may be, for iconv.
    likely: &'static str,
    stated: Option<Encoding>,
}

impl NotText {
    pub(super) fn in_file(&self, path: &Path) -> Error {
        let (shown, likely) = (shown_path(path), self.likely);
        let place = format!(
            "byte {:02x} (hexadecimal), in line {}",
            self.byte, self.line
        );
        match self.stated {
            Some(stated) => Error::format(path, format!("is not text in {stated}"))
                .at(place)
                .fix("state another encoding, or none: UTF-8, UTF-16 and Windows-1252 are found"),
            None => Error::format(path, "is not UTF-8 text, and not Windows-1252").at(place).fix(format!(
                "pass TextFormat::new().encoding({likely:?})? to Texts::format, Table::open_with or CountTable::format, or convert \
                 the file: iconv -f {likely} -t UTF-8 {shown:?} > new.txt; if the letters are wrong then, try another, such as \
                 WINDOWS-1250 (Polish, Czech), WINDOWS-1251 (Russian), MACINTOSH or GB18030"
            )),
        }
    }
}

/// Most letters beyond ASCII in a row: Estonian has `jäääär`.
const MOST_LETTERS: u32 = 4;

/// Takes a text piece by piece.
#[derive(Default)]
pub(super) struct Decoder {
    pub(super) encoding: Encoding,
    is_stated: bool,
    started: bool,
    lines: u64,
    /// Converts to UTF-8.
    converter: Option<encoding_rs::Decoder>,
    /// In Windows-1252: the last bytes, whether they are letters, and how many letters beyond ASCII are in a row.
    last: u8,
    before: u8,
    letters: u32,
}

impl Decoder {
    /// Of a text in this encoding, or in one that is found.
    pub(super) fn new(stated: Option<Encoding>) -> Self {
        Self {
            encoding: stated.unwrap_or_default(),
            is_stated: stated.is_some(),
            ..Self::default()
        }
    }

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
                    Err(_) => self.encoding = Encoding::Other(WINDOWS_1252),
                },
            }
        }
        match self.encoding {
            Encoding::Ascii | Encoding::Utf8 => std::mem::swap(raw, text),
            Encoding::Other(encoding) => {
                if encoding == WINDOWS_1252 && !self.is_stated {
                    self.check_western(raw)?;
                }
                self.convert(encoding, raw, text, ended)?;
            }
        }
        raw.clear();
        Ok(())
    }

    /// Takes the byte order mark away, whose encoding is the text's.
    fn start(&mut self, raw: &mut Vec<u8>) -> Result<(), NotText> {
        let (encoding, mark) = match raw.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [0xff, 0xfe, ..] => (Encoding::Other(UTF_16LE), 2),
            [0xfe, 0xff, ..] => (Encoding::Other(UTF_16BE), 2),
            [0, 1..=255, 0, 1..=255, ..] if !self.is_stated => {
                return Err(self.wrong(0, "UTF-16BE"));
            }
            [1..=255, 0, 1..=255, 0, ..] if !self.is_stated => {
                return Err(self.wrong(0, "UTF-16LE"));
            }
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
            stated: self.is_stated.then_some(self.encoding),
        }
    }

    fn convert(
        &mut self,
        encoding: &'static encoding_rs::Encoding,
        raw: &[u8],
        text: &mut Vec<u8>,
        ended: bool,
    ) -> Result<(), NotText> {
        let new = || encoding.new_decoder_without_bom_handling();
        let converter = self.converter.get_or_insert_with(new);
        // No byte of any encoding gives more, with what is left of the piece before.
        text.resize(3 * raw.len() + 16, 0);
        let (result, read, written) =
            converter.decode_to_utf8_without_replacement(raw, text, ended);
        text.truncate(written);
        self.lines += occurrences(text, b'\n');
        match result {
            DecoderResult::InputEmpty => Ok(()),
            DecoderResult::Malformed(length, after) => {
                let at = read.saturating_sub(usize::from(length + after));
                Err(self.wrong(raw.get(at).copied().unwrap_or_default(), "UTF-16"))
            }
            DecoderResult::OutputFull => Err(self.wrong(0, "UTF-16")),
        }
    }

    /// Checks that the bytes are as in Western European words.
    fn check_western(&mut self, raw: &[u8]) -> Result<(), NotText> {
        for (at, &byte) in raw.iter().enumerate() {
            if let Some((byte, likely)) = self.not_western(byte) {
                self.lines += occurrences(&raw[..at], b'\n');
                return Err(self.wrong(byte, likely));
            }
        }
        Ok(())
    }

    /// The byte that is not as in Windows-1252, if the next one shows that there is one, and a likely encoding.
    fn not_western(&mut self, byte: u8) -> Option<(u8, &'static str)> {
        let is_letter = |byte: u8| {
            byte.is_ascii_alphabetic()
                || matches!(byte, 0x8c | 0x9c | 0x9f | 0xc0..=0xff) && !matches!(byte, 0xd7 | 0xf7)
        };
        // A sign that stands between two letters in a word of another encoding.
        let is_inside = |sign: u8| matches!(sign, 0x80..=0x84 | 0x86..=0x8b | 0x98 | 0x99 | 0xa1..=0xa9 | 0xac | 0xae..=0xb3 | 0xb5 | 0xb6 | 0xb8..=0xba | 0xbc..=0xbf | 0xd7 | 0xf7);
        if is_inside(self.last) && is_letter(self.before) && is_letter(byte) {
            return Some((
                self.last,
                if self.last < 0xa0 {
                    "MACINTOSH"
                } else {
                    "WINDOWS-1250"
                },
            ));
        }
        let likely = match byte {
            0x8a | 0x8e | 0x9a | 0x9d | 0x9e | 0x8d | 0x8f => Some("WINDOWS-1250"),
            0x81 | 0x90 => Some("GB18030"),
            // Icelandic, or Turkish.
            0xd0 | 0xdd | 0xde | 0xf0 | 0xfd | 0xfe => Some("WINDOWS-1254"),
            0xff => Some("WINDOWS-1251"),
            _ => None,
        };
        self.letters = match is_letter(byte) && !byte.is_ascii() {
            true => self.letters + 1,
            false => 0,
        };
        (self.before, self.last) = (self.last, byte);
        let is_long = self.letters > MOST_LETTERS;
        likely
            .or(is_long.then_some("WINDOWS-1251"))
            .map(|likely| (byte, likely))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text and the encoding of bytes that come in pieces of `piece` bytes; the likely encoding where they are refused.
    fn read(bytes: &[u8], piece: usize) -> Result<(String, Encoding), &'static str> {
        read_as(None, bytes, piece)
    }

    fn read_as(
        stated: Option<Encoding>,
        bytes: &[u8],
        piece: usize,
    ) -> Result<(String, Encoding), &'static str> {
        let (mut decoder, mut raw, mut all) = (Decoder::new(stated), Vec::new(), Vec::new());
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
                Encoding::Other(UTF_16LE),
            ),
            (
                utf16(text, b"\xfe\xff", u16::to_be_bytes),
                text,
                Encoding::Other(UTF_16BE),
            ),
            (
                b"Fl\xe9au \x96 l\x92\xe9t\xe9, \x80 5, 3 m\xb2, \x9cuvre".to_vec(),
                "Fléau – l’été, € 5, 3 m², œuvre",
                Encoding::Other(WINDOWS_1252),
            ),
            (
                b"Gr\xfc\xdfe, j\xe4\xe4\xe4\xe4r\n".to_vec(),
                "Grüße, jääääer\n".replace("äer", "är").leak(),
                Encoding::Other(WINDOWS_1252),
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

    /// Bytes of Python's codecs.
    #[test]
    fn a_stated_encoding_is_read() {
        for (name, bytes, text) in [
            (
                "gb18030",
                &b"\xd6\xd0\xce\xc4\n\x81\x30\x81\x30"[..],
                "中文\n\u{80}",
            ),
            ("shift_jis", b"\x93\xfa\x96{\x8c\xea", "日本語"),
            ("euc-kr", b"\xc7\xd1\xb1\xdb", "한글"),
            ("Windows-1251", b"\xf1\xeb\xee\xe2\xee", "слово"),
            ("windows-1250", b"by\xb3", "był"),
            ("latin1", b"\xd0orri", "Ðorri"),
            ("utf-16le", b"a\0\xac\x20", "a€"),
            ("utf-16be", b"\xfe\xff\0a", "a"),
            ("utf-8", b"\xef\xbb\xbfa", "a"),
        ] {
            let stated = Encoding::named(name).unwrap();
            for piece in [4, 5, 1000] {
                let (found, _) = read_as(Some(stated), bytes, piece).unwrap();
                assert_eq!(found, text, "{name}");
            }
        }
        let gb = Some(Encoding::named("gbk").unwrap());
        assert!(read_as(gb, b"a\xff\xff", 1000).is_err());
        assert!(Encoding::named("klingon").is_err() && Encoding::named("iso-2022-kr").is_err());
    }
}
