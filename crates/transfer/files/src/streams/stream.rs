//! One stream's part in what is shared: what its driver does about it in each turn.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use fanfare_node::Waker;
use fanfare_proto::{Bitrate, SenderConfig, Session, Time};

use super::{activity::Activity, rates::Granted, room::Room, shared::Shared};
use crate::file_storage::{FileStorage, WINDOW};

/// Room for parity grows by so much at a time: some tens of blocks' repairs.
const PARITY_STEP: usize = 512 << 10;

/// One stream. It leaves when dropped.
#[derive(Debug)]
pub(crate) struct Stream {
    shared: Arc<Shared>,
    id: usize,
    /// Somebody wants it to look what it may do.
    asked: Arc<AtomicBool>,
    activity: Activity,
    /// Bytes of computed parity that it may keep, and that it would keep alone.
    parity: usize,
    parity_most: usize,
}

impl Stream {
    pub(super) fn new(shared: Arc<Shared>, id: usize, asked: Arc<AtomicBool>) -> Self {
        let activity = Activity::default();
        Self { shared, id, asked, activity, parity: 0, parity_most: 0 }
    }

    /// Its driver is about to run.
    pub(crate) fn attach(
        &mut self,
        waker: Waker,
        config: &SenderConfig,
        session: &mut Session,
        storage: &mut FileStorage,
    ) {
        let room = Room::new(self.shared.clone(), self.id);
        // Its floor holds them: a window to read through, a block that parity is computed from, and a symbol
        // of that.
        let _ = room.take(WINDOW + block_bytes(config.segment_size, config.fec.source));
        storage.share(room);
        self.parity_most = config.parity_cache;
        session.sender().set_parity_cache(0);
        let mut state = self.shared.state();
        if let Some(bell) = state.bells.get_mut(&self.id) {
            bell.waker = Some(waker);
        }
        if let Some(rates) = &state.rates {
            session.sender().set_rate(Bitrate::bps(rates.fair(self.id)));
        }
    }

    /// Looks what has changed here, and what others have left or want.
    pub(crate) fn on_turn(&mut self, now: Time, session: &mut Session, storage: &mut FileStorage) {
        let change = self.activity.on_turn(now, session.sender().has_data());
        let asked = self.asked.swap(false, Ordering::AcqRel);
        let short = session.sender().take_parity_shortage();
        if change.is_none() && !asked && !short {
            return;
        }
        if let Some(granted) = self.settle(change)
            && self.activity.is_active()
        {
            let (share, now) = (Bitrate::bps(granted.share), Bitrate::bps(granted.now));
            session.sender().set_rate(share);
            session.sender().set_ceiling((now < share).then_some(now));
        }
        if !self.activity.is_active() {
            self.shared.state().pool.rest(self.id);
        }
        self.share_memory(short, session, storage);
    }

    /// `None` where each goes by its own rate.
    fn settle(&self, change: Option<bool>) -> Option<Granted> {
        let mut state = self.shared.state();
        let rates = state.rates.as_mut()?;
        if let Some(active) = change {
            rates.set_active(self.id, active);
        }
        let granted = rates.settle(self.id);
        state.ring(self.id);
        Some(granted)
    }

    /// Gives what is owed, windows before parity, which costs more to have again.
    fn share_memory(&mut self, short: bool, session: &mut Session, storage: &mut FileStorage) {
        let mut state = self.shared.state();
        let owed = state.pool.owes(self.id);
        let step = PARITY_STEP.min(self.parity_most - self.parity);
        if owed == 0 && short && step > 0 && state.pool.take(self.id, step) {
            self.parity += step;
            session.sender().set_parity_cache(self.parity);
        }
        // A refusal may make others owe something.
        state.ring(self.id);
        drop(state);
        let parity = owed.saturating_sub(storage.yield_windows(owed)).min(self.parity);
        if parity > 0 {
            self.parity -= parity;
            session.sender().set_parity_cache(self.parity);
            self.shared.state().pool.give(self.id, parity);
        }
    }

    /// It wants no more than this from now on. False where each goes by its own rate.
    pub(crate) fn set_most(&self, most: Bitrate) -> bool {
        let mut state = self.shared.state();
        let Some(rates) = &mut state.rates else { return false };
        rates.set_most(self.id, most.as_bps());
        self.asked.store(true, Ordering::Release);
        true
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.activity.next_timeout()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.pool.leave(self.id);
        if let Some(rates) = &mut state.rates {
            rates.leave(self.id);
        }
        state.bells.remove(&self.id);
        state.ring(self.id);
    }
}

