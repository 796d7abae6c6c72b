//! The recovery phase of a sender, and how the window shrinks in it.
//!
//! Proportional rate reduction (RFC 6937) as in Linux: what may be sent follows what arrives, so
//! that the window has come down to the threshold when the recovery ends.

use fanfare_proto::Time;

use super::window::Window;

/// The phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// Nothing is wrong.
    #[default]
    Open,
    /// A mark came back (RFC 3168): the window shrinks, nothing is sent again.
    Reduction,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// Phase and rate reduction.
#[derive(Debug, Clone, Default)]
pub(super) struct Recovery {
    phase: Phase,
    /// The phase is over when all before this is acknowledged.
    end: u64,
    /// The window when it began.
    prior: u32,
    delivered: u32,
    sent: u32,
    earlier: Option<Earlier>,
}

/// What to go back to, should the loss turn out to be none (RFC 3522, Eifel).
#[derive(Debug, Clone)]
struct Earlier {
    window: Window,
    /// When the first retransmission left that may be answered since.
    resent_at: Option<Time>,
}

impl Recovery {
    /// The phase.
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }
    /// Whether something is being mended.
    pub(super) fn mending(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }
    /// Whether the window follows [`Recovery::reduce`].
    fn reducing(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Reduction)
    }

    /// Segments were found lost, or a mark came: one reduction for a window of data (RFC 5681 4.3).
    /// `resent_at`: when the earliest retransmission left that is still on its way.
    pub(super) fn enter(
        &mut self,
        phase: Phase,
        next: u64,
        resent_at: Option<Time>,
        window: &mut Window,
    ) {
        let already = self.reducing();
        self.phase = phase;
        self.end = next;
        if already {
            return;
        }
        self.prior = window.segments();
        (self.delivered, self.sent) = (0, 0);
        self.earlier = Some(Earlier { window: window.clone(), resent_at });
        window.on_congestion();
    }

    /// The timer has expired with all before `acked` acknowledged; `again`: without anything having
    /// arrived since the last time. `in_flight` is left of the window.
    pub(super) fn on_timeout(
        &mut self,
        acked: u64,
        next: u64,
        again: bool,
        in_flight: u32,
        resent_at: Option<Time>,
        window: &mut Window,
    ) {
        let fresh = match self.phase {
            Phase::Open => true,
            Phase::Loss => !again || acked >= self.end,
            Phase::Reduction | Phase::Recovery => acked >= self.end,
        };
        if fresh {
            self.earlier = Some(Earlier { window: window.clone(), resent_at });
            window.on_congestion();
        }
        window.on_timeout();
        window.set(in_flight + 1);
        self.phase = Phase::Loss;
        self.end = next;
    }

    /// All before `acked` has arrived: whether that ends the phase.
    pub(super) fn on_acked(&mut self, acked: u64, window: &mut Window) {
        // After a mark something later must be acknowledged, so that our answer has arrived.
        let over = acked > self.end || (acked == self.end && self.phase != Phase::Reduction);
        if self.phase == Phase::Open || !over {
            return;
        }
        if self.reducing() {
            window.set(window.ssthresh());
        }
        self.phase = Phase::Open;
        self.earlier = None;
    }

    /// The window's next step down, after `delivered` segments arrived.
    pub(super) fn reduce(
        &mut self,
        delivered: u32,
        clean_advance: bool,
        in_flight: u32,
        window: &mut Window,
    ) {
        if !self.reducing() || delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let ssthresh = window.ssthresh();
        let mut quota = if in_flight > ssthresh {
            // In proportion, rounded up.
            (self.delivered * ssthresh).div_ceil(self.prior.max(1)).saturating_sub(self.sent)
        } else {
            // As much as arrives, and one more when nothing is being lost.
            let owed = self.delivered.saturating_sub(self.sent).max(delivered);
            (owed + u32::from(clean_advance)).min(ssthresh - in_flight)
        };
        if self.sent == 0 {
            // The first retransmission goes at once.
            quota = quota.max(1);
        }
        window.set(in_flight + quota);
    }

    /// A segment leaves.
    pub(super) fn on_sent(&mut self, now: Time, retransmission: bool) {
        self.sent += 1;
        if let Some(earlier) = &mut self.earlier
            && retransmission
        {
            earlier.resent_at.get_or_insert(now);
        }
    }

    /// The cumulative acknowledgement moved in answer to a segment sent at `echo`: if that was
    /// before the first retransmission, the original had arrived and nothing was lost. Then the
    /// window is as before, and this returns true.
    pub(super) fn undo(&mut self, echo: Option<Time>, window: &mut Window) -> bool {
        if !self.mending() {
            return false;
        }
        let Some((earlier, echo)) = self.earlier.as_ref().zip(echo) else { return false };
        if earlier.resent_at.is_some_and(|at| echo >= at) {
            return false;
        }
        window.restore(&earlier.window);
        self.phase = Phase::Open;
        self.earlier = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Algorithm, Config};
    use super::*;

    fn window(segments: u32) -> Window {
        let mut window = Window::new(&Config { algorithm: Algorithm::Reno, ..Config::default() });
        window.set(segments);
        window
    }

    #[test]
    fn in_a_recovery_one_segment_leaves_for_two_that_arrive() {
        let (mut recovery, mut window) = (Recovery::default(), window(20));
        recovery.enter(Phase::Recovery, 2000, None, &mut window);
        assert_eq!(window.ssthresh(), 10);
        let mut in_flight = 16;
        let mut sent = 0;
        // A round trip: the sixteen in flight arrive, and what is sent meanwhile does not yet.
        for _ in 0..16 {
            in_flight -= 1;
            recovery.reduce(1, false, in_flight, &mut window);
            while in_flight < window.segments() {
                recovery.on_sent(Time::ZERO, false);
                in_flight += 1;
                sent += 1;
            }
        }
        assert!((8..=10).contains(&sent), "{sent}");
        recovery.on_acked(2000, &mut window);
        assert_eq!((recovery.phase(), window.segments()), (Phase::Open, 10));
    }

    #[test]
    fn a_window_of_data_costs_one_reduction() {
        let (mut recovery, mut window) = (Recovery::default(), window(40));
        recovery.enter(Phase::Reduction, 4000, None, &mut window);
        recovery.enter(Phase::Recovery, 4000, None, &mut window);
        recovery.on_timeout(1000, 4000, false, 0, None, &mut window);
        assert_eq!(window.ssthresh(), 20);
        recovery.on_timeout(1000, 4000, true, 0, None, &mut window);
        assert_eq!((window.ssthresh(), window.segments()), (20, 1));
        window.set(30);
        recovery.on_timeout(2000, 4000, false, 0, None, &mut window);
        assert_eq!(window.ssthresh(), 15, "after progress it is another loss");
    }

    #[test]
    fn an_answer_to_the_original_takes_the_reduction_back() {
        let (mut recovery, mut window) = (Recovery::default(), window(40));
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        recovery.on_timeout(0, 4000, false, 0, None, &mut window);
        recovery.on_sent(ms(500), true);
        assert!(!recovery.clone().undo(Some(ms(500)), &mut window.clone()));
        assert!(recovery.undo(Some(ms(100)), &mut window));
        assert_eq!((recovery.phase(), window.segments()), (Phase::Open, 40));
        assert!(window.slow_start());
    }
}
