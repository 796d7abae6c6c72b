//! `fanfare monitor ask`: exact numbers of a node, which answers by a message of the group. What nodes tell
//! by themselves is rounded, and only what fits into a note.

use std::{
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use clap::Args;
use fanfare_command::json::Line;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up, interrupt, units};
use fanfare_monitor::sensor::{host::HostFacts, interfaces::Interfaces};
use fanfare_node::{
    group::{Body, GroupEvent, GroupHandle, Message, Watch},
    messaging::{Filter, History, Options, Subscription, SubscriptionId, Topic},
};
use serde_json::{Value, json};

use crate::args::{
    group::MemberArgs,
    network::{GROUP, NameArgs, NetArgs},
};

const QUESTIONS: &str = "monitor/ask";
const ANSWERS: &str = "monitor/answer";
/// Questions and answers are of no use later.
const EXPIRY: Duration = Duration::from_secs(60);
/// A node answers no more often: whoever asks in a loop must not fill the channel. One answer is for all that asked
/// before it, since every member hears it.
const APART: Duration = Duration::from_secs(1);
/// A question is a name.
const QUESTION_MAX: u64 = 256;

const HELP: Help = Help::new(&[
    ("fanfare monitor ask base", "the node that is called base"),
    ("fanfare monitor ask all --timeout 10s", "whoever answers within ten seconds"),
])
.exits(&[
    (Exit::Done, "somebody answered"),
    (Exit::Nobody, "nobody answered"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
])
.files(&[("--key FILE", "the group's key"), ("--policy FILE", "what members may publish")]);

/// Ask a node for its exact numbers
///
/// Nodes that run with 'fanfare node --monitor' answer: their machine, their interfaces, and what
/// their member of the group has sent and lost.
#[derive(Debug, Args)]
#[command(
    mut_arg("group", |group| group.default_value(GROUP).alias("address")),
    mut_arg("unicast", |unicast| unicast.hide(true)),
    mut_arg("cache_dir", |dir| dir.hide(true)),
    after_help = HELP.short(), after_long_help = HELP.long()
)]
pub(crate) struct AskArgs {
    /// Name or id of the node; all: every node
    #[arg(value_name = "NODE")]
    node: String,
    /// How long answers are waited for
    #[arg(long, value_name = "TIME", default_value = "5s")]
    timeout: String,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    net: NetArgs,
    #[command(flatten)]
    name: NameArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &AskArgs) -> Exit {
    let output = Output::new(args.output);
    ask(args, &output).unwrap_or_else(|failure| give_up(&output, &failure))
}

fn ask(args: &AskArgs, output: &Output) -> Result<Exit, Failure> {
    let until = Instant::now() + units::time("timeout", &args.timeout)?;
    let group = args.member.join_to_stay(&args.net, |options| options.name = args.name.get())?;
    interrupt::stop_on_interrupt(group.stopper());
    group.subscribe(quiet(ANSWERS)?)?;
    let question = args.node.clone().into_bytes();
    group.publish(topic(QUESTIONS)?, Body::new(question), fleeting(), Watch::Nothing)?;
    let is_all = args.node == "all";
    let mut answered = 0;
    while Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        match group.next_event(left) {
            Ok(GroupEvent::Message(message)) => {
                let Some(answer) = read(&message) else { continue };
                if is_all || answer["node"] == *args.node || answer["id"] == *args.node {
                    show(&answer, output);
                    answered += 1;
                }
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if answered > 0 && !is_all {
            break;
        }
    }
    if interrupt::is_asked() {
        output.event(&Line::early_result(Exit::Interrupted as u8));
        return Ok(Exit::Interrupted);
    }
    if answered == 0 {
        let text = format!(
            "node ({}): did not answer within {}. Only nodes with 'fanfare node --monitor' answer",
            args.node, args.timeout
        );
        return Err(Failure::new(Exit::Nobody, "monitor.nobody", text));
    }
    output.event(&Line::early_result(Exit::Done as u8));
    Ok(Exit::Done)
}

fn read(message: &Message) -> Option<Value> {
    serde_json::from_slice(message.body.bytes()?).ok()
}

fn show(answer: &Value, output: &Output) {
    output.event(&json!({"event": "answer", "answer": answer}));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    output.data(&format!("{} ({})", text(&answer["node"]), text(&answer["id"])));
    for part in ["host", "member"] {
        for (name, value) in answer[part].as_object().into_iter().flatten() {
            output.data(&format!("  {name}: {}", text(value)));
        }
    }
    for (name, interface) in answer["interfaces"].as_object().into_iter().flatten() {
        output.data(&format!(
            "  {name}: in {} bytes, out {} bytes, {} dropped",
            text(&interface["in_bytes"]),
            text(&interface["out_bytes"]),
            text(&interface["drops"])
        ));
    }
}

fn topic(name: &str) -> Result<Topic, Failure> {
    Topic::new(name).map_err(|error| Failure::usage("monitor.topic", error.to_string()))
}

/// Nothing of before: an old question has been answered, and an old answer is to another.
fn quiet(name: &str) -> Result<Subscription, Failure> {
    let filter =
        Filter::new(name).map_err(|error| Failure::usage("monitor.topic", error.to_string()))?;
    Ok(Subscription { history: History::Last(0), ..Subscription::new(filter) })
}

fn fleeting() -> Options {
    Options { expiry: Some(EXPIRY), ..Options::default() }
}

/// A node that answers such questions, if it has a monitor.
pub(crate) struct Answers {
    handle: GroupHandle,
    subscription: Option<SubscriptionId>,
    host: HostFacts,
    interfaces: Interfaces,
    pace: AnswerPace,
}

/// Times of answers: at once, and no more often than every [`APART`].
#[derive(Debug, Default)]
struct AnswerPace {
    last: Option<Instant>,
    due: Option<Instant>,
}

impl AnswerPace {
    /// An answer is wanted; one that is due already serves.
    fn ask(&mut self, now: Instant) {
        let earliest = self.last.map_or(now, |last| now.max(last + APART));
        self.due.get_or_insert(earliest);
    }

    /// True once when an answer is due.
    fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            (self.last, self.due) = (Some(now), None);
        }
        is_due
    }
}

