//! What was left out of a directory: one warning for each kind, however many there are.

use std::path::{Path, PathBuf};

use fanfare_command::Output;

/// Everything that was left out.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) links: Counted,
    pub(crate) others: Counted,
}

/// How many, and the first of them.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    first: Option<PathBuf>,
    count: u64,
}

impl Skipped {
    pub(crate) fn warn(&self, output: &Output) {
        let links = self.links.message("is a symbolic link", "symbolic links");
        let others = self.others.message("is no file", "things that are no files");
        for message in links.into_iter().chain(others) {
            output.warn("source.skipped", message);
        }
    }
}

impl Counted {
    pub(crate) fn add(&mut self, path: &Path) {
        self.first.get_or_insert_with(|| path.to_owned());
        self.count += 1;
    }

    fn message(&self, one: &str, many: &str) -> Option<String> {
        let first = self.first.as_ref()?.display();
        Some(match self.count {
            1 => format!("'{first}' {one} and not sent"),
            count => format!("{count} {many} are not sent, the first of them '{first}'"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_links_are_one_line_with_their_number() {
        let mut links = Counted::default();
        assert_eq!(links.message("is a link", "links"), None);
        links.add(Path::new("a"));
        assert_eq!(links.message("is a link", "links").unwrap(), "'a' is a link and not sent");
        (1..1_000_000).for_each(|_| links.add(Path::new("b")));
        assert_eq!(
            links.message("is a link", "links").unwrap(),
            "1000000 links are not sent, the first of them 'a'"
        );
    }
}
