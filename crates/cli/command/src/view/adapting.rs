//! Advice of a monitor, as a sender hears it: a ceiling for its rate, which lapses by itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::Output;
use fanfare_monitor::{client::Client, evidence::Advised};
use fanfare_node::proto::Bitrate;
use serde_json::json;

use crate::view::AdaptPlan;

/// A monitor that is not there is looked for so often.
const AGAIN: Duration = Duration::from_secs(2);

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Adapting {
    stopped: Arc<AtomicBool>,
}

impl Drop for Adapting {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Says what is advised; calls `set` with the ceiling, or without one, where it is obeyed.
#[must_use]
pub fn follow(
    plan: AdaptPlan,
    output: Output,
    set: impl Fn(Option<Bitrate>) + Send + 'static,
) -> Adapting {
    let stopped = Arc::<AtomicBool>::default();
    let own = Arc::clone(&stopped);
    // Without a thread there is no advice: the rate is what it would be without.
    let _ = thread::Builder::new().name("adapt".to_owned()).spawn(move || {
        let mut obedience = Obedience { plan, output, set, ceiling: None };
        while !own.load(Ordering::Relaxed) {
            obedience.listen(&own);
            // The monitor has gone: what it said lapses.
            obedience.wait_for_lapse(&own);
        }
    });
    Adapting { stopped }
}

struct Obedience<S> {
    plan: AdaptPlan,
    output: Output,
    set: S,
    /// What holds, and until when.
    ceiling: Option<(u64, Instant)>,
}

impl<S: Fn(Option<Bitrate>)> Obedience<S> {
    fn listen(&mut self, stopped: &AtomicBool) {
        let token = self.plan.token.clone();
        let Ok(mut client) = Client::connect(self.plan.from, token.as_deref()) else { return };
        while !stopped.load(Ordering::Relaxed) {
            let Ok(Some(document)) = client.next_document() else { return };
            let links = &self.plan.links;
            let advised = Advised::read(document, |link| {
                links.is_empty() || links.iter().any(|one| one == link)
            });
            self.on_advice(advised, Instant::now());
        }
    }

    fn wait_for_lapse(&mut self, stopped: &AtomicBool) {
        let until = Instant::now() + AGAIN;
        while Instant::now() < until && !stopped.load(Ordering::Relaxed) {
            thread::sleep(AGAIN / 20);
            if self.ceiling.is_some_and(|(_, until)| Instant::now() >= until) {
                self.on_advice(None, Instant::now());
            }
        }
    }

    fn on_advice(&mut self, advised: Option<(u64, Duration)>, now: Instant) {
        let before = self.ceiling.map(|(ceiling, _)| ceiling);
        self.ceiling = advised.map(|(ceiling, left)| (ceiling, now + left));
        let ceiling = self.ceiling.map(|(ceiling, _)| ceiling);
        if ceiling == before {
            return;
        }
        let (obeys, from) = (self.plan.obeys, self.plan.from);
        let mode = if obeys { "obey" } else { "advise" };
        self.output.event(&json!({"event": "advice", "ceiling_bps": ceiling, "mode": mode}));
        let done = if obeys { "done" } else { "not done: --adapt obey does it" };
        self.output.text(&match ceiling {
            Some(ceiling) => {
                let rate = Bitrate::bps(ceiling);
                format!("advice of the monitor at {from}: send at most {rate} ({done})")
            }
            None => format!("advice of the monitor at {from} is over"),
        });
        if obeys {
            (self.set)(ceiling.map(Bitrate::bps));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use crate::OutputArgs;

    use super::*;

    fn told(obeys: bool, advice: &[Option<u64>]) -> Vec<Option<u64>> {
        let set = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&set);
        let plan =
            AdaptPlan { obeys, from: ([127, 0, 0, 1], 1).into(), links: Vec::new(), token: None };
        let output = Output::new(OutputArgs::default());
        let set_rate = move |rate: Option<Bitrate>| {
            let rate = rate.map(Bitrate::as_bps);
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(rate);
        };
        let mut obedience = Obedience { plan, output, set: set_rate, ceiling: None };
        for one in advice {
            let advised = one.map(|rate| (rate, Duration::from_secs(30)));
            obedience.on_advice(advised, Instant::now());
        }
        let all = set.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    #[test]
    fn only_changes_are_obeyed_and_only_where_that_is_wanted() {
        let advice = [Some(5), Some(5), None, None, Some(7)];
        assert_eq!(told(true, &advice), [Some(5), None, Some(7)]);
        assert_eq!(told(false, &advice), []);
    }
}
