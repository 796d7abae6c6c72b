//! What crosses a relay beside files: streams, messages of groups, layers.

use std::{fs, path::Path};

use crate::world::World;

const STREAMS: &str = "239.255.42.3:6005";
const MESSAGES: &str = "239.255.42.2:6004";
const LAYERS: &str = "239.255.42.1:6003";

fn content(count: usize) -> Vec<u8> {
    (0..count as u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .take(count)
        .collect()
}

#[test]
fn a_stream_reaches_receivers_of_all_islands_whole() {
    let world = World::new();
    let _relays = world.relays_of(STREAMS);
    let sent = content(3_000_000);
    let file = world.dir.join("stream");
    fs::write(&file, &sent).unwrap();
    let receive = |island: u8| {
        let out = world.dir.join(format!("out{island}"));
        let words = format!("pipe recv --interface isl0 --name r{island} --timeout 60s");
        world.start_between(island, &words, None, Some(&out))
    };
    let receivers: Vec<_> = (1..=3).map(receive).collect();
    let words = "pipe send --interface isl0 --expect 3 --wait 60s --rate 20M";
    world.start_between(1, words, Some(&file), None).expect(0);
    receivers.into_iter().for_each(|receiver| receiver.expect(0));
    for island in 1..=3 {
        assert!(fs::read(world.dir.join(format!("out{island}"))).unwrap() == sent, "{island}");
    }
}

#[test]
fn messages_of_a_group_reach_subscribers_of_all_islands_once() {
    let world = World::new();
    let _relays = world.relays_of(MESSAGES);
    let count = 200;
    let subscribe = |island: u8| {
        let words = format!("sub # --interface isl0 --count {count}");
        let mut running = world.start(island, &words);
        running.wait_for("start");
        running
    };
    let subscribers: Vec<_> = (1..=3).map(subscribe).collect();
    let lines: String = (0..count).map(|n| format!("line {n}\n")).collect();
    let file = world.dir.join("lines");
    fs::write(&file, lines).unwrap();
    // From an island at the end, so that two relays are between it and the other end.
    let words = format!("pub news/today {} --lines --interface isl0 --rate 1M", file.display());
    let publisher = world.start(2, &words).end();
    assert_eq!(publisher.last().unwrap()["exit"], 0, "{publisher:#?}");
    for subscriber in subscribers {
        let told = subscriber.end();
        let messages = told.iter().filter(|line| line["event"] == "message");
        let mut texts: Vec<String> = messages.map(|line| line["text"].to_string()).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), count, "{:#?}", told.last());
    }
}

#[test]
fn a_file_in_layers_reaches_receivers_of_all_islands() {
    let world = World::new();
    let _relays = world.relays_of(LAYERS);
    let sent = content(400_000);
    let file = world.dir.join("map");
    fs::write(&file, &sent).unwrap();
    let receive = |island: u8| {
        let dir = world.dir.join(format!("in{island}"));
        let words = format!("recv {} --create-dirs --once --interface isl0", dir.display());
        let mut running = world.start(island, &words);
        running.wait_for("start");
        (running, dir)
    };
    let receivers: Vec<_> = (1..=3).map(receive).collect();
    let words = format!("send {} --layers 500k,500k,1M --for 40s --interface isl0", file.display());
    let _sender = world.start(1, &words);
    for (receiver, dir) in receivers {
        let told = receiver.end();
        assert_eq!(told.last().unwrap()["exit"], 0, "{told:#?}");
        assert!(fs::read(Path::new(&dir).join("map")).unwrap() == sent);
    }
}
