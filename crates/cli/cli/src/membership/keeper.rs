//! What `keep` does when something comes: orders from this machine's user, those who ask to come in, and
//! what the controller says.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use fanfare_command::Failure;
use fanfare_mls::{
    Applied, Change, Fault, GroupKeying as _, Invitation, Leaving, Member, PublicId,
};

use crate::membership::{
    channel::{ANSWER, ASK, CHANGE, Channel, LEAVE, Where},
    exits::refused,
    invite::{now, offered},
    place::Place,
};

/// Epochs whose way out members can still be told who were away.
const HISTORY: usize = 4;
/// Who asks within this time comes in with one change, and members have another key no more often.
const GATHER: Duration = Duration::from_millis(300);
const APART: Duration = Duration::from_secs(5);
/// Who leaves says so again until it is gone.
const AGAIN: Duration = Duration::from_secs(5);
/// Invitations that are answered at once.
const INVITATIONS_MAX: usize = 16;
/// Who asks at once. Others ask again.
const ASKING_MAX: usize = 256;

/// What the user should know.
#[derive(Debug)]
pub(crate) enum News {
    /// There is another key.
    Changed { epoch: u64, joined: Vec<String>, left: Vec<String>, key: String },
    /// Something did not go on.
    Refused(String),
    /// This machine is no member any more.
    Removed,
}

/// Somebody who asks to come in.
#[derive(Debug)]
struct Asking {
    name: String,
    request: Vec<u8>,
    /// By which invitation.
    order: String,
}

/// One machine's part in a group.
#[derive(Debug)]
pub(crate) struct Keeper {
    place: Place,
    at: Where,
    member: Member,
    /// The present epoch's, and at the controller those of the last ones.
    channels: BTreeMap<u64, Channel>,
    invitations: BTreeMap<String, (Invitation, Channel)>,
    /// Those that are used up: who asks by them is not heard.
    spent: BTreeSet<String>,
    asking: BTreeMap<PublicId, Asking>,
    going: Vec<PublicId>,
    /// The oldest of those who wait has waited since then.
    since: Option<Instant>,
    changed: Option<Instant>,
    left: Option<Instant>,
    /// Other controllers are to be told now.
    announces: bool,
}

impl Keeper {
    /// Takes part with what is in the files.
    pub(crate) fn start(place: Place, at: Where) -> Result<Self, Failure> {
        let member = place.member()?;
        let mut keeper = Self {
            place,
            at,
            member,
            channels: BTreeMap::new(),
            invitations: BTreeMap::new(),
            spent: BTreeSet::new(),
            asking: BTreeMap::new(),
            going: Vec::new(),
            since: None,
            changed: None,
            left: None,
            announces: false,
        };
        if !keeper.member.is_in() {
            return Err(refused("keep", &Fault::NoMember));
        }
        keeper.place.keep(&keeper.member)?;
        if keeper.member.controls() {
            for (epoch, key, change) in keeper.place.history() {
                let channel = Channel::open(&keeper.at, key)?;
                channel.say(CHANGE, change.encode())?;
                keeper.channels.insert(epoch, channel);
            }
        }
        keeper.open_present()?;
        Ok(keeper)
    }

    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    fn open_present(&mut self) -> Result<(), Failure> {
        let key = self.member.key().map_err(|fault| refused("keep", &fault))?;
        let epoch = self.member.epoch().unwrap_or(0);
        let channel = Channel::open(&self.at, key)?;
        self.channels.insert(epoch, channel);
        let keeps = if self.member.controls() { HISTORY + 1 } else { 1 };
        while self.channels.len() > keeps {
            self.channels.pop_first();
        }
        Ok(())
    }

    /// Everything that there is to do; waits for something to come no longer than this.
    pub(crate) fn turn(&mut self, clock: Instant, timeout: Duration) -> Result<Vec<News>, Failure> {
        let mut news = Vec::new();
        self.obey(clock, &mut news)?;
        self.hear_those_who_ask(clock, &mut news);
        self.hear_members(clock, timeout, &mut news)?;
        self.change(clock, &mut news)?;
        Ok(news)
    }

