//! This program as the wrapper of rustc, which completes the function that evcxr has made of a cell.
//!
//! The function takes the variables of earlier cells out of a store, runs the cell in closures, which a `?` or a panic leaves,
//! and puts the variables back:
//!
//! ```text
//! fn run_user_code_7(evcxr_variable_store) {
//!     let fit = evcxr_variable_store.take_variable::<Fit>("fit");
//!     match catch_unwind(|| {
//!         let _ = (|| {
//!             let fit = fit.name_topics(["only one"])?;
//!             evcxr_variable_store.put_variable::<Fit>("fit", fit);
//!             Ok(())
//!         })();
//!     }) { ... }
//!     // Here are put back the variables that the cell has not bound again.
//!     evcxr_variable_store
//! }
//! ```
//!
//! So a cell that fails would lose the old value of each variable that it binds again. The wrapper adds that such a value is
//! put back if the cell has put none, and that the cell's text without a line break is printed. If the cell has moved the
//! value, rustc says so, and compiles the function again without putting it back.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::{env, fs, io};

use ra_ap_syntax::ast::{self, HasModuleItem, HasName};
use ra_ap_syntax::{AstNode, Edition, SourceFile};

use crate::{Failure, kernel_folder};

/// The environment variable that is set when Cargo starts this program.
pub const VARIABLE: &str = "TOPICBOOK_COMPILES";

/// The cell, in the folder in which Cargo starts rustc.
const SOURCE: &str = "src/lib.rs";

/// The files of the kernel's folder that hold what [`kept`] returns, and the identity of the cells' crate with the crates that it
/// uses.
const KEPT: &str = "kept";
const IDENTITY: &str = "identity";
/// The prefix of a type's name in the second file.
const TYPE: &str = "type ";

/// The file of the kernel's folder that holds the level of optimisation of the next cell. By evcxr's `:opt`, which writes it into
/// the cell's manifest, rust-analyzer would load the library anew at each change.
const LEVEL: &str = "level";

/// The last lines of the function that runs a cell.
const END: &str = "\nevcxr_variable_store\n}\n";

/// The line of that function with which the closures end.
const CLOSED: &str = "\n})) { \n";

/// Prints what `print!` has not printed yet.
const FLUSH: &str = "let _ = ::std::io::Write::flush(&mut ::std::io::stdout());";

/// The type of the store, and a function that puts a value back unless the cell has put one of its name.
const STORE: &str = "impl VariableStore {";
const KEEP: &str = "pub fn keep<T: 'static>(&mut self, name: &str, value: T) { \
    if !self.variables.contains_key(name) { self.put_variable(name, value); } }";

/// evcxr's commands by which Cargo starts this program for each cell.
pub fn commands() -> io::Result<String> {
    let program = env::current_exe()?;
    Ok(format!(
        ":build_env RUSTC_WORKSPACE_WRAPPER={}\n:build_env {VARIABLE}=1",
        program.display()
    ))
}

/// A variable that a cell binds again.
#[derive(Clone, Debug, PartialEq)]
pub struct Old {
    pub name: String,
    /// Takes the old value out of the store.
    pub statement: String,
}

/// The variables whose old values the cell compiled last puts back if it fails.
pub fn kept() -> Vec<Old> {
    let lines = fs::read_to_string(kernel_folder().join(KEPT)).unwrap_or_default();
    let words = lines.lines().filter_map(|line| line.split_once(' '));
    words
        .map(|(name, statement)| Old {
            name: name.to_owned(),
            statement: statement.to_owned(),
        })
        .collect()
}

/// Sets the level of optimisation of the next cell; without one, evcxr's holds.
pub fn set_level(level: Option<&str>) -> io::Result<()> {
    write(
        &kernel_folder().join(LEVEL),
        level.unwrap_or_default().into(),
    )
}

