//! The page's files. They are built by `cargo xtask web` and committed: a build of Fanfare needs no npm.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    /// Packed, if it ends in `.gz`.
    pub(crate) file: &'static str,
    pub(crate) bytes: &'static [u8],
}

impl Asset {
    /// What says how the bytes are packed. All browsers unpack them, and who does not say what it can unpack
    /// may be sent this (RFC 9110 12.5.3).
    pub(crate) fn encoding(&self) -> Option<&'static str> {
        self.file.ends_with(".gz").then_some("Content-Encoding: gzip")
    }
}

macro_rules! asset {
    ($path:literal, $file:literal, $kind:literal) => {
        Asset {
            path: $path,
            kind: $kind,
            file: $file,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/web/dist/", $file)),
        }
    };
}

/// All of them.
pub(crate) const ASSETS: [Asset; 4] = [
    asset!("/", "index.html", "text/html; charset=utf-8"),
    asset!("/page.js", "page.js.gz", "text/javascript; charset=utf-8"),
    asset!("/page.css", "page.css", "text/css; charset=utf-8"),
    asset!("/licences.txt", "licences.txt", "text/plain; charset=utf-8"),
];

/// The file that a path names.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        let page = std::str::from_utf8(find("/").unwrap().bytes).unwrap();
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        assert!(page.contains("/page.js") && page.contains("/page.css"), "{page}");
    }

    #[test]
    fn the_page_is_small_enough_to_be_carried_by_every_program() {
        let all: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(all < 96 << 10, "{all} bytes");
    }
}
