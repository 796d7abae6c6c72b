//! Who is late, and why: rules over what receivers report.
//!
//! A machine that is behind and a path that loses look alike to a sender: packets are asked for again.
//! What tells them apart is the receiver's own count of its buffer's overruns.

use std::{collections::BTreeMap, time::Duration};

use super::{
    alert::{Alert, Severity},
    receiver::{Receiver, label},
};

/// Loss that a person should look at. Switched networks lose less than a thousandth of this.
const LOSS_MIN: f64 = 0.01;
/// One path is to blame when it loses so many times what the middle one of all does.
const LOSS_FACTOR: f64 = 3.0;
/// A network is to blame when so many receivers, and the middle one of them, lose.
const SHARED_MIN: usize = 3;
/// Overruns count so long: receivers tell of them once a second.
const OVERRUN_SPAN: Duration = Duration::from_secs(5);
/// A path that limits the rate for a moment has met other traffic. One that does so for long is narrow.
const NARROW_AFTER: Duration = Duration::from_secs(5);
/// Receivers are asked every two seconds, and less often when there are many.
const SILENT_AFTER: Duration = Duration::from_secs(10);
/// … and so many times as long as the middle one of all: when answers are slow to come, or are asked for
/// rarely, all are told of late …
const SILENT_FACTOR: u32 = 3;
/// … while the middle one has got this share of everything: else all wait, for one of them or for the sender.
const OTHERS_GOT: f64 = 0.01;

/// What all of them are compared with.
#[derive(Debug)]
pub(super) struct Scene<'m> {
    pub(super) now: Duration,
    pub(super) receivers: &'m BTreeMap<u64, Receiver>,
    /// Bytes of all that is sent.
    pub(super) total: Option<u64>,
    /// Data flows.
    pub(super) flowing: bool,
    /// What limits the rate: code and receiver.
    pub(super) limit: Option<(&'m str, Option<u64>)>,
    /// Since when it is that.
    pub(super) limit_since: Duration,
    pub(super) missing: &'m [String],
}

