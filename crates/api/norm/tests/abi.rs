//! The shared object from outside: names, sizes, numbers, as programs were compiled with them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Beside the test's own executable.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let deps = own.parent().unwrap();
    let places = [deps.join("libnorm.so"), deps.parent().unwrap().join("libnorm.so")];
    places.into_iter().find(|place| place.exists()).expect("cargo builds the shared object, too")
}

fn run(program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A symbol's bytes, of a constant.
type Symbols = BTreeMap<String, Option<u64>>;

fn listed() -> Symbols {
    let lines = include_str!("../testdata/symbols.txt").lines().filter(|l| !l.starts_with('#'));
    let pair = |line: &str| {
        let (kind, name) = line.split_once(' ').unwrap();
        (name.to_owned(), (kind != "F").then(|| kind.parse().unwrap()))
    };
    lines.map(pair).collect()
}

#[test]
fn exactly_the_158_names_of_debians_library_are_exported_and_constants_are_as_long() {
    let library = library();
    let list = said(&run("nm", &["-D", "-S", "--defined-only", library.to_str().unwrap()]));
    let exported: Symbols = list
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, size, kind, name] = words[..] else { panic!("{line}") };
            let size = u64::from_str_radix(size, 16).unwrap();
            (name.to_owned(), (kind != "T").then_some(size))
        })
        .collect();
    let listed = listed();
    assert_eq!(listed.len(), 158);
    assert_eq!(exported, listed);
}

#[test]
fn the_shared_object_says_that_it_is_libnorm_so_1() {
    let dynamic = said(&run("readelf", &["-d", library().to_str().unwrap()]));
    assert!(dynamic.contains("SONAME") && dynamic.contains("[libnorm.so.1]"), "{dynamic}");
}

/// A folder of its own for each test, with the library under the name that the loader looks for.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(library(), folder.join("libnorm.so.1")).unwrap();
        Self { folder }
    }

    fn layout(&self, compiler: &str, language: &str) -> String {
        let program = self.folder.join(format!("layout-{language}"));
        let (root, libraries) = (env!("CARGO_MANIFEST_DIR"), self.folder.display());
        let words = [
            "-Wall",
            "-Werror",
            "-x",
            language,
            &format!("-I{root}/include"),
            &format!("{root}/testdata/layout.c"),
            "-o",
            program.to_str().unwrap(),
            &format!("-L{libraries}"),
            "-l:libnorm.so.1",
        ];
        said(&run(compiler, &words));
        let shown = Command::new(&program).env("LD_LIBRARY_PATH", &self.folder).output();
        said(&shown.unwrap())
    }
}

#[test]
fn our_header_gives_c_programs_the_layout_and_the_numbers_of_nrls() {
    let expected = include_str!("../testdata/layout.txt");
    assert_eq!(Place::new("abi-c").layout("cc", "c"), expected);
}

#[test]
fn our_header_gives_cpp_programs_the_layout_and_the_numbers_of_nrls() {
    let expected = include_str!("../testdata/layout.txt");
    assert_eq!(Place::new("abi-cpp").layout("c++", "c++"), expected);
}

#[test]
fn our_header_declares_every_exported_function_and_no_other() {
    let header = include_str!("../include/normApi.h");
    let words = header.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(');
    let called =
        words.filter_map(|word| word.strip_suffix('(').or(word.split_once('(').map(|w| w.0)));
    let declared: std::collections::BTreeSet<&str> =
        called.filter(|word| word.starts_with("Norm")).collect();
    let listed = listed();
    let functions = listed.iter().filter(|(_, size)| size.is_none()).map(|(name, _)| name.as_str());
    assert_eq!(declared, functions.collect());
}

#[test]
fn the_reference_says_of_every_name_what_it_does_here() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/libnorm.md");
    let page = fs::read_to_string(page).unwrap();
    let missing: Vec<String> =
        listed().into_keys().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
