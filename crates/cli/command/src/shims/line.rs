//! Options one by one, as getopt gives them, and what a command line comes to.

use std::{ffi::OsString, io::Read as _};

use crate::Failure;
use fanfare_udp::os::text::OsStringExt as _;

use crate::shims::chain::TransferSide;

/// What such a command line comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shim {
    /// The same for `fanfare`, without its name.
    pub(super) words: Vec<OsString>,
    /// What the shell is to do around it: `"$0" "$@"` stands for the program and its words.
    pub(super) around: Option<String>,
    /// The group of a chain of images to which it may belong.
    pub(super) chain: Option<ChainOf>,
}

/// Mark that tells one image of a chain from another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChainOf {
    pub(super) role: TransferSide,
    pub(super) group: String,
    /// File that is sent, or the place where it goes; standard input and output where there is none.
    pub(super) file: Option<String>,
}

/// A word that the shell takes as it is.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Options one by one, as getopt gives them.
pub(super) struct Options<'a> {
    rest: std::slice::Iter<'a, OsString>,
    /// Letters behind one hyphen that are still to be read.
    letters: String,
    value: Option<String>,
}

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    Option(String),
    Plain(OsString),
}

impl<'a> Options<'a> {
    pub(super) fn new(words: &'a [OsString]) -> Self {
        Self { rest: words.iter(), letters: String::new(), value: None }
    }

    pub(super) fn next(&mut self) -> Option<Word> {
        if let Some(letter) = self.letters.chars().next() {
            self.letters.remove(0);
            return Some(Word::Option(format!("-{letter}")));
        }
        self.value = None;
        let word = self.rest.next()?;
        let text = word.to_str().unwrap_or_default();
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            self.value = value;
            return Some(Word::Option(format!("--{name}")));
        }
        match text.strip_prefix('-') {
            Some(letters) if !letters.is_empty() => {
                letters.clone_into(&mut self.letters);
                self.next()
            }
            _ => Some(Word::Plain(word.clone())),
        }
    }

    /// The value of the option that was last.
    pub(super) fn value(&mut self, option: &str) -> Result<String, Failure> {
        let attached = std::mem::take(&mut self.letters);
        if !attached.is_empty() {
            return Ok(attached);
        }
        let next = || self.rest.next().and_then(|word| word.to_str()).map(str::to_owned);
        self.value.take().or_else(next).ok_or_else(|| {
            let text = format!("{option} (): needs a value. Give one");
            Failure::usage("shim.invalid", text)
        })
    }
}

/// An option that is not taken, and what there is instead.
pub(super) fn refused(program: &str, option: &str, instead: &str) -> Failure {
    let text = format!("{option} (of {program}): fanfare does not have it. {instead}");
    Failure::usage("shim.refused", text)
}

/// An option of theirs that nobody has met.
pub(super) fn unknown(program: &str, option: &str) -> Failure {
    refused(program, option, "docs/reference/shims.md lists what is understood")
}

/// Words of `fanfare`.
pub(super) fn all(words: impl IntoIterator<Item = String>) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// Where they meet: a multicast group and its port.
pub(super) fn group(group: &str, port: u64) -> [String; 2] {
    let group = if group.contains(':') { format!("[{group}]") } else { group.to_owned() };
    ["--group".to_owned(), format!("{group}:{port}")]
}

/// A number of this unit.
pub(super) fn number(option: &str, text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| {
        Failure::usage("shim.invalid", format!("{option} ({text}): not a number. Give one"))
    })
}

/// The one thing that a list with commas names; of several nobody knows which is meant.
pub(super) fn only_one(option: &str, list: String, what: &str) -> Result<String, Failure> {
    if list.contains(',') {
        let text = format!("{option} ({list}): fanfare listens to one {what}. Name one");
        return Err(Failure::usage("shim.invalid", text));
    }
    Ok(list)
}

/// The lines of this file that are not empty; `-` is standard input.
pub(super) fn text_file(option: &str, name: &str) -> Result<Vec<OsString>, Failure> {
    let mut text = Vec::new();
    let read = match name {
        "-" => std::io::stdin().read_to_end(&mut text),
        _ => std::fs::File::open(name).and_then(|mut file| file.read_to_end(&mut text)),
    };
    read.map_err(|error| {
        let text = format!("{option} ({name}): cannot be read: {error}. Give another file");
        Failure::usage("shim.invalid", text)
    })?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.map(|line| OsString::from_vec(line.to_vec())).collect())
}
