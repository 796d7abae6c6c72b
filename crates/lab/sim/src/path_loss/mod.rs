//! Who hears whom on a radio medium, and how well, while nodes move: the path loss of each pair
//! over time.
//!
//! At each `moment` it is another. It comes from a recording (`event_log`) or from driving vehicles (`company`); for a radio that
//! repeats what it hears, from the nodes that are reached in the end (`combined`). A medium turns
//! it into packet loss. `contacts` says what could have arrived at all, and the least that this
//! costs.

mod combined;
mod company;
mod contacts;
mod event_log;
mod moment;

pub(crate) use contacts::Contacts;
pub(crate) use event_log::parse;
pub(crate) use moment::Moment;
use moment::NOTHING;
pub use moment::PathLoss;

use crate::link::Loss;
use fanfare_proto::Duration;
use std::sync::Arc;

/// Most nodes of one recording or company: four companies and their staff are 157, and a set of so
/// many still fits two words.
pub const NODES_MAX: usize = 128;

/// Between so many dB below the limit and as many above it, reception falls from all to nothing: about
/// what the completion curves of 802.11 models leave between both.
const SLOPE: f32 = 3.0;

/// Where the path loss of a medium comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Mobility {
    /// As recorded.
    Recorded(Arc<PathLoss>),
    /// A company of vehicles on its way, another one for each seed.
    Company,
    /// So many columns of vehicles beside each other, slow, on open ground; others for each seed.
    Columns(usize),
}

/// How far a radio reaches while its nodes move.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    /// Who is how far from whom.
    pub mobility: Mobility,
    /// With this path loss half of all packets arrive, dB: 3 dB less and all do, 3 dB more and none.
    pub limit: f32,
    /// Its radio repeats what it hears, all at once, so that a packet is everywhere to where hops lead: the
    /// limit is that of a hop.
    pub combined: bool,
}

impl Reach {
    /// The path loss of a run of `nodes`, for so long.
    pub(crate) fn path_loss(&self, nodes: usize, seed: u64, until: Duration) -> Arc<PathLoss> {
        let path_loss = match &self.mobility {
            Mobility::Recorded(path_loss) => Arc::clone(path_loss),
            Mobility::Company => Arc::new(company::path_loss(nodes, seed, until)),
            Mobility::Columns(columns) => Arc::new(company::columns(nodes, *columns, seed, until)),
        };
        match self.combined {
            true => Arc::new(combined::reached(&path_loss, self.limit)),
            false => path_loss,
        }
    }
    /// What becomes of packets at such a path loss.
    pub(crate) fn loss(&self, path_loss: f32) -> Loss {
        match self.lost(path_loss) {
            lost if lost <= 0.0 => Loss::None,
            lost => Loss::Independent(f64::from(lost)),
        }
    }
    /// The share of packets lost at such a path loss.
    pub(crate) fn lost(&self, path_loss: f32) -> f32 {
        ((path_loss - self.limit + SLOPE) / (2.0 * SLOPE)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reception_falls_from_all_to_nothing_around_the_limit() {
        let reach = Reach { mobility: Mobility::Company, limit: 120.0, combined: false };
        assert_eq!(reach.loss(117.0), Loss::None);
        assert_eq!(reach.loss(120.0), Loss::Independent(0.5));
        assert_eq!(reach.loss(150.0), Loss::Independent(1.0));
    }
}
