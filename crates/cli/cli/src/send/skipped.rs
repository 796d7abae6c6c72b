//! What was left out of a directory: one warning for each kind, however many there are.

use fanfare_udp::os::text::OsStrExt;
use std::path::{Path, PathBuf};

use fanfare_command::Output;
use fanfare_files::name::{shown, text_of};

/// Everything that was left out.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) links: Counted,
    pub(crate) others: Counted,
}

/// Most of a kind that are named.
const NAMED: usize = 5;

/// How many, and the first of them.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    first: Vec<PathBuf>,
    count: u64,
}

impl Skipped {
    pub(crate) fn warn(&self, output: &Output) {
        let one = "is a symbolic link that leads out of the directory, or nowhere,";
        let links = self.links.message(one, "symbolic links that lead out, or nowhere,");
        let one = "is a pipe, a socket or a device";
        let others = self.others.message(one, "pipes, sockets and devices");
        for message in links.into_iter().chain(others) {
            output.warn("source.skipped", message);
        }
    }
}

impl Counted {
    pub(crate) fn add(&mut self, path: &Path) {
        if self.first.len() < NAMED {
            self.first.push(path.to_owned());
        }
        self.count += 1;
    }

    fn message(&self, one: &str, many: &str) -> Option<String> {
        let name = |path: &PathBuf| format!("'{}'", shown(&text_of(path.as_os_str().as_bytes())));
        let names: Vec<String> = self.first.iter().map(name).collect();
        let names = names.join(", ");
        let more = self.count - self.first.len() as u64;
        Some(match (self.count, more) {
            (0, _) => return None,
            (1, _) => format!("{names} {one} and not sent"),
            (count, 0) => format!("{count} {many} are not sent: {names}"),
            (count, more) => format!("{count} {many} are not sent: {names} and {more} more"),
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
        links.add(Path::new("c"));
        assert_eq!(links.message("", "links").unwrap(), "2 links are not sent: 'a', 'c'");
        (2..1_000_000).for_each(|_| links.add(Path::new("b")));
        assert_eq!(
            links.message("is a link", "links").unwrap(),
            "1000000 links are not sent: 'a', 'c', 'b', 'b', 'b' and 999995 more"
        );
    }
}
