//! Files of text as UTF-8: what is compressed is unpacked, and other encodings are converted, while the file is read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::CrcReader;
use flate2::bufread::MultiGzDecoder;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Result};
use crate::text::{occurrences, quoted_list, shown_path};

use super::encoding::{Decoder, Encoding};
use super::{Advice, OpenFile};

/// Bytes that are decoded at once.
const CHUNK: usize = 1 << 18;
/// Bytes of text between two looks at the free memory.
const LOOK: usize = 16 << 20;
/// Extensions of compressed files: of gzip, Zstandard and zip.
const PACKED: [&str; 3] = ["gz", "zst", "zip"];

/// A path without the extension of a compressed file, and whether it had one.
pub fn unpacked_name(path: &Path) -> (&Path, bool) {
    let extension = path.extension().unwrap_or_default();
    match (
        PACKED
            .iter()
            .any(|name| extension.eq_ignore_ascii_case(name)),
        path.file_stem(),
    ) {
        (true, Some(stem)) => (Path::new(stem), true),
        _ => (path, false),
    }
}

/// The extension of a path in lower case, of `a.csv.gz` that before `.gz`.
pub fn unpacked_extension(path: &Path) -> String {
    let extension = unpacked_name(path).0.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// A file of text, read as UTF-8 from its start to its end, without a byte order mark.
pub struct TextFile {
    file: OpenFile,
    bytes: Box<dyn Read + Send>,
    /// How it is compressed.
    packed: Option<&'static str>,
    decoder: Decoder,
    raw: Vec<u8>,
    /// Decoded text, and how much of it has been given.
    text: Vec<u8>,
    given: usize,
    ended: bool,
}

impl TextFile {
    /// Opens a file. What it begins with says how it is compressed, and in which encoding it is.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_as(path, None)
    }

    /// Opens a file whose encoding may be stated.
    pub fn open_as(path: &Path, encoding: Option<Encoding>) -> Result<Self> {
        let file = OpenFile::open(path)?;
        file.advise(0, 0, Advice::Sequential);
        let (bytes, packed) = unpack(&file)?;
        Ok(Self {
            file,
            bytes,
            packed,
            decoder: Decoder::new(encoding),
            raw: Vec::new(),
            text: Vec::new(),
            given: 0,
            ended: false,
        })
    }

    /// The file, to be checked for changes.
    pub fn file(&self) -> &OpenFile {
        &self.file
    }

    /// Bytes of the file that have been read so far.
    pub fn position(&self) -> u64 {
        // The descriptor that is read is a copy, and shares its position.
        (&self.file.handle).stream_position().unwrap_or_default()
    }

    /// Most bytes of text that the file can hold. The shortest code of deflate, of 2 bits, repeats 258 bytes; a block of
    /// Zstandard, of 4 bytes or more, has 128 KiB.
    pub fn most_bytes(&self) -> u64 {
        let factor = match self.packed {
            None => 1,
            Some("Zstandard") => (128 << 10) / 4,
            Some(_) => 1032,
        };
        self.file.length.saturating_mul(factor)
    }

    /// What was done with the bytes that have been read, in words for a card; empty for UTF-8.
    pub fn understood(&self) -> Vec<String> {
        let packed = self.packed.map(|packed| format!("compressed by {packed}"));
        let encoding = match self.decoder.encoding {
            Encoding::Ascii | Encoding::Utf8 => None,
            encoding => Some(format!("encoding {encoding}")),
        };
        packed.into_iter().chain(encoding).collect()
    }

    /// Appends up to `n` bytes to `text`; fewer at the end of the file. Returns their number. UTF-8 is passed on unchecked.
    pub fn append(&mut self, n: usize, text: &mut Vec<u8>) -> Result<usize> {
        let read = self.take(n as u64).read_to_end(text);
        read.map_err(|source| self.failed(source))
    }

    /// Appends the rest of the file, if memory holds it and `copies` more copies of it.
    pub fn append_all(&mut self, copies: u64, text: &mut Vec<u8>) -> Result<()> {
        while self.append(LOOK, text)? == LOOK {
            let claim = self.file.claim("its unpacked text");
            // A vector that grows doubles.
            claim.check_memory((text.len() as u64).saturating_mul(1 + copies))?;
        }
        self.file.check_unchanged()
    }

    /// The error for an error of [`Read`].
    pub fn failed(&self, source: io::Error) -> Error {
        if let Err(error) = self.file.check_unchanged() {
            return error;
        }
        match source.downcast::<Error>() {
            Ok(error) => error,
            Err(source) if self.packed.is_some() => {
                Error::format(&self.file.path, format!("cannot be unpacked: {source}"))
                    .fix("the file was truncated or damaged: copy it again")
                    .because(source)
            }
            Err(source) => Error::io("read", &self.file.path, source),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let read = (&mut self.bytes)
            .take(CHUNK as u64)
            .read_to_end(&mut self.raw)?;
        self.ended = read < CHUNK;
        self.text.clear();
        self.given = 0;
        let decoded = self
            .decoder
            .decode(&mut self.raw, &mut self.text, self.ended);
        decoded.map_err(|wrong| io::Error::other(wrong.in_file(&self.file.path)))
    }
}

impl Read for TextFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !self.ended {
            self.fill()?;
        }
        let n = into.len().min(self.text.len() - self.given);
        into[..n].copy_from_slice(&self.text[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

/// The text of bytes that were read from a file as a whole, and its encoding where that is not UTF-8.
pub fn decoded(
    path: &Path,
    mut bytes: Vec<u8>,
    stated: Option<Encoding>,
) -> Result<(String, Option<Encoding>)> {
    let mut decoder = Decoder::new(stated);
    let mut text = Vec::new();
    let decoded = decoder.decode(&mut bytes, &mut text, true);
    decoded.map_err(|wrong| wrong.in_file(path))?;
    let encoding = decoder.encoding;
    let text = String::from_utf8(text).map_err(|source| {
        let valid = source.utf8_error().valid_up_to();
        not_utf8(path, valid as u64, line_of(source.as_bytes(), valid)).because(source)
    })?;
    let is_utf8 = matches!(encoding, Encoding::Ascii | Encoding::Utf8);
    Ok((text, (!is_utf8).then_some(encoding)))
}

/// The line of a byte, counted from 1.
pub fn line_of(bytes: &[u8], at: usize) -> u64 {
    1 + occurrences(&bytes[..at], b'\n')
}

/// The error for a text that begins as UTF-8 and does not continue so.
pub fn not_utf8(path: &Path, byte: u64, line: u64) -> Error {
    let shown = shown_path(path);
    Error::format(path, "is not UTF-8 text")
        .at(format!("byte {byte} (counted from 0), in line {line}"))
        .fix(format!(
            "state its encoding, as TextFormat::new().encoding(\"windows-1252\")?, or convert it: iconv -f WINDOWS-1252 -t UTF-8 \
             {shown:?} > new.txt"
        ))
}

/// The bytes of a file, unpacked, and the name of the compression.
fn unpack(file: &OpenFile) -> Result<(Box<dyn Read + Send>, Option<&'static str>)> {
    let failed = |source| Error::io("open", &file.path, source);
    let mut bytes = BufReader::with_capacity(CHUNK, file.handle.try_clone().map_err(failed)?);
    let start = bytes.fill_buf().map_err(failed)?;
    Ok(match start {
        [0x1f, 0x8b, ..] => (Box::new(MultiGzDecoder::new(bytes)), Some("gzip")),
        [b'P', b'K', 3, 4, ..] => (in_archive(file, bytes)?, Some("zip")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (zstandard(file, bytes)?, Some("Zstandard")),
        _ => (Box::new(bytes), None),
    })
}

#[cfg(feature = "zstd")]
fn zstandard(file: &OpenFile, bytes: BufReader<File>) -> Result<Box<dyn Read + Send>> {
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
    let decoder = decoder.map_err(|source| Error::io("read", &file.path, source))?;
    Ok(Box::new(decoder))
}

#[cfg(not(feature = "zstd"))]
fn zstandard(file: &OpenFile, _: BufReader<File>) -> Result<Box<dyn Read + Send>> {
    let what = "is compressed by Zstandard, which a build without the feature polars does not read";
    let shown = shown_path(&file.path);
    Err(Error::format(&file.path, what).fix(format!("unpack it: zstd -d {shown:?}")))
}

/// The only file of a zip archive; what macOS adds is passed over.
fn in_archive(file: &OpenFile, mut bytes: BufReader<File>) -> Result<Box<dyn Read + Send>> {
    let shown = shown_path(&file.path);
    let wrong = |what: String| Error::format(&file.path, what);
    let damaged = |source: String| {
        wrong(format!("is no zip archive that can be read: {source}"))
            .fix("the file was truncated or damaged: copy it again")
    };
    let mut archive = ZipArchive::new(&mut bytes).map_err(|source| damaged(source.to_string()))?;
    let names: Vec<String> = archive
        .file_names()
        .map(|name| {
            Ok(name
                .map_err(|source| damaged(source.to_string()))?
                .into_owned())
        })
        .collect::<Result<_>>()?;
    let is_text = |name: &&String| !name.ends_with('/') && !is_note(Path::new(name));
    let texts: Vec<&String> = names.iter().filter(is_text).collect();
    let [name] = texts.as_slice() else {
        return Err(wrong(format!(
            "has {} files: {}",
            texts.len(),
            quoted_list(&texts, 10)
        ))
        .fix(format!(
            "unpack it, and open the file of the table: unzip {shown:?}"
        )));
    };
    let entry = archive
        .by_name(name)
        .map_err(|source| damaged(source.to_string()))?;
    let (start, packed, length) = (entry.data_start(), entry.compressed_size(), entry.size());
    let (method, sum) = (entry.compression(), entry.crc32());
    drop(entry);
    let start = start.ok_or_else(|| damaged("an entry has no place".into()))?;
    bytes
        .seek(SeekFrom::Start(start))
        .map_err(|source| Error::io("read", &file.path, source))?;
    let bytes = bytes.take(packed);
    let bytes: Box<dyn Read + Send> = match method {
        CompressionMethod::Stored => Box::new(bytes),
        CompressionMethod::Deflated => Box::new(DeflateDecoder::new(bytes)),
        other => {
            return Err(
                wrong(format!("is compressed by {other:?}, which is not read"))
                    .fix(format!("unpack it: unzip {shown:?}")),
            );
        }
    };
    Ok(Box::new(Checked {
        // A byte more shows whether there is more than was stated.
        bytes: CrcReader::new(bytes.take(length + 1)),
        length,
        sum,
    }))
}

/// Compares a file of an archive with the length and the checksum that the archive states.
struct Checked<R> {
    bytes: CrcReader<R>,
    length: u64,
    sum: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(into)?;
        let crc = self.bytes.crc();
        // The sum keeps the length in its lowest 32 bits.
        let whole = crc.amount() == self.length as u32 && crc.sum() == self.sum;
        match read == 0 && !into.is_empty() && !whole {
            true => Err(io::Error::other("its checksum is wrong")),
            false => Ok(read),
        }
    }
}

/// Whether a file is macOS metadata of another one: `._a.txt` next to `a.txt`, or in the folder `__MACOSX` of an archive.
pub fn is_note(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("._") || path.components().any(|part| part.as_os_str() == "__MACOSX")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(path: &Path) -> Result<(String, Vec<String>)> {
        let (mut file, mut text) = (TextFile::open(path)?, Vec::new());
        file.append_all(1, &mut text)?;
        Ok((String::from_utf8(text).unwrap(), file.understood()))
    }

    fn zipped(names: &[&str], text: &[u8]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for name in names {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(*name, options).unwrap();
            archive.write_all(text).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn compressed_texts_are_unpacked_and_damaged_ones_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv.gz");
        let text = "term,count\nGrün,3\n".repeat(40_000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let note = ["a.csv", "__MACOSX/._a.csv"];
        for (bytes, how) in [
            (text.clone().into_bytes(), None),
            (gzip.clone(), Some("gzip")),
            ([gzip.clone(), Vec::new()].concat(), Some("gzip")),
            (zipped(&note[..1], text.as_bytes()), Some("zip")),
            (zipped(&note, text.as_bytes()), Some("zip")),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let (found, understood) = read(&path).unwrap();
            assert!(found == text, "{how:?}");
            let how = how.map(|how| format!("compressed by {how}"));
            assert_eq!(understood, Vec::from_iter(how));
        }
        let mut wrong = zipped(&note[..1], text.as_bytes());
        let at = wrong
            .windows(4)
            .rposition(|four| four == b"PK\x01\x02")
            .unwrap();
        wrong[at + 16] ^= 1;
        for (bytes, what) in [
            (gzip[..gzip.len() / 2].to_vec(), "cannot be unpacked"),
            (
                zipped(&["a.csv", "b.csv"], b"x"),
                "has 2 files: \"a.csv\", \"b.csv\"",
            ),
            (wrong, "its checksum is wrong"),
            (b"PK\x03\x04".to_vec(), "no zip archive"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}
