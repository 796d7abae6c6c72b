//! `auto` on the model's paths.

use super::model::{Busy, Model, Path, SIZE};
use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};
use alloc::vec::Vec;

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// A path; its buffer in bandwidth-delay products.
fn path(bps: f64, rtt: f64, buffer: f64, loss: f64) -> Path {
    Path {
        rate: Bitrate::bps(bps as u64),
        one_way: Duration::from_secs_f64(rtt / 2.0),
        buffer: libm::round(bps * rtt / 8.0 / SIZE as f64 * buffer).max(2.0) as usize,
        loss,
        mark: None,
        busy: Busy::default(),
    }
}

/// 1 Mbit/s and 242 ms one way.
fn satellite(loss: f64) -> Path {
    path(1e6, 0.484, 1.0, loss)
}

fn percentile(delays: &[f64], share: f64) -> f64 {
    let mut delays = delays.to_vec();
    delays.sort_by(f64::total_cmp);
    delays.get((delays.len() as f64 * share) as usize).copied().unwrap_or(0.0)
}

/// What full packets take of the link, in a window.
fn share(model: &mut Model, path: &Path, (from, until): (f64, f64)) -> Vec<f64> {
    model.run(at(from));
    model.reset();
    model.run(at(until));
    let bits = SIZE as f64 * 8.0 / (until - from) / path.rate.as_bps() as f64;
    model.seen.iter().map(|seen| seen.delivered as f64 * bits).collect()
}

fn begin(path: &Path, flows: usize) -> Model {
    let mut model = Model::new(path.clone(), 1);
    for n in 0..flows {
        model.auto(at(0.37 * n as f64), Bitrate::mbps(100_000));
    }
    model
}

#[test]
fn one_flow_fills_its_path_whatever_is_lost_and_keeps_the_queue_short() {
    let links = [(1e6, 0.484), (1e7, 0.1), (1e8, 0.02)];
    for (bps, rtt) in links {
        for loss in [0.0, 0.01, 0.1] {
            let path = path(bps, rtt, 1.0, loss);
            let mut model = begin(&path, 1);
            let end = 10.0 + 60.0 * rtt.max(0.1);
            let of = share(&mut model, &path, (10.0, end))[0] / (1.0 - loss);
            let p95 = percentile(&model.delays, 0.95);
            assert!(of > 0.93 && p95 < rtt / 2.0, "{bps} {rtt} {loss}: {of} {p95}");
            assert_eq!(model.seen[0].overflowed, 0);
        }
    }
}

#[test]
fn a_gigabit_over_a_millisecond_is_filled_too() {
    let path = path(1e9, 0.001, 1.0, 0.01);
    let mut model = begin(&path, 1);
    let of = share(&mut model, &path, (1.0, 2.0))[0] / 0.99;
    assert!(of > 0.95 && percentile(&model.delays, 0.95) < 0.001, "{of}");
}

#[test]
fn it_starts_in_a_few_round_trips() {
    let path = satellite(0.0);
    let mut model = begin(&path, 1);
    let of = share(&mut model, &path, (4.0, 8.0))[0];
    assert!(of > 0.85, "{of}");
    assert_eq!(model.seen[0].overflowed, 0);
}

#[test]
fn ten_flows_with_four_messages_a_round_trip_each_share() {
    for loss in [0.0, 0.1] {
        let path = satellite(loss);
        let shares = share(&mut begin(&path, 10), &path, (100.0, 300.0));
        let sum: f64 = shares.iter().sum();
        let squares: f64 = shares.iter().map(|x| x * x).sum();
        let jain = sum * sum / (10.0 * squares);
        assert!(jain > 0.99 && sum > 0.95 * (1.0 - loss), "{loss}: {jain} {shares:?}");
    }
}

#[test]
fn half_the_capacity_gone_costs_few_messages_and_little_of_what_is_left() {
    let path = satellite(0.0);
    let mut shares = Vec::new();
    for phase in 0..16 {
        let mut model = begin(&path, 1);
        let change = 60.0 + 0.6 * f64::from(phase);
        model.change(at(change), Bitrate::kbps(500));
        shares.push(share(&mut model, &path, (change, change + 10.0))[0]);
        let lost = model.seen[0].overflowed as f64 / model.seen[0].sent as f64;
        assert!(lost < 0.02, "{phase}: {lost}");
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean > 0.9 * 0.5, "{mean} of one half: {shares:?}");
}

