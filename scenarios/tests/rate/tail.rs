//! Receivers that are much slower than the others are finished after them, and do not hold them up.

use fanfare_proto::{
    Bitrate, CongestionControl, DropReason, Duration, SenderConfig, TailPolicy, Time,
};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Hosts, Link, Object, Plan, Report, Until};

const BYTES: u64 = 8_000_000;
const FAST: Bitrate = Bitrate::mbps(100);
const BY_MIDDLE: TailPolicy = TailPolicy { min_rate: None };

/// The others are held up for so long at most before it shows who is slow. That takes three reports of a
/// second each at 100 Mbit/s, of which the first one comes at once. Measured: 2.1 s. A transfer of many seconds does
/// not feel it; of one of 1.4 s it is the greater part.
const SHOWS: f64 = 2.2;

/// 5 ms there, and a queue of 50 ms.
fn line(rate: Bitrate) -> Link {
    Link::default().delay(ms(5)).rate(rate, rate.as_bps() / 8 / 20)
}

/// 8 MB under `auto` to so many receivers on lines of 100 Mbit/s; the last of them have others.
fn star(seed: u64, receivers: u16, slow: &[Link]) -> Plan {
    let all = (1..=receivers).map(Host).collect();
    let sender = SenderConfig {
        rate: Bitrate::mbps(1000),
        congestion: CongestionControl::Auto,
        ..SenderConfig::default()
    };
    let mut plan =
        plan(seed).sender(sender).receivers(receivers).link(Link::default().delay(ms(5)));
    plan = plan.path(SENDER, Hosts::Span(Host(1), Host(receivers)), line(FAST));
    for (n, link) in slow.iter().enumerate() {
        plan = plan.path(SENDER, Host(receivers - n as u16), *link);
    }
    plan.at(ms(1), Change::Hold(SENDER, true))
        .at(ms(2), Change::RollCall(SENDER, secs(2)))
        .at(ms(100), Change::Watermark(SENDER, all))
        .at(ms(100), Change::Hold(SENDER, false))
        .send(Object::file("image", BYTES))
        .until(Until::Limit, secs(200))
}

fn tail(plan: Plan, policy: TailPolicy) -> Plan {
    plan.at(ms(0), Change::Tail(SENDER, Some(policy)))
}

/// Time at which the last of these hosts was complete.
fn complete(report: &Report, hosts: core::ops::RangeInclusive<u16>) -> Duration {
    let at = hosts.map(|host| {
        let done = report.host(Host(host)).completions.first();
        report.check(done.is_some(), &format!("host {host} is complete"));
        done.map_or(Time::FAR_FUTURE, |done| done.at)
    });
    at.max().unwrap_or(Time::ZERO).since(Time::ZERO + ms(100))
}

/// The fast ones with the slow ones, and without them, by `policy`; the slow ones come after them.
fn check(seed: u64, fast: u16, slow: &[Link], policy: TailPolicy) {
    let receivers = fast + slow.len() as u16;
    let alone = complete(&star(seed, fast, &[]).run(), 1..=fast);
    let report = tail(star(seed, receivers, slow), policy).run();
    let beside = complete(&report, 1..=fast);
    report.check(
        beside.as_secs_f64() <= 1.2 * alone.as_secs_f64() + SHOWS,
        &format!("seed {seed}: {alone:?} alone, {beside:?} beside {slow:?}"),
    );
    report.check(complete(&report, fast + 1..=receivers) > beside, "the slow ones come last");
    report.check_complete();
}

#[test]
fn two_receivers_are_held_up_by_a_slow_third_one_only_until_it_shows() {
    // the third has 2 or 20 of 100 Mbit/s, no loss, seeds 1 and 2
    for rate in [2, 20] {
        (1..=2).for_each(|seed| check(seed, 2, &[line(Bitrate::mbps(rate))], BY_MIDDLE));
    }
}

#[test]
fn seven_of_ten_are_held_up_by_three_of_several_rates_only_until_it_shows() {
    // the others have 3, 10 and 30 of 100 Mbit/s, no loss, seed 1
    let slow = [3, 10, 30].map(|rate| line(Bitrate::mbps(rate)));
    check(1, 7, &slow, BY_MIDDLE);
}

#[test]
fn who_is_below_the_least_rate_is_finished_last_even_where_most_are() {
    // two of three have 10 and 15 of 100 Mbit/s, the least rate is 40 Mbit/s, seeds 1 and 2
    let slow = [10, 15].map(|rate| line(Bitrate::mbps(rate)));
    let policy = TailPolicy { min_rate: Some(Bitrate::mbps(40)) };
    (1..=2).for_each(|seed| check(seed, 1, &slow, policy));
}

#[test]
fn who_loses_two_thirds_holds_up_the_others_only_until_it_shows() {
    // no line is slow, loss 67 % at the third, seeds 1 and 2
    (1..=2).for_each(|seed| check(seed, 2, &[line(FAST).loss(0.67)], BY_MIDDLE));
}

#[test]
fn where_all_are_slow_nobody_is_finished_last() {
    // all have 10 Mbit/s; the least rate is none, or 40 Mbit/s; no loss, seeds 1 to 3
    for min_rate in [None, Some(Bitrate::mbps(40))] {
        for seed in 1..=3 {
            let slow = [line(Bitrate::mbps(10)); 3];
            let kept = complete(&star(seed, 3, &slow).run(), 1..=3);
            let report = tail(star(seed, 3, &slow), TailPolicy { min_rate }).run();
            let put_off = report.host(SENDER).sum(|s| s.dropped(DropReason::Deferred));
            let times = [1, 2, 3].map(|host| complete(&report, host..=host));
            report.check(
                times.iter().all(|time| time.as_secs_f64() < 1.2 * kept.as_secs_f64()),
                &format!("seed {seed}, {min_rate:?}: {kept:?} when all are kept, {times:?}"),
            );
            report.check(put_off == 0, &format!("{put_off} requests were put off"));
        }
    }
}

#[test]
fn a_receiver_that_is_a_little_slower_than_the_others_is_followed() {
    // the third has 70 of 100 Mbit/s, no loss, seeds 1 to 3
    for seed in 1..=3 {
        let slow = [line(Bitrate::mbps(70))];
        let kept = complete(&star(seed, 3, &slow).run(), 1..=3);
        let report = tail(star(seed, 3, &slow), BY_MIDDLE).run();
        let all = complete(&report, 1..=3);
        report.check(
            all.as_secs_f64() < 1.3 * kept.as_secs_f64(),
            &format!("seed {seed}: {kept:?} when all are kept, {all:?}"),
        );
    }
}

#[test]
fn a_slow_receiver_that_becomes_fast_is_served_as_all_others_again() {
    // the third has 5 of 100 Mbit/s until 400 ms have passed, no loss, seeds 1 to 3; 80 MB
    for seed in 1..=3 {
        let plan = star(seed, 3, &[line(Bitrate::mbps(5))]).send(Object::file("more", 9 * BYTES));
        let fast = Change::Link(SENDER.into(), Host(3).into(), line(FAST));
        let report = tail(plan, BY_MIDDLE).at(ms(400), fast).run();
        report.check_complete();
        let last = |host| report.host(Host(host)).completions.iter().map(|done| done.at).max();
        let (one, third) = (last(1).unwrap_or_default(), last(3).unwrap_or_default());
        report.check(third.since(one) < secs(2), &format!("seed {seed}: {one}, {third}"));
    }
}
