//! A sender that crashes and restarts is a new instance. Nothing of the old instance is mixed in.

use fanfare_proto::{Event, SenderConfig};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Link, Object};

#[test]
fn a_restarted_sender_delivers_its_new_objects() {
    // crash after 300 ms in an object of 700 ms, back after 1 s; loss 5 %, delay 5 ms, seed 1
    let report = plan(1)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.05))
        .send(Object::file("lost", 800_000))
        .at(ms(300), Change::Crash(SENDER))
        .at(secs(1), Change::Start(SENDER))
        .at(ms(1_001), Change::Send(SENDER, Object::file("second life", 400_000)))
        .run_until_second_life();
    let second = report.offers[1].key;
    for n in 1..=3 {
        let had = report.host(Host(n)).completed(second).is_some();
        report.check(had, "the object of the second life arrives");
        let resets = report.events(Host(n), |event| match event {
            Event::SenderReset { instance, .. } => Some(*instance),
            _ => None,
        });
        report.check(resets == [second.instance], "the new life is announced once");
    }
    report.check_content();
}

/// The object of the first life can never be completed: the run goes to its limit.
trait SecondLife {
    fn run_until_second_life(self) -> fanfare_sim::Report;
}

impl SecondLife for fanfare_sim::Plan {
    fn run_until_second_life(self) -> fanfare_sim::Report {
        self.until(fanfare_sim::Until::Limit, secs(30)).run()
    }
}
