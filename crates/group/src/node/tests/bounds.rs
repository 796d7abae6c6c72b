//! What others make up fills nothing without end.

use super::*;
use crate::{
    brief::{self, Brief},
    frame::Kind,
    load::{DEADLINES_MAX, PUBLISHERS_MAX},
    state::tests::rumour,
};
use fanfare_wire::{cmd::Application, ext::Extensions};

/// Somebody passes on a short message of a publisher that nobody knows.
fn tell(bus: &mut Bus, publisher: u32, object: u16) {
    let topic = Topic::new("a").unwrap();
    let content = Some(b"x".to_vec());
    let info = Description { topic, number: 0, options: Options::default(), content }.encode();
    let told = Rumour { sender: NodeId(publisher), ..rumour(object) };
    let sender = own_fields(&session(8));
    let mut content = Kind::Brief.header().to_vec();
    brief::append(&[Brief::new(false, told, &info, None).unwrap()], &sender, &mut content);
    let mut datagram = Vec::new();
    let extensions = Extensions::default();
    Application { sender, extensions, content: &content }.encode(&mut datagram);
    let source = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), 6003);
    let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
    let (node, storage) = &mut bus.nodes[0];
    node.handle_datagram(bus.now, meta, &datagram, storage);
    while node.poll_event().is_some() {}
}

#[test]
fn publishers_that_are_made_up_give_way_to_others() {
    let mut bus = Bus::new(1);
    bus.subscribe(0, "#");
    let more = 200;
    (0..PUBLISHERS_MAX as u32 + more).for_each(|n| tell(&mut bus, 1_000 + n, 5));
    let (load, stats) = (bus.nodes[0].0.load(), bus.nodes[0].0.stats());
    assert_eq!((load.publishers, stats.publishers_dropped), (PUBLISHERS_MAX, u64::from(more)));
    let (kept, _) = bus.nodes[0].0.kept();
    assert!(kept <= PUBLISHERS_MAX as u64, "their messages go with them: {kept}");
}

#[test]
fn of_too_many_that_are_waited_for_those_whose_time_is_next_are_given_up() {
    let mut bus = Bus::new(1);
    let deadline = Some(Duration::from_secs(3_600));
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[0].0.subscribe(bus.now, Subscription { deadline, ..all });
    for n in 0..DEADLINES_MAX as u32 + 100 {
        // Time goes on, or the same message has the same deadline.
        bus.now = bus.now + Duration::from_micros(1);
        tell(&mut bus, 1_000, (n & 0xffff) as u16);
    }
    let (load, stats) = (bus.nodes[0].0.load(), bus.nodes[0].0.stats());
    assert!(
        load.deadlines == DEADLINES_MAX && stats.deadlines_dropped >= 100,
        "{load:?}, {stats:?}"
    );
}