#[test]
fn marks_keep_the_queue_short_without_loss_of_rate() {
    let path = Path { mark: Some(2 * SIZE), ..path(1e7, 0.1, 1.0, 0.0) };
    let mut model = begin(&path, 1);
    let of = share(&mut model, &path, (10.0, 30.0))[0];
    let p95 = percentile(&model.delays, 0.95);
    assert!(of > 0.8 && p95 < 0.01, "{of} {p95}");
}

#[test]
fn after_that_it_keeps_most_of_what_is_left_whenever_in_a_drains_course_it_happens() {
    for phase in 0..8 {
        let path = path(1e7, 0.1, 1.0, 0.0);
        let mut model = begin(&path, 1);
        let change = 20.0 + 0.3 * f64::from(phase);
        model.change(at(change), Bitrate::mbps(5));
        let of = share(&mut model, &path, (change + 1.0, change + 6.0))[0];
        assert!(of > 0.4, "{phase}: {of} of half");
    }
}

#[test]
fn explore() {
    extern crate std;
    let quiet = Busy::default();
    let idle = Busy { every: 20e-3, longest: 0.5e-3, noise: 0.1e-3 };
    let busy = Busy { every: 10e-3, longest: 4e-3, noise: 0.3e-3 };
    for (bps, buffers) in [
        (56e3, [10, 40]),
        (1e6, [40, 100]),
        (1e7, [100, 680]),
        (1e8, [100, 680]),
        (1e9, [100, 680]),
    ] {
        for buffer in buffers {
            for busy in [quiet, idle, busy] {
                for loss in [0.0, 0.01] {
                    if let Ok(only) = std::env::var("ONLY")
                        && only != std::format!("{bps} {buffer} {} {loss}", busy.longest)
                    {
                        continue;
                    }
                    let mut path = path(bps, 0.0002, 1.0, loss);
                    (path.buffer, path.busy) = (buffer, busy);
                    let mut model = begin(&path, 1);
                    let first = share(&mut model, &path, (0.0, 1.0))[0];
                    let long = if bps < 1e9 { 11.0 } else { 3.0 };
                    let of = share(&mut model, &path, (1.0, long))[0] / (1.0 - loss);
                    let over = model.seen[0].overflowed as f64 / model.seen[0].sent as f64;
                    std::println!(
                        "{:>6} k buffer {buffer} stall {:.1} loss {loss}: first {first:.2} of {of:.3} p50 {:.2} p95 {:.2} ms over {:.4}",
                        bps / 1e3,
                        busy.longest * 1e3,
                        percentile(&model.delays, 0.5) * 1e3,
                        percentile(&model.delays, 0.95) * 1e3,
                        over
                    );
                }
            }
        }
    }
}

#[test]
fn explore_flows() {
    extern crate std;
    let idle = Busy { every: 20e-3, longest: 0.5e-3, noise: 0.1e-3 };
    for (bps, buffer) in [(1e6, 64), (1e7, 100), (1e8, 100), (1e8, 680), (1e9, 680)] {
        for flows in [2, 3, 10] {
            let mut path = path(bps, 0.0002, 1.0, 0.0);
            (path.buffer, path.busy) = (buffer, idle);
            let mut model = begin(&path, flows);
            let shares = share(&mut model, &path, (8.0, 18.0));
            let sum: f64 = shares.iter().sum();
            let squares: f64 = shares.iter().map(|x| x * x).sum();
            std::println!(
                "{:>6} k buffer {buffer} flows {flows} sum {sum:.3} jain {:.3} p50 {:.2} p95 {:.2} over {} {:.2?}",
                bps / 1e3,
                sum * sum / (flows as f64 * squares),
                percentile(&model.delays, 0.5) * 1e3,
                percentile(&model.delays, 0.95) * 1e3,
                model.seen.iter().map(|s| s.overflowed).sum::<u64>(),
                &shares[..3.min(flows)]
            );
        }
    }
}
