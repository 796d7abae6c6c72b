//! Random groups that find their rates: all who stay are given everything, and what is sent stays within a multiple
//! of what the medium carries.
//!
//! `FANFARE_GROUPS=2000` draws more than CI does; `FANFARE_SEED=N` runs one of them.

use core::fmt;
use fanfare_messaging::{Filter, GroupConfig, Subscription, Topic};
use fanfare_proto::{
    Bitrate, Duration, ReceiverConfig, SenderConfig, SessionConfig, Time, rng::Rng,
};
use fanfare_scenarios::{chosen_seed, ms};
use fanfare_sim::{
    Change, Hop, Host, Hosts, Link, Loss, Medium, Plan, Publication, Queue, Report, Router, Until,
};

/// As many as take some seconds.
const GROUPS: u64 = 30;
/// What is sent in a run is no more than so many times what was published and what loss needs, and what a group says
/// by itself. Where nine members request small messages over a slow line, and one that was gone asks for all of them,
/// it was up to nine times in the worst of 67 groups.
const MOST: f64 = 10.0;
/// Bytes a second that each member may say by itself.
const BY_ITSELF: f64 = 200.0;

/// Between both, as often in each octave.
fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// Chance that something is so.
fn often(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// What members share.
#[derive(Debug, Clone, Copy)]
enum Shared {
    /// A line that everything goes over.
    Line,
    /// A port to the last member; the others hear each other at once.
    Port,
    /// A radio.
    Air,
}

/// A group and what is published in it.
struct RandomGroup {
    seed: u64,
    shared: Shared,
    rate: f64,
    one_way: f64,
    lost: f64,
    members: u16,
    publishers: u16,
    size: u64,
    count: u64,
    /// One that publishes nothing is gone for a while, or for ever.
    leaves: Option<(Host, f64, Option<f64>)>,
}

impl fmt::Display for RandomGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, shared, rate, one_way, lost, members, publishers, size, count, leaves } =
            self;
        write!(
            f,
            "group {seed}: {publishers} of {members} publish {count} of {size} bytes, {shared:?}, {:.0} kbit/s, \
             {:.1} ms, loss {lost:.3}, {leaves:?}",
            rate / 1e3,
            one_way * 1e3,
        )
    }
}

