//! Whole flows over a bottleneck: window, recovery and timers together.

use fanfare_proto::{Bitrate, Duration};

use super::{Algorithm, Bottleneck, Config, LossDetection, Pipe, Source};

fn line(rate: Bitrate, one_way_ms: u64) -> Bottleneck {
    Bottleneck::new(rate, Duration::from_millis(one_way_ms), 1)
}
/// With a queue of so many bandwidth-delay products.
fn queue_of(line: Bottleneck, factor: f64) -> Bottleneck {
    let bytes = factor * line.queue_bytes as f64;
    line.queue(bytes as u64)
}
fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
const GREEDY: Source = Source::Greedy;
fn with(algorithm: Algorithm) -> Config {
    Config { algorithm, ..Config::default() }
}
/// Goodput of a line that only this flow's full segments fill.
fn ceiling(rate: Bitrate) -> f64 {
    rate.as_bps() as f64 * 1440.0 / 1492.0
}

/// Mathis et al. 1997: segments per second, each acknowledged.
fn mathis(loss: f64, rtt: f64) -> f64 {
    (1.5 / loss).sqrt() / rtt
}
/// Padhye et al. 1998, equation 30, segments per second.
fn pftk(loss: f64, rtt: f64, timeout: f64) -> f64 {
    let waits =
        timeout * (3.0 * (3.0 * loss / 8.0).sqrt()).min(1.0) * loss * (1.0 + 32.0 * loss * loss);
    1.0 / (rtt * (2.0 * loss / 3.0).sqrt() + waits)
}

fn close(found: f64, expected: f64, factor: f64) -> bool {
    found < expected * factor && found > expected / factor
}

#[test]
fn renos_rate_under_random_loss_is_that_of_the_formulas() {
    // A line that is never full, 100 ms, a timeout of 300 ms: the formulas' conditions.
    for loss in [0.001, 0.01, 0.05] {
        for loss_detection in [LossDetection::DuplicateAcks, LossDetection::RackTlp] {
            let path = line(Bitrate::mbps(100), 50).queue(1 << 20).loss(loss);
            let config = Config { loss_detection, ..with(Algorithm::Reno) };
            let goodput =
                Pipe::new(path).flow(config, GREEDY).goodput(seconds(20), seconds(1020))[0];
            let rate = goodput / 8.0 / 1440.0;
            let (simple, full) = (mathis(loss, 0.1), pftk(loss, 0.1, 0.3));
            assert!(
                close(rate, full, 1.1) && close(rate, simple, 1.4),
                "{loss} {loss_detection:?}: {rate:.1}, formulas {simple:.1} and {full:.1}"
            );
        }
    }
}

#[test]
fn cubic_fills_a_line_with_a_drop_tail_queue_of_half_to_two_bandwidth_delay_products() {
    for factor in [0.5, 1.0, 2.0] {
        let path = queue_of(line(Bitrate::mbps(10), 50), factor);
        let goodput = Pipe::new(path.clone())
            .flow(with(Algorithm::Cubic), GREEDY)
            .goodput(seconds(0), seconds(60))[0];
        let used = goodput / ceiling(path.rate);
        assert!((0.97..=1.0).contains(&used), "{used:.3} at {factor}");
    }
}

#[test]
fn two_equal_flows_share_a_line_within_a_fifth() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let path = line(Bitrate::mbps(10), 25);
        let mut pipe =
            Pipe::new(path.clone()).flow(with(algorithm), GREEDY).flow(with(algorithm), GREEDY);
        let goodput = pipe.goodput(seconds(20), seconds(320));
        assert!(close(goodput[0], goodput[1], 1.2), "{algorithm:?} {goodput:.0?}");
        assert!(goodput.iter().sum::<f64>() > 0.98 * ceiling(path.rate));
    }
}

#[test]
fn a_newcomer_gets_its_share() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let mut pipe = Pipe::new(line(Bitrate::mbps(10), 25)).flow(with(algorithm), GREEDY);
        pipe.run_to(seconds(20));
        let goodput = pipe.flow(with(algorithm), GREEDY).goodput(seconds(40), seconds(140));
        assert!(close(goodput[0], goodput[1], 1.25), "{algorithm:?} {goodput:.0?}");
    }
}

