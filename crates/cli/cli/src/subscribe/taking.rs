//! Messages as they come to `sub`: shown, written, counted, until it is enough.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use fanfare_command::json::{Line, MessageLine, Taken, message_line};
use fanfare_command::local::{
    client::{Client, Silence},
    request::unhex,
};
use fanfare_node::{
    group::{Body, Group, GroupEvent, GroupReport, Inbox, Message, MessageBatch},
    messaging::{Identity, Topic},
    proto::{InstanceId, NodeId},
};

use crate::group::events;
use fanfare_command::{
    Exit, Failure, Output, Printable, Printed, directory_failure, printed, units,
};

/// How often to look at the time, and for who reads what is printed, while nothing happens.
const POLL: Duration = Duration::from_millis(200);
/// Bytes of a message that are shown where there is no directory for it: a terminal is no file.
const SHOWN_MAX: u64 = 64 << 10;

/// Why no more is taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Done,
    TimedOut,
    Interrupted,
    /// Nobody reads what is printed any more.
    Unread,
    Failed(Failure),
}

/// What is taken, and until when.
pub(super) struct Taking<'a> {
    output: &'a Output,
    inbox: Option<(Inbox, PathBuf)>,
    count: Option<u64>,
    /// As it was given, and how long that is.
    timeout: Option<(String, Duration)>,
    taken: Taken,
}

impl<'a> Taking<'a> {
    pub(super) fn new(
        output: &'a Output,
        (count, timeout): (Option<u64>, Option<(String, Duration)>),
    ) -> Self {
        Self { output, inbox: None, count, timeout, taken: Taken::default() }
    }

    /// Into files in this directory.
    pub(super) fn write_into(&mut self, path: &Path, create: bool) -> Result<(), Failure> {
        let inbox = Inbox::open(path, create).map_err(|error| directory_failure(&error))?;
        self.inbox = Some((inbox, path.to_owned()));
        Ok(())
    }

    pub(super) fn show_subscribed(&self, line: &Line) {
        self.output.event(line);
    }

