//! The streams of this node: filled by the group's thread, read by players'.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fanfare_node::group::Body;
use fanfare_video::{
    About, Segment, Shelf,
    dash::AHEAD,
    hls::{Part, WINDOW},
    segment::HEAD,
};
use serde::Serialize;

/// Streams of a group: beyond that somebody makes names up.
const STREAMS_MAX: usize = 64;
/// Lives that a list may show: a sender that is started anew each few seconds is seldom.
const LIVES_MAX: usize = 8;

/// All streams.
#[derive(Debug)]
pub(crate) struct Library {
    bytes_max: u64,
    streams: Mutex<BTreeMap<String, Stream>>,
    /// A segment has come.
    came: Condvar,
}

#[derive(Debug)]
struct Stream {
    shelf: Shelf<Body>,
    /// Lives of the sender that are over, and still in the list of what is live.
    before: Vec<Shelf<Body>>,
    /// Somebody wants what was before this node came.
    wants_all: bool,
    chosen: String,
}

/// A stream for the page.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) chosen: String,
    pub(crate) renditions: Vec<String>,
    pub(crate) segments: usize,
    pub(crate) bytes: u64,
    pub(crate) ended: bool,
}

impl Library {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, streams: Mutex::default(), came: Condvar::new() }
    }
    fn streams(&self) -> MutexGuard<'_, BTreeMap<String, Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a stream is; true when it is a new one, or has another life.
    pub(crate) fn on_about(&self, about: About) -> bool {
        let mut streams = self.streams();
        if let Some(stream) = streams.get_mut(&about.name) {
            let is_new = about.life > stream.shelf.about().life;
            if let Some(mut over) = stream.shelf.on_about(about) {
                over.keep_newest(WINDOW);
                stream.before.push(over);
                if stream.before.len() > LIVES_MAX {
                    stream.before.remove(0);
                }
            }
            return is_new;
        }
        if streams.len() >= STREAMS_MAX {
            return false;
        }
        let name = about.name.clone();
        let shelf = Shelf::new(about, self.bytes_max);
        let (before, chosen) = (Vec::new(), String::new());
        streams.insert(name, Stream { shelf, before, wants_all: false, chosen });
        true
    }
    /// A segment came; true when it is new.
    pub(crate) fn put(&self, name: &str, rendition: &str, segment: Segment, body: Body) -> bool {
        let mut streams = self.streams();
        let Some(stream) = streams.get_mut(name) else { return false };
        let Some(place) = stream.shelf.about().find(rendition) else { return false };
        let bytes = body.len();
        let is_new = stream.shelf.put(place, segment, bytes, body);
        if stream.shelf.places(None).len() >= 2 * WINDOW {
            // No list shows them any more, and no player that has seen one asks for them.
            stream.before.clear();
        }
        self.came.notify_all();
        is_new
    }
    pub(crate) fn set_chosen(&self, name: &str, rendition: &str) {
        if let Some(stream) = self.streams().get_mut(name) {
            rendition.clone_into(&mut stream.chosen);
        }
    }
    /// The newest number of a stream.
    pub(crate) fn newest(&self, name: &str) -> Option<u32> {
        self.streams().get(name)?.shelf.newest()
    }
    /// Streams that somebody wants from their beginning, each told once.
    pub(crate) fn take_wants_all(&self) -> Vec<String> {
        let mut streams = self.streams();
        let wanted = streams.iter_mut().filter(|(_, stream)| stream.wants_all);
        wanted
            .map(|(name, stream)| {
                stream.wants_all = false;
                name.clone()
            })
            .collect()
    }

    /// What a stream's shelf says.
    pub(crate) fn read<T>(&self, name: &str, read: impl FnOnce(&Shelf<Body>) -> T) -> Option<T> {
        self.streams().get(name).map(|stream| read(&stream.shelf))
    }
    /// A list of segments; who asks for all of them wants what was before this node came, too.
    pub(crate) fn list(&self, name: &str, rendition: Option<&str>, part: Part) -> Option<String> {
        let mut streams = self.streams();
        let stream = streams.get_mut(name)?;
        stream.wants_all |= part == Part::All;
        let place = match rendition {
            Some(rendition) => Some(stream.shelf.about().find(rendition)?),
            None => None,
        };
        Some(fanfare_video::hls::media(&stream.before, &stream.shelf, place, part))
    }
    /// Gives what the shelf of one life of a stream says, where it is still known.
    fn read_life<T>(
        &self,
        name: &str,
        life: u64,
        read: impl FnOnce(&Shelf<Body>) -> T,
    ) -> Option<T> {
        let streams = self.streams();
        let stream = streams.get(name)?;
        let mut all = stream.before.iter().chain([&stream.shelf]);
        all.find(|shelf| shelf.about().life == life).map(read)
    }

    /// The file of a segment, of this life of the sender or of the present one.
    pub(crate) fn file(
        &self,
        name: &str,
        rendition: &str,
        life: Option<u64>,
        number: u32,
    ) -> Option<Vec<u8>> {
        let get = |shelf: &Shelf<Body>| shelf.get(shelf.about().find(rendition)?, number).cloned();
        let body = match life {
            Some(life) => self.read_life(name, life, get),
            None => self.read(name, get),
        }??;
        let mut bytes = body.to_vec().ok()?;
        bytes.drain(..HEAD.min(bytes.len()));
        Some(bytes)
    }
    /// The same; one that is about to come is waited for. Players of DASH go by the clock: without
    /// that, ffmpeg asks for one after the other that is not there yet.
    pub(crate) fn wait_for(
        &self,
        name: &str,
        rendition: &str,
        number: u32,
        patience: Duration,
    ) -> Option<Vec<u8>> {
        let is_ahead = |streams: &mut BTreeMap<String, Stream>| {
            streams.get(name).is_some_and(|stream| {
                let newest = stream.shelf.newest().unwrap_or(0);
                let next = newest.saturating_add(1)..=newest.saturating_add(AHEAD);
                !stream.shelf.has_ended() && next.contains(&number)
            })
        };
        let waited = self.came.wait_timeout_while(self.streams(), patience, is_ahead);
        drop(waited);
        self.file(name, rendition, None, number)
    }

    /// The beginning of a rendition's files, of this life of the sender.
    pub(crate) fn init(&self, name: &str, rendition: &str, life: u64) -> Option<Vec<u8>> {
        self.read_life(name, life, |shelf| {
            let about = shelf.about();
            let place = about.find(rendition)?;
            about.renditions.get(place).map(|(_, init)| init.clone())
        })?
    }
    /// A segment behind the beginning of the best rendition's files. What is missing before the newest is that
    /// beginning alone: VLC 3 knows no gaps, and stops where a file is not there.
    pub(crate) fn whole_file(
        &self,
        name: &str,
        rendition: &str,
        life: u64,
        number: u32,
    ) -> Option<Vec<u8>> {
        let (mut bytes, newest) = self.read_life(name, life, |shelf| {
            let about = shelf.about();
            about.find(rendition)?;
            Some((about.renditions.last()?.1.clone(), shelf.newest()?))
        })??;
        match self.file(name, rendition, Some(life), number) {
            Some(segment) => bytes.extend(segment),
            None if number < newest => {}
            None => return None,
        }
        Some(bytes)
    }
    pub(crate) fn listed(&self) -> Vec<Listed> {
        let listed = |(name, stream): (&String, &Stream)| {
            let (segments, bytes) = stream.shelf.held();
            let about = stream.shelf.about();
            Listed {
                name: name.clone(),
                chosen: stream.chosen.clone(),
                renditions: about.renditions.iter().map(|(one, _)| one.name.clone()).collect(),
                segments,
                bytes,
                ended: stream.shelf.has_ended(),
            }
        };
        self.streams().iter().map(listed).collect()
    }
}
