//! The recent loss rate. A little loss may be random loss of the links; much loss is not.

/// Packets after which half of the memory is new.
const MEMORY: f64 = 400.0;
/// Radios and long lines lose up to some percent by themselves; a queue that stays full loses more.
const RARE: f64 = 0.05;
/// What a beginning is judged by: a single loss among the first packets says nothing.
const PRIOR: f64 = 60.0;

/// Packets, and those of them that were lost, the older the less they count.
#[derive(Debug, Default)]
pub(super) struct RandomLoss {
    packets: f64,
    lost: f64,
}

impl RandomLoss {
    /// A packet arrived after `lost` others. True while so few are lost that links may do it.
    pub(super) fn add(&mut self, lost: u32) -> bool {
        let new = 1.0 + f64::from(lost);
        let keep = libm::exp(-new * core::f64::consts::LN_2 / MEMORY);
        self.packets = self.packets * keep + new;
        self.lost = self.lost * keep + f64::from(lost);
        self.lost <= RARE * (self.packets + PRIOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_in_a_hundred_is_rare_and_one_in_ten_is_not() {
        let mut losses = RandomLoss::default();
        assert!((0..3000).all(|n| losses.add(u32::from(n % 100 == 0))));
        let rare: alloc::vec::Vec<bool> =
            (0..1000).map(|n| losses.add(u32::from(n % 10 == 0))).collect();
        assert!(rare[500..].iter().all(|rare| !rare));
        // And it is forgotten.
        assert!((0..2000).map(|_| losses.add(0)).last() == Some(true));
        assert!(losses.add(1));
    }

    #[test]
    fn many_losses_at_once_are_not_rare() {
        assert!(!RandomLoss::default().add(12));
        assert!(RandomLoss::default().add(1));
    }
}
