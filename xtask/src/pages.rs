//! Pages of the executed notebooks, in the repository for reading on a forge: `notebooks/executed`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::notebook;
use crate::places::Places;
use crate::task::{At, Fail, Result};

/// The comments that enclose an output in a page; `xtask/python/pages.py` writes them.
const OUTPUT: (&str, &str) = ("<!-- output -->", "<!-- end of output -->");

/// Runs notebooks of the repository and copies their pages, with the pictures, from the build folder.
pub fn write(places: &Places, notebooks: &[PathBuf]) -> Result<()> {
    let executed = executed(places);
    fs::create_dir_all(&executed).at(&executed)?;
    for notebook in notebooks {
        notebook::execute(places, notebook)?;
        let (page, pictures) = names(notebook);
        copy(&places.build.join(&page), &executed.join(&page))?;
        let old = executed.join(&pictures);
        if old.exists() {
            fs::remove_dir_all(&old).at(&old)?;
        }
        let new = places.build.join(&pictures);
        if new.is_dir() {
            fs::create_dir(&old).at(&old)?;
            for file in fs::read_dir(&new).at(&new)? {
                let file = file.at(&new)?;
                copy(&file.path(), &old.join(file.file_name()))?;
            }
        }
    }
    Ok(())
}

/// Fails when a page in the repository has other text or code than the one that the run in the build folder has written.
/// Outputs are not compared, because they hold times.
pub fn in_step(places: &Places) -> Result<()> {
    let mut old = Vec::new();
    for notebook in notebook::all(places)? {
        let (page, _) = names(&notebook);
        let [kept, new] = [executed(places), places.build.clone()].map(|folder| folder.join(&page));
        let new = fs::read_to_string(&new).at(&new)?;
        if !fs::read_to_string(&kept)
            .is_ok_and(|kept| without_outputs(&kept) == without_outputs(&new))
        {
            old.push(page);
        }
    }
    match old.is_empty() {
        true => Ok(()),
        false => Err(Fail::new(format!(
            "notebooks/executed is not in step with the notebooks ({}): run `cargo xtask notebooks`",
            old.join(", ")
        ))),
    }
}

/// The lines of a page that are no output.
fn without_outputs(page: &str) -> Vec<&str> {
    let mut in_output = false;
    let mut lines = Vec::new();
    for line in page.lines().filter(|line| !line.is_empty()) {
        in_output |= line == OUTPUT.0;
        if !in_output {
            lines.push(line);
        }
        in_output &= line != OUTPUT.1;
    }
    lines
}

fn executed(places: &Places) -> PathBuf {
    places.root.join("notebooks/executed")
}

/// The names of a notebook's page and of the folder with its pictures.
fn names(notebook: &Path) -> (String, String) {
    let name = notebook.file_stem().unwrap_or_default().to_string_lossy();
    (format!("{name}.md"), format!("{name}_files"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).at(from).map(drop)
}

#[cfg(test)]
mod tests {
    use super::without_outputs;

    #[test]
    fn outputs_are_left_out_and_text_is_not() {
        let page = "# Title\n\n<!-- output -->\n\n8.2 s\n\n<!-- end of output -->\n\nText\n";
        assert_eq!(without_outputs(page), ["# Title", "Text"]);
        assert_ne!(
            without_outputs("# Title\n\nText"),
            without_outputs("# Title\n\nOther text")
        );
    }
}
