//! The modules of our crates, read from their source, and names followed through them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, UseTree, Visibility};

/// Names followed through so many re-exports go in a circle.
const DEPTH: usize = 16;
/// The crate that programs see.
const FACADE: &str = "fanfare";

/// A module: its crate, and the names down to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    package: String,
    path: Vec<String>,
}

impl Place {
    pub(crate) fn root(package: &str) -> Self {
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
pub(crate) enum Target {
    Module(Place),
    /// The item of that name in that module.
    Item(Place, String),
}

/// Who may use a name that a module imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Import {
    /// The module itself, and those in it.
    Own,
    /// Other modules, too: it stands here to be found.
    Shared,
    /// Everybody.
    Public,
}

/// What a module says.
#[derive(Default)]
struct Module {
    /// Where it is written.
    file: PathBuf,
    items: Vec<Item>,
    children: BTreeMap<String, bool>,
    /// Name, what it stands for, and who may use it.
    uses: Vec<(String, Vec<String>, Import)>,
}

/// For each file, the files whose definitions it names.
pub(crate) type Arrows = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Folders of the crates: each stands in the folder of its area.
pub(crate) fn crates(folder: &str) -> Result<Vec<PathBuf>, String> {
    let areas = fs::read_dir(folder).map_err(|error| format!("{folder}: {error}"))?;
    let inside = |area: fs::DirEntry| fs::read_dir(area.path()).into_iter().flatten().flatten();
    let folders = areas.flatten().flat_map(inside).map(|entry| entry.path());
    let mut all: Vec<PathBuf> = folders.filter(|path| path.join("Cargo.toml").exists()).collect();
    all.sort();
    Ok(all)
}

/// All our crates.
#[derive(Default)]
pub(crate) struct Tree {
    modules: BTreeMap<Place, Module>,
    /// For each type, where the `impl` blocks for it are, by number in their modules.
    blocks: BTreeMap<(Place, String), Vec<(Place, usize)>>,
}

impl Tree {
    /// Reads the crates below a folder.
    pub(crate) fn read(folder: &str) -> Result<Self, String> {
        let mut tree = Self::default();
        for path in crates(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let package =
                if name == FACADE { name } else { format!("fanfare_{}", name.replace('-', "_")) };
            let source = path.join("src");
            let roots = ["lib.rs", "main.rs"].map(|root| source.join(root));
            if let Some(root) = roots.iter().find(|root| root.exists()) {
                tree.read_file(root, &source, Place::root(&package))?;
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
        self.take(parsed.items, (file, folder), at)
    }

    fn take(
        &mut self,
        items: Vec<Item>,
        (file, folder): (&Path, &Path),
        at: Place,
    ) -> Result<(), String> {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            match item {
                Item::Mod(child) if !is_for_tests(&child.attrs) => {
                    let name = child.ident.to_string();
                    module.children.insert(name.clone(), is_public(&child.vis));
                    let below = folder.join(&name);
                    match child.content {
                        Some((_, items)) => self.take(items, (file, &below), at.child(&name))?,
                        None => {
                            let files = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
                            let file: Option<&PathBuf> = files.iter().find(|file| file.exists());
                            let file = file.ok_or_else(|| format!("no file for module {name}"))?;
                            self.read_file(file, &below, at.child(&name))?;
                        }
                    }
                }
                Item::Use(used) if !is_for_tests(&used.attrs) => {
                    let import = match &used.vis {
                        Visibility::Public(_) => Import::Public,
                        Visibility::Restricted(_) => Import::Shared,
                        Visibility::Inherited => Import::Own,
                    };
                    names(&used.tree, &mut Vec::new(), &mut |name, path| {
                        module.uses.push((name, path, import));
                    });
                }
                Item::Use(_) | Item::Mod(_) => {}
                other => module.items.push(other),
            }
        }
        self.modules.insert(at, module);
        Ok(())
    }

    /// What others see of a module, by name.
    pub(crate) fn public(&self, at: &Place) -> BTreeMap<String, Target> {
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
        for (name, path, _) in module.uses.iter().filter(|(_, _, import)| *import == Import::Public)
        {
            if let Some(target) = self.resolve(at, path, DEPTH) {
                all.insert(name.clone(), target);
            }
        }
        all
    }

    /// Which files name definitions of which others, tests apart. A name that is only handed on
    /// leads to where it is defined, and does not tie the file that hands it on.
    pub(crate) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (at, module) in &self.modules {
            let to = arrows.entry(module.file.clone()).or_default();
            for path in module.named() {
                let Some(home) = self.home(at, &path) else { continue };
                let other = self.modules.get(&home).filter(|_| home.package == at.package);
                to.extend(other.map(|other| other.file.clone()).filter(|f| *f != module.file));
            }
        }
        arrows
    }