/// Adamson et al., MILCOM 2013, table I: Linux 3.6's CUBIC, one flow, 1 Mbit/s, 242 ms one way:
/// 770, 413 and 86 kbit/s. Their routers dropped early (RED, thresholds of one and two packets);
/// the queue here is of six packets. Linux 3.6 had no RACK.
#[test]
fn cubic_on_the_norm_testbeds_path_is_as_fast_as_linux_was_there() {
    for (loss, measured, factor) in [(0.001, 770e3, 1.15), (0.01, 413e3, 1.2), (0.1, 86e3, 1.25)] {
        let path = line(Bitrate::mbps(1), 242).queue(6 * 1492).loss(loss);
        let config = Config { loss_detection: LossDetection::DuplicateAcks, ..Config::default() };
        let goodput = Pipe::new(path).flow(config, GREEDY).goodput(seconds(20), seconds(620))[0];
        assert!(close(goodput, measured, factor), "{goodput:.0} at {loss}, measured {measured}");
    }
}

#[test]
fn a_transfer_of_a_size_arrives_whole_through_heavy_loss_and_then_rests() {
    for loss_detection in [LossDetection::DuplicateAcks, LossDetection::RackTlp] {
        let path = line(Bitrate::mbps(1), 20).loss(0.2);
        let config = Config { loss_detection, ..Config::default() };
        let mut pipe = Pipe::new(path).flow(config, Source::Bytes(1_000_001));
        pipe.run_to(seconds(600));
        assert_eq!(pipe.flows[0].receiver.delivered(), 1_000_001);
        assert!(pipe.flows[0].sender.finished());
        assert_eq!(pipe.next_time(), None);
    }
}

#[test]
fn a_broken_path_is_tried_ever_less_often_and_used_again_when_it_is_back() {
    let mut pipe = Pipe::new(line(Bitrate::mbps(1), 20)).flow(Config::default(), GREEDY);
    pipe.run_to(seconds(10));
    pipe.bottleneck.loss = 1.0;
    let before = pipe.flows[0].sender.stats();
    pipe.run_to(seconds(70));
    let timeouts = pipe.flows[0].sender.stats().timeouts - before.timeouts;
    assert!((6..=9).contains(&timeouts), "{timeouts} in a minute, doubling from 0.3 s");
    pipe.bottleneck.loss = 0.0;
    let goodput = pipe.goodput(seconds(140), seconds(150))[0];
    assert!(goodput > 0.97 * ceiling(pipe.bottleneck.rate), "{goodput:.0}");
}

#[test]
fn a_path_that_grows_longer_costs_no_window() {
    let path = queue_of(line(Bitrate::mbps(1), 50), 4.0);
    let mut pipe = Pipe::new(path).flow(Config::default(), Source::Bytes(0));
    pipe.flows[0].sender.offer(30_000);
    pipe.run_to(seconds(5));
    pipe.bottleneck.one_way = Duration::from_millis(500);
    pipe.flows[0].sender.offer(30_000);
    pipe.run_to(seconds(10));
    let stats = pipe.flows[0].sender.stats();
    assert!(stats.timeouts + stats.recoveries > 0 && stats.undone > 0, "{stats:?}");
    assert!(pipe.flows[0].sender.congestion_window() >= 10);
}

#[test]
fn marks_take_the_place_of_drops() {
    let mut path = queue_of(line(Bitrate::mbps(10), 25), 2.0);
    path.mark_above = Some(path.queue_bytes / 4);
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let config = Config { ecn: true, ..with(algorithm) };
        let mut pipe = Pipe::new(path.clone()).flow(config, GREEDY);
        pipe.run_to(seconds(5));
        let before = pipe.flows[0].sender.stats();
        let goodput = pipe.goodput(seconds(5), seconds(65))[0];
        let stats = pipe.flows[0].sender.stats();
        assert_eq!(stats.retransmitted, before.retransmitted, "{algorithm:?}");
        assert!(stats.marks > before.marks, "{algorithm:?} {stats:?}");
        assert!(goodput > 0.85 * ceiling(path.rate), "{algorithm:?} {goodput:.0}");
    }
}

#[test]
fn a_seed_repeats_a_flow_to_the_segment() {
    let run = |seed| {
        let one_way = Duration::from_millis(20);
        let path = Bottleneck::new(Bitrate::mbps(10), one_way, seed);
        let mut pipe = Pipe::new(path.loss(0.02)).flow(Config::default(), GREEDY);
        (pipe.run_to(seconds(60)), pipe.flows[0].sender.stats(), pipe.flows[0].receiver.stats())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
