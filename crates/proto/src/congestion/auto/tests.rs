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
        if std::env::var("ONLY").is_ok_and(|only| only != name) { continue; }
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
    let mut t = env("FROM", 0.0);
    while t < env("TO", 20.0) {
        t += rtt / 2.0;
        model.run(at(t));
        let flows: std::string::String = (0..flows.min(3)).map(|f| {
            let c = model.control(f);
            let v = c.last;
            std::format!(" | {:7.3} of {:7.3} sees {:6.1} wants {:6.1} v {:.2} {}", model.rate(f) / 1e6, v.map_or(0.0, |v| v.passed * 8e-6), v.map_or(0.0, |v| v.standing * 1e3), v.map_or(0.0, |v| c.wanted(v.passed) * 1e3), f64::from(c.idle), if c.drain.on { "D" } else { " " })
        }).collect();
        println!("{t:6.2} backlog {:6.1}{flows}", model.backlog() * 1e3);
    }
}
