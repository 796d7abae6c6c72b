//! Killed at a random point, and begun again by the same commands with `--sync`.

use super::{Plan, party::Party};
use crate::tool::ToolError;

/// What may be sent in all, beside what was lost by the kill, of what is used.
const SHARE_MAX: f64 = 1.1;

/// What one of them came to.
#[derive(Clone, Debug)]
pub struct Killed {
    /// How many percent of what is used had been sent.
    pub percent: u64,
    /// Who was killed.
    pub victim: String,
    /// Bytes of what is used.
    pub used: u64,
    /// What left the sender's host, before and after.
    pub wire: (u64, u64),
    /// What not all receivers had when it was begun again.
    pub lacked: u64,
    /// What is wrong, if anything.
    pub failure: Option<String>,
}

impl Killed {
    /// What was sent before, and not in its place everywhere after the kill.
    fn lost(&self) -> u64 {
        self.wire.0.saturating_sub(self.used.saturating_sub(self.lacked))
    }

    /// What was sent in all, beyond what was lost, as a share of what is used.
    pub fn share(&self) -> f64 {
        let all = (self.wire.0 + self.wire.1).saturating_sub(self.lost());
        all as f64 / self.used.max(1) as f64
    }

    /// Whether everything is right in the end, and cost no more than it may.
    pub fn is_right(&self) -> bool {
        self.failure.is_none() && self.share() <= SHARE_MAX
    }

    /// In a line.
    pub fn told(&self) -> String {
        let end = self.failure.as_deref().unwrap_or("all are the same");
        format!("{} killed at {} %, {:.3} sent: {end}", self.victim, self.percent, self.share())
    }
}

/// One round, with targets that hold nothing.
pub(super) fn play(party: &Party<'_>, plan: Plan, seed: u64) -> Result<Killed, ToolError> {
    let hash = *blake3::hash(&seed.to_le_bytes()).as_bytes();
    let (percent, who) = (u64::from(hash[0]) * 96 / 256 + 2, usize::from(hash[1]));
    let mut running = party.start(&[], &[])?;
    running.wait_for_sent(plan.used / 100 * percent)?;
    // One in two is the sender's.
    let number = who / 2 % running.receivers.len();
    let victim = if who % 2 == 0 { "sender".to_owned() } else { format!("receiver {number}") };
    if who % 2 == 0 {
        running.sender.kill();
    } else {
        running.receivers[number].kill();
    }
    let before = running.sent()?;
    // Who is left is killed as well: nobody waits for a minute.
    drop(running);
    let lacked = party.source.lacking(party.targets)?;
    let again = party.start(&[], &["--sync"])?.finish()?;
    let failure = again.failure.clone();
    let failure = match failure {
        Some(why) => Some(why),
        None => party.differs()?,
    };
    let wire = (before, again.wire);
    Ok(Killed { percent, victim, used: plan.used, wire, lacked, failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_by_the_kill_may_be_sent_again_and_a_tenth_more() {
        let killed = |before, after, lacked| Killed {
            percent: 50,
            victim: "sender".into(),
            used: 1000,
            wire: (before, after),
            lacked,
            failure: None,
        };
        // All that was sent is there, but for 100, which were under way.
        assert!((killed(600, 500, 500).share() - 1.0).abs() < 1e-9);
        assert!(killed(600, 590, 500).is_right() && !killed(600, 610, 500).is_right());
        let wrong = Killed { failure: Some("no".into()), ..killed(600, 500, 500) };
        assert!(!wrong.is_right() && wrong.told().ends_with("1.000 sent: no"));
    }
}
