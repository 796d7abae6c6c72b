//! Lower bounds: the fewest bytes that peers can send in the tactical test (Table 3 of the
//! evaluation, `experiments/cooperation/s000-table3.toml`) when the sender is deaf.
//!
//! They are computed, not simulated, for an ideal scheduler. It knows who lacks what. Some node
//! always has a symbol that helps all of the three subscribers. Symbols are coded over the whole
//! message. Nothing but Ethernet, IPv4 and UDP headers is added: no requests, no announcements, no
//! names. So a protocol that repairs each message separately sends at least as much. A protocol
//! that combines symbols of several messages may send less; the second bound holds for it.

/// DisService's figures: reliability, size, sent, success, sender's and peers' overhead.
const DISSERVICE: &str = include_str!("../../experiments/cooperation/s000-table3-disservice.csv");
/// Headers of each datagram.
const HEADERS: f64 = 42.0;
/// Bytes of a message in one datagram at most.
const DATAGRAM: u32 = 1430;
const SUBSCRIBERS: i32 = 3;
/// The share of a peer's datagrams that arrives.
const BETWEEN_PEERS: f64 = 0.9;
/// Repairs of one message reckoned with: more are needed with less than 10^-9.
const ROUNDS: u32 = 400;

/// A cell of the table.
#[derive(Debug)]
struct Cell {
    arrives: f64,
    size: u32,
    /// DisService's sender beside its message, and its peers.
    sender: f64,
    peers: f64,
}

fn cells() -> Vec<Cell> {
    let lines = DISSERVICE.lines().filter(|line| !line.starts_with('#')).skip(1);
    let cell = |line: &str| {
        let fields: Vec<f64> =
            line.split(',').map(|field| field.trim_end_matches('%').parse().unwrap()).collect();
        let [arrives, size, _, _, sender, peers] = fields[..] else { panic!("{line}") };
        Cell { arrives: arrives / 100.0, size: size as u32, sender, peers }
    };
    lines.map(cell).collect()
}

/// The chances that 0, 1, … of `n` arrive.
fn arriving(n: u32, chance: f64) -> Vec<f64> {
    let mut chances = vec![1.0];
    for _ in 0..n {
        let lost = chances.iter().map(|p| p * (1.0 - chance)).chain([0.0]);
        let come = [0.0].into_iter().chain(chances.iter().map(|p| p * chance));
        chances = lost.zip(come).map(|(a, b)| a + b).collect();
    }
    chances
}

/// Symbols that peers send until all of so many subscribers have `k`, of `sent` by the sender.
fn repairs(k: u32, sent: u32, arrives: f64, subscribers: i32) -> f64 {
    let first = arriving(sent, arrives);
    let mut later = vec![1.0];
    let mut sum = 0.0;
    for _ in 0..ROUNDS {
        let enough = |(had, p): (usize, &f64)| {
            let needed = (k as usize).saturating_sub(had);
            p * later.iter().skip(needed).sum::<f64>()
        };
        let done: f64 = first.iter().enumerate().map(enough).sum();
        let open = 1.0 - done.powi(subscribers);
        sum += open;
        if open < 1e-9 {
            break;
        }
        let lost = later.iter().map(|p| p * (1.0 - BETWEEN_PEERS)).chain([0.0]);
        let come = [0.0].into_iter().chain(later.iter().map(|p| p * BETWEEN_PEERS));
        later = lost.zip(come).map(|(a, b)| a + b).collect();
    }
    sum
}

impl Cell {
    /// Bytes of peers for each message cut into `k`. The sender fills what DisService's sends beside its
    /// messages with parity; what is no whole symbol goes with as many messages in a hundred.
    fn bytes(&self, k: u32) -> f64 {
        let datagram = f64::from(self.size) / f64::from(k) + HEADERS;
        let room = ((self.sender - HEADERS * f64::from(k)) / datagram).max(0.0);
        let (whole, part) = (room.floor(), room.fract());
        let of = |more: f64| repairs(k, k + more as u32, self.arrives, SUBSCRIBERS);
        ((1.0 - part) * of(whole) + part * of(whole + 1.0)) * datagram
    }

    /// The least over all ways to cut it that leave the sender below DisService's.
    fn floor(&self) -> f64 {
        let least = self.size.div_ceil(DATAGRAM);
        let most = ((self.sender / HEADERS) as u32).max(least);
        (least..=most).map(|k| self.bytes(k)).fold(f64::INFINITY, f64::min)
    }

    /// Where symbols of many messages are combined, each datagram brings every subscriber one that it
    /// lacks: as many are needed as one of them loses.
    fn floor_across(&self) -> f64 {
        let k = f64::from(self.size.div_ceil(DATAGRAM));
        let parity = (self.sender - HEADERS * k) / (f64::from(self.size) + HEADERS * k);
        let lacking = 1.0 - self.arrives * (1.0 + parity.max(0.0));
        lacking.max(0.0) / BETWEEN_PEERS * (f64::from(self.size) + HEADERS * k)
    }
}

#[test]
fn half_of_disservices_peer_bytes_cannot_be_had_for_one_symbol_unless_messages_are_combined() {
    for cell in cells() {
        let (floor, across) = (cell.floor() / cell.peers, cell.floor_across() / cell.peers);
        let Cell { arrives, size, .. } = cell;
        println!("{:.0} % {size}: {floor:.3}, across messages {across:.3}", arrives * 100.0);
        assert!(across < 0.5 && across < floor, "{cell:?}");
        assert_eq!(floor > 0.5, size == 1024, "{floor} in {cell:?}");
    }
}

#[test]
fn one_subscriber_is_served_by_as_many_as_it_lacks_and_a_tenth_that_is_lost() {
    let lacking = 26.0 * 0.3 / BETWEEN_PEERS;
    assert!((repairs(26, 26, 0.7, 1) - lacking).abs() < 1e-6);
    assert!(repairs(26, 26, 0.7, 3) > lacking);
    assert_eq!(repairs(6, 6, 1.0, 3), 0.0);
}
