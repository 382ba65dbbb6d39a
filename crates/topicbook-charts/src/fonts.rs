//! Fonts by script: the embedded ones, and those in the system's font folders.
//!
//! A text in Latin, Greek or Cyrillic letters needs neither the folders nor the shaper. The first character of another script
//! lists the folders and maps fonts until one has it, those first whose file names suggest it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ab_glyph::{FontRef, VariableFont};
use rustybuzz::ttf_parser::{self, Tag, fonts_in_collection, name_id};
use unicode_script::{Script, UnicodeScript};

use crate::system::{MappedFile, OpenFile};

/// A font that stays mapped as long as the process runs.
pub struct Face {
    pub shaper: rustybuzz::Face<'static>,
    pub outlines: FontRef<'static>,
}

pub type Font = &'static Face;

impl PartialEq for Face {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Face {
    /// A face of a font file, of regular weight.
    fn new(bytes: &'static [u8], index: u32) -> Option<Self> {
        let mut shaper = rustybuzz::Face::from_slice(bytes, index)?;
        let mut outlines = FontRef::try_from_slice_and_index(bytes, index).ok()?;
        shaper.set_variation(Tag::from_bytes(b"wght"), 400.0);
        outlines.set_variation(b"wght", 400.0);
        Some(Self { shaper, outlines })
    }

    pub fn has(&self, c: char) -> bool {
        has(&self.shaper, c)
    }
}

/// The font of Latin, Greek and Cyrillic letters.
pub fn embedded() -> Font {
    static FONT: OnceLock<Face> = OnceLock::new();
    FONT.get_or_init(|| {
        Face::new(epaint_default_fonts::UBUNTU_LIGHT, 0).expect("a valid font is embedded")
    })
}

/// The font of emoji and symbols, in one colour.
fn emoji() -> Font {
    static FONT: OnceLock<Face> = OnceLock::new();
    FONT.get_or_init(|| {
        Face::new(epaint_default_fonts::NOTO_EMOJI_REGULAR, 0).expect("a valid font is embedded")
    })
}

/// Whether the embedded font alone draws the text, one letter after the other.
pub fn is_plain(text: &str) -> bool {
    let has = |c: char| embedded().shaper.glyph_index(c).is_some();
    let is_plain = |c: char| c.is_control() || has(c) && c.script() != Script::Inherited;
    text.chars().all(|c| c.is_ascii() || is_plain(c))
}

/// Whether a font has the outline of a character, or needs none because the character controls others.
fn has(font: &ttf_parser::Face, c: char) -> bool {
    let is_hidden = matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}');
    let tables = font.tables();
    let outlines = tables.glyf.is_some() || tables.cff.is_some() || tables.cff2.is_some();
    is_hidden || outlines && font.glyph_index(c).is_some()
}

fn is_cjk(script: Script) -> bool {
    use Script::{Bopomofo, Han, Hangul, Hiragana, Katakana};
    matches!(script, Bopomofo | Han | Hangul | Hiragana | Katakana)
}

/// The language of a text with Chinese characters, which differ in form by language: `ja` with kana, `ko` with Hangul, or `zh`.
pub fn language(text: &str) -> Option<&'static str> {
    let has = |script| text.chars().any(|c| c.script() == script);
    match text.chars().any(|c| is_cjk(c.script())) {
        false => None,
        true if has(Script::Hiragana) || has(Script::Katakana) => Some("ja"),
        true if has(Script::Hangul) => Some("ko"),
        true => Some("zh"),
    }
}

/// A font with a character, or the script that lacks one. Of fonts with Chinese characters, one of the language if there is one.
pub fn font_of(c: char, language: &'static str) -> Result<Font, Script> {
    static SYSTEM: Mutex<Option<System>> = Mutex::new(None);
    match [embedded(), emoji()].into_iter().find(|font| font.has(c)) {
        Some(font) => Ok(font),
        None => {
            let mut system = SYSTEM.lock().unwrap_or_else(PoisonError::into_inner);
            system.get_or_insert_default().find(c, language)
        }
    }
}

/// A script in a language. Symbols have no script: of them, each 256 count as one.
type Key = (Script, &'static str, u32);

/// The fonts of the system.
#[derive(Default)]
struct System {
    files: Vec<PathBuf>,
    listed: Option<Instant>,
    found: HashMap<Key, Vec<Font>>,
    /// When all files were searched in vain.
    missing: HashMap<Key, Instant>,
}

impl System {
    fn find(&mut self, c: char, language: &'static str) -> Result<Font, Script> {
        let script = match c.script() {
            // Several scripts share the character, such as a full stop: one of them.
            Script::Common => c.script_extension().iter().next().unwrap_or(Script::Common),
            script => script,
        };
        let key = match script {
            Script::Common | Script::Unknown => (script, "", c as u32 >> 8),
            script if is_cjk(script) => (script, language, 0),
            script => (script, "", 0),
        };
        let found = self.found.entry(key).or_default();
        if let Some(font) = found.iter().find(|font| font.has(c)) {
            return Ok(font);
        }
        // After some seconds fonts are looked for again: one may have been installed.
        let is_recent = |at: &Instant| at.elapsed() < Duration::from_secs(5);
        if self.missing.get(&key).is_some_and(is_recent) {
            return Err(script);
        }
        if !self.listed.as_ref().is_some_and(is_recent) {
            self.files = font_files();
            self.listed = Some(Instant::now());
        }
        // How families of fonts are named for the Chinese characters of a language.
        let region = match language {
            "ja" => "JP",
            "ko" => "KR",
            _ => "SC",
        };
        self.files
            .sort_by_cached_key(|path| rank(path, script, region));
        match self.files.iter().find_map(|path| open(path, c, region)) {
            Some(font) => {
                found.push(font);
                Ok(font)
            }
            None => {
                self.missing.insert(key, Instant::now());
                Err(script)
            }
        }
    }
}

/// The font files in the folders of the user and the system, and in the folders inside these.
fn font_files() -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let mut folders = vec![
        home.join(".local/share/fonts"),
        home.join(".fonts"),
        "/usr/local/share/fonts".into(),
        "/usr/share/fonts".into(),
    ];
    let is_font = |ending: &OsStr| {
        ["ttf", "otf", "ttc", "otc"]
            .iter()
            .any(|&font| ending == font)
    };
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
            match entry.file_type() {
                // Links to folders could go round in circles.
                Ok(kind) if kind.is_dir() => folders.push(path),
                _ if is_font(&ending) => files.push(path),
                _ => {}
            }
        }
    }
    files
}

