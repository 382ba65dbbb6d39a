//! Macros that make items: rust-analyzer expands them, so their bodies lose only the bodies of functions.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

/// `tokens` with the body of every function replaced by an endless loop.
pub fn without_bodies(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut in_signature = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) => {
                in_signature |= word == "fn";
                kept.push(TokenTree::Ident(word));
            }
            TokenTree::Punct(mark) => {
                in_signature &= mark.as_char() != ';';
                kept.push(TokenTree::Punct(mark));
            }
            TokenTree::Group(group) => {
                let body = in_signature && group.delimiter() == Delimiter::Brace;
                in_signature &= !body;
                let inside = match body {
                    true => quote!(loop {}),
                    false => without_bodies(group.stream()),
                };
                kept.push(TokenTree::Group(Group::new(group.delimiter(), inside)));
            }
            other => kept.push(other),
        }
    }
    kept.into_iter().collect()
}
