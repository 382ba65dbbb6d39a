//! Takes from items what no other crate can see: bodies, private fields, private functions.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Expr, Field, Fields, FieldsNamed, ImplItem, Item, ItemImpl, ItemStruct, ItemTrait, Signature,
    TraitItem, Type, Visibility, WherePredicate, parse_quote,
};

use super::clean;
use super::load::{attributes, impl_attributes, trait_attributes};
use super::macros;
use super::packages::Kept;

/// Traits whose implementations no cell needs.
const UNSEEN: [&str; 12] = [
    "Deserialize",
    "Serialize",
    "JsonSchema",
    "Drop",
    "Send",
    "Sync",
    "Zeroable",
    "Pod",
    "NoUninit",
    "AnyBitPattern",
    "Unpin",
    "UnwindSafe",
];

/// The items without what is private in them.
pub fn items(items: Vec<Item>, kept: Kept) -> Vec<Item> {
    items
        .into_iter()
        .filter_map(|item| stripped(item, kept))
        .collect()
}

fn stripped(mut item: Item, kept: Kept) -> Option<Item> {
    let found = attributes(&mut item)?;
    clean::attributes(found);
    if !kept.is_named() && !kept.is_ours() {
        found.retain(|attribute| !attribute.path().is_ident("doc"));
    }
    let exported = found
        .iter()
        .any(|attribute| attribute.path().is_ident("macro_export"));
    let is_hidden = found.iter().any(clean::is_hidden);
    match &mut item {
        // What a crate shows to its neighbours alone is private to cells.
        Item::Use(item) if is_hidden && kept == Kept::Below => item.vis = Visibility::Inherited,
        Item::Fn(item) => {
            if !(kept.is_named() || kept.is_ours()) || !is_public(&item.vis) {
                return None;
            }
            item.block = parse_quote!({ loop {} });
        }
        Item::Struct(item) => fields(item, kept),
        Item::Enum(item) => {
            for variant in &mut item.variants {
                clean::attributes(&mut variant.attrs);
                for field in &mut variant.fields {
                    clean::attributes(&mut field.attrs);
                }
            }
        }
        Item::Trait(item) => of_trait(item, kept),
        Item::Impl(item) => of_impl(item, kept).then_some(())?,
        Item::Const(item) => {
            if item.ident == "_" {
                return None;
            }
            value(&mut item.expr);
        }
        Item::Mod(module) => {
            let content = module.content.as_mut().map(|(_, content)| content)?;
            *content = items(std::mem::take(content), kept);
            if content.is_empty() {
                return None;
            }
            if !is_public(&module.vis) {
                clean::hide(&mut module.attrs);
            }
        }
        Item::Macro(item) if item.ident.is_some() => {
            item.mac.tokens = macros::without_bodies(std::mem::take(&mut item.mac.tokens));
        }
        Item::Static(_) | Item::ForeignMod(_) => return None,
        _ => {}
    }
    let hidden = !exported && private(&item);
    if let (true, Some(found)) = (hidden, attributes(&mut item)) {
        clean::hide(found);
    }
    Some(item)
}

