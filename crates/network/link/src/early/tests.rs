//! Both ends over a road that loses, repeats and reorders, and what somebody else may do with packets.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use fanfare_crypto::{Identity, PublicKey};
use fanfare_proto::{Time, rng::Rng};

use super::{
    Came, Early, Origin,
    came::DATAGRAMS_MAX,
    ticket::Ticket,
    tickets::{TICKETS_MAX, Tickets},
};
use crate::hello::Hello;

const WALL: Duration = Duration::from_secs(1_800_000_000);

fn at(seconds: u64) -> (Time, Duration) {
    (Time::ZERO + Duration::from_secs(seconds), WALL + Duration::from_secs(seconds))
}

fn key(n: u8) -> PublicKey {
    Identity::from_seed([n; 32]).public()
}

fn ticket(n: u8) -> Ticket {
    Ticket::new([n; 32], [n ^ 0xff; 32])
}

fn here() -> SocketAddr {
    ([10, 0, 0, 1], 40_000).into()
}

fn there() -> SocketAddr {
    ([10, 0, 0, 2], 7001).into()
}

const HELLO: Hello = Hello { instance: [9; 16], known: [0; 16] };

/// Node 1 has dialled node 2 at second 0: both have drawn a ticket.
fn met() -> (Early, Early) {
    let [mut one, mut two] = [(); 2].map(|()| Early::new(Tickets::default()));
    one.on_connected(at(0), key(2), true, ticket(1));
    two.on_connected(at(0), key(1), false, ticket(1));
    (one, two)
}

/// First packets of node 1 at that second.
fn first(one: &mut Early, second: u64, parts: &[&[u8]]) -> Vec<Vec<u8>> {
    assert!(one.ask(at(second).1, (key(2), there()), HELLO, [5; 16]));
    let seal = |part: &&[u8]| one.seal(at(second), &key(2), part).unwrap();
    let sealed: Vec<_> = parts.iter().map(seal).collect();
    assert!(sealed.iter().all(|(to, datagram)| *to == there() && datagram.len() <= 1_200));
    sealed.into_iter().map(|(_, datagram)| datagram).collect()
}

#[test]
fn a_message_goes_with_the_first_packet_and_its_answer_comes_back_by_the_same_ticket() {
    let (mut one, mut two) = met();
    let [datagram, more] = &first(&mut one, 60, &[b"a question", b"more"])[..] else { panic!() };
    let came = two.on_datagram(at(60).0, here(), datagram).unwrap();
    let from = Origin::First(HELLO);
    assert_eq!(came, Came { peer: key(1), from, part: b"a question".to_vec() });
    let later = two.on_datagram(at(60).0, here(), more).unwrap();
    assert_eq!((later.from, &later.part[..]), (Origin::Later(HELLO), &b"more"[..]));
    let (to, answer) = two.seal(at(60), &key(1), b"an answer").unwrap();
    assert_eq!(to, here());
    let came = one.on_datagram(at(61).0, there(), &answer).unwrap();
    assert_eq!((came.peer, came.from, came.part), (key(2), Origin::Dialled, b"an answer".to_vec()));
    assert_eq!(one.on_datagram(at(61).0, there(), &answer), None, "an answer is taken once");
    // Nobody else can answer, and what a node has sent does not come back to it.
    assert_eq!(one.on_datagram(at(61).0, there(), datagram), None);
    assert_eq!(two.on_datagram(at(61).0, here(), &answer), None);
}

#[test]
fn a_first_packet_is_taken_once_whenever_and_from_wherever_it_is_repeated() {
    let (mut one, mut two) = met();
    let datagram = first(&mut one, 60, &[b"once"]).remove(0);
    assert!(two.on_datagram(at(60).0, here(), &datagram).is_some());
    assert_eq!(two.on_datagram(at(60).0, here(), &datagram), None);
    assert_eq!((two.counts.taken, two.counts.refused), (1, 0), "copies do not count");
    two.on_connected(at(60), key(1), false, ticket(2));
    assert_eq!(two.on_datagram(at(60).0, here(), &datagram), None);
    assert_eq!((two.counts.taken, two.counts.refused), (1, 0), "nor after the handshake");
    for second in [60, 65, 75, 4_000] {
        for source in [here(), ([192, 0, 2, 1], 5).into()] {
            assert_eq!(two.on_datagram(at(second).0, source, &datagram), None, "{second}");
        }
    }
    // Neither does another salt help, as when a file of tickets was copied.
    let (mut copy, _) = met();
    assert!(copy.ask(at(61).1, (key(2), there()), HELLO, [6; 16]));
    let (_, again) = copy.seal(at(61), &key(2), b"twice").unwrap();
    assert_eq!(two.on_datagram(at(61).0, here(), &again), None);
    assert!(!copy.ask(at(62).1, (key(2), there()), HELLO, [7; 16]), "a ticket is taken out");
}