/// A block of source symbols, and one symbol more.
pub(crate) fn block_bytes(segment: u16, source: u16) -> usize {
    usize::from(segment) * (usize::from(source) + 1)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use fanfare_proto::{
        FecConfig, FirstPass, InstanceId, NewObject, NodeId, ObjectKey, ObjectKind, SessionConfig,
        Storage,
    };
    use fanfare_wire::ObjectTransportId;

    use super::{super::Streams, *};

    /// A sender as its driver has it.
    struct Party {
        stream: Stream,
        session: Session,
        storage: FileStorage,
    }

    const SEGMENT: u16 = 1000;
    const SOURCE: u16 = 10;
    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };

    fn floor() -> usize {
        WINDOW + block_bytes(SEGMENT, SOURCE)
    }

    impl Party {
        fn join(streams: &Streams, weight: u32) -> Self {
            let sender = SenderConfig {
                segment_size: SEGMENT,
                fec: FecConfig { source: SOURCE, ..FecConfig::default() },
                ..SenderConfig::default()
            };
            let config = SessionConfig { sender: Some(sender.clone()), ..SessionConfig::default() };
            let mut session = Session::new(config, 1, Time::ZERO);
            let mut storage = FileStorage::default();
            let mut stream = streams.join(weight, None, floor()).unwrap();
            stream.attach(Waker::new().unwrap(), &sender, &mut session, &mut storage);
            Self { stream, session, storage }
        }

        fn enqueue(&mut self) -> ObjectKey {
            let (kind, pass) = (ObjectKind::Data, FirstPass::Whole);
            let object = NewObject { kind, size: 100_000, info: None, pass };
            self.session.sender().enqueue(Time::ZERO, object).unwrap()
        }

        fn turn(&mut self, millis: u64) -> Bitrate {
            let now = Time::ZERO + Duration::from_millis(millis);
            self.stream.on_turn(now, &mut self.session, &mut self.storage);
            self.session.sender().rate()
        }
    }

    #[test]
    fn a_stream_with_data_has_what_the_others_leave_and_yields_when_they_have_some() {
        let streams = Streams::new(Some(Bitrate::mbps(128)), 10 << 20);
        let [mut a, mut b] = [(); 2].map(|()| Party::join(&streams, 1));
        let object = a.enqueue();
        assert_eq!(a.turn(0), Bitrate::mbps(127));
        b.enqueue();
        assert_eq!(b.turn(1), Bitrate::mbps(1), "the other has not yielded yet");
        assert_eq!((a.turn(1), b.turn(1)), (Bitrate::mbps(64), Bitrate::mbps(64)));
        a.session.sender().cancel(object.object);
        a.turn(2);
        assert_eq!(b.turn(2), Bitrate::mbps(64), "a pause is not the end");
        a.turn(60);
        assert_eq!(b.turn(60), Bitrate::mbps(127));
        drop(a);
        assert_eq!(b.turn(61), Bitrate::mbps(128));
    }

    #[test]
    fn what_one_has_read_ahead_gives_way_when_another_wants_its_share_and_all_is_read_right() {
        let streams = Streams::new(None, 2 * floor() + 2 * WINDOW);
        let [mut a, mut b] = [(); 2].map(|()| Party::join(&streams, 1));
        let content: Vec<u8> = (0..8 * WINDOW).map(|n| (n / 251) as u8).collect();
        let read = |party: &mut Party, window: usize| {
            // The first is read alone; what goes on there is read ahead of.
            for offset in [window * WINDOW, window * WINDOW + 500] {
                let mut bytes = [0; 500];
                party.storage.read(KEY, offset as u64, &mut bytes).unwrap();
                assert_eq!(bytes, content[offset..][..500]);
            }
        };
        // Backwards: what is read in order needs no second window.
        for party in [&mut a, &mut b] {
            party.storage.add_source(KEY, Arc::new(content.clone()));
        }
        (0..8).rev().for_each(|window| read(&mut a, window));
        let block = block_bytes(SEGMENT, SOURCE);
        let most = |streams: &Streams| streams.memory().most - 2 * block;
        assert_eq!(most(&streams), 4 * WINDOW, "what each has in any case, and what nobody wanted");
        (0..2).rev().for_each(|window| read(&mut b, window));
        assert_eq!(most(&streams), 4 * WINDOW);
        assert!(a.stream.asked.load(Ordering::Acquire), "b was refused its second");
        a.turn(1);
        read(&mut b, 2);
        (0..8).rev().for_each(|window| read(&mut a, window));
        (0..8).rev().for_each(|window| read(&mut b, window));
        let used = streams.memory();
        assert!(used.most <= used.bound && used.refused > 2, "{used:?}");
        let held = |party: &Party| party.stream.shared.state().pool.owes(party.stream.id);
        assert_eq!((held(&a), held(&b)), (0, 0));
    }
}
