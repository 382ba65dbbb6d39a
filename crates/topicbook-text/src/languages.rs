//! Languages: with words that are no runs of letters, with lists of stop words (NLTK's, from the crate `stopwords`), and with
//! Snowball's stemmers (`rust-stemmers`).

use rust_stemmers::Algorithm;
use stopwords::{Language, NLTK, Stopwords};

use crate::data::remedy_by_nearest;
use crate::error::{Error, Result};

/// Languages without a list of stop words or a stemmer. All languages share one rule of words: see `Vectorizer::language`.
const OTHERS: &str = "armenian assamese basque belarusian bengali bulgarian burmese catalan chinese croatian czech estonian \
    georgian gujarati hebrew hindi icelandic indonesian irish japanese kannada khmer korean lao latvian \
    lithuanian macedonian malayalam marathi mongolian odia persian polish punjabi serbian sinhala slovak \
    slovenian swahili telugu thai ukrainian urdu vietnamese welsh";

/// Languages with stop words.
const STOP_WORDS: &[(&str, Language)] = &[
    ("arabic", Language::Arabic),
    ("azerbaijani", Language::Azerbaijani),
    ("danish", Language::Danish),
    ("dutch", Language::Dutch),
    ("english", Language::English),
    ("finnish", Language::Finnish),
    ("french", Language::French),
    ("german", Language::German),
    ("greek", Language::Greek),
    ("hungarian", Language::Hungarian),
    ("italian", Language::Italian),
    ("kazakh", Language::Kazakh),
    ("nepali", Language::Nepali),
    ("norwegian", Language::Norwegian),
    ("portuguese", Language::Portuguese),
    ("romanian", Language::Romanian),
    ("russian", Language::Russian),
    ("spanish", Language::Spanish),
    ("swedish", Language::Swedish),
    ("turkish", Language::Turkish),
];

/// Languages with a stemmer.
const STEMMERS: &[(&str, Algorithm)] = &[
    ("arabic", Algorithm::Arabic),
    ("danish", Algorithm::Danish),
    ("dutch", Algorithm::Dutch),
    ("english", Algorithm::English),
    ("finnish", Algorithm::Finnish),
    ("french", Algorithm::French),
    ("german", Algorithm::German),
    ("greek", Algorithm::Greek),
    ("hungarian", Algorithm::Hungarian),
    ("italian", Algorithm::Italian),
    ("norwegian", Algorithm::Norwegian),
    ("portuguese", Algorithm::Portuguese),
    ("romanian", Algorithm::Romanian),
    ("russian", Algorithm::Russian),
    ("spanish", Algorithm::Spanish),
    ("swedish", Algorithm::Swedish),
    ("tamil", Algorithm::Tamil),
    ("turkish", Algorithm::Turkish),
];

/// The stop words of a language, in lower case.
pub(super) fn stop_words(language: &str) -> Result<&'static [&'static str]> {
    let known = find(STOP_WORDS, language, "stop words").map_err(|error| {
        if self::language(language).is_ok() {
            let names: Vec<&str> = STOP_WORDS.iter().map(|(name, _)| *name).collect();
            return Error::setting(format!("there is no list of stop words for {language:?}")).fix(format!(
                "leave out the terms of more than half of the documents, .max_df(0.5), or words of your own, .stop_words(words) \
                 with a vector of texts; there are lists for {}",
                names.join(", ")
            ));
        }
        let remedy = error.remedy().unwrap_or_default().to_owned();
        error.fix(format!(
            "{remedy}; words of your own are a list: .stop_words([{language:?}])"
        ))
    })?;
    // The list of languages matches the crate's.
    Ok(NLTK::stopwords(known).unwrap_or_default())
}

/// The stemmer of a language.
pub(super) fn stemmer(language: &str) -> Result<Algorithm> {
    find(STEMMERS, language, "a stemmer")
}

/// The name of a language, in lower case.
pub(super) fn language(language: &str) -> Result<String> {
    let others = OTHERS.split(' ').map(|name| (name, name));
    let listed = STOP_WORDS.iter().map(|&(name, _)| (name, name));
    let stemmed = STEMMERS.iter().map(|&(name, _)| (name, name));
    let mut known: Vec<(&str, &str)> = others.chain(listed).chain(stemmed).collect();
    known.sort_unstable();
    known.dedup();
    find(&known, language, "known words").map(str::to_owned)
}

fn find<T: Copy>(known: &[(&str, T)], language: &str, what: &str) -> Result<T> {
    let wanted = language.trim().to_lowercase();
    let found = known.iter().find(|(name, _)| *name == wanted);
    if let Some((_, value)) = found {
        return Ok(*value);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let near = remedy_by_nearest(names.iter().copied(), &wanted);
    let near = near.map(|near| format!("{near}; ")).unwrap_or_default();
    Err(
        Error::setting(format!("{language:?} is no language with {what}"))
            .fix(format!("{near}write one of {}", names.join(", "))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_words() {
        for (language, _) in STOP_WORDS {
            let words = stop_words(language).unwrap();
            assert!(words.len() > 20, "{language}: {}", words.len());
        }
        assert!(stop_words("English").unwrap().contains(&"the"));
        let error = stop_words("klingon").unwrap_err();
        assert!(
            error
                .remedy()
                .is_some_and(|remedy| remedy.contains("english"))
        );
        for known in ["chinese", "Japanese", "thai", "hindi"] {
            let error = stop_words(known).unwrap_err().to_string();
            assert!(
                error.contains("no list") && error.contains(".max_df(0.5)"),
                "{error}"
            );
        }
        assert!(stemmer("klingon").is_err());
        for (wanted, remedy) in [
            (
                "hindy",
                "the nearest is `hindi`; write one of arabic, armenian",
            ),
            ("zh", "write one of"),
        ] {
            let error = language(wanted).unwrap_err();
            assert!(error.remedy().unwrap().starts_with(remedy), "{error}");
        }
    }
}
