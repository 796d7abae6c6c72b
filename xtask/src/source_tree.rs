//! The modules of our crates, read from their source, and names followed through them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use syn::{Attribute, Item, UseTree, Visibility};

/// Names followed through so many re-exports go in a circle.
const DEPTH: usize = 16;

/// A module: its crate, and the names down to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    package: String,
    path: Vec<String>,
}

impl Place {
    pub(super) fn root(package: &str) -> Self {
        Self { package: package.to_owned(), path: Vec::new() }
    }

    fn child(&self, name: &str) -> Self {
        let mut child = self.clone();
        child.path.push(name.to_owned());
        child
    }

    fn parent(&self) -> Self {
        let mut parent = self.clone();
        parent.path.pop();
        parent
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Module(Place),
    /// The item of that name in that module.
    Item(Place, String),
}

/// What a module says.
#[derive(Default)]
struct Module {
    items: Vec<Item>,
    children: BTreeMap<String, bool>,
    /// Name, what it stands for, and whether others may use it.
    uses: Vec<(String, Vec<String>, bool)>,
}

/// All our crates.
#[derive(Default)]
pub(super) struct Tree {
    modules: BTreeMap<Place, Module>,
    /// For each type, where the `impl` blocks for it are, by number in their modules.
    blocks: BTreeMap<(Place, String), Vec<(Place, usize)>>,
}

impl Tree {
    /// Reads the crates below a folder.
    pub(super) fn read(folder: &str) -> Result<Self, String> {
        let mut tree = Self::default();
        let entries = fs::read_dir(folder).map_err(|error| format!("{folder}: {error}"))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let package = if name == "fanfare" {
                name
            } else {
                format!("fanfare_{}", name.replace('-', "_"))
            };
            let source = entry.path().join("src");
            if source.join("lib.rs").exists() {
                tree.read_file(&source.join("lib.rs"), &source, Place::root(&package))?;
            }
        }
        tree.find_blocks();
        Ok(tree)
    }

