//! Items as lines of text, without what is private.

use quote::ToTokens;
use syn::{Fields, ImplItem, Item, TraitItem};

use crate::source_tree::{Place, Tree, is_public};

/// An item, its public parts, and what is implemented for it.
pub(super) fn lines(tree: &Tree, at: &Place, name: &str) -> Vec<String> {
    let mut lines = Vec::new();
    match tree.item(at, name) {
        Some(Item::Struct(item)) => {
            lines.push(format!("struct {}{}", item.ident, text(&item.generics)));
            lines.extend(derived(&item.attrs));
            lines.extend(fields(&item.fields));
        }
        Some(Item::Enum(item)) => {
            lines.push(format!("enum {}{}", item.ident, text(&item.generics)));
            lines.extend(derived(&item.attrs));
            for variant in &item.variants {
                let mut bare = variant.clone();
                bare.attrs.clear();
                bare.fields.iter_mut().for_each(|field| field.attrs.clear());
                lines.push(text(&bare));
            }
        }
        Some(Item::Trait(item)) => {
            lines.push(format!("trait {}{}", item.ident, text(&item.generics)));
            lines.extend(item.items.iter().map(trait_part));
        }
        Some(Item::Type(item)) => lines.push(format!("type {} = {}", item.ident, text(&item.ty))),
        Some(Item::Const(item)) => lines.push(format!("const {}: {}", item.ident, text(&item.ty))),
        Some(Item::Fn(item)) => lines.push(text(&item.sig)),
        _ => {}
    }
    let mut more: Vec<String> = tree.impls(at, name).into_iter().flat_map(implemented).collect();
    more.sort();
    lines.extend(more);
    lines
}

fn derived(attributes: &[syn::Attribute]) -> Option<String> {
    let derive = attributes.iter().find(|attribute| attribute.path().is_ident("derive"))?;
    let list = derive.meta.require_list().ok()?;
    Some(format!("derive {}", text(&list.tokens)))
}

fn fields(fields: &Fields) -> Vec<String> {
    let public = fields.iter().filter(|field| is_public(&field.vis));
    let mut lines: Vec<String> = public
        .map(|field| match &field.ident {
            Some(name) => format!("{name}: {}", text(&field.ty)),
            None => text(&field.ty),
        })
        .collect();
    if fields.iter().any(|field| !is_public(&field.vis)) {
        lines.push("..".to_owned());
    }
    lines
}

fn trait_part(part: &TraitItem) -> String {
    match part {
        TraitItem::Fn(method) => text(&method.sig),
        TraitItem::Type(kind) => format!("type {}", kind.ident),
        TraitItem::Const(constant) => format!("const {}: {}", constant.ident, text(&constant.ty)),
        other => text(other),
    }
}

fn implemented(block: &syn::ItemImpl) -> Vec<String> {
    if block.trait_.is_some() {
        let mut heading = block.clone();
        heading.attrs.clear();
        heading.items.clear();
        return vec![text(&heading).trim_end_matches("{ }").trim().to_owned()];
    }
    let public = block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) if is_public(&method.vis) => Some(text(&method.sig)),
        ImplItem::Const(one) if is_public(&one.vis) => {
            Some(format!("const {}: {}", one.ident, text(&one.ty)))
        }
        _ => None,
    });
    public.collect()
}

/// As `rustfmt` would space it, nearly.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ,", ","),
        (",)", ")"),
        (" :", ":"),
        (" ;", ";"),
        ("& ", "&"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ?", "?"),
        ("? ", "?"),
        (",(", ", ("),
        ("->(", "-> ("),
        (":(", ": ("),
        ("=(", "= ("),
        (", }", " }"),
    ] {
        text = text.replace(from, to);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_reads_as_it_was_written() {
        for line in [
            "fn next<'a, T: Into<u8>>(&mut self, of: &'a [u8; 32], (a, b): (T, u8)) -> Option<T>",
            "fn each(self, tell: &mut dyn FnMut(Told<'_>)) -> (u8, Vec<u8>)",
            "const fn none() -> impl Iterator<Item = std::io::Result<u8>>",
        ] {
            let parsed: syn::Signature = syn::parse_str(line).unwrap();
            assert_eq!(text(&parsed), line);
        }
    }
}
