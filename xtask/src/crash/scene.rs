//! What a round is about: what is sent to whom, and who is killed when. A seed gives the same scene
//! again; how it comes out depends on the machine.

/// What is sent, and when the killing is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One file, anywhere in it.
    File,
    /// One file, while its sender looks for receivers and begins.
    Begin,
    /// One file, when the last of it is verified, renamed and acknowledged.
    End,
    /// One file to two receivers; at most one of them is killed at a time.
    Pair,
    /// Several files.
    Files,
    /// A directory of small files, which travel in packs.
    Tree,
    /// One file of 100 MiB.
    Big,
    /// A directory with links, hard links, empty directories, modes and times.
    Links,
    /// The same with owners, setuid bits and links that lead out.
    Archive,
    /// A second version of such a directory, to a receiver that has the first.
    Again,
    /// One file, to a receiver that keeps little of unfinished ones.
    Parts,
    /// A directory, to a disk that is full for a while, where others are killed.
    Full,
    /// A directory, to a disk that becomes read-only and is mended, where others are killed.
    ReadOnly,
    /// A directory, to a disk that is removed and put back, where others are killed.
    Removed,
    /// A directory, while the clock of both is set back, where others are killed.
    Clock,
}

/// With the weight that each has among all.
const KINDS: [(Kind, &str, u64); 15] = [
    (Kind::File, "file", 30),
    (Kind::Begin, "begin", 15),
    (Kind::End, "end", 15),
    (Kind::Pair, "pair", 15),
    (Kind::Files, "files", 10),
    (Kind::Tree, "tree", 10),
    (Kind::Big, "big", 5),
    (Kind::Links, "links", 12),
    (Kind::Archive, "archive", 12),
    (Kind::Again, "again", 12),
    (Kind::Parts, "parts", 6),
    (Kind::Full, "full", 6),
    (Kind::ReadOnly, "read-only", 6),
    (Kind::Removed, "removed", 6),
    (Kind::Clock, "clock", 6),
];

impl Kind {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let found = KINDS.iter().find(|(_, known, _)| *known == name);
        let names = KINDS.map(|(_, name, _)| name).join(", ");
        found
            .map(|(kind, ..)| *kind)
            .ok_or_else(|| format!("--scene ({name}): no such scene. There are {names}"))
    }

    /// Links and what else is no file belong to it.
    pub(crate) fn is_adorned(self) -> bool {
        matches!(self, Self::Links | Self::Archive | Self::Again)
    }

    /// What comes in the place of a kill, for one of two.
    pub(crate) fn has_trouble(self) -> bool {
        self == Self::Clock || self == Self::Full || self.has_image()
    }

    /// Its receiver has a disk of its own, which fails.
    pub(crate) fn has_image(self) -> bool {
        matches!(self, Self::ReadOnly | Self::Removed)
    }

    /// How much travels again is no promise: parts are let go, or the disk failed, or a receiver
    /// that comes back in the middle has not yet said which files of a pack it has.
    pub(crate) fn may_cost_more(self) -> bool {
        matches!(self, Self::Parts | Self::Full | Self::Again) || self.has_image()
    }

    pub(crate) fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }
}

/// When to kill.
#[derive(Clone, Copy)]
pub(crate) enum Moment {
    /// So many percent of the content have been sent, in all lives of the sender together.
    Sent(u64),
    /// So many milliseconds after the last start of anybody.
    Started(u64),
    /// So many milliseconds after as many bytes have been sent as there are.
    Whole(u64),
}

/// Whom to kill.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// One receiver, by its number.
    Receiver(usize),
    Sender,
    /// Sender and first receiver.
    Both,
}

/// One round's plan.
pub(crate) struct Scene {
    pub(crate) kind: Kind,
    pub(crate) receivers: usize,
    /// The sender is told whom to expect, so that it waits for them.
    pub(crate) expects: bool,
    /// Names and bytes of the files.
    pub(crate) files: Vec<(String, u64)>,
    /// What the sender is asked to send: the files, or the directory they are in.
    pub(crate) sources: Vec<String>,
    pub(crate) mbps: u64,
    pub(crate) kills: Vec<(Moment, Victim)>,
}

impl Scene {
    pub(crate) fn new(seed: u64, only: Option<Kind>) -> Self {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut lot = chance.below(KINDS.iter().map(|(_, _, weight)| weight).sum());
        let drawn = KINDS.iter().find(|(_, _, weight)| {
            let found = lot < *weight;
            lot = lot.saturating_sub(*weight);
            found
        });
        let kind = only.or(drawn.map(|(kind, ..)| *kind)).unwrap_or(Kind::File);
        let receivers = if kind == Kind::Pair { 2 } else { 1 };
        let kills = 1 + chance.below(3);
        let kills = (0..kills).map(|_| (moment(kind, &mut chance), victim(receivers, &mut chance)));
        let kills = kills.collect();
        let (files, sources) = content(kind);
        let mbps = if kind == Kind::Big { 250 } else { 100 };
        let expects = chance.below(2) == 0;
        Self { kind, receivers, expects, files, sources, mbps, kills }
    }
}

fn moment(kind: Kind, chance: &mut Chance) -> Moment {
    match kind {
        // Gathering, and the first second of sending.
        Kind::Begin => Moment::Started(chance.below(1500)),
        // Verifying, syncing, renaming and the receipt take about as long.
        Kind::End => Moment::Whole(chance.below(40)),
        _ => Moment::Sent(2 + chance.below(97)),
    }
}

fn victim(receivers: usize, chance: &mut Chance) -> Victim {
    match chance.below(3) {
        0 => Victim::Receiver(chance.below(receivers as u64) as usize),
        1 => Victim::Sender,
        _ => Victim::Both,
    }
}

fn content(kind: Kind) -> (Vec<(String, u64)>, Vec<String>) {
    const MIB: u64 = 1 << 20;
    let named = |files: &[(&str, u64)]| {
        let files: Vec<(String, u64)> =
            files.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        let sources = files.iter().map(|(name, _)| name.clone()).collect();
        (files, sources)
    };
    match kind {
        Kind::File | Kind::Begin | Kind::End | Kind::Pair | Kind::Parts => {
            named(&[("f", 24 * MIB)])
        }
        Kind::Big => named(&[("f", 100 * MIB)]),
        // More than one group, exactly so many groups, one group, less, nothing.
        Kind::Files => named(&[
            ("a", 9 * MIB + 77),
            ("b", 4 * MIB),
            ("c", MIB),
            ("d", 300_000),
            ("e", 0),
            ("g", 10 * MIB + 1),
        ]),
        Kind::Tree
        | Kind::Links
        | Kind::Archive
        | Kind::Again
        | Kind::Full
        | Kind::ReadOnly
        | Kind::Removed
        | Kind::Clock => {
            let files = (0..3000).map(|n| (format!("tree/{}/{n}", n % 30), 4000 + n * 2 % 9000));
            (files.collect(), vec!["tree".to_owned()])
        }
    }
}

/// Marsaglia's xorshift: enough to choose whom to kill.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
