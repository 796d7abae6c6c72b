//! A late joiner that wants recent messages: it learns their ages from the publisher, or from
//! others when the publisher is gone.

use fanfare_messaging::{Filter, GroupConfig, History, Subscription, Topic};
use fanfare_scenarios::{SENDER, member, plan, secs};
use fanfare_sim::{Change, Host, Hosts, Link, Plan, Publication, Report, Until};

/// A message every 20 s for ten minutes.
const EVERY: u64 = 20;
const COUNT: u64 = 30;
/// Who comes late, a little after the last one.
const LATE: Host = Host(4);
const COMES: u64 = 605;
/// It wants what is younger.
const SINCE: u64 = 300;
/// Ages in sums of several messages are up to 8 s too young, at each of a few who pass them on; and messages wait
/// for repair in between.
const SLACK: u64 = 30;

fn all(history: History) -> Subscription {
    Subscription { history, ..Subscription::new(Filter::new("#").unwrap()) }
}

/// A publisher, three who listen from the start, and one who comes late; clocks run apart by up to
/// 200 ppm.
fn group(seed: u64, size: u64) -> Plan {
    let node = member();
    let plan = (0..=LATE.0).fold(plan(seed), |plan, _| plan.host(node.clone()));
    let plan = plan
        .cooperate(Hosts::All, GroupConfig::default())
        .subscribe(Hosts::Span(Host(1), Host(3)), &all(History::All))
        .subscribe(LATE, &all(History::Since(secs(SINCE))))
        .joins(LATE, secs(COMES))
        .drift(Host(1), 200)
        .drift(LATE, -200)
        .link(Link::default().loss(0.1))
        .until(Until::Limit, secs(COMES + 195));
    (0..COUNT).fold(plan, |plan, n| {
        let message = Publication::new(Topic::new("group/test").unwrap(), size, 1);
        plan.at(secs(n * EVERY), Change::Publish(SENDER, message))
    })
}

/// Of messages of which the n-th was published at 20 n s, those younger than five minutes when it came
/// are handed over, and none that is much older.
fn check(report: &Report) {
    let late = &report.hosts[usize::from(LATE.0)];
    let mut numbers: Vec<u64> = late.messages.iter().map(|(_, m)| m.description.number).collect();
    numbers.sort_unstable();
    let first = (COMES - SINCE).div_ceil(EVERY);
    let young: Vec<u64> = (first..COUNT).collect();
    let handed: Vec<u64> = numbers.iter().copied().filter(|number| *number >= first).collect();
    report.check(handed == young, &format!("all that is younger than {SINCE} s: {numbers:?}"));
    let oldest = (COMES - SINCE - SLACK).div_ceil(EVERY);
    report.check(numbers[0] >= oldest, &format!("nothing much older: {numbers:?}"));
}

#[test]
fn who_comes_late_gets_what_is_younger_and_not_what_is_older() {
    // 10 % loss of their own on all paths, seeds 1 to 3; messages of one symbol and of eight
    for (seed, size) in [(1, 200), (2, 200), (3, 11_000)] {
        check(&group(seed, size).run());
    }
}

#[test]
fn when_the_publisher_is_gone_the_others_say_how_old_its_messages_are() {
    // As above; the publisher dies before the late one comes, seeds 4 to 6
    for (seed, size) in [(4, 200), (5, 200), (6, 11_000)] {
        check(&group(seed, size).at(secs(COMES - 3), Change::Crash(SENDER)).run());
    }
}

#[test]
fn ages_outlive_all_who_were_there_when_it_was_published() {
    // The only one left came itself at 400 s, and took all then; 10 % loss, seed 7
    let report = group(7, 200)
        .joins(Host(3), secs(400))
        .at(secs(COMES - 3), Change::Crash(SENDER))
        .at(secs(COMES - 3), Change::Crash(Host(1)))
        .at(secs(COMES - 3), Change::Crash(Host(2)))
        .run();
    check(&report);
}