    /// Where what a path names is defined; of what belongs to a type, where the type is.
    fn home(&self, at: &Place, path: &[String]) -> Option<Place> {
        let begun = (1..=path.len()).rev().filter_map(|len| self.resolve(at, &path[..len], DEPTH));
        let mut items = begun.filter_map(|target| match target {
            Target::Item(home, _) => Some(home),
            Target::Module(_) => None,
        });
        items.next()
    }

    /// The item itself.
    pub(crate) fn item(&self, at: &Place, name: &str) -> Option<&Item> {
        let is_it = |item: &&Item| named(item).is_some_and(|(its, _)| its == name);
        self.modules.get(at)?.items.iter().find(is_it)
    }

    /// All `impl` blocks for the item of that name in that module.
    pub(crate) fn impls(&self, at: &Place, name: &str) -> Vec<&syn::ItemImpl> {
        let blocks = self.blocks.get(&(at.clone(), name.to_owned())).into_iter().flatten();
        let found =
            blocks.filter_map(|(at, number)| match self.modules.get(at)?.items.get(*number)? {
                Item::Impl(block) => Some(block),
                _ => None,
            });
        found.collect()
    }

    /// Blocks of crates that the facade does not use are none of a program's business.
    fn find_blocks(&mut self) {
        let mut blocks: BTreeMap<_, Vec<(Place, usize)>> = BTreeMap::new();
        let used = self.used_by(FACADE);
        for (at, module) in self.modules.iter().filter(|(at, _)| used.contains(&at.package)) {
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

    /// A crate, those of ours that it imports names of, and those that these do.
    fn used_by(&self, package: &str) -> BTreeSet<String> {
        let mut used = BTreeSet::from([package.to_owned()]);
        let mut next = vec![package.to_owned()];
        while let Some(package) = next.pop() {
            let own = self.modules.iter().filter(|(at, _)| at.package == package);
            for (_, path, _) in own.flat_map(|(_, module)| &module.uses) {
                let other =
                    path.first().filter(|name| self.modules.contains_key(&Place::root(name)));
                if let Some(other) = other.filter(|other| used.insert((*other).clone())) {
                    next.push(other.clone());
                }
            }
        }
        used
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

impl Module {
    /// The paths that its code names, and those that it imports for itself.
    fn named(&self) -> BTreeSet<Vec<String>> {
        let mut words = BTreeSet::new();
        for item in self.items.iter().filter(|item| !is_test_item(item)) {
            paths(item.to_token_stream(), &mut words);
        }
        let is_said = |name: &String| words.iter().any(|path| path[0] == *name);
        let imported = self.uses.iter().filter(|(name, _, import)| {
            // Traits are imported for their methods, and never said.
            *import == Import::Own || is_said(name)
        });
        let mut all: BTreeSet<Vec<String>> = imported.map(|(_, path, _)| path.clone()).collect();
        all.extend(words);
        all
    }
}

/// All that reads like a path: names, with `::` between them.
fn paths(tokens: TokenStream, found: &mut BTreeSet<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    // What follows a dot is a field or a method.
    let mut dot = false;
    for token in tokens {
        let joins = colons == 2 && !path.is_empty();
        match token {
            TokenTree::Ident(name) if joins => path.push(name.to_string()),
            TokenTree::Ident(name) => {
                keep(&mut path, found);
                if !dot {
                    path.push(name.to_string());
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Punct(punct) => {
                keep(&mut path, found);
                (colons, dot) = (0, punct.as_char() == '.');
                continue;
            }
            TokenTree::Group(group) => {
                keep(&mut path, found);
                paths(group.stream(), found);
            }
            TokenTree::Literal(_) => keep(&mut path, found),
        }
        (colons, dot) = (0, false);
    }
    keep(&mut path, found);
}

fn keep(path: &mut Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    if !path.is_empty() {
        found.insert(std::mem::take(path));
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

/// Whether it is there for tests alone.
fn is_test_item(item: &Item) -> bool {
    let attributes = match item {
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Const(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        _ => return false,
    };
    is_for_tests(attributes)
}

/// The name of an item that can be exported, and whether it is public.
fn named(item: &Item) -> Option<(String, bool)> {
    let (name, visibility, attributes) = match item {
        Item::Struct(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Enum(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Trait(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Type(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Const(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Static(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Union(i) => (&i.ident, &i.vis, &i.attrs),
        Item::Fn(i) => (&i.sig.ident, &i.vis, &i.attrs),
        _ => return None,
    };
    (!is_for_tests(attributes)).then(|| (name.to_string(), is_public(visibility)))
}

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| is_test_condition(&list.tokens.to_string()))
    })
}

/// Where there are several conditions, that of tests stands first: with another, or for the tests of
/// other crates.
fn is_test_condition(words: &str) -> bool {
    let words = words.replace(' ', "");
    matches!(words.as_str(), "test" | "doctest")
        || words.starts_with("all(test,")
        || words.starts_with("any(test,")
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
