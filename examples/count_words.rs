//! Counts the words of text files: `cargo run --example count_words -- <output folder> <folder>...`
//!
//! Every English page (`.html`) and text (`.txt`, `.md`) below the folders is a document. Writes `corpus.npz` and
//! `corpus_terms.txt`, which `notebooks/02_real_text.ipynb` opens.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use topicbook::Counts;

/// Words of the shortest document: a shorter one has too little information about its topics.
const SHORTEST_DOCUMENT: usize = 50;
/// Documents of the rarest term: a rarer one does not show which terms occur together.
const RAREST_TERM: usize = 10;
/// Fraction of the documents that have the most common term: a more common one does not distinguish topics.
const MOST_COMMON_TERM: f64 = 0.4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let output = arguments
        .next()
        .ok_or("usage: count_words <output folder> <folder>...")?;
    let mut files = Vec::new();
    for folder in arguments {
        find_files(&folder, &mut files)?;
    }
    files.sort();

    let mut documents = Vec::new();
    for file in &files {
        // Not every text file is UTF-8; a few lost letters make no difference here.
        let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        let counts = if file
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            main_text(&text).map(|text| count_words(&text))
        } else {
            Some(count_words(&text))
        };
        documents
            .extend(counts.filter(|counts| counts.values().sum::<usize>() >= SHORTEST_DOCUMENT));
    }

    let mut document_frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for word in documents.iter().flat_map(HashMap::keys) {
        *document_frequency.entry(word).or_default() += 1;
    }
    let most = (documents.len() as f64 * MOST_COMMON_TERM) as usize;
    let terms: Vec<&str> = document_frequency
        .into_iter()
        .filter(|(_, documents)| (RAREST_TERM..=most).contains(documents))
        .map(|(word, _)| word)
        .collect();

    let (mut row_starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for document in &documents {
        for (column, term) in terms.iter().enumerate() {
            if let Some(&count) = document.get(*term) {
                columns.push(u32::try_from(column)?);
                values.push(count as f32);
            }
        }
        // A document without any of the terms is left out.
        if columns.len() as u64 > row_starts[row_starts.len() - 1] {
            row_starts.push(columns.len() as u64);
        }
    }
    let documents = row_starts.len() - 1;
    let counts = Counts::csr(documents, terms.len(), row_starts, columns, values)?
        .write_npz(output.join("corpus.npz"))?;
    fs::write(output.join("corpus_terms.txt"), terms.join("\n") + "\n")?;
    println!("{} documents, {} terms", counts.documents(), counts.terms());
    Ok(())
}

/// Adds the texts and pages in a folder and the folders below it.
fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find_files(&path, files)?;
        } else if let Some("html" | "txt" | "md") = path.extension().and_then(|name| name.to_str())
            // mdBook's `print.html` repeats a whole book on one page.
            && path.file_stem().is_none_or(|name| name != "print")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The prose of an English page: the content of `<main>` without `<pre>`, scripts and styles.
fn main_text(page: &str) -> Option<String> {
    if !page.contains("lang=\"en\"") {
        return None;
    }
    let mut rest = page.split_once("<main")?.1.split_once('>')?.1;
    rest = rest.split_once("</main>").map_or(rest, |(main, _)| main);
    let mut text = String::new();
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        rest = match name {
            "pre" | "script" | "style" => tag.split_once(&format!("</{name}>"))?.1,
            _ => tag.split_once('>')?.1,
        };
    }
    text.push_str(rest);
    Some(text)
}

/// Counts the words of 3 to 20 letters in lower case, without stop words.
fn count_words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split(|c: char| !c.is_ascii_alphabetic()) {
        let word = word.to_ascii_lowercase();
        if (3..=20).contains(&word.len()) && STOP_WORDS.binary_search(&word.as_str()).is_err() {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

/// Very common words, sorted for binary search. `amp` and `quot` come from HTML's `&amp;` and `&quot;`.
const STOP_WORDS: [&str; 116] = [
    "about", "above", "after", "again", "against", "all", "also", "although", "amp", "and",
    "another", "any", "are", "because", "been", "before", "being", "below", "between", "both",
    "but", "can", "cannot", "could", "did", "does", "doing", "done", "down", "during", "each",
    "either", "even", "every", "few", "for", "from", "further", "had", "has", "have", "having",
    "her", "here", "how", "however", "into", "its", "itself", "just", "let", "like", "made",
    "make", "makes", "many", "may", "might", "more", "most", "must", "not", "now", "off", "once",
    "one", "only", "other", "our", "out", "over", "own", "quot", "same", "see", "should", "since",
    "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "though", "three", "through", "thus", "too", "two", "under", "until", "use",
    "used", "using", "very", "was", "were", "what", "when", "where", "whether", "which", "while",
    "will", "with", "within", "without", "would", "your",
];
