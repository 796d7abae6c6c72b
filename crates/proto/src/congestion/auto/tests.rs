//! `auto` on the model's paths.

use super::model::{Model, Path, SIZE};
use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};
use alloc::vec::Vec;
extern crate std;
use std::println;

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// Seed 004's link, buffer in bandwidth-delay products.
fn satellite(loss: f64, buffer: f64) -> Path {
    path(1e6, 0.484, buffer, loss)
}

fn path(bps: f64, rtt: f64, buffer: f64, loss: f64) -> Path {
    Path {
        rate: Bitrate::bps(bps as u64),
        one_way: Duration::from_secs_f64(rtt / 2.0),
        buffer: ((bps * rtt / 8.0 / SIZE as f64) * buffer).round().max(2.0) as usize,
        loss,
        mark: None,
    }
}

fn percentile(delays: &mut [f64], share: f64) -> f64 {
    delays.sort_by(f64::total_cmp);
    delays.get((delays.len() as f64 * share) as usize).copied().unwrap_or(0.0)
}

fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    let squares: f64 = x.iter().map(|x| x * x).sum();
    sum * sum / (x.len() as f64 * squares)
}

struct Result {
    goodput: f64,
    jain: f64,
    p95: f64,
    mean: f64,
    overflow: f64,
}

/// `flows` for `seconds` after `warm`; goodput is the share of the link in full packets.
fn steady(path: &Path, flows: usize, (warm, seconds): (f64, f64), seed: u64) -> Result {
    let bps = path.rate.as_bps() as f64;
    let mut model = Model::new(path.clone(), seed);
    for n in 0..flows {
        model.auto(at(0.37 * n as f64), Bitrate::bps(bps as u64 * 20));
    }
    model.run(at(warm));
    model.reset();
    model.run(at(warm + seconds));
    let delivered: Vec<f64> = model.seen.iter().map(|s| s.delivered as f64).collect();
    let sent: u64 = model.seen.iter().map(|s| s.sent).sum();
    let over: u64 = model.seen.iter().map(|s| s.overflowed).sum();
    let mean = model.delays.iter().sum::<f64>() / model.delays.len() as f64;
    Result {
        goodput: delivered.iter().sum::<f64>() * SIZE as f64 * 8.0 / seconds / bps,
        jain: jain(&delivered),
        p95: percentile(&mut model.delays, 0.95),
        mean,
        overflow: over as f64 / sent as f64,
    }
}

#[test]
fn explore_steady() {
    for (name, bps, rtt) in [
        ("sat", 1e6, 0.484),
        ("10M20", 1e7, 0.02),
        ("10M100", 1e7, 0.1),
        ("100M20", 1e8, 0.02),
        ("100M100", 1e8, 0.1),
        ("1G1", 1e9, 0.001),
    ] {
        if std::env::var("ONLY").is_ok_and(|only| only != name) {
            continue;
        }
        let t = if bps > 2e7 {
            (10.0, 15.0)
        } else if bps > 2e6 {
            (30.0, 60.0)
        } else {
            (100.0, 300.0)
        };
        for flows in [1, 2, 10] {
            for buffer in [0.5, 1.0] {
                for loss in [0.0, 0.01, 0.1] {
                    if bps > 2e7 && flows == 2 || bps > 5e8 && buffer == 0.5 {
                        continue;
                    }
                    let r = steady(&path(bps, rtt, buffer, loss), flows, t, 1);
                    println!(
                        "{name:8} flows {flows:2} buf {buffer} loss {loss:5}: of ceiling {:.3} jain {:.4} mean {:.1} ms p95 {:.1} ms ({:.2} rtt) overflow {:.4}",
                        r.goodput / (1.0 - loss),
                        r.jain,
                        r.mean * 1e3,
                        r.p95 * 1e3,
                        r.p95 / rtt,
                        r.overflow
                    );
                }
            }
        }
    }
}

