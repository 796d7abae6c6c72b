use super::*;
use crate::Origin;
use alloc::{format, vec};
use fanfare_proto::{InstanceId, ObjectTransportId};

const A: GroupIndex = GroupIndex(0);
const B: GroupIndex = GroupIndex(1);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Gateway `n` has the id 100 + n in both groups.
fn gateway(n: u32, change: impl Fn(&mut Route)) -> Gateway<()> {
    let route = |from, to| {
        let filters = vec![Filter::new("#").unwrap()];
        let mut route = Route { from, to, filters, rate: Bitrate::mbps(10) };
        change(&mut route);
        route
    };
    let config = GatewayConfig { learning: Duration::ZERO, ..GatewayConfig::default() };
    let nodes = [NodeId(100 + n); 2];
    Gateway::new(Time::ZERO, &nodes, vec![route(A, B), route(B, A)], config, u64::from(n))
}

fn plain(_: &mut Route) {}

fn message(sender: u32, topic: &str, number: u64, options: Options) -> (ObjectKey, Description) {
    let object = ObjectTransportId(number as u16);
    let key = ObjectKey { sender: NodeId(sender), instance: InstanceId(1), object };
    let topic = Topic::new(topic).unwrap();
    (key, Description { topic, number, options, batch: None, content: Some(vec![7; 100]) })
}

fn hear(gateway: &mut Gateway<()>, ms: u64, side: GroupIndex, what: &(ObjectKey, Description)) {
    hear_long(gateway, ms, side, (what, 100));
}
fn hear_long(
    gateway: &mut Gateway<()>,
    ms: u64,
    side: GroupIndex,
    (what, size): (&(ObjectKey, Description), u64),
) {
    let (key, description) = (what.0, &what.1);
    let heard = IncomingMessage { key, size, age: Duration::ZERO, description, body: () };
    gateway.on_message(at(ms), side, heard);
}

/// What crosses now, and into which group.
fn crosses(gateway: &mut Gateway<()>, ms: u64) -> Vec<(GroupIndex, u64)> {
    let next = core::iter::from_fn(|| gateway.poll(at(ms), |_| true));
    next.map(|crossing| (crossing.to, crossing.options.origin.unwrap().number)).collect()
}

/// The same message as gateway `n` brings it.
fn copy(n: u32, hops: u8, what: &(ObjectKey, Description)) -> (ObjectKey, Description) {
    let (key, description) = what;
    let (node, instance, number) = (key.sender, key.instance, description.number);
    let origin = Some(Origin { node, instance, number, hops });
    let options = Options { origin, ..description.options };
    let key = ObjectKey { sender: NodeId(100 + n), ..*key };
    (key, Description { options, ..description.clone() })
}

#[test]
fn a_message_crosses_once_and_never_comes_back() {
    let mut gate = gateway(1, plain);
    let first = message(1, "a", 0, Options::default());
    hear(&mut gate, 0, A, &first);
    hear(&mut gate, 10, A, &first);
    assert_eq!(crosses(&mut gate, 900), [], "it leaves it to others first");
    let due = gate.next_timeout().unwrap();
    assert!(due >= at(1000) && due < at(1500));
    assert_eq!(crosses(&mut gate, 1500), [(B, 0)]);
    hear(&mut gate, 1600, B, &copy(1, 1, &first));
    hear(&mut gate, 1600, B, &copy(2, 2, &first));
    assert_eq!(crosses(&mut gate, 60_000), []);
    hear(&mut gate, 60_000, A, &message(1, "a", 1, Options::default()));
    assert_eq!(crosses(&mut gate, 60_000), [(B, 1)], "who has carried goes first");
    assert_eq!((gate.stats(A, B).carried, gate.stats(A, B).doubled), (2, 1));
    assert_eq!(gate.stats(B, A), GatewayStats::default());
}

#[test]
fn one_of_two_gateways_forwards_and_the_other_takes_over_when_it_is_gone() {
    let mut gates = [gateway(1, plain), gateway(2, plain)];
    let (mut last, mut carriers) = (0, Vec::new());
    for number in 0..20 {
        let what = message(1, "a", number, Options::default());
        let begin = number * 5_000;
        // From the tenth on the one that carried is gone.
        let gone = if number < 10 { None } else { Some(carriers[0]) };
        let alive = |n: &usize| Some(*n) != gone;
        (0..2).filter(alive).for_each(|n| hear(&mut gates[n], begin, A, &what));
        for ms in (begin..begin + 5_000).step_by(10) {
            for n in (0..2).filter(alive) {
                for _ in crosses(&mut gates[n], ms) {
                    carriers.push(n);
                    last = ms - begin;
                    hear(&mut gates[1 - n], ms + 5, B, &copy(n as u32 + 1, 1, &what));
                }
            }
        }
        assert_eq!(carriers.len() as u64, number + 1);
        let waits = number == 0 || number == 10;
        assert_eq!(last > 0, waits, "{number}: after {last} ms");
    }
    assert_ne!(carriers[9], carriers[10]);
}