impl Answers {
    pub(crate) fn new(handle: GroupHandle, has_monitor: bool) -> Self {
        // Without the subscription nobody is answered, and all else goes on.
        let subscription = quiet(QUESTIONS).ok().filter(|_| has_monitor);
        let subscription = subscription.and_then(|questions| handle.subscribe(questions).ok());
        let (host, interfaces) = (HostFacts::new(), Interfaces::default());
        Self { handle, subscription, host, interfaces, pace: AnswerPace::default() }
    }

    pub(crate) fn is_question(&self, message: &Message) -> bool {
        self.subscription == Some(message.subscription)
    }

    /// When an answer is due that came too soon after another.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.pace.due
    }

    pub(crate) fn on_question(&mut self, message: &Message, now: Instant) {
        let name = self.name();
        let id = self.handle.id().to_string();
        let asked = message.body.bytes().filter(|bytes| bytes.len() as u64 <= QUESTION_MAX);
        let is_meant =
            asked.is_some_and(|asked| [b"all", name.as_bytes(), id.as_bytes()].contains(&asked));
        if is_meant {
            self.pace.ask(now);
            self.on_time(now);
        }
    }

    /// Answers if that is due.
    pub(crate) fn on_time(&mut self, now: Instant) {
        if !self.pace.take(now) {
            return;
        }
        let (name, id) = (self.name(), self.handle.id().to_string());
        let answer = self.answer(&name, &id).to_string().into_bytes();
        // Who has left the group answers no more.
        if let Ok(topic) = topic(ANSWERS) {
            let _ = self.handle.publish(topic, Body::new(answer), fleeting(), Watch::Nothing);
        }
    }

    fn name(&self) -> String {
        let known = self.handle.monitored().ok().flatten();
        let own = self.handle.id();
        let node = known.and_then(|known| known.nodes.into_iter().find(|node| node.id == own));
        node.and_then(|node| node.name).unwrap_or_else(|| own.to_string())
    }

    fn answer(&mut self, name: &str, id: &str) -> Value {
        let facts = self.host.read();
        let known = self.handle.monitored().ok().flatten();
        let member = known.map(|known| {
            json!({
                "bytes_sent": known.bytes_sent,
                "repairs": known.group.repairs_sent,
                "notes_sent": known.stats.notes_sent,
                "notes_heard": known.stats.notes_heard,
                "nodes_known": known.nodes.len(),
            })
        });
        json!({
            "node": name, "id": id,
            "host": {
                "processor": facts.processor, "memory": facts.memory, "battery": facts.battery,
            },
            "interfaces": self.interfaces.read(0.0),
            "member": member,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_soon_after_another_is_answered_when_the_second_is_over() {
        let (begun, mut pace) = (Instant::now(), AnswerPace::default());
        pace.ask(begun);
        assert!(pace.take(begun), "the first is answered at once");
        let soon = begun + APART / 4;
        pace.ask(soon);
        pace.ask(soon + APART / 4);
        assert!(!pace.take(soon + APART / 4));
        assert_eq!(pace.due, Some(begun + APART));
        assert!(pace.take(begun + APART), "one answer is for both");
        assert!(!pace.take(begun + APART * 4));
    }
}
