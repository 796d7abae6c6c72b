use std::{collections::BTreeMap, vec};

use super::*;
use crate::monitor::share::hearing::ALL;

fn at(millis: u64) -> Time {
    Time::ZERO.plus(Duration::from_millis(millis))
}

/// Monitors that hear each other as `hears` says, driven for so long.
struct Field {
    monitors: BTreeMap<u32, Monitor>,
    /// Bytes that each has put on the air.
    sent: BTreeMap<u32, u64>,
    now: u64,
}

impl Field {
    fn new(count: u32, config: Config) -> Self {
        let one =
            |id| (id, Monitor::new(config, NodeId(id), &std::format!("n{id}"), id.into(), at(0)));
        Self { monitors: (1..=count).map(one).collect(), sent: BTreeMap::new(), now: 0 }
    }

    fn hear(&mut self, hears: impl Fn(u32, u32) -> bool) {
        let ids: Vec<u32> = self.monitors.keys().copied().collect();
        let all = ids.iter().flat_map(|a| ids.iter().map(move |b| (*a, *b)));
        let pairs: Vec<_> = all
            .filter(|(a, b)| a != b && hears(*a, *b))
            .map(|(a, b)| (NodeId(a), NodeId(b), ALL))
            .collect();
        let hearing = Hearing::of(pairs);
        self.monitors.values_mut().for_each(|one| one.set_hearing(hearing.clone()));
    }

    fn run(&mut self, millis: u64, hears: impl Fn(u32, u32) -> bool) {
        for _ in 0..millis / 50 {
            self.now += 50;
            let now = at(self.now);
            let mut said = Vec::new();
            for (id, one) in &mut self.monitors {
                one.handle_timeout(now);
                if let Some(note) = one.poll_note(now) {
                    *self.sent.entry(*id).or_default() += (note.len() + HEADERS) as u64;
                    said.push((*id, note));
                }
            }
            for (from, note) in said {
                for (id, one) in self.monitors.iter_mut().filter(|(id, _)| **id != from) {
                    if hears(*id, from) {
                        one.on_note(now, NodeId(from), &note);
                    }
                }
            }
        }
    }

    fn facts(&mut self, id: u32, sent: f64) {
        let facts = Facts { sent: Some(sent), processor: Some(0.1), ..Facts::default() };
        let now = at(self.now);
        if let Some(one) = self.monitors.get_mut(&id) {
            one.set_facts(now, facts);
        }
    }
}

#[test]
fn all_know_all_numbers_and_names_within_seconds_where_all_hear_all() {
    let mut field = Field::new(6, Config { capacity: Bitrate::mbps(1), ..Config::default() });
    (1..=6).for_each(|id| field.facts(id, 1000.0 * f64::from(id)));
    field.run(15_000, |_, _| true);
    for one in field.monitors.values() {
        assert_eq!(one.world().nodes().len(), 6);
        let told = one.world().facts(NodeId(3)).unwrap().sent.unwrap();
        assert!((told / 3000.0 - 1.0).abs() < 0.05, "{told}");
        assert_eq!(one.label(NodeId(3)), "n3");
    }
}

#[test]
fn what_one_end_of_a_chain_says_reaches_the_other_and_is_told_from_the_nearest() {
    let chain = |a: u32, b: u32| a.abs_diff(b) == 1;
    let mut field = Field::new(5, Config { capacity: Bitrate::mbps(1), ..Config::default() });
    field.hear(chain);
    for _ in 0..60 {
        (1..=5).for_each(|id| field.facts(id, 1000.0));
        field.run(1_000, chain);
    }
    let far = field.monitors[&5].world().get(NodeId(1), Block::Node).unwrap();
    assert_eq!((far.hop, far.closeness), (3, 1), "through 2, 3 and 4");
    assert!(far.age(at(field.now)) < Duration::from_secs(30));
}

#[test]
fn all_together_stay_below_their_share_of_the_channel() {
    for count in [4, 24, 96] {
        let capacity = Bitrate::bps(218_750);
        let mut field = Field::new(count, Config { capacity, ..Config::default() });
        // Everything changes all the time.
        for turn in 0..30_u32 {
            (1..=count).for_each(|id| field.facts(id, f64::from(1 + turn % 2 * 4) * 10_000.0));
            field.run(10_000, |_, _| true);
        }
        let bits = field.sent.values().sum::<u64>() as f64 * 8.0;
        let share = bits / (field.now as f64 / 1000.0) / 218_750.0;
        assert!(share <= 0.0205, "{count} nodes: {share}");
    }
}

#[test]
fn who_falls_silent_is_told_and_then_forgotten_and_welcomed_when_it_is_back() {
    let mut field = Field::new(3, Config { capacity: Bitrate::mbps(1), ..Config::default() });
    (1..=3).for_each(|id| field.facts(id, 1000.0));
    field.run(60_000, |_, _| true);
    let events = |field: &mut Field| {
        let one = field.monitors.get_mut(&1).unwrap();
        core::iter::from_fn(|| one.poll_event()).collect::<Vec<_>>()
    };
    assert_eq!(events(&mut field).len(), 2);
    let two = field.monitors.remove(&2).unwrap();
    field.run(40_000, |_, _| true);
    assert_eq!(events(&mut field), [Event::Silent(NodeId(2))]);
    field.run(120_000, |_, _| true);
    assert_eq!(events(&mut field), [Event::Gone(NodeId(2))]);
    field.monitors.insert(2, two);
    field.run(10_000, |_, _| true);
    assert_eq!(events(&mut field), [Event::Up(NodeId(2))]);
}

#[test]
fn a_crowd_that_joins_at_once_does_not_speak_at_once() {
    let capacity = Bitrate::kbps(100);
    let mut field = Field::new(60, Config { capacity, ..Config::default() });
    (1..=60).for_each(|id| field.facts(id, 1000.0));
    field.run(10_000, |_, _| true);
    let bytes: u64 = field.sent.values().sum();
    // Ten seconds of the share are 2500 bytes. All of them once are 4500.
    assert!(bytes < 6 * 2500, "{bytes}");
}

#[test]
fn what_is_no_note_and_what_claims_to_be_about_oneself_changes_nothing() {
    let mut one = Monitor::new(Config::default(), NodeId(1), "a", 1, at(0));
    one.on_note(at(1), NodeId(2), &[9, 9]);
    let lie = Told {
        block: Block::Name,
        subject: NodeId(1),
        version: 200,
        age: Duration::ZERO,
        hop: 1,
        closeness: 0,
        content: b"b".to_vec(),
    };
    let note = Note { sectors: vec![lie], ..Note::default() };
    one.on_note(at(2), NodeId(2), &note.encode(NodeId(2)));
    assert_eq!(one.label(NodeId(1)), "a");
    assert_eq!((one.stats().notes_refused, one.stats().notes_heard), (1, 1));
}