/// Whether other crates cannot name an item that completion could offer.
pub fn private(item: &Item) -> bool {
    let seen = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Mod(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::TraitAlias(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return false,
    };
    !is_public(seen)
}

pub fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// A literal stays, because the length of an array may depend on it.
fn value(expression: &mut Expr) {
    if !matches!(expression, Expr::Lit(_)) {
        *expression = parse_quote!(loop {});
    }
}

/// Only public fields stay. A tuple keeps its places if one of them is public.
fn fields(item: &mut ItemStruct, kept: Kept) {
    for field in item.fields.iter_mut() {
        clean::attributes(&mut field.attrs);
        if !kept.is_ours() && field.ident.is_none() {
            clean::hide(&mut field.attrs);
        }
    }
    let public = |field: &Field| is_public(&field.vis);
    let mut named: FieldsNamed = match &item.fields {
        Fields::Named(fields) if !fields.named.iter().all(public) => {
            let fields = fields.named.iter().filter(|field| public(field));
            parse_quote!({ #(#fields),* })
        }
        Fields::Unnamed(fields) if !fields.unnamed.iter().any(public) => parse_quote!({}),
        _ => return,
    };
    // A parameter that no field has could be any type to rust-analyzer.
    let types = item
        .generics
        .type_params()
        .map(|parameter| &parameter.ident);
    let lifetimes = item
        .generics
        .lifetimes()
        .map(|parameter| &parameter.lifetime);
    let parameters: Vec<Type> = types
        .map(|name| parse_quote!(*const #name))
        .chain(lifetimes.map(|name| parse_quote!(&#name ())))
        .collect();
    if !parameters.is_empty() {
        named.named.push(parse_quote!(
            #[doc(hidden)]
            pub parameters: ::core::marker::PhantomData<(#(#parameters,)*)>
        ));
    }
    item.fields = Fields::Named(named);
    item.semi_token = None;
}

fn of_trait(item: &mut ItemTrait, kept: Kept) {
    // rust-analyzer follows bounds of a trait on `Self` in a circle.
    if let Some(clause) = &mut item.generics.where_clause {
        let predicates = std::mem::take(&mut clause.predicates);
        clause.predicates = predicates
            .into_iter()
            .filter(|part| !of_self(part))
            .collect();
    }
    if kept == Kept::Types {
        item.items.retain(|item| !matches!(item, TraitItem::Fn(_)));
    }
    for item in &mut item.items {
        if let Some(found) = trait_attributes(item) {
            clean::attributes(found);
        }
        match item {
            TraitItem::Fn(function) => {
                if !kept.is_ours() && is_internal(&function.sig) {
                    clean::hide(&mut function.attrs);
                }
                function.default = None;
                function.semi_token = Some(Default::default());
            }
            TraitItem::Const(constant) => constant.default = None,
            _ => {}
        }
    }
}

/// Whether a function is for Polars' own use.
fn is_internal(signature: &Signature) -> bool {
    let name = signature.ident.to_string();
    signature.unsafety.is_some()
        || name.starts_with('_')
        || name.ends_with("_impl")
        || name.contains("_unchecked")
}

fn of_self(predicate: &WherePredicate) -> bool {
    match predicate {
        WherePredicate::Type(part) => {
            matches!(&part.bounded_ty, Type::Path(path) if path.path.is_ident("Self"))
                && part.bounds.to_token_stream().to_string().contains('=')
        }
        _ => false,
    }
}

/// An `impl` of a type keeps its public functions, an `impl` of a trait its types; false if nothing is left.
fn of_impl(item: &mut ItemImpl, kept: Kept) -> bool {
    if kept == Kept::Types && item.trait_.is_none() {
        return false;
    }
    let of_trait = match &item.trait_ {
        Some((Some(_), _, _)) => return false,
        Some((None, path, _)) => {
            let last = path.segments.last().map(|last| last.ident.to_string());
            if last.is_some_and(|last| UNSEEN.contains(&&*last)) {
                return false;
            }
            true
        }
        None => false,
    };
    item.items.retain_mut(|item| {
        if let Some(found) = impl_attributes(item) {
            clean::attributes(found);
        }
        match item {
            ImplItem::Fn(function) => {
                function.block = parse_quote!({ loop {} });
                if !kept.is_ours() && is_internal(&function.sig) {
                    clean::hide(&mut function.attrs);
                }
                let is_hidden = kept.is_ours() && function.attrs.iter().any(clean::is_hidden);
                !of_trait && is_public(&function.vis) && !is_hidden
            }
            ImplItem::Const(constant) => {
                value(&mut constant.expr);
                !of_trait && is_public(&constant.vis)
            }
            ImplItem::Type(_) => true,
            ImplItem::Macro(call) => {
                call.mac.tokens = macros::without_bodies(std::mem::replace(
                    &mut call.mac.tokens,
                    TokenStream::new(),
                ));
                true
            }
            _ => false,
        }
    });
    of_trait || !item.items.is_empty()
}

#[cfg(test)]
mod tests {
    use quote::{ToTokens, quote};

    use super::{Kept, items};

    #[test]
    fn what_is_private_goes_and_what_infers_types_stays() {
        let source = quote! {
            /// A row.
            #[derive(Clone, Serialize)]
            pub struct Row<T> { pub length: usize, values: Vec<T> }
            pub struct Whole(usize);
            impl<T> Row<T> {
                /// How many.
                pub fn count(&self) -> usize { self.values.len() }
                pub(crate) fn ours(&self) {}
            }
            impl<T> Deref for Row<T> { type Target = [T]; fn deref(&self) -> &[T] { &self.values } }
            impl<T> Drop for Row<T> { fn drop(&mut self) {} }
            fn helper() {}
        };
        let file: syn::File = syn::parse2(source).unwrap_or(syn::File {
            shebang: None,
            attrs: Vec::new(),
            items: Vec::new(),
        });
        let kept = items(file.items, Kept::Ours);
        let expected = quote! {
            /// A row.
            #[derive(Clone)]
            pub struct Row<T> {
                pub length: usize,
                #[doc(hidden)]
                pub parameters: ::core::marker::PhantomData<(*const T,)>
            }
            pub struct Whole {}
            impl<T> Row<T> {
                /// How many.
                pub fn count(&self) -> usize { loop {} }
            }
            impl<T> Deref for Row<T> { type Target = [T]; }
        };
        let kept: Vec<String> = kept
            .iter()
            .map(|item| item.to_token_stream().to_string())
            .collect();
        assert_eq!(kept.join(" "), expected.to_string());
    }
}