/// Runs rustc; its path and its arguments are this process's arguments.
pub fn run() -> ExitCode {
    match compile() {
        Ok(output) => {
            let written = io::Write::write_all(&mut io::stdout(), &output.stdout)
                .and_then(|()| io::Write::write_all(&mut io::stderr(), &output.stderr));
            match output.status.success() && written.is_ok() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("topicbook: rustc cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compile() -> Result<Output, Failure> {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let source = fs::read_to_string(SOURCE).unwrap_or_default();
    let is_cell = source.ends_with(END) && arguments.iter().any(|argument| argument == SOURCE);
    if is_cell {
        let level = fs::read_to_string(kernel_folder().join(LEVEL)).unwrap_or_default();
        keep_types(&mut arguments, &types(&source), &level)?;
        if !level.is_empty() {
            arguments.push(format!("-Copt-level={level}").into());
        }
    }
    let mut rustc = Command::new(arguments.first().ok_or("rustc has no path")?);
    rustc.args(&arguments[1..]);
    if !is_cell {
        return Err(rustc.exec().into());
    }
    // Generic functions that the library has compiled with the same types, as operations of Burn on its backend, are not compiled
    // again; by itself rustc does so at levels 0 and 1 alone. A flag of nightly compilers, which the variable allows.
    rustc.arg("-Zshare-generics=y").env("RUSTC_BOOTSTRAP", "1");
    let mut old = bound_again(&source);
    loop {
        let lines = old
            .iter()
            .map(|Old { name, statement }| format!("{name} {statement}\n"));
        write(&kernel_folder().join(KEPT), lines.collect())?;
        fs::write(SOURCE, completed(&source, &old))?;
        if old.is_empty() {
            return Err(rustc.exec().into());
        }
        let output = rustc.output()?;
        let before = old.len();
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            old.retain(|old| !errors.contains(&format!("moved value: `{}`", old.name)));
        }
        if old.len() == before {
            return Ok(output);
        }
    }
}

/// The variables of earlier cells that a cell binds again: the closures put them into the store, and the rest of the
/// function does not.
fn bound_again(source: &str) -> Vec<Old> {
    let Some((inner, outer)) = source.rsplit_once(CLOSED) else {
        return Vec::new();
    };
    let puts = |text: &str, name: &str| {
        let end = format!(">(stringify!({name}), {name});");
        let mut lines = text.lines();
        lines.any(|line| {
            line.starts_with("evcxr_variable_store.put_variable::<") && line.ends_with(&end)
        })
    };
    let taken = inner.lines().filter_map(|line| {
        let (binding, call) = line.split_once(" = evcxr_variable_store.take_variable::<")?;
        let (of_type, name) = call.strip_suffix("));")?.rsplit_once(">(stringify!(")?;
        (binding.starts_with("let ") && puts(inner, name) && !puts(outer, name)).then(|| Old {
            name: name.to_owned(),
            statement: format!(
                "{binding}: {of_type} = evcxr_variable_store.take_variable(stringify!({name}));"
            ),
        })
    });
    taken.collect()
}

/// The source of a cell whose function prints all of its text and keeps the old values. Its lines have the same numbers,
/// because evcxr finds the places of errors by them.
fn completed(source: &str, old: &[Old]) -> String {
    let body = source.strip_suffix(END).unwrap_or(source);
    let mut text = body.replacen(STORE, &format!("{STORE}{KEEP}"), 1);
    text.push('\n');
    text.push_str(FLUSH);
    for Old { name, .. } in old {
        text.push_str(&format!(
            "evcxr_variable_store.keep(stringify!({name}), {name});"
        ));
    }
    text + &END[1..]
}

/// The types that cells have defined, and a number that stands for each definition.
fn types(source: &str) -> BTreeMap<String, u64> {
    let file = SourceFile::parse(source, Edition::Edition2024).tree();
    let types = file.items().filter_map(|item| {
        let name = match &item {
            ast::Item::Struct(item) => item.name(),
            ast::Item::Enum(item) => item.name(),
            ast::Item::Union(item) => item.name(),
            _ => None,
        }?;
        let mut definition = DefaultHasher::new();
        item.syntax().text().to_string().hash(&mut definition);
        Some((name.to_string(), definition.finish()))
    });
    types.collect()
}

/// Gives the cell's crate the identity that the last cell's crate had, so that variables whose types cells have made keep these
/// types. Cargo would change it with each `:dep` and `:opt`. It must change if a crate that the
/// types may consist of has changed, or the definition of a type of the same name, which rustc does not tell apart.
fn keep_types(
    arguments: &mut [OsString],
    types: &BTreeMap<String, u64>,
    level: &str,
) -> io::Result<()> {
    let crates: BTreeSet<String> = arguments
        .windows(2)
        .filter(|pair| pair[0] == "--extern")
        .map(|pair| pair[1].to_string_lossy().into_owned())
        .collect();
    let Some(at) = arguments
        .iter()
        .position(|argument| argument.to_string_lossy().starts_with("metadata="))
    else {
        return Ok(());
    };
    let of_cargo = std::mem::take(&mut arguments[at]);
    // What rustc keeps of the last cell fits only the same level of optimisation.
    for argument in &mut *arguments {
        if argument.to_string_lossy().starts_with("incremental=") {
            argument.push("/");
            argument.push(&of_cargo);
            argument.push(level);
        }
    }
    let file = kernel_folder().join(IDENTITY);
    let last = fs::read_to_string(&file).unwrap_or_default();
    // A line for each identity: itself, the crates, the types. The last that fits is taken, not only the last: a cell that does
    // not compile may have had other types.
    let mut used: Vec<&str> = last.lines().collect();
    let fits = |line: &&str| {
        line.split('\t')
            .skip(1)
            .all(|part| match part.strip_prefix(TYPE) {
                None => crates.contains(part),
                Some(part) => part.split_once(' ').is_some_and(|(name, definition)| {
                    types
                        .get(name)
                        .is_none_or(|now| now.to_string() == definition)
                }),
            })
    };
    let identity = match used.iter().rposition(fits) {
        Some(at) => used
            .remove(at)
            .split('\t')
            .next()
            .unwrap_or_default()
            .to_owned(),
        None => format!("{}-{}", of_cargo.to_string_lossy(), used.len()),
    };
    let types = types
        .iter()
        .map(|(name, definition)| format!("\t{TYPE}{name} {definition}"));
    let crates = crates.iter().map(|name| format!("\t{name}"));
    let line = identity.clone() + &crates.chain(types).collect::<String>();
    used.push(&line);
    write(&file, used.join("\n"))?;
    arguments[at] = identity.into();
    Ok(())
}

/// Writes a file, unless it has the text already.
fn write(path: &Path, text: String) -> io::Result<()> {
    match fs::read_to_string(path).is_ok_and(|written| written == text) {
        true => Ok(()),
        false => fs::write(path, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As evcxr 0.22 writes it, for a cell that binds `a` again, takes `b` and moves `c`.
    const CELL: &str = "mod evcxr_internal_runtime {
impl VariableStore {
}
}
pub extern \"C\" fn run_user_code_3(
let a = evcxr_variable_store.take_variable::<Vec<u8>>(stringify!(a));
let mut b = evcxr_variable_store.take_variable::<(i32, String)>(stringify!(b));
let c = evcxr_variable_store.take_variable::<String>(stringify!(c));
match std::panic::catch_unwind(
  std::panic::AssertUnwindSafe(||{
let a = f(&a, c)?;
evcxr_variable_store.put_variable::<u8>(stringify!(a), a);
})) { 
  Ok(_) => {}
}}
evcxr_variable_store.put_variable::<(i32, String)>(stringify!(b), b);
evcxr_variable_store
}
";

    #[test]
    fn a_type_with_another_field_is_another_type() {
        let of = |code: &str| types(code).get("P").copied();
        let first = of("struct P { x: i32 }\nfn f() {}");
        assert!(first.is_some());
        assert_eq!(of("fn g() {}\nstruct P { x: i32 }"), first);
        assert_ne!(of("struct P { x: f32 }"), first);
        assert_eq!(of("mod inner { struct P; }"), None);
    }

    #[test]
    fn a_variable_that_a_cell_binds_again_is_kept() {
        let old = bound_again(CELL);
        let statement = "let a: Vec<u8> = evcxr_variable_store.take_variable(stringify!(a));";
        assert_eq!(old.len(), 1, "{old:?}");
        assert_eq!((&*old[0].name, &*old[0].statement), ("a", statement));
        let text = completed(CELL, &old);
        assert!(
            text.ends_with(
                "flush(&mut ::std::io::stdout());evcxr_variable_store.keep(stringify!(a), a);evcxr_variable_store\n}\n"
            ),
            "{text}"
        );
        assert!(text.contains("impl VariableStore {pub fn keep<T"));
        assert_eq!(text.lines().count(), CELL.lines().count());
    }
}
