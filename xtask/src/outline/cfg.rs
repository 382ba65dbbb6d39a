//! Conditional compilation, decided as the build of the library decides it.

use std::path::Path;
use std::process::Command;

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, Meta, Token};

use super::packages::output;

/// The conditions that hold for a crate.
pub struct Cfg<'a> {
    target: &'a [String],
    features: &'a [String],
}

/// The conditions that hold for every crate, as rustc prints them: `unix`, `target_os="linux"`.
pub fn target(root: &Path) -> Result<Vec<String>, String> {
    let mut rustc = Command::new("rustc");
    let printed = output(rustc.args(["--print", "cfg"]).current_dir(root))?;
    Ok(printed
        .lines()
        .filter(|line| *line != "debug_assertions")
        .map(str::to_owned)
        .collect())
}

impl<'a> Cfg<'a> {
    pub fn new(target: &'a [String], features: &'a [String]) -> Self {
        Self { target, features }
    }

    /// Removes `cfg` and resolves `cfg_attr` among `attributes`; false if the item is not compiled.
    pub fn apply(&self, attributes: &mut Vec<Attribute>) -> bool {
        let mut holds = true;
        let mut resolved = Vec::new();
        for attribute in attributes.drain(..) {
            if attribute.path().is_ident("cfg") {
                // A condition that cannot be read keeps the item.
                holds &= attribute
                    .parse_args()
                    .map_or(true, |meta: Meta| self.holds(&meta));
            } else if attribute.path().is_ident("cfg_attr") {
                self.resolve(attribute, &mut resolved);
            } else {
                resolved.push(attribute);
            }
        }
        *attributes = resolved;
        holds
    }

    /// The attributes that a `cfg_attr` stands for.
    fn resolve(&self, attribute: Attribute, resolved: &mut Vec<Attribute>) {
        let Ok(parts) = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        else {
            return;
        };
        let mut parts = parts.into_iter();
        if !parts.next().is_some_and(|condition| self.holds(&condition)) {
            return;
        }
        let mut inner = parts
            .map(|meta| Attribute {
                meta,
                ..attribute.clone()
            })
            .collect();
        if self.apply(&mut inner) {
            resolved.extend(inner);
        }
    }

    fn holds(&self, condition: &Meta) -> bool {
        let parts = |list: &syn::MetaList| {
            list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .unwrap_or_default()
        };
        match condition {
            Meta::Path(path) => {
                path.is_ident("true") || self.target.iter().any(|name| path.is_ident(name))
            }
            Meta::NameValue(pair) => {
                let Expr::Lit(literal) = &pair.value else {
                    return false;
                };
                let Lit::Str(value) = &literal.lit else {
                    return false;
                };
                let value = value.value();
                match pair.path.get_ident() {
                    Some(name) if name == "feature" => self.features.contains(&value),
                    Some(name) => self.target.contains(&format!("{name}=\"{value}\"")),
                    None => false,
                }
            }
            Meta::List(list) if list.path.is_ident("all") => {
                parts(list).iter().all(|part| self.holds(part))
            }
            Meta::List(list) if list.path.is_ident("any") => {
                parts(list).iter().any(|part| self.holds(part))
            }
            Meta::List(list) if list.path.is_ident("not") => {
                !parts(list).iter().all(|part| self.holds(part))
            }
            Meta::List(_) => false,
        }
    }
}