    fn obey(&mut self, clock: Instant, news: &mut Vec<News>) -> Result<(), Failure> {
        for (name, text) in self.place.waiting() {
            if name.starts_with("invitation-") {
                self.open_invitation(&name, &text)?;
                continue;
            }
            let done = match name.split_once('-').map_or(name.as_str(), |(verb, _)| verb) {
                "remove" => self.going_of(clock, &text),
                "standby" => self.standbys(&text),
                "take" => self.take_over(clock),
                "leave" => {
                    self.leave(clock)?;
                    // It waits until it is gone.
                    continue;
                }
                _ => Ok(()),
            };
            self.place.take(&name);
            if let Err(fault) = done {
                news.push(News::Refused(format!("{name}: {fault}")));
            }
        }
        Ok(())
    }

    fn open_invitation(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let Some((invitation, times, until)) = offered(text) else {
            self.place.take(name);
            return Ok(());
        };
        if times == 0 || until < now() || !self.member.controls() {
            self.place.take(name);
            self.invitations.remove(name);
        } else if !self.invitations.contains_key(name) && self.invitations.len() < INVITATIONS_MAX {
            let at = Where { address: invitation.group, ..self.at.clone() };
            let channel = Channel::of_invitation(&at, &invitation)?;
            self.invitations.insert(name.to_owned(), (invitation, channel));
        }
        Ok(())
    }

    fn going_of(&mut self, clock: Instant, text: &str) -> Result<(), Fault> {
        for id in ids(text) {
            if !self.member.members().iter().any(|view| view.public == id) {
                return Err(Fault::Unknown);
            }
            self.going.push(id);
            self.since.get_or_insert(clock);
        }
        Ok(())
    }

    fn standbys(&mut self, text: &str) -> Result<(), Fault> {
        self.member.set_standbys(&ids(text))?;
        self.announces = true;
        Ok(())
    }

    fn take_over(&mut self, clock: Instant) -> Result<(), Fault> {
        self.member.take_over()?;
        self.announces = true;
        self.since.get_or_insert(clock);
        Ok(())
    }

    /// Asks the controller to be let go, again and again.
    fn leave(&mut self, clock: Instant) -> Result<(), Failure> {
        if self.left.is_some_and(|left| clock.duration_since(left) < AGAIN) {
            return Ok(());
        }
        self.left = Some(clock);
        let leaving = self.member.leaving().map_err(|fault| refused("leave", &fault))?;
        match self.channels.last_key_value() {
            Some((_, channel)) => channel.say(LEAVE, leaving.encode()),
            None => Ok(()),
        }
    }

    fn hear_those_who_ask(&mut self, clock: Instant, news: &mut Vec<News>) {
        for (order, (_, channel)) in &self.invitations {
            for (topic, request) in channel.hear(Duration::ZERO) {
                let spent = self.spent.contains(order);
                if topic != ASK || spent || self.asking.len() >= ASKING_MAX {
                    continue;
                }
                let Ok((name, id)) = Member::who_asks(&request) else {
                    news.push(News::Refused("a request to join cannot be read".to_owned()));
                    continue;
                };
                let members = self.member.members();
                if members.iter().any(|view| view.name == name && view.public != id) {
                    let why = format!("{name} wants to join, and there is another of this name");
                    news.push(News::Refused(why));
                    continue;
                }
                self.asking.insert(id, Asking { name, request, order: order.clone() });
                self.since.get_or_insert(clock);
            }
        }
    }

