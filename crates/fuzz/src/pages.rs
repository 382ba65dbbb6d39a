//! The target that shows texts below a cell: the structure of a page must not depend on their content.

use std::collections::BTreeSet;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use topicbook::polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use topicbook::{Chart, Counts, Error, Table, TableStorage, Terms, TopicModel, memory_scope};

use crate::outcome::Outcome;

/// The lines that enclose HTML in a cell's output.
const BEGIN: &str = "EVCXR_BEGIN_CONTENT ";
const END: &str = "EVCXR_END_CONTENT";

/// Shows a text as a term, a cell and the header of a table, a folder, the name of a scope and a file that does not exist;
/// and draws it as a title.
///
/// # Panics
/// When the page differs from the page of a harmless text by more than text, or has control characters.
pub(crate) fn shown(_: &str, data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let (Ok(harmless), Ok(ours)) = (page("plain"), page(&text)) else {
        return Outcome::Refused;
    };
    assert_eq!(parts(&ours), parts(&harmless), "the blocks of {text:?}");
    let (Ok(harmless), Ok(ours)) = (drawing("plain"), drawing(&text)) else {
        return Outcome::Refused;
    };
    let known: BTreeSet<String> = tags(&harmless).collect();
    let more: Vec<String> = tags(&ours).filter(|tag| !known.contains(tag)).collect();
    assert!(more.is_empty(), "{more:?} in the drawing of {text:?}");
    Outcome::Accepted(None)
}

/// What cells print that show the text.
fn page(text: &str) -> Result<String, Error> {
    let terms = Terms::new([text, "second"])?;
    let counts = Counts::dense(2, 2, vec![1u8, 2, 3, 4])?;
    let model = TopicModel::new(1).epochs(1).terms(&terms).quiet();
    let cells = model.fit(&counts)?.top_terms(2);
    let column = Series::new(text.into(), [1.0, 2.0]).into_column();
    let headed = DataFrame::new_infer_height(vec![column]).map(Table::from);
    let scope = memory_scope(text);
    let missing = Path::new("no folder").join(text.trim_start_matches('/'));
    let missing = Terms::open(missing);
    Ok(printed(|| {
        terms.evcxr_display();
        cells.evcxr_display();
        if let Ok(table) = &headed {
            table.evcxr_display();
        }
        TableStorage::File(text.into()).evcxr_display();
        scope.evcxr_display();
        if let Err(error) = &missing {
            error.evcxr_display();
        }
    }))
}

fn drawing(text: &str) -> Result<String, Error> {
    Chart::bars([(text, vec![1.0, 2.0])]).title(text).to_svg()
}

/// The elements of a long text in a table, which opens.
const CUT: [&str; 6] = ["details", "summary", "/summary", "div", "/div", "/details"];

/// The blocks of a page as evcxr takes them: a MIME type, and the elements where it is HTML, without those of a long text.
///
/// # Panics
/// When HTML has a control character, which is no text.
fn parts(page: &str) -> Vec<(String, Vec<String>)> {
    let mut parts = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(mime) = line.strip_prefix(BEGIN) else {
            parts.push(("text outside of blocks".into(), Vec::new()));
            continue;
        };
        let content: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with(END))
            .collect();
        let mut elements: Vec<String> = match mime {
            "text/html" => tags(&content.join("\n")).collect(),
            _ => Vec::new(),
        };
        while let Some(at) = elements.windows(CUT.len()).position(|part| part == CUT) {
            elements.drain(at..at + CUT.len());
        }
        parts.push((mime.into(), elements));
    }
    parts
}

/// The names of the elements of HTML or SVG, in their order.
///
/// # Panics
/// When there is a control character.
fn tags(markup: &str) -> impl Iterator<Item = String> {
    let control = markup
        .chars()
        .find(|&c| c.is_control() && !"\t\n\r".contains(c));
    assert!(control.is_none(), "{control:?} in {markup:?}");
    markup.split('<').skip(1).map(|tag| {
        let name = tag.split(|c: char| c == '>' || c.is_whitespace());
        name.take(1).collect()
    })
}

/// What a function prints to standard output.
fn printed(print: impl FnOnce()) -> String {
    let mut file = tempfile::tempfile().expect("a file without a name");
    {
        let _redirected = Redirected::to(&file);
        print();
    }
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
    read.expect("the file can be read");
    String::from_utf8_lossy(&text).into_owned()
}

/// Standard output goes to a file until this is dropped.
struct Redirected {
    before: OwnedFd,
}

impl Redirected {
    fn to(file: &std::fs::File) -> Self {
        let _ = std::io::stdout().flush();
        // SAFETY: both calls take numbers of open files; `dup` returns a new one, which nobody else owns.
        let before = unsafe {
            let before = OwnedFd::from_raw_fd(libc::dup(libc::STDOUT_FILENO));
            libc::dup2(file.as_raw_fd(), libc::STDOUT_FILENO);
            before
        };
        Self { before }
    }
}

impl Drop for Redirected {
    fn drop(&mut self) {
        let _ = std::io::stdout().flush();
        // SAFETY: both files are open.
        unsafe { libc::dup2(self.before.as_raw_fd(), libc::STDOUT_FILENO) };
    }
}
