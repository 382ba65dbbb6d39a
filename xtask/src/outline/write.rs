//! Writes the packages of the outline.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::Item;

use super::packages::Package;

/// Writes a folder for each package, with a manifest and one source file.
pub fn crates(crates: &[(Package, Vec<Item>)], folder: &Path) -> Result<(), String> {
    for (package, items) in crates {
        let folder = folder.join(&package.name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        write(&folder.join("Cargo.toml"), &manifest(package))?;
        let mut source = String::new();
        for item in items {
            print(item, &mut source);
        }
        write(&folder.join("lib.rs"), &source)?;
    }
    Ok(())
}

/// An item in a line, and the items of a module in lines of their own.
fn print(item: &Item, source: &mut String) {
    let Item::Mod(module) = item else {
        source.push_str(&item.to_token_stream().to_string());
        source.push('\n');
        return;
    };
    for attribute in &module.attrs {
        source.push_str(&attribute.to_token_stream().to_string());
        source.push('\n');
    }
    let visibility = module.vis.to_token_stream();
    let _ = writeln!(source, "{visibility} mod {} {{", module.ident);
    for item in module.content.iter().flat_map(|(_, items)| items) {
        print(item, source);
    }
    source.push_str("}\n");
}

fn manifest(package: &Package) -> String {
    let Package {
        name,
        library,
        edition,
        features,
        dependencies,
        ..
    } = package;
    let mut manifest = format!(
        "[package]\n\
         name = \"{name}-outline\"\n\
         version = \"0.0.0\"\n\
         edition = \"{edition}\"\n\
         \n\
         [lib]\n\
         name = \"{library}\"\n\
         path = \"lib.rs\"\n\
         \n\
         [features]\n\
         default = {features:?}\n"
    );
    for feature in features {
        let _ = writeln!(manifest, "{feature} = []");
    }
    manifest.push_str("\n[dependencies]\n");
    for (called, name) in dependencies {
        let _ = writeln!(
            manifest,
            "{called} = {{ path = \"../{name}\", package = \"{name}-outline\" }}"
        );
    }
    manifest
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
