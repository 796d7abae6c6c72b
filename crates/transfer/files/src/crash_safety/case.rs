//! What is sent, what is there before, and under what weather.

use std::sync::Arc;

use crate::content::{
    announcement::{Announcement, Details},
    manifest::{GroupHasher, Manifest},
    pack,
};
use fanfare_node::disk::{
    placement::Conflict,
    simulated::{Faults, State},
};
use fanfare_proto::{FirstPass, rng::Rng};

/// A file to be sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) name: String,
    pub(super) content: Arc<Vec<u8>>,
    pub(super) root: [u8; 32],
    pub(super) manifest: Option<Manifest>,
    /// It travels in a pack.
    pub(super) packed: bool,
}

impl Sent {
    pub(super) fn new(name: &str, content: Vec<u8>) -> Self {
        let mut hasher = GroupHasher::default();
        hasher.update(&content);
        let (root, _, manifest) = hasher.finish();
        let content = Arc::new(content);
        Self { name: name.to_owned(), content, root, manifest, packed: false }
    }

    /// Its NORM_INFO; a plain sender gives a name only.
    pub(super) fn info(&self, plain: bool) -> Vec<u8> {
        if plain {
            return self.name.clone().into_bytes();
        }
        let details = Details::new(self.content.len() as u64, self.root, Some(0o644), Some(1));
        Announcement { name: self.name.clone().into_bytes(), details: Some(details) }.encode()
    }
}

/// A pack to be sent.
#[derive(Debug, Clone)]
pub(super) struct SentPack {
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) info: Vec<u8>,
    pub(super) pass: FirstPass,
}

impl SentPack {
    /// `on_demand`: receivers are believed to have it.
    pub(super) fn new(files: &[Sent], on_demand: bool) -> Self {
        let members: Vec<(&str, &[u8])> =
            files.iter().map(|file| (file.name.as_str(), &file.content[..])).collect();
        let (bytes, head) = pack::samples::bytes_of(&members);
        let root = *blake3::hash(&bytes).as_bytes();
        let mut details = Details::of_pack(bytes.len() as u64, root, files.len() as u64, head);
        details.on_demand = on_demand.then_some(true);
        let info = Announcement { name: Vec::new(), details: Some(details) }.encode();
        let pass = if on_demand { FirstPass::OnDemand } else { FirstPass::Whole };
        Self { bytes: Arc::new(bytes), info, pass }
    }
}

/// What happens on the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    /// Of datagrams to the receiver.
    pub(super) loss: f64,
    /// Of the first datagrams with content.
    pub(super) corruption: f64,
    /// Of turns in which the syncer does something.
    pub(super) syncing: f64,
}

pub(super) const CALM: Weather = Weather { loss: 0.0, corruption: 0.0, syncing: 1.0 };

/// One reception.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) files: Vec<Sent>,
    /// What those of them travel in that are packed.
    pub(super) packs: Vec<SentPack>,
    /// Senders of the same files.
    pub(super) senders: u64,
    /// They are not ours, and announce no hash.
    pub(super) plain: bool,
    /// Files that are there before, durable.
    pub(super) old: Vec<(String, Vec<u8>)>,
    pub(super) conflict: Conflict,
    pub(super) faults: Faults,
    pub(super) weather: Weather,
    /// Datagrams after which the user stops it, and starts it again.
    pub(super) stopped_after: Option<u64>,
    /// How small a piece of data survives.
    pub(super) sector: u64,
}

impl Case {
    /// One file under a calm sky.
    pub(super) fn of(name: &str, content: Vec<u8>) -> Self {
        Self {
            files: vec![Sent::new(name, content)],
            packs: Vec::new(),
            senders: 1,
            plain: false,
            old: Vec::new(),
            conflict: Conflict::KeepBoth,
            faults: Faults::default(),
            weather: CALM,
            stopped_after: None,
            sector: 512,
        }
    }

    /// The same, packed.
    pub(super) fn pack_of(files: Vec<Sent>) -> Self {
        let mut case = Self { files: Vec::new(), ..Self::of("", Vec::new()) };
        case.add_pack(files, false);
        case
    }

    fn add_pack(&mut self, mut files: Vec<Sent>, on_demand: bool) {
        self.packs.push(SentPack::new(&files, on_demand));
        files.iter_mut().for_each(|file| file.packed = true);
        self.files.extend(files);
    }

