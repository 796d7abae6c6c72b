//! One round: everybody is started, killed as planned, started again, and must come to an end.
//!
//! `start` has the programs that are called, `judge` whether what they leave is right.
//!
//! What travelled again is what the group heard of symbols (parity among them), less what there is
//! to send, less what went out while a killed receiver was away, which is until it knows an object
//! again: that it had never had. A crash may cost 8 MiB and one percent of what was there.

mod judge;
mod start;

use std::{
    fs,
    io::Read,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use judge::receipts;

use super::{
    news::News,
    observer::Observer,
    scene::{Kind, Moment, Scene, Victim},
    side::Side,
    tree, trouble,
};

/// Room for the tree, what is unpacked of it meanwhile, and little more, MiB.
const SMALL: u64 = 80;
/// Room for the tree more than twice, and a journal, MiB.
const IMAGE: u64 = 160;
/// What a crash may cost beside a hundredth of what was there.
const LOST_PER_CRASH: u64 = 8 << 20;
/// Nothing in a round takes longer.
const LIMIT: Duration = Duration::from_secs(90);
/// Moments that are times are met within this; all else rings.
const POLL: Duration = Duration::from_millis(2);
/// After a sender has its receipts: time for receivers to hear it.
const GRACE: Duration = Duration::from_secs(8);
/// The same where receivers would not end by themselves.
const GRACE_ENDLESS: Duration = Duration::from_secs(1);
/// How often a sender that gave up on a killed receiver is run again.
const REPEATS_MAX: u32 = 5;

/// What a round came to.
#[derive(Default)]
pub(crate) struct Played {
    /// `s`, `r` and `b` for sender, receiver and both.
    pub(crate) killed: String,
    pub(crate) sender_kills: u64,
    pub(crate) receiver_kills: u64,
    /// Disks that cannot be written to, and clocks set back.
    pub(crate) troubles: u64,
    /// Bytes that travelled again, and that may.
    pub(crate) again: u64,
    pub(crate) allowed: u64,
    /// Bytes that went out while a receiver was away.
    missed: u64,
    pub(crate) overruns: u64,
    /// A file was another one.
    pub(crate) wrong: bool,
    pub(crate) failure: Option<String>,
}

/// Files on their way, in a directory of their own.
pub(crate) struct Round<'a> {
    scene: &'a Scene,
    program: PathBuf,
    dir: PathBuf,
    /// A small disk, where receivers have one.
    small: Option<trouble::Small>,
    /// A disk that fails, where receivers have one.
    image: Option<trouble::Image>,
    /// What sets the clock back, and the file that says so.
    clock: Option<(PathBuf, PathBuf)>,
    /// Heard before anybody is killed.
    before: u64,
    group: String,
    content: u64,
    observer: Observer,
    news: News,
    sender: Option<Side>,
    receivers: Vec<Option<Side>>,
    /// What all lives have said, oldest first.
    said: Vec<String>,
    started: Instant,
    deadline: Instant,
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        // Whoever uses a disk ends before the disk, and the disk before the directory that it is in.
        self.sender = None;
        self.receivers.clear();
        (self.small, self.image) = (None, None);
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl<'a> Round<'a> {
    pub(crate) fn new(seed: u64, scene: &'a Scene, program: &Path) -> Result<Self, String> {
        let id = std::process::id();
        let dir = std::env::temp_dir().join(format!("fanfare-crash-{id}-{seed}"));
        let mut random = fs::File::open("/dev/urandom").map_err(|e| e.to_string())?;
        for (name, size) in &scene.files {
            let path = dir.join("out").join(name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| {
                let mut content = Vec::new();
                random.by_ref().take(*size).read_to_end(&mut content)?;
                fs::write(&path, content)
            })
            .map_err(|e| format!("{}: {e}", path.display()))?;
        }
        if scene.kind.is_adorned() {
            let adorned = tree::adorn(&dir.join("out/tree"), scene.kind == Kind::Archive);
            adorned.map_err(|e| e.to_string())?;
        }
        let small =
            (scene.kind == Kind::Full).then(|| trouble::Small::mount(dir.join("in-0"), SMALL));
        let clock = (scene.kind == Kind::Clock).then(|| trouble::clock(&dir));
        let image = scene
            .kind
            .has_image()
            .then(|| trouble::Image::mount(&dir.join("image"), dir.join("in-0"), IMAGE));
        let (small, image, clock) = (small.transpose()?, image.transpose()?, clock.transpose()?);
        let port = 20_000 + (u64::from(id) * 31 + seed) % 40_000;
        let group = format!("239.255.42.11:{port}");
        let address: SocketAddr = group.parse().map_err(|_| format!("bad group {group}"))?;
        let (now, news) = (Instant::now(), News::default());
        Ok(Self {
            scene,
            program: program.to_owned(),
            dir,
            small,
            image,
            clock,
            before: 0,
            group,
            content: scene.files.iter().map(|(_, size)| size).sum(),
            observer: Observer::start(address, news.clone())?,
            news,
            sender: None,
            receivers: (0..scene.receivers).map(|_| None).collect(),
            said: Vec::new(),
            started: now,
            deadline: now + LIMIT,
        })
    }

    /// Plays it to the end.
    pub(crate) fn play(&mut self, scene: &Scene) -> Played {
        let mut played = Played::default();
        let done = self.act(scene, &mut played);
        let ended = done.and_then(|()| self.check(&mut played));
        played.overruns = self.observer.overruns();
        let sent = self.sent();
        played.again = sent.saturating_sub(self.content + played.missed);
        played.failure = match ended {
            Err(why) => Some(why),
            Ok(()) if scene.kind.may_cost_more() => None,
            Ok(()) if !played.killed.is_empty() && played.again > played.allowed => {
                Some("too much was sent again".into())
            }
            Ok(()) => None,
        };
        played
    }

    fn act(&mut self, scene: &Scene, played: &mut Played) -> Result<(), String> {
        for number in 0..scene.receivers {
            self.start_receiver(number)?;
        }
        self.start_sender()?;
        if scene.kind == Kind::Again {
            self.send_first_version()?;
        }
        for (moment, victim) in &scene.kills {
            if !self.wait_for(*moment)? {
                break;
            }
            if scene.kind.has_trouble() && *victim != Victim::Sender {
                self.make_trouble(played)?;
            } else if self.kill(*victim, played)? {
                return Ok(());
            }
        }
        self.finish()
    }

    /// Heard since everybody began.
    fn sent(&self) -> u64 {
        self.observer.symbols() - self.before
    }

    /// To the end, and then there is a second one.
    fn send_first_version(&mut self) -> Result<(), String> {
        self.finish()?;
        self.check(&mut Played::default())?;
        let (tree, old) = (self.dir.join("out/tree"), self.dir.join("old"));
        self.content = tree::change(&tree, &old).map_err(|e| e.to_string())?;
        self.before = self.observer.symbols();
        self.repeat()
    }

    /// The disk is full, read-only or gone, until its sender or receiver gives up; or the clock goes back.
    fn make_trouble(&mut self, played: &mut Played) -> Result<(), String> {
        played.killed.push('t');
        played.troubles += 1;
        played.allowed += LOST_PER_CRASH + self.content / 100;
        if let Some((_, set)) = &self.clock {
            return fs::write(set, "").map_err(|e| e.to_string());
        }
        let filler = match &self.image {
            Some(image) if self.scene.kind == Kind::Removed => image.remove().map(|()| None),
            Some(image) => image.spoil().map(|()| None),
            None => trouble::fill(&self.dir.join("in-0")).map(Some),
        };
        let filler = filler.map_err(|e| e.to_string())?;
        self.wait_until(|round| {
            let ended = |side: &mut Option<Side>| side.as_mut().and_then(Side::ended).is_some();
            let over = ended(&mut round.sender) || round.receivers.iter_mut().any(ended);
            over.then_some(())
        })?;
        let complete = self.sender.as_mut().and_then(Side::ended) == Some(Some(0));
        match filler {
            Some(filler) => fs::remove_file(filler).map_err(|e| e.to_string())?,
            None => self.mend_disk()?,
        }
        if complete {
            // What it was told is true, and stays so.
            self.check(played)?;
        }
        self.repeat()
    }

    /// The disk is mended, or put back. Its receiver lets go of it for that.
    fn mend_disk(&mut self) -> Result<(), String> {
        let receiver = self.receivers[0].take();
        self.bury(receiver, "receiver 0");
        self.image.as_ref().map_or(Ok(()), trouble::Image::mend)
    }

    fn wait_until<T>(
        &mut self,
        mut found: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, String> {
        loop {
            let seen = self.news.count();
            if let Some(found) = found(self) {
                return Ok(found);
            }
            if Instant::now() > self.deadline {
                return Err("it does not end".into());
            }
            self.news.wait(seen, POLL);
        }
    }

    /// False when somebody had ended before.
    fn wait_for(&mut self, moment: Moment) -> Result<bool, String> {
        let mut whole = None;
        self.wait_until(|round| {
            let sent = round.sent();
            if whole.is_none() && sent >= round.content {
                whole = Some(Instant::now());
            }
            let met = match moment {
                Moment::Sent(percent) => sent >= round.content * percent / 100,
                Moment::Started(ms) => round.started.elapsed() >= Duration::from_millis(ms),
                Moment::Whole(ms) => {
                    whole.is_some_and(|whole| whole.elapsed() >= Duration::from_millis(ms))
                }
            };
            let ended = |side: &mut Option<Side>| side.as_mut().and_then(Side::ended).is_some();
            if ended(&mut round.sender) || round.receivers.iter_mut().any(ended) {
                return Some(false);
            }
            met.then_some(true)
        })
    }

    /// True when the sender had its receipts already: then nothing is left to be done.
    fn kill(&mut self, victim: Victim, played: &mut Played) -> Result<bool, String> {
        let there = self.sent().min(self.content);
        let mut over = false;
        let (sender, receiver) = match victim {
            Victim::Receiver(number) => (false, Some(number)),
            Victim::Sender => (true, None),
            Victim::Both => (true, Some(0)),
        };
        if let Some(number) = receiver {
            played.receiver_kills += 1;
            let dead = self.receivers[number].take();
            self.bury(dead, &format!("receiver {number}"));
            self.expect_a_version(number, played)?;
        }
        if sender {
            played.sender_kills += 1;
            if let Some(sender) = &mut self.sender {
                sender.kill();
                over = receipts(&sender.lines()) >= self.receivers.len();
            }
            let dead = self.sender.take();
            self.bury(dead, "sender");
        }
        played.killed.push(match (sender, receiver) {
            (true, Some(_)) => 'b',
            (true, None) => 's',
            (false, _) => 'r',
        });
        played.allowed += LOST_PER_CRASH + there / 100;
        let before = self.observer.symbols();
        if over {
            return Ok(true);
        }
        if let Some(number) = receiver {
            self.start_receiver(number)?;
        }
        if sender {
            self.start_sender()?;
        } else if let Some(number) = receiver {
            self.wait_until(|round| {
                let knows = round.receivers[number].as_ref().is_none_or(|side| side.said("object"));
                let over = round.sender.as_mut().is_none_or(|side| side.ended().is_some());
                (knows || over).then_some(())
            })?;
            played.missed += self.observer.symbols() - before;
        }
        Ok(false)
    }

    fn bury(&mut self, side: Option<Side>, name: &str) {
        let Some(mut side) = side else { return };
        side.kill();
        self.said.push(format!("# {name}"));
        self.said.extend(side.lines());
    }

    /// Until everybody has everything. A sender may have given up on a receiver that was killed, and
    /// receivers may be content before their new sender began: then they are run again.
    fn finish(&mut self) -> Result<(), String> {
        for _ in 0..REPEATS_MAX {
            let code = self.wait_until(|round| round.sender.as_mut().and_then(Side::ended))?;
            let all = self.receivers.iter_mut().flatten().all(|side| side.ended().is_some());
            match (code, all) {
                (Some(0), _) => return self.dismiss_receivers(),
                (Some(3), false) if self.has_receipts() => return self.dismiss_receivers(),
                // It still waited for a life that was killed.
                (Some(3), true) => return self.expect_receivers(),
                (Some(3 | 6), _) => self.repeat()?,
                (code, _) => return Err(format!("the sender ended with {code:?}")),
            }
        }
        Err("the sender never has its receipts".into())
    }

    fn expect_receivers(&mut self) -> Result<(), String> {
        for side in self.receivers.iter_mut().flatten() {
            let code = side.ended().flatten();
            if code != Some(0) {
                return Err(format!("a receiver ended with {code:?}"));
            }
        }
        Ok(())
    }

    /// The sender has a receipt from each. One that was killed after it gave the receipt, and
    /// started again, waits for nothing.
    fn dismiss_receivers(&mut self) -> Result<(), String> {
        let grace = if self.scene.files.len() == 1 { GRACE } else { GRACE_ENDLESS };
        let until = (Instant::now() + grace).min(self.deadline);
        self.wait_until(|round| {
            let mut sides = round.receivers.iter_mut().flatten();
            let all = sides.all(|side| side.ended().is_some());
            (all || Instant::now() > until).then_some(())
        })
    }

    /// Writes down what everybody said.
    pub(crate) fn keep(&mut self, dir: &Path) {
        let living = [("sender", self.sender.take())].into_iter();
        let receivers: Vec<Option<Side>> = self.receivers.iter_mut().map(Option::take).collect();
        for (name, side) in living.chain(receivers.into_iter().map(|side| ("receiver", side))) {
            self.bury(side, name);
        }
        self.said.push("# observer".to_owned());
        self.said.extend(self.observer.kinds());
        let written = fs::create_dir_all(dir)
            .and_then(|()| fs::write(dir.join("said.jsonl"), self.said.join("\n")));
        if let Err(error) = written {
            eprintln!("error: {}: {error}", dir.display());
        }
    }
}
