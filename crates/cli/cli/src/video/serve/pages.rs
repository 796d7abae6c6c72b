//! What players ask for: the page, lists, manifests, segments.

use std::{sync::Arc, time::Duration};

use fanfare_monitor::{PageFile, Pages};
use fanfare_video::{
    dash, hls,
    hls::Part,
    track::{self, Kind},
};

use super::library::Library;

const LIST: &str = "application/vnd.apple.mpegurl";
const FILE: &str = "video/mp4";
/// A player that asks for the next segment waits so long for it: three segments of the usual length.
const PATIENCE: Duration = Duration::from_secs(3);

/// The page's own files, of which hls.js is somebody else's.
const ASSETS: [(&str, &str, &[u8]); 5] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../../web/index.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_bytes!("../../../web/page.js")),
    ("/page.css", "text/css; charset=utf-8", include_bytes!("../../../web/page.css")),
    ("/hls.js", "text/javascript; charset=utf-8", include_bytes!("../../../web/hls.light.min.js")),
    (
        "/licences.txt",
        "text/plain; charset=utf-8",
        include_bytes!("../../../web/hls.js-LICENSE.txt"),
    ),
];

/// Everything that is served.
#[derive(Debug)]
pub(crate) struct Site {
    streams: Arc<Library>,
    /// Origins whose pages may play; `*` is any.
    origins: Vec<String>,
}

impl Site {
    pub(crate) fn new(streams: Arc<Library>, origins: Vec<String>) -> Self {
        Self { streams, origins }
    }

    fn of_stream(&self, name: &str, rest: &[&str]) -> Option<PageFile> {
        let text = |kind, text: String| Some(PageFile { kind, bytes: text.into_bytes() });
        match rest {
            ["index.m3u8"] => {
                text(LIST, self.streams.read(name, |shelf| hls::master(shelf, "live.m3u8"))?)
            }
            ["beginning.m3u8"] => {
                text(LIST, self.streams.read(name, |shelf| hls::master(shelf, "all.m3u8"))?)
            }
            ["live.m3u8"] => text(LIST, self.streams.list(name, None, Part::Live)?),
            ["plain.m3u8"] => text(LIST, self.streams.list(name, None, Part::Plain)?),
            ["all.m3u8"] => text(LIST, self.streams.list(name, None, Part::All)?),
            ["manifest.mpd"] => {
                text("application/dash+xml", self.streams.read(name, dash::manifest)?)
            }
            [rendition, "init.mp4"] => {
                let life = self.streams.read(name, |shelf| shelf.about().life)?;
                self.init(name, rendition, life)
            }
            [rendition, file] => match file.split_once('-') {
                Some(("init", life)) => {
                    self.init(name, rendition, life.strip_suffix(".mp4")?.parse().ok()?)
                }
                Some((track, rest)) => self.of_track(name, rendition, dash::kind_of(track)?, rest),
                None => {
                    let number = file.strip_suffix(".m4s")?.parse().ok()?;
                    let bytes = self.streams.file(name, rendition, None, number)?;
                    Some(PageFile { kind: FILE, bytes })
                }
            },
            [rendition, life, file] => {
                let life = life.parse().ok()?;
                if let Some(file) = file.strip_prefix(hls::WHOLE) {
                    let number = file.strip_suffix(".m4s")?.parse().ok()?;
                    let bytes = self.streams.whole_file(name, rendition, life, number)?;
                    return Some(PageFile { kind: FILE, bytes });
                }
                let number = file.strip_suffix(".m4s")?.parse().ok()?;
                let bytes = self.streams.file(name, rendition, Some(life), number)?;
                Some(PageFile { kind: FILE, bytes })
            }
            _ => None,
        }
    }

    /// Picture or sound only: the beginning of a rendition's files, or a segment.
    fn of_track(&self, name: &str, rendition: &str, kind: Kind, file: &str) -> Option<PageFile> {
        let bytes = if let Some(life) = file.strip_suffix(".mp4") {
            let init = self.streams.init(name, rendition, life.parse().ok()?)?;
            track::init(&init, track::find(&init, kind)?)?
        } else {
            let number = file.strip_suffix(".m4s")?.parse().ok()?;
            let life = self.streams.read(name, |shelf| shelf.about().life)?;
            let init = self.streams.init(name, rendition, life)?;
            let bytes = self.streams.wait_for(name, rendition, number, PATIENCE)?;
            track::segment(&bytes, track::find(&init, kind)?)?
        };
        Some(PageFile { kind: FILE, bytes })
    }

    fn init(&self, name: &str, rendition: &str, life: u64) -> Option<PageFile> {
        let bytes = self.streams.init(name, rendition, life)?;
        Some(PageFile { kind: FILE, bytes })
    }
}

impl Pages for Site {
    fn find(&self, path: &str) -> Option<PageFile> {
        if let Some((_, kind, bytes)) = ASSETS.iter().find(|(own, ..)| *own == path) {
            return Some(PageFile { kind, bytes: bytes.to_vec() });
        }
        if path == "/api/streams" {
            let bytes = serde_json::to_vec(&self.streams.listed()).ok()?;
            return Some(PageFile { kind: "application/json", bytes });
        }
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let (name, rest) = parts.split_first()?;
        self.of_stream(name, rest)
    }

    fn allows(&self, origin: &str) -> bool {
        self.origins.iter().any(|one| one == "*" || one.eq_ignore_ascii_case(origin))
    }
}

