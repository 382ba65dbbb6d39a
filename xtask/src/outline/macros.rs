//! Macros that make items: rust-analyzer expands them, so they lose what items lose elsewhere.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

/// `tokens` with the body of every function replaced by an endless loop, and without the functions of an `impl` that are
/// private or belong to a trait.
pub fn without_bodies(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut signature = false;
    let mut block = Block::Other;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(word) => {
                signature |= word == "fn";
                if word == "impl" && !signature {
                    block = Block::Type;
                }
                let bound =
                    matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '<');
                if word == "for" && block == Block::Type && !bound {
                    block = Block::Trait;
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => {
                signature = false;
                block = Block::Other;
            }
            TokenTree::Group(group) => {
                let braces = group.delimiter() == Delimiter::Brace;
                let inside = match (braces, signature, block) {
                    (true, true, _) => quote!(loop {}),
                    (true, false, Block::Type) => without_functions(group.stream(), true),
                    (true, false, Block::Trait) => without_functions(group.stream(), false),
                    _ => without_bodies(group.stream()),
                };
                if braces {
                    signature = false;
                    block = Block::Other;
                }
                kept.push(TokenTree::Group(Group::new(group.delimiter(), inside)));
                continue;
            }
            _ => {}
        }
        kept.push(token);
    }
    kept.into_iter().collect()
}

/// What the next braces are of.
#[derive(Clone, Copy, PartialEq)]
enum Block {
    Type,
    Trait,
    Other,
}

/// The items of an `impl` without functions; with its public ones if `public`.
fn without_functions(tokens: TokenStream, public: bool) -> TokenStream {
    let mut kept = Vec::new();
    let mut item = Vec::new();
    for token in tokens.clone() {
        let end = match &token {
            TokenTree::Punct(mark) => mark.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        item.push(token);
        if end {
            let item = std::mem::take(&mut item);
            let starts_repetition = item.windows(2).any(|pair| {
                matches!(&pair[0], TokenTree::Punct(mark) if mark.as_char() == '$')
                    && matches!(&pair[1], TokenTree::Group(_))
            });
            if starts_repetition {
                return without_bodies(tokens);
            }
            if stays(&item, public) {
                kept.extend(item);
            }
        }
    }
    kept.extend(item);
    without_bodies(kept.into_iter().collect())
}

fn stays(item: &[TokenTree], public: bool) -> bool {
    let word = |name: &str| {
        item.iter()
            .position(|token| matches!(token, TokenTree::Ident(word) if word == name))
    };
    let Some(function) = word("fn") else {
        return true;
    };
    // Not `pub(crate)`.
    let seen = word("pub")
        .is_some_and(|at| at < function && !matches!(&item[at + 1], TokenTree::Group(_)));
    public && seen
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::without_bodies;

    #[test]
    fn only_types_and_public_functions_of_an_impl_stay() {
        let made = without_bodies(quote!(
            ($t:ty) => {
                impl $t { pub fn seen(&self) -> $t { 1 } fn unseen() {} pub(crate) fn ours() {} }
                impl for<'a> Add<&'a $t> for $t { type Output = $t; #[inline] fn add(self) { self } }
                pub fn free() -> u8 { 3 }
            }
        ));
        let expected = quote!(
            ($t:ty) => {
                impl $t { pub fn seen(&self) -> $t { loop {} } }
                impl for<'a> Add<&'a $t> for $t { type Output = $t; }
                pub fn free() -> u8 { loop {} }
            }
        );
        assert_eq!(made.to_string(), expected.to_string());
    }
}
