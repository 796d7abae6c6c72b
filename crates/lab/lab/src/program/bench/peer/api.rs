//! A member of a group, by the library.

use std::time::Duration;

use fanfare_node::{
    Network,
    group::{Group, GroupEvent, GroupOptions, Watch},
    messaging::{Filter, Options, Subscription, Topic},
    proto::{Bitrate, SenderConfig},
};

use super::{
    End, Outcome, PeerArgs,
    stamps::{Arrivals, Stamper, now_ns},
    stay,
};

/// No message for so long: no more come.
const SILENCE: Duration = Duration::from_secs(20);

pub(super) fn run(args: &PeerArgs) -> Outcome {
    let sender = SenderConfig { rate: Bitrate::bps(args.rate), ..SenderConfig::default() };
    let network = Network::new(args.group.parse()?).interface(&args.interface);
    let network = network.shorten_segment().test_drop(args.loss / 100.0).sender_config(sender);
    let mut options = GroupOptions::default();
    options.config.repair_rate = Bitrate::bps(args.rate);
    options.publishes = args.end == End::Pub;
    let group = network.join(options)?;
    match args.end {
        End::Pub => publish(&group, args),
        End::Sub => subscribe(&group, args),
    }
}

fn publish(group: &Group, args: &PeerArgs) -> Outcome {
    let topic = Topic::new(&args.topic)?;
    let sender = group.sender(topic, Options::default(), Watch::Holders);
    // Members hear of each other before.
    std::thread::sleep(Duration::from_secs(1));
    let mut stamper = Stamper::new(args.size, args.paced);
    for _ in 0..args.messages {
        sender.send(stamper.wait())?;
    }
    sender.flush()?;
    stay();
    Ok(())
}

fn subscribe(group: &Group, args: &PeerArgs) -> Outcome {
    group.subscribe(Subscription::new(Filter::new(&args.topic)?))?;
    let mut arrivals = Arrivals::default();
    while arrivals.count() < args.messages {
        match group.next_batch(SILENCE) {
            Ok(GroupEvent::Message(message)) => {
                arrivals.on_message(now_ns(), message.body.bytes().unwrap_or_default());
            }
            Ok(GroupEvent::Batch(batch)) => {
                let now = now_ns();
                batch.iter().for_each(|(_, content)| arrivals.on_message(now, content));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    arrivals.tell();
    // Whoever lacks something may still ask.
    stay_a_while();
    Ok(())
}

fn stay_a_while() {
    std::thread::sleep(Duration::from_secs(1));
}
