//! Datagrams that are dropped on purpose.

use fanfare_proto::rng::Rng;

/// Loss on purpose, for tests and demonstrations.
#[derive(Debug)]
pub(crate) struct TestDrop {
    probability: f64,
    rng: Rng,
    pub(crate) dropped: u64,
}

impl TestDrop {
    pub(crate) fn new(probability: f64, seed: u64) -> Self {
        Self { probability, rng: Rng::new(seed), dropped: 0 }
    }

    /// Gives `each` what is left of a run of datagrams, in pieces as long as can be.
    pub(crate) fn leave(&mut self, run: &[u8], stride: usize, mut each: impl FnMut(&[u8])) {
        let (mut from, mut at) = (0, 0);
        while self.probability > 0.0 && at < run.len() {
            let end = (at + stride).min(run.len());
            if self.takes() {
                if from < at {
                    each(&run[from..at]);
                }
                from = end;
            }
            at = end;
        }
        if from < run.len() || run.is_empty() {
            each(&run[from..]);
        }
    }

    fn takes(&mut self) -> bool {
        let takes = self.probability > 0.0 && self.rng.random_bool(self.probability);
        self.dropped += u64::from(takes);
        takes
    }
}
