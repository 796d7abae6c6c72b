//! Which way messages take: to all other sides, and in a ring of relays once.

use fanfare_relay::{Event, Relay, Side, To};

use crate::world::{SENDER, address, by_group, data, is_norm, ms, relay, sent, single};

#[test]
fn what_comes_on_one_side_goes_out_on_all_others_as_it_is() {
    let mut relay = relay(1, 2, &[50]);
    let message = data(3, 0, 0);
    relay.on_datagram(ms(0), by_group(0, 2), &message);
    let sent = sent(&mut relay);
    assert_eq!(
        sent.iter().map(|one| one.to).collect::<Vec<_>>(),
        [To::Group(1), To::Address(0, address(50))]
    );
    assert!(sent.iter().all(|one| one.bytes == message));
    let side = Side::Group(0);
    let told = Event::Source { sender: SENDER, side, address: address(2) };
    assert_eq!(relay.poll_event(), Some(told));
}

#[test]
fn relays_in_a_ring_pass_each_message_on_once() {
    // Each has an island of its own; all know each other.
    let hosts = [11, 12, 13];
    let others = |own: u8| hosts.iter().copied().filter(|one| *one != own).collect::<Vec<_>>();
    let mut ring: Vec<Relay> =
        hosts.iter().map(|own| relay(u32::from(*own), 1, &others(*own))).collect();
    let mut islands = [0; 3];
    for step in 0..2000_u64 {
        let now = ms(step * 5);
        let number = (step % 2 == 0).then_some((step / 2) as u16).filter(|_| step < 400);
        if let Some(number) = number {
            let message = data(number, u32::from(number) % 2, number / 2 % 4);
            ring[0].on_datagram(now, by_group(0, 2), &message);
        }
        for at in 0..3 {
            ring[at].handle_timeout(now);
            while let Some(out) = ring[at].poll_transmit() {
                match out.to {
                    To::Layer(..) => panic!("no layers are here"),
                    To::Group(_) => islands[at] += usize::from(is_norm(&out.bytes)),
                    To::Address(_, to) => {
                        let next = hosts.iter().position(|one| address(*one) == to).unwrap();
                        ring[next].on_datagram(now, single(hosts[at]), &out.bytes);
                    }
                }
            }
        }
    }
    // Eight symbols are all that there is: what came again was left out.
    assert_eq!(islands, [0, 8, 8]);
    let elsewhere: u64 = ring.iter().map(|one| one.counts().elsewhere).sum();
    assert!((1..8).contains(&elsewhere), "until they knew of each other's ways: {elsewhere}");
}
