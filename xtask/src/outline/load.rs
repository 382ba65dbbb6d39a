//! Reads a crate into one tree of items, without the items that are not compiled.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, Fields, ImplItem, Item, Lit, Meta, TraitItem};

use super::cfg::Cfg;

/// Where the files of a module's children are.
struct Place {
    /// The folder that a `#[path]` starts from.
    beside: PathBuf,
    /// The folder of the files of child modules.
    children: PathBuf,
}

/// The items of the crate or module in `file`, which owns its folder as `lib.rs` and `mod.rs` do.
pub fn file(file: &Path, cfg: &Cfg) -> Result<Vec<Item>, String> {
    let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let place = Place {
        beside: folder.clone(),
        children: folder,
    };
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(parsed(&text, file, &place, cfg, &mut Vec::new()))
}

/// The items of a file. A file that does not parse has none: the build reports the error.
fn parsed(
    text: &str,
    path: &Path,
    place: &Place,
    cfg: &Cfg,
    documentation: &mut Vec<Attribute>,
) -> Vec<Item> {
    match syn::parse_file(text) {
        Ok(mut file) => {
            if !cfg.apply(&mut file.attrs) {
                return Vec::new();
            }
            documentation.extend(file.attrs);
            items(file.items, place, cfg)
        }
        Err(error) => {
            eprintln!("topicbook-outline: {}: {error}", path.display());
            Vec::new()
        }
    }
}

fn items(items: Vec<Item>, place: &Place, cfg: &Cfg) -> Vec<Item> {
    items
        .into_iter()
        .filter_map(|item| compiled(item, place, cfg))
        .collect()
}

/// The item as it is compiled, with the files of its modules in it.
fn compiled(mut item: Item, place: &Place, cfg: &Cfg) -> Option<Item> {
    if !cfg.apply(attributes(&mut item)?) {
        return None;
    }
    match &mut item {
        Item::Mod(module) => {
            let name = module.ident.to_string();
            let name = name.trim_start_matches("r#");
            let inside = place.children.join(name);
            if let Some((_, content)) = &mut module.content {
                let place = Place {
                    beside: inside.clone(),
                    children: inside,
                };
                *content = items(std::mem::take(content), &place, cfg);
            } else {
                let content = match path_of(&module.attrs) {
                    Some(path) => from_file(&place.beside.join(path), None, cfg, &mut module.attrs),
                    None => {
                        let alone = place.children.join(format!("{name}.rs"));
                        match alone.is_file() {
                            true => from_file(&alone, Some(inside), cfg, &mut module.attrs),
                            false => {
                                from_file(&inside.join("mod.rs"), None, cfg, &mut module.attrs)
                            }
                        }
                    }
                };
                module.content = Some((syn::token::Brace::default(), content));
                module.semi = None;
            }
        }
        Item::Struct(item) => fields(&mut item.fields, cfg),
        Item::Enum(item) => {
            let variants = std::mem::take(&mut item.variants);
            item.variants = variants
                .into_iter()
                .filter_map(|mut variant| {
                    fields(&mut variant.fields, cfg);
                    cfg.apply(&mut variant.attrs).then_some(variant)
                })
                .collect();
        }
        Item::Trait(item) => item
            .items
            .retain_mut(|item| trait_attributes(item).is_none_or(|found| cfg.apply(found))),
        Item::Impl(item) => item
            .items
            .retain_mut(|item| impl_attributes(item).is_none_or(|found| cfg.apply(found))),
        _ => {}
    }
    Some(item)
}

/// The items of a module's file; the documentation inside the file goes to the module. `children` is the folder of its
/// child modules, if that is not the file's own folder.
fn from_file(
    file: &Path,
    children: Option<PathBuf>,
    cfg: &Cfg,
    documentation: &mut Vec<Attribute>,
) -> Vec<Item> {
    let beside = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let place = Place {
        children: children.unwrap_or_else(|| beside.clone()),
        beside,
    };
    match fs::read_to_string(file) {
        Ok(text) => parsed(&text, file, &place, cfg, documentation),
        Err(error) => {
            eprintln!("topicbook-outline: {}: {error}", file.display());
            Vec::new()
        }
    }
}

fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
                Lit::Str(path) => Some(path.value()),
                _ => None,
            },
            _ => None,
        }
    })
}

fn fields(fields: &mut Fields, cfg: &Cfg) {
    match fields {
        Fields::Named(fields) => {
            let named = std::mem::take(&mut fields.named);
            fields.named = named
                .into_iter()
                .filter_map(|mut field| cfg.apply(&mut field.attrs).then_some(field))
                .collect();
        }
        Fields::Unnamed(fields) => {
            let unnamed = std::mem::take(&mut fields.unnamed);
            fields.unnamed = unnamed
                .into_iter()
                .filter_map(|mut field| cfg.apply(&mut field.attrs).then_some(field))
                .collect();
        }
        Fields::Unit => {}
    }
}

/// The attributes of an item; none for tokens that syn does not parse.
pub fn attributes(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    Some(match item {
        Item::Const(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        Item::ExternCrate(item) => &mut item.attrs,
        Item::Fn(item) => &mut item.attrs,
        Item::ForeignMod(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Macro(item) => &mut item.attrs,
        Item::Mod(item) => &mut item.attrs,
        Item::Static(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        Item::Trait(item) => &mut item.attrs,
        Item::TraitAlias(item) => &mut item.attrs,
        Item::Type(item) => &mut item.attrs,
        Item::Union(item) => &mut item.attrs,
        Item::Use(item) => &mut item.attrs,
        _ => return None,
    })
}

/// The attributes of an item of an `impl`.
pub fn impl_attributes(item: &mut ImplItem) -> Option<&mut Vec<Attribute>> {
    Some(match item {
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Fn(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return None,
    })
}

/// The attributes of an item of a trait.
pub fn trait_attributes(item: &mut TraitItem) -> Option<&mut Vec<Attribute>> {
    Some(match item {
        TraitItem::Const(item) => &mut item.attrs,
        TraitItem::Fn(item) => &mut item.attrs,
        TraitItem::Type(item) => &mut item.attrs,
        TraitItem::Macro(item) => &mut item.attrs,
        _ => return None,
    })
}
