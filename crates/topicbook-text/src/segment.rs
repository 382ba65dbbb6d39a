//! Words of scripts that are written without spaces, by ICU's dictionaries.
//!
//! ```text
//! for each position, from the left, that a path of words reaches:
//!     for each word of the dictionary that begins here:
//!         extend the path to its end, if that is cheaper than the path that ends there
//!     without a word of one character: extend it by this character, at the cost of an unknown word
//! ```
//!
//! The cheapest path to the end has the words (a Viterbi search over single words, as in ICU for C and in jieba). The costs of
//! Chinese and Japanese words fall with their frequency; the other dictionaries have none, and the fewest words win there.
//! ICU4X's own segmenter takes the longest word at each position, which divides 在日本 (in Japan) after 在日.

use icu_provider::prelude::{
    DataIdentifierBorrowed, DataMarkerAttributes, DataProvider, DataRequest, DynamicDataMarker,
};
use icu_segmenter::provider::{
    Baked, DictionaryBreakData, SegmenterDictionaryAutoV2, SegmenterDictionaryExtendedV2,
};
use unicode_normalization::char::is_combining_mark;

use crate::error::{Error, ErrorKind, Result};

/// Cost of a character that no word covers, or of a run of katakana: the highest that a word of the dictionary has.
const UNKNOWN: u32 = 255;
/// Cost of a word in a dictionary without costs.
const WORD: u32 = 25;
/// Characters of the longest word that is looked for.
const LONGEST: usize = 40;

type Dictionary = &'static DictionaryBreakData<'static>;

/// Divides runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese characters.
pub(super) struct Segmenter {
    chinese_japanese: Dictionary,
    thai: Dictionary,
    lao: Dictionary,
    khmer: Dictionary,
    burmese: Dictionary,
}

impl Segmenter {
    /// With the dictionaries of all languages.
    pub(super) fn new(_language: &str) -> Result<Self> {
        Ok(Self {
            chinese_japanese: dictionary::<SegmenterDictionaryAutoV2>("cjdict")?,
            thai: dictionary::<SegmenterDictionaryExtendedV2>("thaidict")?,
            lao: dictionary::<SegmenterDictionaryExtendedV2>("laodict")?,
            khmer: dictionary::<SegmenterDictionaryExtendedV2>("khmerdict")?,
            burmese: dictionary::<SegmenterDictionaryExtendedV2>("burmesedict")?,
        })
    }

    /// Calls `visit` with each word of a run of characters of one script; of another script than these, with the run.
    pub(super) fn for_each_word<'t>(&self, run: &'t str, visit: &mut impl FnMut(&'t str)) {
        let dictionary = match run.chars().next() {
            Some('\u{e00}'..='\u{e7f}') => self.thai,
            Some('\u{e80}'..='\u{eff}') => self.lao,
            Some('\u{1780}'..='\u{17ff}') => self.khmer,
            Some('\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}') => {
                self.burmese
            }
            Some('\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}') => {
                self.chinese_japanese
            }
            Some('\u{20000}'..) => self.chinese_japanese,
            _ => return visit(run),
        };
        let characters: Vec<char> = run.chars().collect();
        let (mut first, mut start) = (0, 0);
        for last in word_ends(dictionary, &characters) {
            let bytes: usize = characters[first..last].iter().map(|c| c.len_utf8()).sum();
            visit(&run[start..start + bytes]);
            (first, start) = (last, start + bytes);
        }
    }
}

/// The cheapest path that ends at a position.
#[derive(Clone, Copy)]
struct Path {
    cost: u32,
    /// Where its last word begins.
    start: usize,
    is_unknown: bool,
}