    /// One to three packs, in directories that are new, shared, or both.
    fn add_random_packs(&mut self, rng: &mut Rng) {
        for number in 0..1 + rng.below(3) {
            let on_demand = rng.random_bool(0.2);
            let file = |n: u64| {
                let directory = ["", "d/", "n/", "n/m/", "o/p/"][rng.below(5) as usize];
                let name = format!("{directory}p{number}{n}");
                let size = rng.below(2000) as usize;
                Sent::new(&name, content(rng, size))
            };
            let files = (0..1 + number + 1).map(file).collect();
            self.add_pack(files, on_demand);
        }
    }

    /// Anything that may happen.
    pub(super) fn random(rng: &mut Rng) -> Self {
        let large = rng.random_bool(0.06);
        let count = if large { 1 } else { 1 + rng.below(3) };
        let mut case = Self { files: Vec::new(), ..Self::of("", Vec::new()) };
        for number in 0..count {
            let directory = ["", "d/", "d/e/", "g/"][rng.below(4) as usize];
            let size = if large { (1 << 20) + rng.below(5 << 18) } else { rng.below(3000) };
            let name = format!("{directory}f{number}");
            case.files.push(Sent::new(&name, content(rng, size as usize)));
        }
        case.senders = 1 + u64::from(rng.random_bool(0.2));
        case.plain = !large && rng.random_bool(0.15);
        if !large && !case.plain && rng.random_bool(0.4) {
            case.add_random_packs(rng);
        }
        if rng.random_bool(0.4) {
            case.conflict = [Conflict::Overwrite, Conflict::KeepBoth][rng.below(2) as usize];
            let Some(file) = case.files.iter().find(|file| !file.name.contains('/')) else {
                return case;
            };
            let equal = rng.random_bool(0.2);
            let old = if equal { file.content.to_vec() } else { content(rng, file.content.len()) };
            case.old.push((file.name.clone(), old));
        }
        case.faults.reserves = rng.random_bool(0.8);
        case.faults.renames_new = rng.random_bool(0.8);
        case.faults.sync = rng.random_bool(0.2).then(|| rng.below(10));
        case.faults.write = rng.random_bool(0.1).then(|| rng.below(10));
        case.weather = Weather {
            loss: if rng.random_bool(0.5) { 0.1 } else { 0.0 },
            corruption: if large { 0.02 } else { 0.0 },
            syncing: [0.05, 0.5, 1.0][rng.below(3) as usize],
        };
        case.stopped_after = rng.random_bool(0.3).then(|| rng.below(if large { 200 } else { 10 }));
        case.sector = if large || rng.random_bool(0.2) { 4096 } else { 512 };
        case
    }

    /// Steps between two that may crash: each copies a large file.
    pub(super) fn step(&self) -> usize {
        if self.files.iter().any(|file| file.manifest.is_some()) { 5 } else { 1 }
    }

    pub(super) fn disk(&self, seed: u64) -> State {
        let mut state = State::new(seed);
        self.old.iter().for_each(|(name, content)| state.put(name, content.clone()));
        state.faults = self.faults.clone();
        state
    }

    /// Nothing wrong stands under a final name (I1), and what was reported is there (I2).
    pub(super) fn check(&self, state: &State) -> Result<(), String> {
        let paths = state.seen.paths();
        for (path, content) in paths.iter().filter(|(path, _)| !path.starts_with(".fanfare-")) {
            if !self.may_be(path, content) {
                return Err(format!("'{path}' has {} wrong bytes", content.len()));
            }
        }
        for (name, old) in &self.old {
            let stays = self.conflict != Conflict::Overwrite;
            match paths.get(name) {
                None => return Err(format!("'{name}' was there and is gone")),
                Some(content) if stays && **content != *old => {
                    return Err(format!("'{name}' was there and is another"));
                }
                Some(_) => {}
            }
        }
        for report in &state.reports {
            let sent = self.files.iter().find(|file| file.root == report.hash);
            if paths.get(&report.name) != sent.map(|sent| &sent.content) {
                return Err(format!("'{}' was reported and is not there", report.name));
            }
        }
        Ok(())
    }

    fn may_be(&self, path: &str, content: &[u8]) -> bool {
        let old = self.old.iter().any(|(name, old)| name == path && **old == *content);
        // An equal file that cannot be synced counts as another, and gets company.
        let numbered = !self.old.is_empty() || self.faults.sync.is_some();
        old || self.files.iter().any(|file| {
            let rest = path.strip_prefix(&file.name);
            let beside = rest.is_some_and(|r| r.is_empty() || (numbered && r.starts_with('.')));
            beside && *file.content == *content
        })
    }
}

pub(super) fn content(rng: &mut Rng, size: usize) -> Vec<u8> {
    let mut content = Vec::with_capacity(size + 8);
    while content.len() < size {
        content.extend_from_slice(&rng.next_u64().to_be_bytes());
    }
    content.truncate(size);
    content
}
