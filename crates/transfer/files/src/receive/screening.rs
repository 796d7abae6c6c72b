//! Choice of the stream that is taken, by what its sender says when it calls the roll: before it is
//! heard, and before it counts this receiver.

use std::net::IpAddr;

use crate::content::invitation::{ChainPlace, Invitation, stream_label};
use fanfare_proto::{InstanceId, NodeId, OnlyFrom, Session};

use super::{ChainWanted, ReceiveJob, ReceiveOptions, SenderFilter, Until};

/// Decision about a sender that is not heard yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScreeningResult {
    /// It is heard, and no other.
    Taken,
    /// It is not the one that is waited for.
    Passed,
    /// The stream that is waited for will not come.
    TooLate,
}

impl ReceiveOptions {
    /// True if a sender is heard only when it has called the roll and said what it sends.
    pub(super) fn screens(&self) -> bool {
        matches!(self.from, SenderFilter::Name(_)) || self.screens_streams()
    }

    /// True if it depends on the stream which life of a sender is heard.
    pub(super) fn screens_streams(&self) -> bool {
        self.stream.is_some() || self.chain.is_some()
    }

    /// Decides about this sender, at this address, that has called the roll.
    pub(super) fn screen(
        &self,
        sender: NodeId,
        address: IpAddr,
        invitation: &Invitation,
    ) -> ScreeningResult {
        let is_wanted = match &self.from {
            SenderFilter::Any | SenderFilter::Key(_) => true,
            SenderFilter::Node(node) => *node == sender,
            SenderFilter::Address(wanted) => wanted.to_canonical() == address,
            SenderFilter::Name(name) => *name == invitation.name,
        };
        let label = self.stream.as_deref().map(stream_label);
        if !is_wanted || (label.is_some() && label != invitation.stream) {
            return ScreeningResult::Passed;
        }
        match (self.chain, invitation.place) {
            (Some(wanted), Some(place)) => wanted.judge(place),
            (Some(_), None) | (None, _) => ScreeningResult::Taken,
        }
    }
}

impl ChainWanted {
    /// A sender that is still at an earlier place of the same chain will end, and the next one is
    /// waited for. All else would be another image than the one that is wanted.
    fn judge(self, place: ChainPlace) -> ScreeningResult {
        let is_same = self.after.is_none_or(|chain| chain == place.chain);
        let follows = self.after.is_some();
        match place.place.cmp(&self.place) {
            std::cmp::Ordering::Equal if is_same => ScreeningResult::Taken,
            std::cmp::Ordering::Less if is_same && follows => ScreeningResult::Passed,
            _ => ScreeningResult::TooLate,
        }
    }
}

impl ReceiveJob {
    /// Remembers the place of the stream for the report.
    pub(super) fn note_place(&mut self, invitation: &Invitation) {
        self.report.place = invitation.place;
    }

    /// A sender has gone. If it had begun nothing, or more than one stream is wanted, another one may bring
    /// what is wanted.
    pub(super) fn screen_again(&self, session: &mut Session, sender: NodeId) {
        let lives = (sender, InstanceId(0))..=(sender, InstanceId(u16::MAX));
        let has_begun = self.records.range(lives).any(|(_, record)| record.has_begun());
        let wants_more = self.options.until != Until::SenderEnded;
        if self.options.screens_streams() && (wants_more || !has_begun) {
            session.receiver().hear_only(Some(OnlyFrom::default()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn invitation(place: Option<ChainPlace>) -> Invitation {
        Invitation::new("server", 1, 0).to_stream("d1p1.img", place)
    }

    fn screened(options: &ReceiveOptions, invitation: &Invitation) -> ScreeningResult {
        options.screen(NodeId(1), HERE, invitation)
    }

    #[test]
    fn a_stream_is_taken_by_its_name_and_no_other_is() {
        let wants = |name: &str| ReceiveOptions {
            stream: Some(name.to_owned()),
            ..ReceiveOptions::default()
        };
        assert_eq!(screened(&wants("d1p1.img"), &invitation(None)), ScreeningResult::Taken);
        assert_eq!(screened(&wants("d1p2.img"), &invitation(None)), ScreeningResult::Passed);
        let files = Invitation::new("server", 1, 0);
        assert_eq!(screened(&wants("d1p1.img"), &files), ScreeningResult::Passed);
        let other = ReceiveOptions { from: SenderFilter::Node(NodeId(2)), ..wants("d1p1.img") };
        assert_eq!(screened(&other, &invitation(None)), ScreeningResult::Passed);
    }

    /// Every place that a receiver can want and a sender can have, of one chain or two: what is taken
    /// is the stream that was wanted.
    #[test]
    fn only_the_stream_at_the_wanted_place_of_the_same_chain_is_taken() {
        for (wants, has) in (1..6).flat_map(|wants| (1..6).map(move |has| (wants, has))) {
            for after in [None, Some(7), Some(8)] {
                let chain = Some(ChainWanted { place: wants, after });
                let options = ReceiveOptions { chain, ..ReceiveOptions::default() };
                let place = ChainPlace { chain: 7, place: has };
                let expected = match after {
                    None | Some(7) if wants == has => ScreeningResult::Taken,
                    Some(7) if has < wants => ScreeningResult::Passed,
                    _ => ScreeningResult::TooLate,
                };
                let found = screened(&options, &invitation(Some(place)));
                assert_eq!(found, expected, "wants {wants} after {after:?}, sender has {has}");
                assert_eq!(screened(&options, &invitation(None)), ScreeningResult::Taken);
            }
        }
    }
}
