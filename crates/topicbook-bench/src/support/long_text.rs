//! Long texts made of Rust's documentation.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The texts of the pages of Rust's documentation, without tags and line breaks.
pub fn pages(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    find(folder, &mut files);
    files.sort();
    let pages = files.iter().map(|file| {
        let page = fs::read_to_string(file).unwrap_or_default();
        let parts = page
            .split('<')
            .map(|part| part.split_once('>').map_or("", |part| part.1));
        let words: Vec<&str> = parts.flat_map(str::split_whitespace).collect();
        words.join(" ")
    });
    pages.filter(|page| page.len() > 500).collect()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "html")
            && path.file_stem().is_none_or(|name| name != "print")
        {
            files.push(path);
        }
    }
}

/// Writes the pages again and again, one per line; in each repetition another tenth of the words ends in other letters.
pub fn write(path: &Path, pages: &[String], bytes: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let (mut written, mut repetition) = (0, 0u64);
    while written < bytes {
        for page in pages {
            let mut line = String::with_capacity(page.len() + page.len() / 10);
            for word in page.split(' ') {
                line.push_str(word);
                let mixed = word.bytes().fold(repetition, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                });
                if repetition > 0 && mixed >> 32 & 0xff < 26 {
                    line.push(char::from(b'a' + (mixed >> 40) as u8 % 26));
                    line.push(char::from(b'a' + (mixed >> 48) as u8 % 4));
                }
                line.push(' ');
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
            written += line.len();
            if written >= bytes {
                break;
            }
        }
        repetition += 1;
    }
    out.flush()
}