#[test]
fn a_first_packet_that_was_held_back_is_refused() {
    for (late, taken) in [(9, true), (11, false), (3_600, false)] {
        let (mut one, mut two) = met();
        let datagram = first(&mut one, 60, &[b"held back"]).remove(0);
        let came = two.on_datagram(at(60 + late).0, here(), &datagram);
        assert_eq!(came.is_some(), taken, "{late} s");
        let again = two.on_datagram(at(60).0, here(), &datagram);
        assert_eq!(again, None, "and its ticket is used up");
    }
    // So is one of before the last connection.
    let (mut one, mut two) = met();
    let datagram = first(&mut one, 1, &[b"of before"]).remove(0);
    two.on_connected(at(2), key(1), false, ticket(2));
    assert_eq!(two.on_datagram(at(2).0, here(), &datagram), None);
}

#[test]
fn a_server_that_was_started_anew_takes_no_first_packet_and_the_client_has_no_ticket_left() {
    let (mut one, _) = met();
    let mut anew = Early::new(Tickets::default());
    let datagram = first(&mut one, 60, &[b"to nobody"]).remove(0);
    assert_eq!(anew.on_datagram(at(60).0, here(), &datagram), None);
    assert_eq!(anew.on_datagram(at(60).0, here(), &datagram), None);
    assert_eq!(anew.counts.refused, 1, "its copies do not count");
    assert!(!one.ask(at(61).1, (key(2), there()), HELLO, [6; 16]));
}

#[test]
fn a_ticket_of_yesterday_is_not_used_and_a_clock_that_went_back_does_no_harm() {
    let (mut one, _) = met();
    assert!(!one.ask(at(24 * 3600).1, (key(2), there()), HELLO, [5; 16]));
    let (mut one, _) = met();
    assert!(!one.ask(WALL - Duration::from_secs(1), (key(2), there()), HELLO, [5; 16]));
}

#[test]
fn an_address_that_has_not_proven_itself_gets_three_times_what_it_sent_at_most() {
    let (mut one, mut two) = met();
    let datagram = first(&mut one, 60, &[b"?"]).remove(0);
    two.on_datagram(at(60).0, here(), &datagram).unwrap();
    let part = [0; 100];
    let answers: Vec<_> = std::iter::from_fn(|| two.seal(at(60), &key(1), &part)).collect();
    let bytes: usize = answers.iter().map(|(_, datagram)| datagram.len()).sum();
    assert!(!answers.is_empty() && bytes <= 3 * datagram.len(), "{bytes}");
    // And nothing more when the connection has not come within ten seconds.
    assert_eq!(two.seal(at(71), &key(1), b""), None);
}

#[test]
fn a_first_flight_has_eight_datagrams_at_most() {
    let (mut one, mut two) = met();
    let flight = first(&mut one, 60, &[&[0; super::PART_SIZE][..]; DATAGRAMS_MAX as usize]);
    assert_eq!(one.seal(at(60), &key(2), b"one more"), None);
    assert!(flight.iter().all(|datagram| two.on_datagram(at(60).0, here(), datagram).is_some()));
}

#[test]
fn over_any_road_each_part_is_taken_at_most_once_and_forged_ones_never() {
    let mut taken = 0;
    for seed in 0..200 {
        let (mut one, mut two) = met();
        let parts: Vec<Vec<u8>> = (0..DATAGRAMS_MAX).map(|n| vec![n; 50]).collect();
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let (mut rng, mut road) = (Rng::new(seed), Vec::new());
        for datagram in first(&mut one, 60, &parts) {
            for _ in 0..2 {
                let (lost, forged) = (rng.random_bool(0.3), rng.random_bool(0.2));
                let mut copy = datagram.clone();
                if forged {
                    let at = rng.below(copy.len() as u64) as usize;
                    copy[at] ^= 1 << rng.below(8);
                }
                road.extend((!lost).then_some((rng.below(1_000), copy, forged)));
            }
        }
        road.sort();
        let mut came = BTreeMap::<Vec<u8>, u32>::new();
        for (_, datagram, forged) in road {
            let one = two.on_datagram(at(60).0, here(), &datagram);
            assert!(!(forged && one.is_some()), "seed {seed}");
            if let Some(one) = one {
                *came.entry(one.part).or_default() += 1;
            }
        }
        assert!(came.values().all(|times| *times == 1), "seed {seed}: {came:?}");
        taken += came.len();
    }
    assert!(taken > 200 * 4, "{taken}");
}

#[test]
fn tickets_are_kept_in_a_file_of_their_owner_and_are_gone_from_it_before_they_are_used() {
    let path = std::env::temp_dir().join(format!("fanfare-tickets-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let open = || Tickets::open(&path);
    for n in 0..=TICKETS_MAX as u8 {
        let wall = WALL + Duration::from_millis(u64::from(n));
        open().unwrap().put(key(n), wall, ticket(n));
    }
    assert_eq!(open().unwrap().len(), TICKETS_MAX);
    let (now, mut tickets) = (at(1).1, open().unwrap());
    assert_eq!(tickets.take(now, &key(0)), None, "the oldest one had to go");
    let drawn = WALL + Duration::from_millis(7);
    assert_eq!(tickets.take(now, &key(7)), Some((drawn, ticket(7))));
    assert_eq!(open().unwrap().take(now, &key(7)), None);
    std::fs::write(&path, "something else").unwrap();
    assert!(open().is_err());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        tickets.put(key(1), now, ticket(1));
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(open().unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    }
    std::fs::remove_file(&path).unwrap();
}