    /// `folder`: where the files of its child modules are.
    fn read_file(&mut self, file: &Path, folder: &Path, at: Place) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| told(&error))?;
        let parsed = syn::parse_file(&text).map_err(|error| told(&error))?;
        self.take(parsed.items, folder, at)
    }

    fn take(&mut self, items: Vec<Item>, folder: &Path, at: Place) -> Result<(), String> {
        let mut module = Module::default();
        for item in items {
            match item {
                Item::Mod(child) if !is_for_tests(&child.attrs) => {
                    let name = child.ident.to_string();
                    module.children.insert(name.clone(), is_public(&child.vis));
                    let below = folder.join(&name);
                    match child.content {
                        Some((_, items)) => self.take(items, &below, at.child(&name))?,
                        None => {
                            let file = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
                            let file: Option<&PathBuf> = file.iter().find(|file| file.exists());
                            let file = file.ok_or_else(|| format!("no file for module {name}"))?;
                            self.read_file(file, &below, at.child(&name))?;
                        }
                    }
                }
                Item::Use(used) => {
                    let public = is_public(&used.vis);
                    names(&used.tree, &mut Vec::new(), &mut |name, path| {
                        module.uses.push((name, path, public));
                    });
                }
                other => module.items.push(other),
            }
        }
        self.modules.insert(at, module);
        Ok(())
    }

    /// What others see of a module, by name.
    pub(super) fn public(&self, at: &Place) -> BTreeMap<String, Target> {
        let mut all = BTreeMap::new();
        let Some(module) = self.modules.get(at) else { return all };
        for (name, _) in module.children.iter().filter(|(_, public)| **public) {
            all.insert(name.clone(), Target::Module(at.child(name)));
        }
        for item in &module.items {
            if let Some((name, true)) = named(item) {
                all.insert(name.clone(), Target::Item(at.clone(), name));
            }
        }
        for (name, path, _) in module.uses.iter().filter(|(_, _, public)| *public) {
            if let Some(target) = self.resolve(at, path, DEPTH) {
                all.insert(name.clone(), target);
            }
        }
        all
    }

    /// The item itself.
    pub(super) fn item(&self, at: &Place, name: &str) -> Option<&Item> {
        let is_it = |item: &&Item| named(item).is_some_and(|(its, _)| its == name);
        self.modules.get(at)?.items.iter().find(is_it)
    }

    /// All `impl` blocks for the item of that name in that module.
    pub(super) fn impls(&self, at: &Place, name: &str) -> Vec<&syn::ItemImpl> {
        let blocks = self.blocks.get(&(at.clone(), name.to_owned())).into_iter().flatten();
        let found =
            blocks.filter_map(|(at, number)| match self.modules.get(at)?.items.get(*number)? {
                Item::Impl(block) => Some(block),
                _ => None,
            });
        found.collect()
    }

    fn find_blocks(&mut self) {
        let mut blocks: BTreeMap<_, Vec<(Place, usize)>> = BTreeMap::new();
        for (at, module) in &self.modules {
            for (number, item) in module.items.iter().enumerate() {
                if let Item::Impl(block) = item
                    && let syn::Type::Path(path) = &*block.self_ty
                    && !is_for_tests(&block.attrs)
                    && let Some(Target::Item(home, name)) =
                        self.resolve(at, &segments(&path.path), DEPTH)
                {
                    blocks.entry((home, name)).or_default().push((at.clone(), number));
                }
            }
        }
        self.blocks = blocks;
    }

    fn resolve(&self, at: &Place, path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let depth = depth.checked_sub(1)?;
        let outer = Place::root(first);
        let begun = match first.as_str() {
            "crate" => Target::Module(Place::root(&at.package)),
            "self" => Target::Module(at.clone()),
            "super" => Target::Module(at.parent()),
            _ => match self.find(at, first, depth) {
                Some(found) => found,
                None if self.modules.contains_key(&outer) => Target::Module(outer),
                None => return None,
            },
        };
        rest.iter().try_fold(begun, |target, name| match target {
            Target::Module(place) if name == "super" => Some(Target::Module(place.parent())),
            Target::Module(place) if name == "self" => Some(Target::Module(place)),
            Target::Module(place) => self.find(&place, name, depth),
            Target::Item(..) => None,
        })
    }

    fn find(&self, at: &Place, name: &str, depth: usize) -> Option<Target> {
        let module = self.modules.get(at)?;
        if module.children.contains_key(name) {
            return Some(Target::Module(at.child(name)));
        }
        if self.item(at, name).is_some() {
            return Some(Target::Item(at.clone(), name.to_owned()));
        }
        let (_, path, _) = module.uses.iter().find(|(its, _, _)| its == name)?;
        // `use x;` stands for itself.
        (path.len() > 1 || path[0] != name).then(|| self.resolve(at, path, depth)).flatten()
    }
}

fn names(tree: &UseTree, path: &mut Vec<String>, tell: &mut dyn FnMut(String, Vec<String>)) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            names(&part.tree, path, tell);
            path.pop();
        }
        UseTree::Name(last) if last.ident == "self" => {
            tell(path.last().cloned().unwrap_or_default(), path.clone());
        }
        UseTree::Name(last) => {
            let name = last.ident.to_string();
            tell(name.clone(), path.iter().cloned().chain([name]).collect());
        }
        UseTree::Rename(last) => {
            let whole = path.iter().cloned().chain([last.ident.to_string()]);
            tell(last.rename.to_string(), whole.filter(|part| part != "self").collect());
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, path, tell)),
        // Our crates name what they export.
        UseTree::Glob(_) => {}
    }
}

/// The name of an item that can be exported, and whether it is public.
fn named(item: &Item) -> Option<(String, bool)> {
    let (name, visibility, attributes) = match item {
        Item::Struct(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Enum(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Trait(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Type(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Const(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Fn(i) => (&i.sig.ident, &i.vis, &i.attrs),
        _ => return None,
    };
    (!is_for_tests(attributes)).then(|| (name.to_string(), is_public(visibility)))
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| matches!(list.tokens.to_string().as_str(), "test" | "doctest"))
    })
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
