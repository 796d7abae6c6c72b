//! Several messages as one: what subscribers get is what they would get of each alone.

use super::*;
use crate::{batch, batcher::Batcher};
use alloc::{borrow::ToOwned, string::String};
use fanfare_proto::{Storage, rng::Rng};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

/// What a subscriber was given, message by message.
fn said(bus: &mut Bus, node: usize) -> Vec<(String, u64, Vec<u8>)> {
    let delivered: Vec<Delivered> = bus.messages(node).into_iter().cloned().collect();
    let mut said = Vec::new();
    for Delivered { key, size, description, members, .. } in delivered {
        let content = description.content.clone().unwrap_or_else(|| {
            let mut bytes = vec![0; size as usize];
            bus.nodes[node].1.read(key, 0, &mut bytes).unwrap();
            bytes
        });
        let topic = description.topic.as_str().to_owned();
        let Some(count) = description.batch else {
            said.push((topic, description.number, content));
            continue;
        };
        assert!(batch::holds(&content, count));
        for (member, message) in batch::messages(&content).enumerate() {
            if members.contains(&(member as u32)) {
                said.push((topic.clone(), description.number + member as u64, message.to_vec()));
            }
        }
    }
    said
}

impl Bus {
    fn publish_batch(&mut self, node: usize, batch: &Batch) -> Published {
        let (node, storage) = &mut self.nodes[node];
        if let Some(only) = batch.only() {
            let published = node.publish(self.now, &batch.topic, only, batch.options).unwrap();
            storage.put(published.key, only.to_vec());
            return published;
        }
        let published = node.publish_batch(self.now, batch, batch.options).unwrap();
        storage.put(published.key, batch.content.clone());
        published
    }
}

fn batch_of(topic: &str, messages: &[&[u8]]) -> Batch {
    let (topic, options, mut content) =
        (Topic::new(topic).unwrap(), Options::default(), Vec::new());
    messages.iter().for_each(|message| batch::append(message, &mut content));
    Batch { topic, options, content, messages: messages.len() as u32 }
}

#[test]
fn messages_that_travel_together_are_delivered_one_by_one_and_numbered_on() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    let short = batch_of("a", &[b"one", b"two", b"three"]);
    assert!(bus.publish_batch(0, &short).inline);
    let long = batch_of("a", &[&bytes(400), &bytes(300), b"six"]);
    assert!(!bus.publish_batch(0, &long).inline);
    bus.publish(0, "a", b"seven", Options::default());
    bus.run(5, &mut none);
    let numbers: Vec<u64> = said(&mut bus, 1).into_iter().map(|(_, number, _)| number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(said(&mut bus, 1)[4].2, bytes(300));
}

#[test]
fn of_messages_that_travel_together_only_the_last_is_the_latest() {
    let mut bus = Bus::new(2);
    let all = Subscription::new(Filter::new("#").unwrap());
    let latest = Subscription { ordering: Ordering::Latest, ..all };
    let now = bus.now;
    bus.nodes[1].0.subscribe(now, latest);
    bus.publish_batch(0, &batch_of("a", &[b"old", b"older", b"new"]));
    bus.run(5, &mut none);
    assert_eq!(said(&mut bus, 1), [("a".to_owned(), 2, b"new".to_vec())]);
}

#[test]
fn a_late_subscriber_gets_messages_that_travelled_together_from_others_when_their_publisher_is_gone()
 {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    bus.publish_batch(0, &batch_of("a", &[b"one", b"two"]));
    bus.publish_batch(0, &batch_of("a", &[&bytes(450), &bytes(450)]));
    bus.run(5, &mut |from, to, _| from == 2 || to == 2);
    bus.subscribe(2, "#");
    bus.run(120, &mut |from, to, _| from == 0 || to == 0);
    assert_eq!(said(&mut bus, 2).len(), 4);
    assert_eq!(said(&mut bus, 2), said(&mut bus, 1));
}

