//! A member that fills the library: it learns of streams, and takes one rendition of each.

use std::{
    collections::BTreeMap,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::{Failure, Output};
use fanfare_node::{
    group::{Body, Group, GroupEvent, Message, Watch},
    messaging::{Filter, History, Options, Subscription, SubscriptionId, Topic},
};
use fanfare_video::{About, Chooser, Segment, Want, topics};

use super::library::Library;
use crate::video::lines::{Line, now_ms};

/// How long to wait for news before looking at the clock.
const LOOK: Duration = Duration::from_millis(50);
/// Wants are said so often; a viewer that knows no stream asks more often.
const WANT_EVERY: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(250);
/// A want is old after that.
const WANT_LASTS: Duration = Duration::from_secs(5);
/// Segments older than the newest by more tell nothing of the path now.
const RECENT: u32 = 2;

/// A stream that is followed.
#[derive(Debug)]
struct Followed {
    about: About,
    chooser: Chooser,
    /// The rendition whose segments are asked for, and that before it, until the first segment of
    /// the new one is here.
    taken: Option<(usize, SubscriptionId)>,
    before: Option<SubscriptionId>,
    has_all: bool,
}

/// The member.
pub(crate) struct Viewer<'a> {
    group: &'a Group,
    library: &'a Library,
    latency: Duration,
    only: Option<String>,
    output: &'a Output,
    streams: BTreeMap<String, Followed>,
    said: Option<Instant>,
}

impl<'a> Viewer<'a> {
    pub(crate) fn new(
        group: &'a Group,
        library: &'a Library,
        latency: Duration,
        only: Option<String>,
        output: &'a Output,
    ) -> Self {
        let streams = BTreeMap::new();
        Self { group, library, latency, only, output, streams, said: None }
    }

