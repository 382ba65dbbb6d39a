//! Counts that agree cell by cell with scikit-learn's `CountVectorizer`.

use std::path::Path;

use topicbook::{Counts, Vectorizer};

/// Texts: words of changing frequency, and everything that Unicode makes difficult.
const TEXTS: &str = r##"
import json, unicodedata
seed = 1
def draw(n):
    global seed
    seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
    return (seed >> 33) % n
words = [f'{a}{b}' for a in ('net', 'Spike', 'kernel', 'Über', 'été', 'data', 'x') for b in ('', 's', 'ing', '_1', "'s", '-on')]
texts = []
for document in range(300):
    texts.append(' '.join(words[draw(draw(len(words)) + 1)] for _ in range(draw(60))))
texts += [
    '', ' ', 'a', 'A b c', "don't STOP", 'x_y __ _a 12 3', 'caf\u00e9 cafe\u0301 CAFE\u0301S', '\u03a3\u039f\u03a6\u039f\u03a3 \u03a3\u03a3',
    '\u0130stanbul I\u0307 \u0131', '\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8', '\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35', '\ufb01ne \u2126hm \u00bd\u00bc \u2168\u2167 \u24b6\u24b7',
    'line\none\r\ntwo\ttab\u00a0nbsp\u200bzero\u00adsoft', 'the and of the running runners the', '\U0001d400\U0001d401 \U0001f600\U0001f600 \U00010400\U00010401',
]
json.dump(texts, open('texts.json', 'w'))
# Every character of this Python, inside a word and next to one.
characters, block = [], []
for code in range(0x110000):
    if unicodedata.category(chr(code)) in ('Cn', 'Cs'):
        continue
    block.append(f'ab{chr(code)}cd {chr(code)}{chr(code)} ')
    if len(block) == 4000:
        characters.append(''.join(block)); block = []
characters.append(''.join(block))
json.dump(characters, open('characters.json', 'w'))
"##;

/// The first `ON_CHARACTERS` settings are compared on all characters too.
const ON_CHARACTERS: usize = 4;

/// Settings: in Python's words, and ours.
fn cases() -> Vec<(&'static str, Vectorizer)> {
    let new = Vectorizer::new;
    let stop = || new().stop_words(["the", "net", "and", "data"]);
    vec![
        ("", new()),
        ("lowercase=False", new().lowercase(false)),
        ("strip_accents='unicode'", new().strip_accents(true)),
        (
            "strip_accents='unicode', lowercase=False",
            new().strip_accents(true).lowercase(false),
        ),
        ("stop_words=STOP", stop()),
        (
            "stop_words=STOP, ngram_range=(1, 2)",
            stop().ngram_range(1, 2),
        ),
        ("ngram_range=(2, 3)", new().ngram_range(2, 3)),
        ("min_df=5", new().min_df(5)),
        ("min_df=0.05, max_df=0.5", new().min_df(0.05).max_df(0.5)),
        (
            "min_df=2, max_df=120, ngram_range=(1, 3)",
            new().min_df(2).max_df(120).ngram_range(1, 3),
        ),
        (
            "max_features=12, max_df=0.9",
            new().max_terms(12).max_df(0.9),
        ),
        (
            "token_pattern=r'[a-z]{3,20}'",
            new().token_pattern("[a-z]{3,20}"),
        ),
        (
            "token_pattern=r'([a-z]+)ing'",
            new().token_pattern("([a-z]+)ing"),
        ),
        (
            "token_pattern=r'(?u)\\b\\w\\w+\\b', min_df=3",
            new().token_pattern(r"(?u)\b\w\w+\b").min_df(3),
        ),
    ]
}

#[test]
fn counts_are_those_of_scikit_learn() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut script = format!(
        "{TEXTS}
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
STOP = ['the', 'net', 'and', 'data']
def golden(name, texts, **settings):
    vectorizer = CountVectorizer(**settings)
    sp.save_npz(f'{{name}}.npz', vectorizer.fit_transform(texts))
    json.dump(list(vectorizer.get_feature_names_out()), open(f'{{name}}.json', 'w'))
"
    );
    for (number, (settings, _)) in cases().iter().enumerate() {
        script += &format!("golden('texts{number}', texts, {settings})\n");
        if number < ON_CHARACTERS {
            script += &format!("golden('characters{number}', characters, {settings})\n");
        }
    }
    testkit::run(&python, folder.path(), &script);
    let read = |name: &str| std::fs::read(at(name)).unwrap();
    let list = |name: &str| -> Vec<String> { serde_json::from_slice(&read(name)).unwrap() };
    for name in ["texts", "characters"] {
        let texts = list(&format!("{name}.json"));
        for (number, (settings, vectorizer)) in cases().into_iter().enumerate() {
            if name == "characters" && number >= ON_CHARACTERS {
                break;
            }
            let terms = list(&format!("{name}{number}.json"));
            let expected = Counts::open(at(&format!("{name}{number}.npz"))).unwrap();
            let found = vectorizer.fit_transform(&texts).unwrap();
            assert!(
                found.terms().as_slice() == terms,
                "{name}, {settings}: {:?}",
                first_difference(found.terms().as_slice(), &terms)
            );
            assert_same(&found.counts(), &expected, settings);
            // The counts are the same in a file, and by the vocabulary.
            for path in [at("out.npz"), at("out.tbc")] {
                let written = vectorizer.out(&path).fit_transform(&texts).unwrap();
                assert_same(&written.counts(), &expected, settings);
            }
            let again = found.vectorizer().transform(&texts).unwrap();
            assert_same(&again.counts(), &expected, settings);
        }
    }
}

fn first_difference<'a>(
    found: &'a [String],
    expected: &'a [String],
) -> (&'a [String], &'a [String]) {
    let at = found.iter().zip(expected).position(|(a, b)| a != b);
    let at = at.unwrap_or(found.len().min(expected.len()));
    let part = |terms: &'a [String]| &terms[at..terms.len().min(at + 3)];
    (part(found), part(expected))
}

fn assert_same(found: &Counts, expected: &Counts, settings: &str) {
    assert_eq!(found.shape(), expected.shape(), "{settings}");
    let (documents, terms) = found.shape();
    let mut rows = [vec![0.0; terms], vec![0.0; terms]];
    for document in 0..documents {
        let [row, other] = &mut rows;
        found.fill_rows(&[document], row).unwrap();
        expected.fill_rows(&[document], other).unwrap();
        assert!(row == other, "{settings}: document {document}");
    }
}

#[test]
fn files_are_read_by_scipy() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Counts of one, two and four bytes.
    for (name, times, dtype) in [
        ("u8", 9, "uint8"),
        ("u16", 300, "uint16"),
        ("u32", 70_000, "uint32"),
    ] {
        let texts = [
            "to be or not to be".to_string(),
            "be ".repeat(times),
            String::new(),
        ];
        let path = at(&format!("{name}.npz"));
        Vectorizer::new().out(&path).fit_transform(texts).unwrap();
        let script = format!(
            "
import numpy as np, scipy.sparse as sp
X = sp.load_npz('{name}.npz')
assert X.format == 'csr' and X.dtype == np.{dtype} and X.has_canonical_format
assert (X.toarray() == [[2, 1, 1, 2], [{times}, 0, 0, 0], [0, 0, 0, 0]]).all()
assert open('{name}_terms.txt').read().split() == ['be', 'not', 'or', 'to']
print('read')"
        );
        let output = testkit::run(&python, folder.path(), &script);
        assert_eq!(output.trim(), "read");
        assert!(!Path::new(&at(&format!("{name}_documents.csv"))).exists());
    }
}
