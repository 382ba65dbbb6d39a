//! The attributes that an outline keeps.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Path, Token, parse_quote};

/// Traits of the standard library that rust-analyzer derives itself.
const DERIVED: [&str; 9] = [
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Eq",
    "Hash",
    "Ord",
    "PartialEq",
    "PartialOrd",
];

/// Attributes that change names, types or what a help text shows.
const KEPT: [&str; 6] = [
    "doc",
    "macro_export",
    "macro_use",
    "default",
    "deprecated",
    "non_exhaustive",
];

/// Keeps the attributes that matter to a reader of signatures.
pub fn attributes(attributes: &mut Vec<Attribute>) {
    let kept = attributes.drain(..).filter_map(|mut attribute| {
        attribute.style = syn::AttrStyle::Outer;
        if attribute.path().is_ident("derive") {
            return derives(&attribute);
        }
        KEPT.iter()
            .any(|name| attribute.path().is_ident(name))
            .then_some(attribute)
    });
    *attributes = kept.collect();
}

/// The standard traits of a `derive`.
fn derives(attribute: &Attribute) -> Option<Attribute> {
    let derived: Vec<Path> = attribute
        .parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)
        .ok()?
        .into_iter()
        .filter(|path| {
            path.segments
                .last()
                .is_some_and(|last| DERIVED.iter().any(|name| last.ident == name))
        })
        .collect();
    (!derived.is_empty()).then(|| parse_quote!(#[derive(#(#derived),*)]))
}

/// Whether an attribute is `#[doc(hidden)]`.
pub fn is_hidden(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) => {
            list.path.is_ident("doc")
                && list
                    .tokens
                    .clone()
                    .into_iter()
                    .any(|token| token.to_string() == "hidden")
        }
        _ => false,
    }
}

/// Hides an item from completion in other crates.
pub fn hide(attributes: &mut Vec<Attribute>) {
    if !attributes.iter().any(is_hidden) {
        attributes.push(parse_quote!(#[doc(hidden)]));
    }
}