#[test]
fn explore_trace() {
    let env = |name: &str, default: f64| {
        std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    let (bps, rtt) = (env("BPS", 1e6), env("RTT", 0.484));
    let flows = env("N", 2.0) as usize;
    let mut model = Model::new(path(bps, rtt, env("BUF", 1.0), env("LOSS", 0.0)), 1);
    for n in 0..flows {
        model.auto(at(env("GAP", 0.37) * n as f64), Bitrate::bps(bps as u64 * 20));
    }
    if env("CHANGE", 0.0) > 0.0 {
        model.change(at(env("CHANGE", 0.0)), Bitrate::bps((bps * env("TIMES", 2.0)) as u64));
    }
    let mut t = env("FROM", 0.0);
    while t < env("TO", 20.0) {
        t += rtt / 2.0;
        model.run(at(t));
        let flows: std::string::String = (0..flows.min(3))
            .map(|f| {
                let c = model.control(f);
                let v = c.last;
                std::format!(
                    " | {:7.3} of {:7.3} sees {:6.1} wants {:6.1} v {:.2} {}",
                    model.rate(f) / 1e6,
                    v.map_or(0.0, |v| v.passed * 8e-6),
                    v.map_or(0.0, |v| v.standing * 1e3),
                    v.map_or(0.0, |v| c.wanted(v.passed, v.rtt) * 1e3),
                    f64::from(c.idle),
                    if c.drain.on { "D" } else { " " }
                )
            })
            .collect();
        println!("{t:6.2} backlog {:6.1}{flows}", model.backlog() * 1e3);
    }
}

/// Runs to `end` in steps and returns delivered bit/s of `flow` in each.
fn course(model: &mut Model, flow: usize, (from, end, step): (f64, f64, f64)) -> Vec<(f64, f64)> {
    let mut course = Vec::new();
    let mut t = from;
    let mut before = model.seen[flow].delivered;
    while t < end {
        t += step;
        model.run(at(t));
        let now = model.seen[flow].delivered;
        course.push((t, (now - before) as f64 * SIZE as f64 * 8.0 / step));
        before = now;
    }
    course
}

#[test]
fn explore_dynamics() {
    for (name, bps, rtt) in
        [("sat", 1e6, 0.484), ("10M20", 1e7, 0.02), ("10M100", 1e7, 0.1), ("100M100", 1e8, 0.1)]
    {
        let warm = 60.0;
        let limit = f64::max(1.0, 5.0 * rtt);
        for (what, before, after, cross) in [
            ("start", 1.0, 1.0, 0.0),
            ("halved", 1.0, 0.5, 0.0),
            ("doubled", 0.5, 1.0, 0.0),
            ("cross in", 1.0, 1.0, 0.5),
            ("cross out", 1.0, 1.0, -0.5),
        ] {
            for loss in [0.0, 0.01, 0.1] {
                let mut link = path(bps, rtt, 1.0, loss);
                link.rate = Bitrate::bps((bps * before) as u64);
                let mut model = Model::new(link, 3);
                let flow = model.auto(at(0.0), Bitrate::bps(bps as u64 * 20));
                let change = if what == "start" { 0.0 } else { warm };
                if cross > 0.0 {
                    model.constant(at(warm), at(1e6), Bitrate::bps((bps * cross) as u64));
                }
                if cross < 0.0 {
                    model.constant(at(1.0), at(warm), Bitrate::bps((bps * -cross) as u64));
                }
                model.change(at(warm), Bitrate::bps((bps * after) as u64));
                model.run(at(change));
                model.reset();
                let share = bps * after - if cross > 0.0 { bps * cross } else { 0.0 };
                let step = if bps < 2e6 { 0.25 } else { rtt.max(0.02) };
                let mut flows = course(&mut model, flow, (change, change + 4.0 * limit, step));
                // Delay to the receiver is not the controller's: half a round trip off.
                let reached = flows.iter().find(|(t, r)| {
                    *t > change + rtt / 2.0
                        && (*r / share / (1.0 - loss)) >= 0.9
                        && *r / share <= 1.12
                });
                let lost: u64 = model.seen.iter().map(|s| s.overflowed).sum();
                let sent: u64 = model.seen.iter().map(|s| s.sent).sum();
                println!(
                    "{name:8} {what:9} loss {loss:4}: 90 % after {:.2} s = {:.1} rtt (limit {limit:.2}) lost {:.4} p99 queue {:.2} rtt last {:.2}",
                    reached.map_or(f64::NAN, |(t, _)| t - change),
                    reached.map_or(f64::NAN, |(t, _)| (t - change) / rtt),
                    lost as f64 / sent as f64,
                    percentile(&mut model.delays, 0.99) / rtt,
                    flows.pop().unwrap().1 / share
                );
            }
        }
    }
}

#[test]
fn explore_tcp() {
    for (name, bps, rtt) in [("sat", 1e6, 0.484), ("10M20", 1e7, 0.02), ("10M100", 1e7, 0.1)] {
        let seconds = if bps < 2e6 { 400.0 } else { 100.0 };
        for buffer in [0.5, 1.0, 2.0] {
            for cubic in [true, false] {
                for loss in [0.0, 0.01] {
                    let link = path(bps, rtt, buffer, loss);
                    let mut share = [0.0; 2];
                    let mut others = 0.0;
                    for (n, tcp) in [(0, 10), (1, 5)] {
                        let mut model = Model::new(link.clone(), 5);
                        for i in 0..10 {
                            let start = at(0.37 * i as f64);
                            if i % 2 == 0 || tcp == 10 {
                                model.tcp(start, cubic);
                            } else {
                                model.auto(start, Bitrate::bps(bps as u64 * 20));
                            }
                        }
                        model.run(at(seconds / 4.0));
                        model.reset();
                        model.run(at(seconds * 1.25));
                        let sum = |odd| {
                            let seen = model.seen.iter().enumerate().filter(|(i, _)| i % 2 == odd);
                            seen.map(|(_, s)| s.delivered as f64).sum::<f64>() * SIZE as f64 * 8.0
                                / seconds
                                / bps
                        };
                        share[n] = sum(0);
                        others = sum(1);
                    }
                    println!(
                        "{name:8} cubic {cubic:5} buffer {buffer} loss {loss}: five TCP beside TCP {:.3} beside auto {:.3} ratio {:.2}; auto gets {others:.3}",
                        share[0],
                        share[1],
                        share[1] / share[0]
                    );
                }
            }
        }
    }
}