#[test]
fn after_two_gateways_forward_at_once_only_one_continues() {
    let mut gates = [gateway(1, plain), gateway(2, plain)];
    for number in 0..2 {
        let what = message(1, "a", number, Options::default());
        let carried = [0, 1].map(|n| {
            hear(&mut gates[n], number * 5_000, A, &what);
            crosses(&mut gates[n], number * 5_000 + 1_500 * (1 - number)).len()
        });
        // Each hears the other only now.
        hear(&mut gates[0], number * 5_000 + 1_600, B, &copy(2, 1, &what));
        hear(&mut gates[1], number * 5_000 + 1_600, B, &copy(1, 1, &what));
        assert_eq!(carried, if number == 0 { [1, 1] } else { [1, 0] });
    }
}

#[test]
fn the_shorter_way_into_a_group_goes_first() {
    // What another gateway brought to A after two others, and what a publisher says there.
    let mut gate = gateway(1, plain);
    let far = message(1, "a", 0, Options::default());
    hear(&mut gate, 0, A, &copy(9, 2, &far));
    let near = message(2, "a", 7, Options::default());
    hear(&mut gate, 0, A, &near);
    assert_eq!(crosses(&mut gate, 2_900), [(B, 7)]);
    assert_eq!(crosses(&mut gate, 3_500), [(B, 0)]);
}

#[test]
fn only_what_a_direction_wants_crosses_and_the_highest_priority_first() {
    let mut gate = gateway(1, |route| {
        route.filters = vec![Filter::new(if route.from == A { "a/#" } else { "b/#" }).unwrap()];
    });
    let urgent = Options { priority: 9, ..Options::default() };
    hear(&mut gate, 0, A, &message(1, "a/x", 0, Options::default()));
    hear(&mut gate, 0, A, &message(1, "a/y", 1, urgent));
    hear(&mut gate, 0, A, &message(1, "b", 2, urgent));
    hear(&mut gate, 0, B, &message(2, "b", 3, urgent));
    hear(&mut gate, 0, B, &message(2, "a/x", 4, urgent));
    let mut crossed = crosses(&mut gate, 1_500);
    crossed.sort_by_key(|(side, _)| *side);
    assert_eq!(crossed, [(A, 3), (B, 1), (B, 0)]);
    assert_eq!(gate.subscriptions(A).len(), 2);
    assert!(gate.subscriptions(A).iter().all(|subscription| subscription.copies));
}

#[test]
fn waiting_messages_expire_are_dropped_or_replaced_and_all_are_counted() {
    let mut gate = gateway(1, |route| route.rate = Bitrate::bps(1600));
    let expiry = Some(Duration::from_secs(10));
    for number in 0..9 {
        let options = Options { expiry, ..Options::default() };
        hear(&mut gate, 0, A, &message(1, "a", number, options));
    }
    let replaces = Options { tag: Some(3), replaces: true, ..Options::default() };
    for number in 0..5 {
        hear(&mut gate, 0, A, &message(1, "state", number, replaces));
        hear(&mut gate, 0, A, &message(2, "state", number, replaces));
    }
    let mut left = Vec::new();
    for ms in (0..60_000).step_by(100) {
        while let Some(crossing) = gate.poll(at(ms), |_| true) {
            if let Some(expiry) = crossing.options.expiry {
                assert_eq!(expiry, Duration::from_millis(10_000 - ms));
            }
            left.push((crossing.topic.as_str() == "a", ms));
        }
    }
    let stats = gate.stats(A, B);
    assert_eq!(stats.replaced, 8);
    assert_eq!(stats.carried + stats.expired, 9 + 2);
    // A burst of 1500 bytes, then 200 bytes a second.
    assert!((8..=11).contains(&stats.carried) && left.last().unwrap().1 >= 1_400, "{left:?}");
    let mut gate = gateway(1, |route| route.rate = Bitrate::mbps(100_000));
    let low = Options { priority: 1, ..Options::default() };
    let mut long = |what: (ObjectKey, Description)| {
        hear_long(&mut gate, 0, A, (&what, 1 << 20));
    };
    (0..60).for_each(|n| long(message(1, "low", n, low)));
    (0..10).for_each(|n| long(message(1, &format!("high/{n}"), n, urgent())));
    let stats = gate.stats(A, B);
    assert_eq!((stats.dropped, stats.waiting), (6, 64), "64 MiB");
    assert_eq!(crosses(&mut gate, 1_500)[..10].iter().map(|(_, n)| *n).sum::<u64>(), 45);
}

#[test]
fn a_burst_of_tens_of_thousands_of_short_messages_is_queued_and_forwarded() {
    let mut gate = gateway(1, |route| route.rate = Bitrate::mbps(1000));
    (0..30_000).for_each(|n| hear(&mut gate, 0, A, &message(1, "a", n, Options::default())));
    let mut carried = 0;
    for ms in (0..10_000).step_by(10) {
        carried += crosses(&mut gate, ms).len();
    }
    assert_eq!((carried, gate.stats(A, B).dropped), (30_000, 0));
}