    fn hear_members(
        &mut self,
        clock: Instant,
        timeout: Duration,
        news: &mut Vec<News>,
    ) -> Result<(), Failure> {
        let epochs: Vec<u64> = self.channels.keys().copied().collect();
        let last = epochs.last().copied();
        for epoch in epochs {
            let wait = if Some(epoch) == last { timeout } else { Duration::ZERO };
            let heard = self.channels.get(&epoch).map(|channel| channel.hear(wait));
            for (topic, bytes) in heard.unwrap_or_default() {
                match topic.as_str() {
                    CHANGE => self.on_change(&bytes, news)?,
                    LEAVE if self.member.controls() => self.on_leaving(clock, &bytes),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn on_change(&mut self, bytes: &[u8], news: &mut Vec<News>) -> Result<(), Failure> {
        let before = self.member.members();
        let applied = Change::decode(bytes).and_then(|change| self.member.apply(&change));
        match applied {
            Ok(Applied::Already) => {}
            Ok(Applied::Removed) => {
                self.place.keep(&self.member)?;
                self.place.take("leave");
                self.place.forget();
                news.push(News::Removed);
            }
            Ok(Applied::Epoch(_)) => self.settle(&before, news)?,
            Err(fault) => news.push(News::Refused(format!("a change of the group: {fault}"))),
        }
        Ok(())
    }

    /// A member may say for itself alone that it leaves.
    fn on_leaving(&mut self, clock: Instant, bytes: &[u8]) {
        let members = self.member.members();
        if let Ok(leaving) = Leaving::decode(bytes)
            && members.iter().any(|view| view.public == leaving.public)
            && self.member.believes(&leaving)
            && leaving.public != self.member.public()
            && !self.going.contains(&leaving.public)
        {
            self.going.push(leaving.public);
            self.since.get_or_insert(clock);
        }
    }

    /// A new epoch holds: its key is written, and its channel opened.
    fn settle(
        &mut self,
        before: &[fanfare_mls::MemberView],
        news: &mut Vec<News>,
    ) -> Result<(), Failure> {
        self.place.keep(&self.member)?;
        self.open_present()?;
        let after = self.member.members();
        let without = |some: &[fanfare_mls::MemberView], others: &[fanfare_mls::MemberView]| {
            let new = some.iter().filter(|view| others.iter().all(|o| o.public != view.public));
            new.map(|view| view.name.clone()).collect()
        };
        news.push(News::Changed {
            epoch: self.member.epoch().unwrap_or(0),
            joined: without(&after, before),
            left: without(before, &after),
            key: self.place.key().display().to_string(),
        });
        Ok(())
    }

    /// Whether it is time for a change.
    fn is_due(&self, clock: Instant) -> bool {
        let waited = self.since.is_some_and(|since| clock.duration_since(since) >= GATHER);
        let apart = self.changed.is_none_or(|changed| clock.duration_since(changed) >= APART);
        self.member.controls() && apart && (waited || self.announces)
    }

    fn change(&mut self, clock: Instant, news: &mut Vec<News>) -> Result<(), Failure> {
        if !self.is_due(clock) {
            return Ok(());
        }
        let (asking, mut going) =
            (std::mem::take(&mut self.asking), std::mem::take(&mut self.going));
        (self.since, self.changed, self.announces) = (None, Some(clock), false);
        let before = self.member.members();
        // Who was in and asks again has lost its way: its old place goes.
        let again = asking.keys().filter(|id| before.iter().any(|view| view.public == **id));
        going.extend(again);
        going.retain(|id| before.iter().any(|view| view.public == *id));
        going.sort_unstable();
        going.dedup();
        let requests: Vec<Vec<u8>> = asking.values().map(|one| one.request.clone()).collect();
        let key = self.member.key().map_err(|fault| refused("keep", &fault))?;
        let change = match self.member.change(&requests, &going) {
            Ok(change) => change,
            Err(fault) => {
                let names: Vec<&str> = asking.values().map(|one| one.name.as_str()).collect();
                let why = format!("no change of the group ({}): {fault}", names.join(", "));
                news.push(News::Refused(why));
                return Ok(());
            }
        };
        let for_members = change.for_members();
        self.place.add_history((change.from, &key, &for_members), HISTORY)?;
        if let Some(channel) = self.channels.get(&change.from) {
            channel.say(CHANGE, for_members.encode())?;
        }
        self.settle(&before, news)?;
        self.answer(&asking, &change)
    }

    /// Who has asked is told how to come in, and its invitation is used.
    fn answer(
        &mut self,
        asking: &BTreeMap<PublicId, Asking>,
        change: &Change,
    ) -> Result<(), Failure> {
        let mut used: BTreeMap<&str, u32> = BTreeMap::new();
        for one in asking.values() {
            *used.entry(one.order.as_str()).or_default() += 1;
        }
        for (order, count) in used {
            if let Some((_, channel)) = self.invitations.get(order) {
                channel.say(ANSWER, change.for_joiner().encode())?;
            }
            let waiting = self.place.waiting();
            let text = waiting.iter().find(|(name, _)| name == order).map(|(_, text)| text);
            if let Some((invitation, times, until)) = text.and_then(|text| offered(text)) {
                match times.saturating_sub(count) {
                    // Its channel stays open: the answer may have to be repaired.
                    0 => {
                        self.place.take(order);
                        self.spent.insert(order.to_owned());
                    }
                    left => self.place.order(order, &format!("{invitation} {left} {until}\n"))?,
                }
            }
        }
        Ok(())
    }
}

fn ids(text: &str) -> Vec<PublicId> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}
