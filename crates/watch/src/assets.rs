//! The page's files. They are built by `cargo xtask web` and committed: a build of Fanfare needs no npm.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! asset {
    ($path:literal, $file:literal, $kind:literal) => {
        Asset {
            path: $path,
            kind: $kind,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/web/dist/", $file)),
        }
    };
}

/// All of them.
pub(crate) const ASSETS: [Asset; 4] = [
    asset!("/", "index.html", "text/html; charset=utf-8"),
    asset!("/page.js", "page.js", "text/javascript; charset=utf-8"),
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
        assert!(all < 256 << 10, "{all} bytes");
    }
}