impl RandomGroup {
    fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let shared = [Shared::Line, Shared::Port, Shared::Air][rng.below(3) as usize];
        let rate = between(rng, 64e3, 20e6);
        let one_way = between(rng, 0.1e-3, 0.2);
        let lost = if often(rng, 50) { between(rng, 0.001, 0.2) } else { 0.0 };
        let members = 2 + rng.below(8) as u16;
        let publishers = 1 + rng.below(u64::from(members) - 1) as u16;
        let size = between(rng, 20.0, 200e3) as u64;
        let seconds = between(rng, 1.0, 10.0);
        let bytes = (rate / 8.0 * seconds / f64::from(publishers)).min(1e6);
        let count = (bytes / (size as f64 + 50.0)).clamp(1.0, 200.0) as u64;
        let leaves = (often(rng, 30) && publishers + 1 < members).then(|| {
            let back = often(rng, 50).then(|| between(rng, 1.0, 20.0));
            (Host(members - 1), between(rng, 1.0, 10.0), back)
        });
        Self { seed, shared, rate, one_way, lost, members, publishers, size, count, leaves }
    }

    /// Bytes published by all.
    fn bytes(&self) -> f64 {
        f64::from(self.publishers) * self.count as f64 * (self.size as f64 + 80.0)
    }

    /// Seconds that it may take: what it must with the right rate, and time to tell what is missing.
    fn limit(&self) -> Duration {
        let must = self.bytes() * 8.0 / (self.rate * (1.0 - self.lost));
        Duration::from_secs_f64(300.0 + 10.0 * must)
    }

    fn plan(&self) -> Plan {
        let member = SessionConfig {
            sender: Some(SenderConfig::adaptive()),
            receiver: Some(ReceiverConfig { objects_max: 1024, ..ReceiverConfig::default() }),
            ..SessionConfig::default()
        };
        let everything = Subscription::new(Filter::new("#").unwrap());
        let plan =
            (0..self.members).fold(Plan::new(self.seed), |plan, _| plan.host(member.clone()));
        let mut plan = plan
            .named("random_groups")
            .cooperate(Hosts::All, GroupConfig::default())
            .subscribe(Hosts::All, &everything);
        let rate = Bitrate::bps(self.rate as u64);
        let delay = Duration::from_secs_f64(self.one_way);
        let queue = Queue::bdp(1.0, (delay * 2).max(ms(100)));
        let slow =
            Hop::from(Link::default().delay(delay).rate(rate, 0).loss(self.lost)).queue(queue);
        let wire = Hop::from(Link::wire());
        let hosts = (0..self.members).map(Host);
        match self.shared {
            Shared::Line => {
                plan = plan.hop(Router(0), Router(1), slow);
                for host in hosts {
                    plan = plan.hop(host, Router(0), wire).hop(Router(1), host, wire);
                }
            }
            Shared::Port => {
                let last = Host(self.members - 1);
                for host in hosts.filter(|host| *host != last) {
                    plan = plan.wire(host, Router(0), wire);
                }
                let back = Hop::from(Link::default().delay(delay));
                plan = plan.hop(Router(0), last, slow).hop(last, Router(0), back);
            }
            Shared::Air => {
                let medium = Medium::new(rate).delay(delay).queue(queue);
                plan = plan.medium(medium.loss(Loss::Independent(self.lost)).nodes(hosts));
            }
        }
        for host in 0..self.publishers {
            let topic = Topic::new(&format!("random/{host}")).unwrap();
            let begin = ms(1000 + 500 * u64::from(host));
            let messages = Publication::new(topic, self.size, self.count);
            plan = plan.at(begin, Change::Publish(Host(host), messages));
        }
        if let Some((host, at, back)) = self.leaves {
            let at = Duration::from_secs_f64(at);
            plan = plan.at(at, Change::Crash(host));
            if let Some(back) = back {
                plan = plan.at(at + Duration::from_secs_f64(back), Change::Start(host));
            }
        }
        plan.until(Until::Complete, self.limit())
    }

    /// Faults of a run.
    fn judge(&self, report: &Report) -> Vec<String> {
        let mut wrong = Vec::new();
        let all = u64::from(self.publishers) * self.count;
        for host in 0..self.members {
            // Who came back has a new memory, and was not asked for what came before.
            if self.leaves.is_some_and(|(gone, ..)| gone == Host(host)) {
                continue;
            }
            let own = if host < self.publishers { self.count } else { 0 };
            let given = report.hosts[usize::from(host)].messages.len() as u64;
            if given != all - own {
                wrong.push(format!("member {host} was given {given} of {} messages", all - own));
            }
        }
        let took = report.ended.since(Time::ZERO);
        if took >= self.limit() {
            wrong.push(format!("has not ended after {:?}", self.limit()));
        }
        let sent = report.sum(|stats| stats.bytes_sent) as f64;
        let by_itself = f64::from(self.members) * BY_ITSELF * (took.as_secs_f64() + 10.0);
        let may = MOST * self.bytes() / (1.0 - self.lost) + by_itself + 20e3;
        if sent > may {
            wrong.push(format!("sent {sent:.0} bytes, more than {may:.0}"));
        }
        wrong
    }
}

#[test]
fn in_random_groups_all_who_stay_are_given_everything_and_little_else_is_sent() {
    let count =
        std::env::var("FANFARE_GROUPS").ok().and_then(|text| text.parse().ok()).unwrap_or(GROUPS);
    let seeds = chosen_seed().map_or(1..1 + count, |seed| seed..seed + 1);
    let mut failed = Vec::new();
    for seed in seeds {
        let group = RandomGroup::new(seed);
        let report = group.plan().run();
        let sent = report.sum(|stats| stats.bytes_sent);
        eprintln!(
            "{group}: ended {:.1} s, sent {:.2}",
            report.ended.as_nanos() as f64 / 1e9,
            sent as f64 / group.bytes(),
        );
        failed.extend(group.judge(&report).into_iter().map(|what| format!("{group}: {what}")));
    }
    assert!(failed.is_empty(), "{} wrong:\n{}", failed.len(), failed.join("\n"));
}
