//! Segments as messages: those that somebody wants.

use std::{
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::{Exit, Failure, Output, interrupt};
use fanfare_node::{
    group::{Body, Group, GroupEvent, Watch},
    messaging::{Filter, Options, Subscription, Topic},
    proto::Bitrate,
};
use fanfare_video::{About, Demand, Pace, Segment, Want, topics};

use super::{
    encoder::{Encoded, Encoder},
    farewell::StreamFarewell,
    plan::Plan,
};
use crate::video::lines::{Line, now_ms};

/// How often we look for what ffmpeg has written: a hundredth of a second is seen by nobody.
const LOOK: Duration = Duration::from_millis(10);
/// What a stream is is said again so often, and at most so often when newcomers ask: with half a second,
/// of twenty viewers that began together all but the first waited that long.
const ABOUT_EVERY: Duration = Duration::from_secs(10);
const ABOUT_LEAST: Duration = Duration::from_millis(100);
/// Segments that may still be on their way when nobody wants their rendition any more.
const IN_FLIGHT: u32 = 4;
/// What a stream is goes first, then the lowest rendition.
const FIRST: u8 = 7;

/// A stream on its way.
pub(crate) struct Sending<'a> {
    group: &'a Group,
    plan: &'a Plan,
    output: &'a Output,
    demand: Demand,
    about: Option<About>,
    about_sent: Option<Instant>,
    asked: bool,
    /// When the stream began: milliseconds since 1970.
    begun_ms: u64,
    life: u64,
    newest: u32,
    /// The source has ended: what goes now is waited for before the sender goes.
    ended: bool,
    wanted: Vec<bool>,
    /// Of each rendition the newest segment, and whether it was published.
    latest: Vec<Option<(Encoded, bool)>>,
    /// Renditions for whose next segment somebody waits.
    awaited: Vec<usize>,
    pace: Pace,
    /// How fast it may send now, bit/s.
    ceiling: Option<u64>,
}

impl<'a> Sending<'a> {
    pub(crate) fn new(group: &'a Group, plan: &'a Plan, output: &'a Output) -> Self {
        Self {
            demand: Demand::new(plan.all),
            about: None,
            about_sent: None,
            asked: false,
            begun_ms: 0,
            life: now_ms(),
            newest: 0,
            ended: false,
            wanted: vec![false; plan.ladder.len()],
            latest: plan.ladder.iter().map(|_| None).collect(),
            awaited: Vec::new(),
            pace: Pace::default(),
            ceiling: None,
            group,
            plan,
            output,
        }
    }

    /// Until the source has ended, or somebody stops it.
    pub(crate) fn run(mut self, mut encoder: Encoder) -> Result<Exit, Failure> {
        self.group.subscribe(Subscription::new(filter(topics::WANT)?))?;
        let mut ended: Option<StreamFarewell> = None;
        loop {
            if !self.hear()? {
                return Ok(if interrupt::is_asked() { Exit::Interrupted } else { Exit::Failed });
            }
            let has_ended = ended.is_none() && encoder.has_ended()?;
            self.ended |= has_ended;
            self.describe(&encoder);
            self.withdraw()?;
            self.set_pace()?;
            for segment in encoder.new_segments()? {
                let published = self.publish(&segment)?;
                let rendition = segment.rendition;
                self.latest[rendition] = Some((segment, published));
            }
            self.catch_up()?;
            if has_ended {
                ended = Some(StreamFarewell::new(self.plan.stay));
                self.end();
            }
            self.tell_about()?;
            if let Some(farewell) = &mut ended
                && farewell.is_over(self.group)?
            {
                return Ok(Exit::Done);
            }
        }
    }