    /// Until the member ends.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        self.group.subscribe(Subscription::new(filter(topics::ALL_ABOUT)?))?;
        loop {
            match self.group.next_event(LOOK) {
                Ok(GroupEvent::Message(message)) => self.on_message(&message)?,
                Ok(GroupEvent::NotOpened { code, text, .. }) => self.output.warn(code, text),
                Ok(GroupEvent::Lost { .. }) => {
                    self.output.warn("cache.full", "a segment could not be kept");
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.on_time(Instant::now())?;
        }
    }

    fn on_message(&mut self, message: &Message) -> Result<(), Failure> {
        let levels: Vec<&str> = message.description.topic.as_str().split('/').collect();
        let [_, name, last] = levels[..] else { return Ok(()) };
        match last {
            "about" => self.on_about(&message.body),
            rendition => self.on_segment(name, rendition, message),
        }
    }

    fn on_about(&mut self, body: &Body) -> Result<(), Failure> {
        let Some(about) = body.to_vec().ok().and_then(|bytes| About::parse(&bytes)) else {
            return Ok(());
        };
        let is_new = self.library.on_about(about.clone());
        if let Some(known) = self.streams.get_mut(&about.name).filter(|_| !is_new) {
            known.about = about;
            return Ok(());
        }
        if !is_new {
            return Ok(());
        }
        if let Some(known) = self.streams.remove(&about.name) {
            for id in known.taken.map(|taken| taken.1).into_iter().chain(known.before) {
                self.group.unsubscribe(id)?;
            }
        }
        let renditions = about.renditions.iter().map(|(one, _)| &*one.name).collect();
        self.output.event(&Line::Stream { name: &about.name, renditions, at_ms: now_ms() });
        self.output.text(&format!("stream '{}'", about.name));
        let rates = about.renditions.iter().map(|(one, _)| one.rate).collect();
        let segment = Duration::from_millis(u64::from(about.segment_ms));
        let chooser = Chooser::new(rates, segment, Instant::now());
        let name = about.name.clone();
        let followed = Followed { about, chooser, taken: None, before: None, has_all: false };
        self.streams.insert(name.clone(), followed);
        self.choose(&name)
    }

    fn on_segment(
        &mut self,
        name: &str,
        rendition: &str,
        message: &Message,
    ) -> Result<(), Failure> {
        let Some(followed) = self.streams.get_mut(name) else { return Ok(()) };
        let Some(place) = followed.about.find(rendition) else { return Ok(()) };
        // Only the head is needed here; what is long is a file.
        let Some(bytes) = message.body.to_vec().ok() else { return Ok(()) };
        let Some((segment, _)) = Segment::parse(&bytes) else { return Ok(()) };
        let newest = self.library.newest(name).unwrap_or(0);
        let bytes = message.body.len();
        if !self.library.put(name, rendition, segment, message.body.clone()) {
            return Ok(());
        }
        if segment.number + RECENT >= newest {
            let pace = Some(u64::from(segment.pace_kbps) * 1000).filter(|pace| *pace > 0);
            followed.chooser.on_segment(Instant::now(), (place, bytes), message.age, pace);
        }
        if followed.taken.is_some_and(|(taken, _)| taken == place)
            && let Some(before) = followed.before.take()
        {
            self.group.unsubscribe(before)?;
        }
        self.output.event(&Line::Segment {
            name,
            rendition,
            number: segment.number,
            bytes,
            begun_ms: segment.begun_ms,
            at_ms: now_ms(),
            took_ms: Some(message.age.as_millis() as u64),
        });
        self.choose(name)
    }

    fn on_time(&mut self, now: Instant) -> Result<(), Failure> {
        let names: Vec<String> = self.streams.keys().cloned().collect();
        for name in &names {
            let Some(followed) = self.streams.get_mut(name) else { continue };
            if followed.about.last.is_none() && followed.chooser.on_time(now) {
                self.choose(name)?;
            }
        }
        for name in self.library.take_wants_all() {
            self.take_all(&name)?;
        }
        let every = if self.streams.is_empty() { ASK_EVERY } else { WANT_EVERY };
        if self.said.is_none_or(|at| now.duration_since(at) >= every) {
            self.say()?;
        }
        Ok(())
    }

    /// What this node wants of a stream.
    fn wanted(&self, followed: &Followed) -> usize {
        let only = self.only.as_ref().and_then(|name| followed.about.find(name));
        only.unwrap_or_else(|| followed.chooser.current())
    }

    /// Takes what the chooser says, if that is not what is taken.
    fn choose(&mut self, name: &str) -> Result<(), Failure> {
        let Some(followed) = self.streams.get(name) else { return Ok(()) };
        let wanted = self.wanted(followed);
        if followed.taken.is_some_and(|(taken, _)| taken == wanted) {
            return Ok(());
        }
        let rendition = followed.about.renditions[wanted].0.name.clone();
        let subscription = Subscription {
            deadline: Some(self.latency),
            // The next segment is sooner here than an older one: twenty that begin together would ask for
            // all that was sent lately.
            history: History::Last(0),
            ..Subscription::new(filter(&topics::rendition(name, &rendition))?)
        };
        let id = self.group.subscribe(subscription)?;
        let carries_bps = followed.chooser.carries().map(|bps| bps as u64);
        let line = Line::Chosen { name, rendition: &rendition, carries_bps, at_ms: now_ms() };
        self.output.event(&line);
        self.library.set_chosen(name, &rendition);
        let Some(followed) = self.streams.get_mut(name) else { return Ok(()) };
        let before = followed.taken.replace((wanted, id)).map(|taken| taken.1);
        if let Some(older) = std::mem::replace(&mut followed.before, before) {
            self.group.unsubscribe(older)?;
        }
        self.say()
    }

    /// A player wants what was before this node came: all that anybody has.
    fn take_all(&mut self, name: &str) -> Result<(), Failure> {
        let Some(followed) = self.streams.get_mut(name) else { return Ok(()) };
        if !std::mem::replace(&mut followed.has_all, true) {
            self.group.subscribe(Subscription::new(filter(&topics::rendition(name, "+"))?))?;
        }
        Ok(())
    }

    /// Says what this node wants of each stream; without one, it asks which there are.
    fn say(&mut self) -> Result<(), Failure> {
        self.said = Some(Instant::now());
        let of = |(name, followed): (&String, &Followed)| {
            let rendition = followed.about.renditions[self.wanted(followed)].0.name.clone();
            let carries_kbps = followed.chooser.carries().map(|bps| bps as u64 / 1000);
            Want { name: name.clone(), rendition, carries_kbps }
        };
        let mut wants: Vec<Want> = self.streams.iter().map(of).collect();
        if wants.is_empty() {
            wants.push(Want { name: String::new(), rendition: String::new(), carries_kbps: None });
        }
        for (want, tag) in wants.into_iter().zip(0..) {
            let options = Options {
                expiry: Some(WANT_LASTS),
                tag: Some(tag),
                replaces: true,
                ..Options::default()
            };
            let body = Body::new(want.encode());
            self.group.publish(topic(topics::WANT)?, body, options, Watch::Nothing)?;
        }
        Ok(())
    }
}

fn topic(text: &str) -> Result<Topic, Failure> {
    Topic::new(text).map_err(|error| Failure::usage("topic.invalid", error.to_string()))
}

fn filter(text: &str) -> Result<Filter, Failure> {
    Filter::new(text).map_err(|error| Failure::usage("topic.invalid", error.to_string()))
}
