//! Leaves out what no public signature mentions: private items, and in crates that cells do not name all items. It goes by
//! names, across all crates: such an item stays if anything that stays mentions its name.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, ItemImpl, ItemUse, Type, UseTree, Visibility};

use super::packages::Package;
use super::strip;

/// What the items of all crates define and mention.
#[derive(Default)]
struct Names {
    /// Types and traits that are defined as private, and no public one of the same name.
    private: HashSet<String>,
    public: HashSet<String>,
    macros: HashSet<String>,
    mentioned: HashSet<String>,
}

/// Removes what no signature needs from all crates.
pub fn keep(crates: &mut [(Package, Vec<Item>)]) {
    let mut names = Names::default();
    for (package, items) in crates.iter() {
        names.define(items, package.kept.is_named());
    }
    let public = std::mem::take(&mut names.public);
    names.private.retain(|name| !public.contains(name));
    loop {
        let known = names.mentioned.len();
        for (package, items) in crates.iter() {
            names.mention(items, package.kept.is_named());
        }
        if names.mentioned.len() == known {
            break;
        }
    }
    for (package, items) in crates {
        names.prune(items, package.kept.is_named());
    }
}

impl Names {
    fn define(&mut self, items: &[Item], named: bool) {
        for item in items {
            let name = match item {
                Item::Struct(item) => item.ident.to_string(),
                Item::Enum(item) => item.ident.to_string(),
                Item::Trait(item) => item.ident.to_string(),
                Item::Union(item) => item.ident.to_string(),
                Item::Type(item) => item.ident.to_string(),
                Item::Macro(item) => {
                    self.macros
                        .extend(item.ident.as_ref().map(ToString::to_string));
                    continue;
                }
                Item::Mod(module) => {
                    let content = module.content.as_ref();
                    self.define(content.map_or(&[], |(_, items)| items), named);
                    continue;
                }
                _ => continue,
            };
            match !named || strip::private(item) {
                true => self.private.insert(name),
                false => self.public.insert(name),
            };
        }
    }

    /// Adds what the items mention that are wanted so far.
    fn mention(&mut self, items: &[Item], named: bool) {
        for item in items {
            if !self.wants(item, named) {
                continue;
            }
            match item {
                Item::Mod(module) => {
                    let content = module.content.as_ref();
                    self.mention(content.map_or(&[], |(_, items)| items), named);
                }
                Item::Use(item) if !strip::is_public(&item.vis) => {
                    self.mention_path(&item.tree);
                }
                item => add(item.to_token_stream(), &mut self.mentioned),
            }
        }
    }

    /// Adds the modules and crates through which a private `use` brings in what is mentioned; true if there is anything.
    fn mention_path(&mut self, tree: &UseTree) -> bool {
        match tree {
            UseTree::Path(path) => {
                let used = self.mention_path(&path.tree);
                if used {
                    self.mentioned.insert(path.ident.to_string());
                }
                used
            }
            UseTree::Name(name) => self.mentioned.contains(&name.ident.to_string()),
            UseTree::Rename(rename) => self.mentioned.contains(&rename.rename.to_string()),
            UseTree::Glob(_) => true,
            UseTree::Group(group) => {
                let items = group.items.iter();
                items.fold(false, |used, tree| self.mention_path(tree) | used)
            }
        }
    }

    fn wants(&self, item: &Item, named: bool) -> bool {
        let free = |seen: &Visibility| named && strip::is_public(seen);
        let mentioned = |name: &syn::Ident| self.mentioned.contains(&name.to_string());
        match item {
            Item::Const(item) if !free(&item.vis) => mentioned(&item.ident),
            Item::Fn(item) if !free(&item.vis) => mentioned(&item.sig.ident),
            Item::Struct(item) if !free(&item.vis) => mentioned(&item.ident),
            Item::Enum(item) if !free(&item.vis) => mentioned(&item.ident),
            Item::Trait(item) if !free(&item.vis) => mentioned(&item.ident),
            Item::Type(item) if !free(&item.vis) => mentioned(&item.ident),
            Item::Macro(item) => match &item.ident {
                Some(name) => named && item.attrs.iter().any(exported) || mentioned(name),
                None => {
                    let called = item.mac.path.segments.last();
                    called.is_some_and(|last| self.macros.contains(&last.ident.to_string()))
                }
            },
            Item::Impl(item) => self.wants_impl(item),
            _ => true,
        }
    }

    fn wants_impl(&self, item: &ItemImpl) -> bool {
        let known = |name: &String| !self.private.contains(name) || self.mentioned.contains(name);
        let of_type = head(&item.self_ty).is_none_or(|name| known(&name));
        let of_trait = item.trait_.as_ref().is_none_or(|(_, path, _)| {
            path.segments
                .last()
                .is_none_or(|last| known(&last.ident.to_string()))
        });
        of_type && of_trait
    }

    fn prune(&self, items: &mut Vec<Item>, named: bool) {
        items.retain_mut(|item| {
            if !self.wants(item, named) {
                return false;
            }
            match item {
                Item::Mod(module) => {
                    if let Some((_, items)) = &mut module.content {
                        self.prune(items, named);
                    }
                    let content = module.content.as_ref();
                    content.is_some_and(|(_, items)| {
                        items.iter().any(
                            |item| !matches!(item, Item::Use(item) if !strip::is_public(&item.vis)),
                        )
                    })
                }
                Item::Use(item) if !strip::is_public(&item.vis) => self.prune_use(item),
                _ => true,
            }
        });
    }

    /// Removes from a private `use` what nothing mentions; false if nothing is left.
    fn prune_use(&self, item: &mut ItemUse) -> bool {
        match self.used(std::mem::replace(
            &mut item.tree,
            UseTree::Glob(syn::UseGlob {
                star_token: Default::default(),
            }),
        )) {
            Some(tree) => {
                item.tree = tree;
                true
            }
            None => false,
        }
    }

    fn used(&self, tree: UseTree) -> Option<UseTree> {
        let mentioned = |name: &syn::Ident| self.mentioned.contains(&name.to_string());
        match tree {
            UseTree::Path(mut path) => {
                // `use a::{self}` brings `a` in.
                if matches!(&*path.tree, UseTree::Name(name) if name.ident == "self") {
                    return mentioned(&path.ident).then_some(UseTree::Path(path));
                }
                *path.tree = self.used(*path.tree)?;
                Some(UseTree::Path(path))
            }
            UseTree::Name(name) => {
                (name.ident == "self" || mentioned(&name.ident)).then_some(UseTree::Name(name))
            }
            UseTree::Rename(rename) => mentioned(&rename.rename).then_some(UseTree::Rename(rename)),
            UseTree::Glob(glob) => Some(UseTree::Glob(glob)),
            UseTree::Group(mut group) => {
                let trees = std::mem::take(&mut group.items);
                group.items = trees
                    .into_iter()
                    .filter_map(|tree| self.used(tree))
                    .collect();
                (!group.items.is_empty()).then_some(UseTree::Group(group))
            }
        }
    }
}

fn exported(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("macro_export")
}

/// The name of the type that an `impl` is for; none for tuples, parameters in references and the like.
fn head(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Reference(reference) => head(&reference.elem),
        Type::Group(group) => head(&group.elem),
        Type::Paren(paren) => head(&paren.elem),
        _ => None,
    }
}

fn add(tokens: TokenStream, names: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                names.insert(name.to_string());
            }
            TokenTree::Group(group) => add(group.stream(), names),
            _ => {}
        }
    }
}