impl Scene<'_> {
    pub(super) fn find(&self) -> Vec<Alert> {
        let mut found = Vec::new();
        let middle = self.middle_loss();
        let shared = self.receivers.len() >= SHARED_MIN && middle >= LOSS_MIN;
        if self.flowing && shared {
            found.push(self.everywhere(middle));
        }
        for (id, one) in self.receivers {
            self.disk(*id, one, &mut found);
            self.verdict(*id, one, &mut found);
            if !self.flowing || one.is_settled() {
                continue;
            }
            if self.is_behind(*id, one) {
                found.push(self.slow_machine(*id, one));
            } else if self.is_lossy(*id, one, middle) {
                found.push(self.lossy_path(*id, one, middle));
            } else if self.is_narrow(*id) {
                found.push(self.narrow_path(*id));
            }
        }
        found.extend(self.all_silent());
        found.extend(self.missing.iter().map(|name| self.missing(name)));
        found
    }

    /// What the middle one of all loses.
    fn middle_loss(&self) -> f64 {
        let mut all: Vec<f64> = self.receivers.values().map(|one| one.loss).collect();
        all.sort_by(f64::total_cmp);
        // Of an even number the lower one: of two receivers one can be to blame.
        all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
    }

    fn is_behind(&self, id: u64, one: &Receiver) -> bool {
        let lately = one.overran.is_some_and(|at| self.now <= at + OVERRUN_SPAN);
        lately || self.limit == Some(("overrun", Some(id)))
    }

    fn is_lossy(&self, id: u64, one: &Receiver, middle: f64) -> bool {
        let alone = one.loss >= LOSS_MIN && one.loss > LOSS_FACTOR * middle;
        alone
            || (self.limit == Some(("loss", Some(id))) && one.loss >= LOSS_MIN && middle < LOSS_MIN)
    }

    /// Those who have not got further. When most have not, they have not been asked, or it is not their fault.
    fn all_silent(&self) -> Vec<Alert> {
        // Whose disk is full gets no further, and why is said.
        let open = |one: &Receiver| self.flowing && !one.is_settled() && one.reported.is_empty();
        let age = |one: &Receiver| self.now.saturating_sub(one.moved.unwrap_or(self.now));
        let all = self.receivers.iter().filter(|(_, one)| open(one));
        let mut ages: Vec<Duration> = all.clone().map(|(_, one)| age(one)).collect();
        ages.sort_unstable();
        let others = (ages.len() >= SHARED_MIN).then(|| {
            let much = self.total.unwrap_or(0) as f64 * OTHERS_GOT;
            (ages[ages.len() / 2], middle_bytes(self.receivers), much)
        });
        let alone = |one: &Receiver| {
            others.is_none_or(|(middle_age, middle, much)| {
                let got = middle.saturating_sub(one.middle_then) as f64;
                age(one) > middle_age * SILENT_FACTOR && got >= much
            })
        };
        let silent = all.filter(|(_, one)| age(one) > SILENT_AFTER && alone(one));
        silent.map(|(id, one)| self.silent(*id, one)).collect()
    }

    fn is_narrow(&self, id: u64) -> bool {
        let lasts = self.now >= self.limit_since + NARROW_AFTER;
        self.limit == Some(("path", Some(id))) && self.receivers.len() > 1 && lasts
    }

    fn alert(&self, cause: &'static str, severity: Severity, id: u64, words: Words) -> Alert {
        let subject = label(self.receivers, id);
        Alert {
            cause,
            severity,
            id: Some(id),
            text: words.text.replace("{}", &subject),
            advice: words.advice.replace("{}", &subject),
            subject,
            since: self.now.as_secs_f64(),
            lasting: severity == Severity::Critical,
        }
    }

    fn disk(&self, id: u64, one: &Receiver, found: &mut Vec<Alert>) {
        for (reason, (file, count)) in &one.reported {
            let more = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            let (cause, text, advice) = match &**reason {
                "disk-full" => (
                    "disk-full",
                    format!("the disk of {{}} is full: no room for '{file}'{more}"),
                    "Free space on {}, and send again",
                ),
                "disk-error" => (
                    "disk-error",
                    format!("the disk of {{}} fails: '{file}'{more} cannot be written"),
                    "Look at the system's log of {}, and at its disk",
                ),
                _ => continue,
            };
            found.push(self.alert(cause, Severity::Critical, id, Words { text, advice }));
        }
        let short = one.free.zip(self.total).filter(|(free, total)| free < total);
        if let Some((free, total)) = short.filter(|_| !one.is_settled() && one.reported.is_empty())
        {
            let (free, total) = (size(free), size(total));
            let text = format!("{{}} has {free} free, and {total} are to come");
            let words = Words { text, advice: "Free space on {} before its disk is full" };
            found.push(self.alert("disk-short", Severity::Warning, id, words));
        }
    }

    fn verdict(&self, id: u64, one: &Receiver, found: &mut Vec<Alert>) {
        if one.verdict.as_deref() == Some("evicted") {
            let text = "{} got less than --min-rate and was dropped".to_owned();
            let words = Words { text, advice: "Send again to {} alone" };
            found.push(self.alert("evicted", Severity::Critical, id, words));
        }
    }

    fn slow_machine(&self, id: u64, one: &Receiver) -> Alert {
        let times = match one.overruns {
            0 => String::new(),
            1 => " (its receive buffer ran over once)".to_owned(),
            many => format!(" (its receive buffer ran over {many} times)"),
        };
        let text = format!("{{}} is a slow machine: its processor or disk is behind{times}");
        let advice = "Stop other work on {}, or let --slow tail finish it last";
        self.alert("slow-machine", Severity::Warning, id, Words { text, advice })
    }

    fn lossy_path(&self, id: u64, one: &Receiver, middle: f64) -> Alert {
        let (own, others) = (percent(one.loss), percent(middle));
        let compared = match self.receivers.len() {
            1 => String::new(),
            _ => format!(", the middle one of all {others}"),
        };
        let text = format!("the path to {{}} loses {own}{compared}");
        let advice = "Check the cable, the switch port or the radio of {}";
        self.alert("lossy-path", Severity::Warning, id, Words { text, advice })
    }

    fn narrow_path(&self, id: u64) -> Alert {
        let text = "the path to {} carries no more: all get its rate".to_owned();
        let advice = "Check whether {} has a slower link, or let --slow tail finish it last";
        self.alert("narrow-path", Severity::Warning, id, Words { text, advice })
    }

    fn silent(&self, id: u64, one: &Receiver) -> Alert {
        let seconds = (self.now - one.moved.unwrap_or(self.now)).as_secs();
        let text = format!("{{}} has not got further for {seconds} s");
        let advice = "Look whether {} is on, and in the network";
        self.alert("silent", Severity::Warning, id, Words { text, advice })
    }

    fn everywhere(&self, middle: f64) -> Alert {
        Alert {
            cause: "loss-everywhere",
            severity: Severity::Warning,
            id: None,
            subject: String::new(),
            text: format!("most paths lose packets, the middle one {}", percent(middle)),
            advice:
                "Check the cable of this machine and the first switch, or send at a lower --rate"
                    .to_owned(),
            since: self.now.as_secs_f64(),
            lasting: false,
        }
    }

    fn missing(&self, name: &str) -> Alert {
        Alert {
            cause: "missing",
            severity: Severity::Warning,
            id: None,
            subject: name.to_owned(),
            text: format!("{name} is expected and has not answered"),
            advice: format!("Start 'fanfare recv' on {name}; 'fanfare doctor' there finds causes"),
            since: self.now.as_secs_f64(),
            lasting: false,
        }
    }
}

/// How far the middle one of all is.
pub(super) fn middle_bytes(receivers: &BTreeMap<u64, Receiver>) -> u64 {
    let mut all: Vec<u64> = receivers.values().map(|one| one.bytes.unwrap_or(0)).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

/// `{}` stands for the receiver.
struct Words {
    text: String,
    advice: &'static str,
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// For people: 1.2 GiB.
fn size(bytes: u64) -> String {
    let steps = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut step) = (bytes as f64, 0);
    while value >= 1024.0 && step + 1 < steps.len() {
        value /= 1024.0;
        step += 1;
    }
    if step == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", steps[step]) }
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