#[test]
fn whatever_is_heard_is_carried_or_counted_as_something_else_whatever_the_bounds() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut number = |below: u64| rng.next_u64() % below;
        let config = GatewayConfig {
            learning: Duration::ZERO,
            queue_messages: 1 + number(20) as usize,
            queue_bytes: 100 + number(5_000),
            ..GatewayConfig::default()
        };
        let filters = vec![Filter::new("#").unwrap()];
        let rate = Bitrate::bps(1_000 + number(100_000));
        let route = |(from, to)| Route { from, to, filters: filters.clone(), rate };
        let routes = [(A, B), (B, A)].map(route).to_vec();
        let mut gate = Gateway::new(Time::ZERO, &[NodeId(101), NodeId(102)], routes, config, seed);
        let mut carried = 0;
        for step in 0..300 {
            let options = Options {
                priority: number(4) as u8,
                expiry: (number(2) == 0).then_some(Duration::from_secs(3)),
                tag: (number(2) == 0).then_some(number(3)),
                ..Options::default()
            };
            let options = Options { replaces: options.tag.is_some() && number(2) == 0, ..options };
            let what = message(1 + number(3) as u32, "a", number(200), options);
            let what = match number(4) {
                0 => copy(7, 1 + number(9) as u8, &what),
                _ => what,
            };
            let side = if number(3) == 0 { B } else { A };
            hear_long(&mut gate, step * 20, side, (&what, 1 + number(1_000)));
            carried += crosses(&mut gate, step * 20).len() as u64;
        }
        let all = [gate.stats(A, B), gate.stats(B, A)];
        for stats in all {
            let GatewayStats { heard, carried, left, expired, replaced, dropped, .. } = stats;
            let others = left + expired + replaced + dropped + stats.too_far + stats.waiting;
            assert_eq!(heard, carried + others, "seed {seed}: {stats:?}");
            assert!(stats.waiting <= config.queue_messages as u64);
        }
        assert_eq!(all.iter().map(|stats| stats.carried).sum::<u64>(), carried);
    }
}

fn urgent() -> Options {
    Options { priority: 9, ..Options::default() }
}

#[test]
fn a_message_that_passed_too_many_gateways_is_not_forwarded() {
    let mut gate = gateway(1, plain);
    let what = message(1, "a", 0, Options::default());
    hear(&mut gate, 0, A, &copy(7, 8, &what));
    hear(&mut gate, 0, A, &copy(7, 255, &message(1, "a", 1, Options::default())));
    assert_eq!((crosses(&mut gate, 60_000), gate.stats(A, B).too_far), (Vec::new(), 2));
}

#[test]
fn nothing_is_forwarded_into_a_full_group_and_nothing_is_lost() {
    let mut gate = gateway(1, plain);
    hear(&mut gate, 0, A, &message(1, "a", 0, Options::default()));
    hear(&mut gate, 0, B, &message(2, "b", 5, Options::default()));
    let only_a = |side| side == A;
    assert_eq!(gate.poll(at(2_000), only_a).map(|crossing| crossing.to), Some(A));
    assert!(gate.poll(at(2_000), only_a).is_none());
    assert_eq!(crosses(&mut gate, 2_100), [(B, 0)]);
}

#[test]
fn messages_published_by_the_gateways_node_are_forwarded_but_not_those_it_forwarded() {
    let mut gate = gateway(1, plain);
    hear(&mut gate, 0, A, &message(101, "a", 0, Options::default()));
    hear(&mut gate, 0, A, &copy(1, 1, &message(5, "a", 1, Options::default())));
    assert_eq!(crosses(&mut gate, 5_000), [(B, 0)]);
}

#[test]
fn a_gateway_that_begins_learns_first_what_is_there() {
    let config = GatewayConfig::default();
    let filters = vec![Filter::new("#").unwrap()];
    let route = Route { from: A, to: B, filters, rate: Bitrate::mbps(1) };
    let mut gate = Gateway::new(Time::ZERO, &[NodeId(1); 2], vec![route], config, 1);
    let (old, new) = ((0..5).map(|n| message(5, "a", n, Options::default())), 5);
    for what in old {
        hear(&mut gate, 100, A, &what);
        hear(&mut gate, 4_000, B, &copy(8, 1, &what));
    }
    hear(&mut gate, 200, A, &message(5, "a", new, Options::default()));
    // It learns for 20 s, 20 s more since what it heard, and leaves the rest to others for a moment.
    assert_eq!(crosses(&mut gate, 24_900), []);
    assert_eq!(crosses(&mut gate, 25_500), [(B, new)]);
    assert_eq!(gate.stats(A, B).left, 5);
}