    /// What viewers say; false when the member has ended.
    fn hear(&mut self) -> Result<bool, Failure> {
        let until = Instant::now() + LOOK;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.group.next_event(left) {
                Ok(GroupEvent::Message(message)) => {
                    let bytes = message.body.to_vec().unwrap_or_default();
                    self.on_want(message.key.sender.0, &bytes);
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(true),
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }
    fn on_want(&mut self, viewer: u32, bytes: &[u8]) {
        let Some(want) = Want::parse(bytes) else { return };
        if want.rendition.is_empty() {
            // A newcomer that does not know the stream yet.
            self.asked |= want.name.is_empty() || want.name == self.plan.name;
        } else if want.name == self.plan.name {
            let place = self.plan.ladder.iter().position(|one| one.name == want.rendition);
            let carries = want.carries_kbps.map(|kbps| kbps.saturating_mul(1000));
            if let Some(place) = place
                && self.demand.on_want(Instant::now(), viewer, (place, carries))
            {
                self.awaited.push(place);
            }
        }
    }

    /// Who waits for something to show does not wait for the next segment where the newest was not sent.
    fn catch_up(&mut self) -> Result<(), Failure> {
        for rendition in std::mem::take(&mut self.awaited) {
            if let Some((segment, _)) = self.latest[rendition].take_if(|(_, published)| !*published)
            {
                let published = self.publish(&segment)?;
                self.latest[rendition] = Some((segment, published));
            }
        }
        Ok(())
    }

    /// At a pace that every viewer's path carries.
    fn set_pace(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        let rates = self.plan.ladder.iter().enumerate();
        let used = rates.filter(|(place, _)| self.demand.wants(now, *place));
        let used = used.map(|(_, rendition)| rendition.rate).sum();
        let ceiling = self.pace.of(used, self.demand.carries(), self.newest);
        if ceiling != self.ceiling {
            self.ceiling = ceiling;
            self.group.set_ceiling(ceiling.map(Bitrate::bps))?;
        }
        Ok(())
    }

    /// What the stream is, once ffmpeg has begun every rendition.
    fn describe(&mut self, encoder: &Encoder) {
        if self.about.is_some() {
            return;
        }
        let Some(inits) = encoder.beginnings() else { return };
        let segment_ms = self.plan.segment.as_millis() as u32;
        let (name, life, last) = (self.plan.name.clone(), self.life, None);
        let renditions = self.plan.ladder.iter().cloned().zip(inits).collect();
        // The first segment is complete, and began a segment ago.
        self.begun_ms = now_ms().saturating_sub(u64::from(segment_ms));
        self.about = Some(About { name, life, segment_ms, last, renditions });
        let renditions = self.plan.ladder.iter().map(|one| &*one.name).collect();
        let line = Line::Stream { name: &self.plan.name, renditions, at_ms: now_ms() };
        self.output.event(&line);
    }
    fn tell_about(&mut self) -> Result<(), Failure> {
        let Some(about) = &self.about else { return Ok(()) };
        let since = self.about_sent.map(|at| at.elapsed());
        let due = match since {
            None => true,
            Some(since) => since >= ABOUT_EVERY || self.asked && since >= ABOUT_LEAST,
        };
        if due {
            let options = Options {
                priority: FIRST,
                expiry: Some(self.plan.keep),
                tag: Some(0),
                replaces: true,
                ..Options::default()
            };
            // Who is there should know how many segments there are before the sender goes.
            let watch = if self.ended { Watch::Holders } else { Watch::Nothing };
            let body = Body::new(about.encode());
            self.group.publish(topic(&topics::about(&about.name))?, body, options, watch)?;
            (self.about_sent, self.asked) = (Some(Instant::now()), false);
        }
        Ok(())
    }

    /// Whether it was published.
    fn publish(&mut self, encoded: &Encoded) -> Result<bool, Failure> {
        let Encoded { rendition, number, duration_ms, ref file } = *encoded;
        self.newest = self.newest.max(number);
        if self.about.is_none() || !self.demand.wants(Instant::now(), rendition) {
            return Ok(false);
        }
        // The stream is described before its first segment.
        self.tell_about()?;
        self.set_pace()?;
        let begun_ms = self.begun_ms + u64::from(number) * self.plan.segment.as_millis() as u64;
        let pace_kbps = self.ceiling.map_or(0, |bps| u32::try_from(bps / 1000).unwrap_or(0));
        let segment = Segment { life: self.life, number, duration_ms, begun_ms, pace_kbps };
        let options = Options {
            priority: FIRST.saturating_sub(1 + rendition as u8),
            expiry: Some(self.plan.keep),
            tag: Some(tag(rendition, number)),
            ..Options::default()
        };
        let name = &self.plan.ladder[rendition].name;
        let body = Body::new(segment.encode(file));
        let bytes = body.len();
        let to = topic(&topics::rendition(&self.plan.name, name))?;
        let watch = if self.ended { Watch::Holders } else { Watch::Nothing };
        self.group.publish(to, body, options, watch)?;
        self.output.event(&Line::Segment {
            name: &self.plan.name,
            rendition: name,
            number,
            bytes,
            begun_ms,
            at_ms: now_ms(),
            took_ms: None,
        });
        Ok(true)
    }

    /// What nobody wants any more is not repaired either, if it may still be on its way.
    fn withdraw(&mut self) -> Result<(), Failure> {
        for rendition in 0..self.plan.ladder.len() {
            let wanted = self.demand.wants(Instant::now(), rendition);
            if std::mem::replace(&mut self.wanted[rendition], wanted) && !wanted {
                for number in self.newest.saturating_sub(IN_FLIGHT)..=self.newest {
                    self.group.cancel(tag(rendition, number))?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        if let Some(about) = &mut self.about {
            about.last = Some(self.newest);
        }
        self.about_sent = None;
        let line = Line::Ended { name: &self.plan.name, segments: self.newest + 1 };
        self.output.event(&line);
        self.output.text("the source has ended");
    }
}

/// By which a segment can be withdrawn; 0 is what the stream is.
fn tag(rendition: usize, number: u32) -> u64 {
    (rendition as u64 + 1) << 32 | u64::from(number)
}

pub(super) fn topic(text: &str) -> Result<Topic, Failure> {
    Topic::new(text)
        .map_err(|error| Failure::usage("topic.invalid", format!("topic ({text}): {error}")))
}

pub(super) fn filter(text: &str) -> Result<Filter, Failure> {
    Filter::new(text)
        .map_err(|error| Failure::usage("topic.invalid", format!("topic ({text}): {error}")))
}