#[cfg(test)]
mod tests {
    use fanfare_node::group::Body;
    use fanfare_video::{About, Segment, ladder};

    use super::*;

    fn site() -> Site {
        let library = Library::new(1 << 20);
        let ladder = ladder::parse("64k,400k").unwrap();
        let renditions = ladder.into_iter().map(|one| (one, b"ftyp".to_vec())).collect();
        let about =
            About { name: "gate".into(), life: 7, segment_ms: 1000, last: None, renditions };
        assert!(library.on_about(about.clone()) && !library.on_about(about));
        let (duration_ms, begun_ms, pace_kbps) = (1000, 0, 0);
        let segment = Segment { life: 7, number: 3, duration_ms, begun_ms, pace_kbps };
        let body = Body::new(segment.encode(b"moof"));
        assert!(library.put("gate", "400k", segment, body.clone()));
        assert!(!library.put("gate", "9k", segment, body.clone()));
        assert!(!library.put("door", "400k", segment, body));
        Site::new(Arc::new(library), vec!["https://stage.example".to_owned()])
    }
    fn text(site: &Site, path: &str) -> String {
        String::from_utf8(site.find(path).unwrap().bytes).unwrap()
    }

    #[test]
    fn each_path_has_its_file_and_others_have_none() {
        let site = site();
        assert_eq!(text(&site, "/gate/400k/3.m4s"), "moof");
        assert_eq!(text(&site, "/gate/400k/7/3.m4s"), "moof");
        assert_eq!(text(&site, "/gate/400k/7/whole-3.m4s"), "ftypmoof");
        assert_eq!(text(&site, "/gate/400k/7/whole-2.m4s"), "ftyp", "a gap");
        assert_eq!(text(&site, "/gate/64k/init-7.mp4"), "ftyp");
        assert!(text(&site, "/gate/plain.m3u8").contains("400k/7/whole-3.m4s"));
        assert!(text(&site, "/gate/live.m3u8").contains("400k/7/3.m4s"));
        assert!(text(&site, "/gate/index.m3u8").ends_with("live.m3u8\n"));
        assert!(text(&site, "/gate/manifest.mpd").contains("<Period id=\"7-400k-3000\""));
        assert!(text(&site, "/api/streams").contains("\"segments\":1"));
        for path in [
            "/gate/64k/3.m4s",
            "/gate/64k/init-8.mp4",
            "/door/live.m3u8",
            "/gate",
            "/..",
            "/gate/../x",
            "/gate/400k/3.m4s/x",
            "/gate/400k/6/3.m4s",
            "/gate/400k/6/whole-3.m4s",
            "/gate/400k/7/whole-4.m4s",
            "/gate/9k/7/whole-3.m4s",
            "/gate/400k/x/3.m4s",
            "/gate/400k/x.m4s",
            "/gate/400k/picture-3.m4s",
            "/gate/400k/smell-3.m4s",
            "/gate/400k/sound-8.mp4",
        ] {
            assert!(site.find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn what_a_list_has_named_is_there_after_the_sender_has_begun_anew() {
        let site = site();
        let about = site.streams.read("gate", |shelf| shelf.about().clone()).unwrap();
        assert!(site.streams.on_about(About { life: 8, ..about }));
        let list = text(&site, "/gate/live.m3u8");
        assert!(list.contains("400k/7/3.m4s") && list.contains("400k/init-7.mp4"), "{list}");
        assert_eq!(text(&site, "/gate/400k/7/3.m4s"), "moof");
        assert_eq!(text(&site, "/gate/400k/init-7.mp4"), "ftyp");
        assert!(site.find("/gate/400k/8/3.m4s").is_none(), "of the new life nothing has come");
        let (duration_ms, begun_ms, pace_kbps) = (1000, 0, 0);
        let segment = Segment { life: 8, number: 0, duration_ms, begun_ms, pace_kbps };
        site.streams.put("gate", "400k", segment, Body::new(segment.encode(b"mdat")));
        let list = text(&site, "/gate/live.m3u8");
        let after = "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"400k/init-8.mp4\"\n";
        assert!(list.contains(after) && list.ends_with("400k/8/0.m4s\n"), "{list}");
        assert_eq!(text(&site, "/gate/400k/8/0.m4s"), "mdat");
    }

    #[test]
    fn who_asks_for_the_beginning_makes_the_node_fetch_it_once() {
        let site = site();
        text(&site, "/gate/live.m3u8");
        assert!(site.streams.take_wants_all().is_empty());
        text(&site, "/gate/all.m3u8");
        assert_eq!(site.streams.take_wants_all(), ["gate"]);
        assert!(site.streams.take_wants_all().is_empty());
    }

    #[test]
    fn pages_of_the_origins_that_were_given_may_play_and_with_a_star_all() {
        let site = site();
        assert!(site.allows("https://stage.example") && !site.allows("https://evil.example"));
        let open = Site::new(Arc::new(Library::new(1)), vec!["*".to_owned()]);
        assert!(open.allows("https://evil.example") && open.allows("null"));
        assert!(!Site::new(Arc::new(Library::new(1)), Vec::new()).allows("null"));
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        let page = text(&site(), "/");
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
        for own in ["/hls.js", "/page.js", "/page.css"] {
            assert!(page.contains(own) && site().find(own).is_some(), "{own}");
        }
    }
}
