//! What has changed since the branch that this one follows: the crates, and the subjects of the commits.

use std::collections::BTreeSet;

use crate::places::Places;
use crate::task::{Fail, Result, command, output};

/// Longest subject of a commit, as forges and `git log --oneline` show it.
const SUBJECT: usize = 72;

/// Our crates with files that differ from the branch that this one follows, by name. `tests`, `examples` and `src` belong to
/// `topicbook`.
pub fn crates(places: &Places) -> Result<Vec<String>> {
    let since = followed(places)?.unwrap_or_else(|| "HEAD".into());
    let known = git(places, &["diff", "--name-only", &since])?;
    let new = git(places, &["ls-files", "--others", "--exclude-standard"])?;
    let files = known.lines().chain(new.lines());
    let crates: BTreeSet<&str> = files.filter_map(crate_of).collect();
    Ok(crates.into_iter().map(str::to_owned).collect())
}

/// The crate with unit tests that a file belongs to.
fn crate_of(file: &str) -> Option<&str> {
    let (folder, inside) = file.split_once('/')?;
    match folder {
        "src" => Some("topicbook"),
        "xtask" => Some("xtask"),
        "crates" => {
            let name = inside.split('/').next()?;
            let has_tests = name.starts_with("topicbook-")
                && !["topicbook-dylib", "topicbook-worker"].contains(&name);
            has_tests.then_some(name)
        }
        _ => None,
    }
}

/// Fails on commits whose subject is too long, has no scope, or is not in the imperative.
pub fn check_subjects(places: &Places) -> Result<()> {
    // Where no branch is followed, the last commit.
    let since = followed(places)?.unwrap_or_else(|| "HEAD~1".into());
    let range = format!("{since}..HEAD");
    let wrong: Vec<String> = git(places, &["log", "--no-merges", "--format=%s", &range])?
        .lines()
        .filter_map(|subject| Some(format!("{subject:?} {}", fault(subject)?)))
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Fail::new(wrong.join("\n"))),
    }
}

/// What is wrong with a subject such as `counts: stream Parquet by row group`.
fn fault(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > SUBJECT {
        return Some(format!("has {length} characters, more than {SUBJECT}"));
    }
    let Some((_, what)) = subject.split_once(": ") else {
        return Some("has no scope: `scope: what it does`".into());
    };
    let verb = what.split(' ').next().unwrap_or_default();
    let no_command = ["ed", "ing"].iter().any(|end| verb.ends_with(end)) && verb.len() > 5;
    no_command.then(|| format!("begins with {verb:?}: say what the commit does, as in `add`"))
}

/// The commit at which this branch left the one that it follows; `None` if it follows none.
fn followed(places: &Places) -> Result<Option<String>> {
    let branches = git(
        places,
        &["for-each-ref", "--format=%(HEAD)%(upstream)", "refs/heads"],
    )?;
    let mut ours = branches
        .lines()
        .filter_map(|branch| branch.strip_prefix('*'));
    match ours.next() {
        Some(upstream) if !upstream.is_empty() => {
            git(places, &["merge-base", "HEAD", upstream]).map(Some)
        }
        _ => Ok(None),
    }
}

fn git(places: &Places, arguments: &[&str]) -> Result<String> {
    output(command("git").args(arguments).current_dir(&places.root))
}

#[cfg(test)]
mod tests {
    use super::{crate_of, fault};

    #[test]
    fn files_belong_to_crates() {
        assert_eq!(crate_of("src/fit/mod.rs"), Some("topicbook"));
        assert_eq!(
            crate_of("crates/topicbook-text/src/lib.rs"),
            Some("topicbook-text")
        );
        assert_eq!(crate_of("crates/kernel/src/main.rs"), None);
        assert_eq!(crate_of("README.md"), None);
    }

    #[test]
    fn subjects_are_short_commands_with_a_scope() {
        assert_eq!(fault("counts: stream Parquet by row group"), None);
        assert!(fault("stream Parquet").is_some());
        assert!(fault("counts: streamed Parquet").is_some());
        assert!(fault(&format!("counts: {}", "a ".repeat(40))).is_some());
    }
}