    /// From a member of the group.
    pub(super) fn take(&mut self, group: &Group) -> End {
        let mut heard = Instant::now();
        loop {
            if let Some(end) = self.end(heard) {
                return end;
            }
            match group.next_batch(self.pause()) {
                Ok(GroupEvent::Message(message)) => {
                    heard = Instant::now();
                    self.on_message(&message);
                }
                Ok(GroupEvent::Batch(batch)) => {
                    heard = Instant::now();
                    self.on_batch(&batch);
                }
                Ok(event) => self.on_event(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return End::Interrupted,
            }
        }
    }

    /// From a node at a socket.
    pub(super) fn take_via(&mut self, client: &mut Client) -> End {
        let mut heard = Instant::now();
        loop {
            if let Some(end) = self.end(heard) {
                return end;
            }
            match client.next(self.pause()) {
                Ok((Line::Message(message), content)) => {
                    heard = Instant::now();
                    self.on_line(message, content);
                }
                Ok((Line::Dropped(dropped), _)) => {
                    self.taken.dropped += dropped.messages;
                    events::show_dropped(&dropped, self.output);
                }
                Ok(_) | Err(Silence::Timeout) => {}
                Err(Silence::Ended) if client.is_closed() => return End::Interrupted,
                Err(Silence::Ended) => return End::Failed(client.gone()),
                Err(Silence::Failed(failure)) => return End::Failed(failure),
            }
        }
    }

    fn pause(&self) -> Duration {
        self.timeout.as_ref().map_or(POLL, |(_, timeout)| POLL.min(*timeout))
    }

    fn end(&self, heard: Instant) -> Option<End> {
        let Taken { messages, unwritten, .. } = self.taken;
        match printed() {
            // What cannot be written has come all the same, and comes no more.
            _ if self.count.is_some_and(|count| messages + unwritten >= count) => Some(End::Done),
            Printed::Unread => Some(End::Unread),
            Printed::Refused(failure) => Some(End::Failed(failure)),
            Printed::Taken => {
                let timeout = self.timeout.as_ref().map(|(_, timeout)| *timeout);
                timeout.filter(|timeout| heard.elapsed() >= *timeout).map(|_| End::TimedOut)
            }
        }
    }

    fn on_event(&mut self, event: &GroupEvent) {
        match event {
            GroupEvent::Dropped(gap) => self.taken.dropped += gap.messages,
            GroupEvent::Lost { .. } => self.taken.lost += 1,
            _ => {}
        }
        events::show(event, self.output);
    }

    fn on_message(&mut self, message: &Message) {
        let identity = message.description.identity(message.key);
        let placed = self.place(&identity, &message.body);
        if let Some(path) = self.written(message.description.topic.as_str(), placed) {
            self.taken.bytes += message.body.len();
            self.show(message_line(message, SHOWN_MAX, path));
        }
    }

    /// Messages that travelled together, as far as they are wanted.
    fn on_batch(&mut self, batch: &MessageBatch) {
        let taken = self.taken.messages + self.taken.unwritten;
        let wanted = self.count.map_or(u64::MAX, |count| count.saturating_sub(taken));
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        if self.inbox.is_some() || self.output.tells_events() {
            return batch.messages().take(wanted).for_each(|message| self.on_message(&message));
        }
        let topic = batch.description.topic.as_str();
        let mut text = String::new();
        for (_, content) in batch.iter().take(wanted) {
            self.taken.messages += 1;
            self.taken.bytes += content.len() as u64;
            if !text.is_empty() {
                text.push('\n');
            }
            append_line(topic, content, &mut text);
        }
        self.output.data(&text);
    }

    fn on_line(&mut self, mut line: MessageLine, content: Option<Body>) {
        let placed = match &self.inbox {
            None => Ok(None),
            Some(_) => {
                read(&line, content).and_then(|(identity, body)| self.place(&identity, &body))
            }
        };
        let Some(path) = self.written(&line.topic, placed) else { return };
        self.taken.bytes += line.size;
        line.bytes = None;
        if path.is_some() {
            (line.text, line.hex, line.path) = (None, None, path);
        }
        self.show(line);
    }

    fn place(&self, identity: &Identity, body: &Body) -> io::Result<Option<String>> {
        let Some((inbox, out)) = &self.inbox else { return Ok(None) };
        let name = inbox.place(identity, body)?;
        Ok(Some(out.join(name).display().to_string()))
    }

    /// Counts it. Gives its file, if it was to be in one; `None` where it could not be written.
    fn written(
        &mut self,
        topic: &str,
        placed: io::Result<Option<String>>,
    ) -> Option<Option<String>> {
        match placed {
            Ok(path) => {
                self.taken.messages += 1;
                Some(path)
            }
            Err(error) => {
                self.taken.unwritten += 1;
                let text = format!("message ({topic}): could not be written: {error}");
                self.output.warn("message.unwritten", text);
                None
            }
        }
    }

    /// For people `TOPIC CONTENT`, where the content is text, or its file.
    fn show(&self, line: MessageLine) {
        let shown = match (&line.path, &line.text) {
            (Some(path), _) => path.clone(),
            (None, Some(text)) => format!("{} {text}", line.topic),
            (None, None) => format!("{} ({})", line.topic, units::size(line.size)),
        };
        self.output.data(&Printable(&shown).to_string());
        self.output.event(&Line::Message(line));
    }

    /// What came of it; `report`: of a member of the group.
    pub(super) fn conclude(&self, end: End, report: Option<&GroupReport>) -> Exit {
        let failure = self.failure(end);
        let exit = failure.as_ref().map_or(Exit::Done, |failure| failure.exit);
        if let Some(failure) = failure.filter(|failure| failure.exit != Exit::Interrupted) {
            self.output.failure(&failure);
        }
        if self.output.is_json() {
            let line = Line::subscribe_result(exit as u8, &self.taken, report.map(Into::into));
            self.output.event(&line);
        }
        exit
    }

    fn failure(&self, end: End) -> Option<Failure> {
        match end {
            End::Interrupted => Some(Failure::new(Exit::Interrupted, "interrupted", "interrupted")),
            End::Failed(failure) => Some(failure),
            End::Unread => None,
            // That is why the last did not come.
            End::Done | End::TimedOut if self.taken.unwritten > 0 => Some(Failure::new(
                Exit::Resource,
                "message.unwritten",
                format!(
                    "messages ({}): could not be written. Make room, and have them published again",
                    self.taken.unwritten
                ),
            )),
            End::TimedOut => Some(Failure::new(
                Exit::Nobody,
                "timeout",
                format!(
                    "timeout ({}): no message arrived in this time. Check that a publisher, or \
                     a node with its messages, uses this group and interface",
                    self.timeout.as_ref().map_or("", |(text, _)| text)
                ),
            )),
            End::Done => None,
        }
    }
}

/// `TOPIC CONTENT`, as [`Taking::show`] has it.
fn append_line(topic: &str, content: &[u8], text: &mut String) {
    let shown = str::from_utf8(content).ok();
    let is_plain = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match shown {
        Some(shown) if is_plain(shown) && is_plain(topic) => {
            text.push_str(topic);
            text.push(' ');
            text.push_str(shown);
        }
        // Writing to a string cannot fail.
        Some(shown) => _ = write!(text, "{}", Printable(&format!("{topic} {shown}"))),
        None => {
            let size = units::size(content.len() as u64);
            _ = write!(text, "{}", Printable(&format!("{topic} ({size})")));
        }
    }
}

/// What a node's line says, with what followed it.
fn read(line: &MessageLine, content: Option<Body>) -> io::Result<(Identity, Body)> {
    let invalid = || io::Error::other("the node did not say all of it");
    let body = match (content, &line.text, &line.hex) {
        (Some(content), ..) => Some(content),
        (None, Some(text), _) => Some(Body::new(text.clone().into_bytes())),
        (None, None, Some(hex)) => unhex(hex).map(Body::new),
        (None, None, None) => None,
    };
    let (topic, instance) = (Topic::new(&line.topic).ok(), line.instance.map(InstanceId));
    let (Some(body), Some(topic), Some(instance)) = (body, topic, instance) else {
        return Err(invalid());
    };
    let (node, number) = (NodeId(line.publisher), line.number);
    Ok((Identity { node, instance, topic, number }, body))
}