/// Where the words of the cheapest path end.
fn word_ends(dictionary: Dictionary, characters: &[char]) -> Vec<usize> {
    let has_costs = matches!(dictionary, DictionaryBreakData::Char16Trie(_));
    let none = Path {
        cost: u32::MAX,
        start: 0,
        is_unknown: false,
    };
    let mut paths = vec![none; characters.len() + 1];
    paths[0].cost = 0;
    for start in 0..characters.len() {
        if paths[start].cost == u32::MAX {
            continue;
        }
        let (before, rest) = (paths[start].cost, &characters[start..]);
        let mut extend = |length: usize, cost: u32, is_unknown: bool| {
            let path = &mut paths[start + length];
            let cost = before.saturating_add(cost);
            if cost < path.cost {
                *path = Path {
                    cost,
                    start,
                    is_unknown,
                };
            }
        };
        // A mark belongs to the letter before it.
        let is_whole = |length: usize| !rest.get(length).is_some_and(|&c| is_combining_mark(c));
        let mut has_one = false;
        for_each_match(dictionary, rest, |length, cost| {
            if is_whole(length) {
                has_one |= length == 1;
                extend(length, cost, false);
            }
        });
        let katakana = rest.iter().take_while(|&&c| is_katakana(c)).count();
        let is_run = katakana > 1 && !(start > 0 && is_katakana(characters[start - 1]));
        if is_run {
            extend(katakana, UNKNOWN, false);
        }
        if !has_one {
            let marks = rest[1..].iter().take_while(|&&c| is_combining_mark(c));
            extend(1 + marks.count(), UNKNOWN, !has_costs);
        }
    }
    let mut ends = Vec::new();
    let mut at = characters.len();
    let mut was_unknown = false;
    while at > 0 {
        let path = paths[at];
        // Unknown letters in a row are one word.
        if !(path.is_unknown && was_unknown) {
            ends.push(at);
        }
        (at, was_unknown) = (path.start, path.is_unknown);
    }
    ends.reverse();
    ends
}

/// Calls `visit` with the length and the cost of each word of the dictionary with which the characters begin.
fn for_each_match(dictionary: Dictionary, characters: &[char], mut visit: impl FnMut(usize, u32)) {
    let lengths = characters.iter().take(LONGEST).zip(1..);
    match dictionary {
        DictionaryBreakData::Char16Trie(trie) => {
            let mut cursor = trie.cursor();
            for (&character, length) in lengths {
                cursor.step32(character.into());
                if let Some(cost) = cursor.value() {
                    visit(length, u32::try_from(cost).unwrap_or(UNKNOWN));
                }
                if cursor.is_empty() {
                    return;
                }
            }
        }
        DictionaryBreakData::ZeroTrie { alphabet, trie } => {
            let mut cursor = trie.cursor();
            for (&character, length) in lengths {
                let Some(letter) = alphabet.position32(character.into()) else {
                    return;
                };
                cursor.step(letter as u8);
                if cursor.take_value().is_some() {
                    visit(length, WORD);
                }
                if cursor.is_empty() {
                    return;
                }
            }
        }
    }
}

fn is_katakana(character: char) -> bool {
    matches!(character, '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30fe}' | '\u{ff66}'..='\u{ff9f}')
}

/// A dictionary that is compiled into the library.
fn dictionary<M>(name: &'static str) -> Result<Dictionary>
where
    M: DynamicDataMarker<DataStruct = DictionaryBreakData<'static>>
        + icu_provider::prelude::DataMarker,
    Baked: DataProvider<M>,
{
    let missing = || {
        Error::new(
            ErrorKind::Value,
            format!("ICU's dictionary {name} is missing"),
        )
        .fix("build topicbook with the version of icu_segmenter in its Cargo.lock")
    };
    let attributes = DataMarkerAttributes::try_from_str(name).map_err(|_| missing())?;
    let request = DataRequest {
        id: DataIdentifierBorrowed::for_marker_attributes(attributes),
        ..DataRequest::default()
    };
    let found = DataProvider::<M>::load(&Baked, request).map_err(|_| missing())?;
    found.payload.get_static().ok_or_else(missing)
}