/// The order in which files are searched: names with the script first, regular sans serifs before others, short names first.
fn rank(path: &Path, script: Script, region: &str) -> impl Ord + use<> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = match script {
        Script::Common | Script::Unknown => ["symbol".into(), "math".into()],
        script if is_cjk(script) => ["cjk".into(), region.to_lowercase()],
        script => [script.full_name(); 2].map(|name| name.to_lowercase().replace('_', "")),
    };
    let styles = "bold italic oblique light thin black medium condensed mono serif ui looped";
    (
        !wanted.iter().any(|part| name.contains(part)),
        !name.contains("sans"),
        styles.split(' ').any(|style| name.contains(style)),
        name.len(),
        name,
    )
}

/// The font of a file with this character, of the region if there is one.
fn open(path: &Path, c: char, region: &str) -> Option<Font> {
    let map = MappedFile::new(OpenFile::open(path).ok()?).ok()?;
    let bytes = map.bytes().ok()?;
    let fitting = (0..fonts_in_collection(bytes).unwrap_or(1)).filter_map(|index| {
        let face = ttf_parser::Face::parse(bytes, index).ok()?;
        let mut names = face.names().into_iter();
        let of_region = names.any(|name| {
            name.name_id == name_id::FAMILY
                && name.to_string().is_some_and(|name| name.contains(region))
        });
        has(&face, c).then_some((!of_region, index))
    });
    let (_, index) = fitting.min()?;
    let map: &'static MappedFile = Box::leak(Box::new(map));
    Some(Box::leak(Box::new(Face::new(map.bytes().ok()?, index)?)))
}

/// What a reader is told about scripts for which the system has no font.
pub fn note(missing: &[Script]) -> Option<String> {
    let name = |script: &Script| match script {
        Script::Common | Script::Inherited | Script::Unknown => "some symbols".into(),
        Script::Han => "Chinese".into(),
        Script::Hiragana | Script::Katakana => "Japanese".into(),
        Script::Hangul => "Korean".into(),
        script => script.full_name().replace('_', " "),
    };
    let mut names: Vec<String> = missing.iter().map(name).collect();
    names.sort();
    names.dedup();
    let (last, others) = names.split_last()?;
    let names = match others {
        [] => last.clone(),
        others => format!("{} and {last}", others.join(", ")),
    };
    let packages = [(true, " fonts-noto-cjk"), (false, " fonts-noto-core")];
    let packages: String = packages
        .iter()
        .filter(|(cjk, _)| missing.iter().any(|&script| is_cjk(script) == *cjk))
        .map(|(_, package)| *package)
        .collect();
    let exists = |program: &str| Path::new("/usr/bin").join(program).exists();
    let sudo = if exists("sudo") { "sudo " } else { "" };
    let by_apt = match exists("apt-get") {
        true => format!(
            "type `{sudo}apt-get update && {sudo}apt-get install -y{packages}` in a terminal, or "
        ),
        false => String::new(),
    };
    Some(format!(
        "No font on this computer has the characters of {names} that are boxes in the picture: {by_apt}put font files \
         (https://fonts.google.com/noto) into ~/.local/share/fonts, and run the cell again."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_greek_and_cyrillic_need_no_other_font() {
        assert!(is_plain("letter — письмо, γράμμα, naïve…\n"));
        for text in ["海", "e\u{301}", "رسالة", "पत्र", "🚢"] {
            assert!(!is_plain(text), "{text}");
        }
        assert!(font_of('🚢', "zh").is_ok_and(|font| font == emoji()));
    }

    #[test]
    fn chinese_characters_have_the_language_of_the_texts_around_them() {
        assert_eq!(
            ["letter", "海", "海 お茶", "海 편지"].map(language),
            [None, Some("zh"), Some("ja"), Some("ko")]
        );
    }

    #[test]
    fn files_are_searched_from_the_most_likely_one() {
        let sorted = |script, files: &str| {
            files
                .split(' ')
                .map(|file| rank(Path::new(file), script, "JP"))
                .is_sorted()
        };
        assert!(sorted(
            Script::Arabic,
            "NotoSansArabic-Regular.ttf NotoSansArabicUI-Regular.ttf NotoNaskhArabic.ttf DejaVuSans.ttf"
        ));
        assert!(sorted(
            Script::Han,
            "NotoSansJP-Regular.otf NotoSansCJK-Bold.ttc NotoSerifCJK-Regular.ttc DejaVuSans.ttf"
        ));
    }

    #[test]
    fn one_note_names_all_scripts_and_the_remedy() {
        assert_eq!(note(&[]), None);
        let note = note(&[Script::Han, Script::Devanagari, Script::Han]).unwrap();
        assert!(note.contains("Chinese and Devanagari that"), "{note}");
        assert!(
            note.contains("install -y fonts-noto-cjk fonts-noto-core`")
                || note.contains("https://"),
            "{note}"
        );
    }
}