/// A publisher whose messages are wanted soon, a second ago, and two who hear it.
fn prompt() -> Bus {
    let mut bus = Bus::new(3);
    [1, 2].into_iter().for_each(|node| _ = bus.subscribe(node, "#"));
    let now = bus.now;
    bus.nodes[0].0.session().sender().set_rate(Bitrate::mbps(10));
    bus.greets();
    bus.run(3, &mut none);
    bus.nodes[0].0.set_prompt(now + Duration::from_secs(3));
    bus.run(1, &mut none);
    bus
}

#[test]
fn a_publisher_of_prompt_messages_knows_how_near_a_few_are_before_it_publishes() {
    let mut bus = prompt();
    let grtt = bus.nodes[0].0.session().sender().grtt();
    assert!(grtt <= Duration::from_millis(2), "{grtt:?}");
}

#[test]
fn a_publisher_of_prompt_messages_that_has_just_come_knows_so_within_a_second() {
    let mut bus = Bus::new(2);
    [0, 1].into_iter().for_each(|node| _ = bus.subscribe(node, "#"));
    bus.greets();
    bus.run(60, &mut none);
    let publisher = bus.join();
    bus.greets();
    let now = bus.now;
    bus.nodes[publisher].0.set_prompt(now);
    bus.run(1, &mut none);
    let grtt = bus.nodes[publisher].0.session().sender().grtt();
    // As long as a packet takes at its rate.
    assert!(grtt <= Duration::from_millis(5), "{grtt:?}");
}

#[test]
fn the_last_of_a_burst_that_is_lost_is_there_within_a_few_round_trips() {
    let mut bus = prompt();
    for number in 0..20 {
        bus.publish(0, "a", &bytes(100 + number), Options::default());
    }
    // Of the last message the first copy, and the flush behind it.
    let (mut copies, mut flushes) = (0, 0);
    bus.run_for(Duration::from_millis(50), &mut |from, to, message| {
        let last = matches!(message, Message::Info(info) if info.object_transport_id.0 == 19);
        let flush = matches!(message, Message::Cmd(fanfare_wire::Cmd::Flush(_)));
        copies += u32::from(last && to == 1);
        flushes += u32::from(flush && to == 1);
        from == 0 && to == 1 && (last && copies == 1 || flush && flushes == 1)
    });
    assert!(copies >= 2 && flushes >= 2, "{copies} {flushes}");
    assert_eq!(bus.messages(1).len(), 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn messages_that_travel_together_come_in_the_order_in_which_they_come_alone(
        said_what in proptest::collection::vec((0..3_usize, 0..300_usize, 0..3_u64), 1..60),
        by_topic: bool, seed: u64,
    ) {
        let mut runs = [true, false].map(|together| {
            let mut bus = Bus::new(3);
            let ordering = if by_topic { Ordering::SourceTopic } else { Ordering::Source };
            let all = Subscription::new(Filter::new("#").unwrap());
            for node in [1, 2] {
                let now = bus.now;
                bus.nodes[node].0.subscribe(now, Subscription { ordering, ..all.clone() });
            }
            bus.run(1, &mut none);
            let mut rng = Rng::new(seed);
            let mut batcher = Batcher::new(bus.now);
            for (number, (topic, size, pause)) in said_what.iter().enumerate() {
                let topic = Topic::new(["a", "b", "c/d"][*topic]).unwrap();
                let message = [&number.to_be_bytes()[..], &vec![1; *size]].concat();
                batcher.add(&topic, &Options::default(), &message);
                if !together || *pause > 0 {
                    batcher.flush();
                    while let Some(batch) = batcher.poll(bus.now) {
                        bus.publish_batch(0, &batch);
                    }
                    bus.run_for(Duration::from_millis(*pause), &mut |_, _, _| rng.unit() < 0.2);
                }
            }
            batcher.flush();
            while let Some(batch) = batcher.poll(bus.now) {
                bus.publish_batch(0, &batch);
            }
            bus.run(200, &mut |_, _, _| rng.unit() < 0.2);
            [said(&mut bus, 1), said(&mut bus, 2)]
        });
        if by_topic {
            // What is of different topics may pass each other.
            runs.iter_mut().flatten().for_each(|said| said.sort());
        }
        prop_assert_eq!(runs[0][0].len(), said_what.len());
        prop_assert_eq!(&runs[0], &runs[1]);
        prop_assert_eq!(&runs[0][0], &runs[0][1]);
    }
}
