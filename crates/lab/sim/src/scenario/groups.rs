//! `[[flow]]` of kind `fanfare-group`: nodes that publish, subscribe and repair for each other.

use fanfare_messaging::{
    Filter, GroupConfig, OBJECTS_IN_VIEW, SENDERS_IN_VIEW, Subscription, Topic,
};
use fanfare_proto::{Bitrate, Duration, ReceiverConfig, SenderConfig};

use super::{fields::Fields, flows::sender_config, nodes::Nodes, units};
use crate::plan::Publication;

/// Rate of repairs where a file says none: a quarter of the slowest links that groups are meant for (1 Mbit/s). The
/// tables of experiments are made with it.
const REPAIR_RATE: Bitrate = Bitrate::kbps(250);

/// Group nodes as the file describes them; nodes by number.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) nodes: Vec<usize>,
    pub(super) sender: SenderConfig,
    pub(super) receiver: ReceiverConfig,
    pub(super) config: GroupConfig,
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) publication: Option<Publication>,
    pub(super) at: Duration,
    pub(super) stagger: Duration,
}

impl Group {
    /// Reads one such flow.
    pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes) -> Option<Self> {
        let sender = sender_config(fields);
        let cache_objects = usize::from(OBJECTS_IN_VIEW);
        let sender = SenderConfig { cache_objects, ..sender };
        let defaults = GroupConfig::default();
        let cooperates = fields.flag("cooperate").unwrap_or(true);
        let config = GroupConfig {
            repairs: cooperates,
            announces: cooperates,
            repair_rate: fields.read("repair_rate", units::rate).unwrap_or(REPAIR_RATE),
            follows_medium: fields.flag("follows_medium").unwrap_or(false),
            monitor: monitor(fields),
            ..defaults
        };
        let subscriptions = fields.list("subscribe", |text| {
            Filter::new(text).map(Subscription::new).map_err(|error| error.to_string())
        });
        let publication = publication(fields);
        let at = fields.read("at", units::time).unwrap_or_default();
        let stagger = fields.read("stagger", units::time).unwrap_or_default();
        let receiver = ReceiverConfig {
            objects_max: OBJECTS_IN_VIEW,
            senders_max: SENDERS_IN_VIEW,
            ..ReceiverConfig::default()
        };
        let nodes = nodes.of(fields, "node", "\"name\"");
        Some(Self { nodes, sender, receiver, config, subscriptions, publication, at, stagger })
    }
}

/// With a monitor it tells of itself in a share of a channel that carries so much.
fn monitor(fields: &Fields<'_>) -> Option<fanfare_messaging::monitor::Config> {
    let capacity = fields.read("monitor", units::rate)?;
    let defaults = fanfare_messaging::monitor::Config::default();
    let share = fields.count("monitor_per_mille", 1..=500);
    let per_mille = share.map_or(defaults.per_mille, |share| share as u16);
    let relays = fields.flag("monitor_relays").unwrap_or(defaults.relays);
    Some(fanfare_messaging::monitor::Config { capacity, per_mille, relays, ..defaults })
}

/// With a topic it publishes: messages of `size`, one after the other or `every` so often, `count` or
/// `until` a time.
fn publication(fields: &Fields<'_>) -> Option<Publication> {
    let topic = fields.read("topic", |text| Topic::new(text).map_err(|error| error.to_string()))?;
    let size = fields.need("size", fields.read("size", units::size), "\"1KiB\"")?;
    let count = fields.count("count", 1..=30_000).unwrap_or(u64::MAX);
    let together = fields.count("together", 1..=10_000).unwrap_or(1) as u32;
    let until = fields.read("until", units::time).unwrap_or(Duration::MAX);
    let every = fields.read("every", units::time);
    if every == Some(Duration::ZERO) {
        let value = fields.get("every");
        let why = "is not an interval. Write a longer one, or leave it out";
        value.into_iter().for_each(|value| fields.wrong("every", value, why));
    }
    Some(Publication { together, until, every, ..Publication::new(topic, size, count) })
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const NODES: &str = r#"
[scenario]
name = "group"
duration = "60s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
from = "*"
to = "*"
delay = "5ms"
loss = "5%"
[[flow]]
kind = "fanfare-group"
node = "a"
topic = "t/1"
size = 2000
count = 5
"#;

    fn parse(more: &str) -> Result<Scenario, Vec<String>> {
        let text = format!("{NODES}{more}");
        let told = |list: Vec<crate::scenario::Mistake>| {
            list.iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        Scenario::parse(&text, &|name| Err(name.to_owned())).map_err(told)
    }

    #[test]
    fn a_file_makes_group_nodes_that_publish_and_subscribe() {
        let flow = "[[flow]]\nkind = \"fanfare-group\"\nnode = \"b\"\nsubscribe = \"t/+\"";
        let report = parse(flow).unwrap().plan(1).run();
        report.check_complete();
        assert_eq!((report.hosts[0].published, report.hosts[1].messages.len()), ((5, 10_000), 5));
    }

    #[test]
    fn messages_may_travel_together() {
        let flow = "together = 30\n[[flow]]\nkind = \"fanfare-group\"\nnode = \"b\"\n\
                    subscribe = \"t/+\"";
        let report = parse(&flow.replace("size = 2000", "size = 100")).unwrap().plan(1).run();
        report.check_complete();
        let numbers = report.hosts[1].messages.iter().map(|(_, m)| m.description.number);
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 30, 60, 90, 120]);
        assert!(report.hosts[1].messages.iter().all(|(_, m)| m.members == (0..30)));
    }

    #[test]
    fn a_node_may_publish_and_subscribe_in_several_flows_and_at_times_of_its_own() {
        let flow = "[[flow]]\nkind = \"fanfare-group\"\nnode = [\"a\", \"b\"]\n\
                    subscribe = [\"t/#\", \"u\"]\ntopic = \"u\"\nsize = 9\nevery = \"10s\"\n\
                    at = \"1s\"\nstagger = \"2s\"\nuntil = \"30s\"";
        let report = parse(flow).unwrap().plan(1).run();
        report.check_complete();
        let times = |host: usize| -> Vec<u64> {
            let of = report.hosts[host].publications.iter().filter(|m| m.size == 9);
            of.map(|message| message.at.as_nanos() / 1_000_000_000).collect()
        };
        assert_eq!((times(0), times(1)), (vec![1, 11, 21], vec![3, 13, 23]));
        assert_eq!(report.hosts.iter().map(|h| h.messages.len()).collect::<Vec<_>>(), [3, 8]);
    }

    #[test]
    fn each_of_seventy_publishers_is_heard_by_all_others() {
        let text = NODES.replace("name = \"b\"", "name = \"b\"\ncount = 69");
        let text = text.replace("count = 5\n", "count = 1\n");
        let flow = "[[flow]]\nkind = \"fanfare-group\"\nnode = \"*\"\nsubscribe = \"u\"\n\
                    topic = \"u\"\nsize = 9\ncount = 1\nstagger = \"100ms\"";
        let scenario = Scenario::parse(&format!("{text}{flow}"), &|name| Err(name.to_owned()));
        let report = scenario.unwrap().plan(1).run();
        let heard: Vec<usize> = report.hosts.iter().map(|host| host.messages.len()).collect();
        assert_eq!(heard, [69; 70]);
    }

    #[test]
    fn a_radio_whose_nodes_move_takes_its_path_loss_from_a_company_or_a_file() {
        let radio = |path_loss: &str| {
            let text = NODES.replace("delay = \"5ms\"\nloss = \"5%\"", "");
            let text = text.replace("[[link]]\nfrom = \"*\"\nto = \"*\"", &format!(
                "[[medium]]\nnodes = [\"a\", \"b\"]\nrate = \"600kbps\"\npath_loss = {path_loss}"
            ));
            let flow = "[[flow]]\nkind = \"fanfare-group\"\nnode = \"b\"\nsubscribe = \"#\"";
            let read = |name: &str| match name {
                "near.eel" => Ok(String::from("0 nem:1 pathloss nem:2,90")),
                "three.eel" => Ok(String::from("0 nem:1 pathloss nem:3,90")),
                "bad.eel" => Ok(String::from("0 nem:1 pathloss nem:2,x")),
                name => Err(format!("no {name}")),
            };
            let told = |list: Vec<crate::scenario::Mistake>| {
                list.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ")
            };
            Scenario::parse(&format!("{text}{flow}"), &read).map_err(told)
        };
        radio("{ file = \"near.eel\", limit = 139 }").unwrap().plan(1).run().check_complete();
        radio("{ company = true, limit = \"139\" }").unwrap().plan(1).run().check_complete();
        let columns = "{ company = true, columns = 2, limit = 139 }";
        radio(columns).unwrap().plan(1).run().check_complete();
        let wrong = |path_loss: &str| radio(path_loss).unwrap_err();
        assert!(wrong("{ company = true, columns = 3, limit = 139 }").contains("columns"));
        let recorded = "{ file = \"near.eel\", columns = 1, limit = 139 }";
        assert!(wrong(recorded).contains("need a company"));
        assert!(wrong("{ file = \"three.eel\", limit = 139 }").contains("3 nodes"));
        assert!(wrong("{ file = \"bad.eel\", limit = 139 }").contains("line 1: nem:2,x: x is not"));
        assert!(wrong("{ file = \"none.eel\", limit = 139 }").contains("no none.eel"));
        assert!(wrong("{ file = \"near.eel\" }").contains("limit"));
        assert!(wrong("{ limit = 139 }").contains("Write one of them"));
        assert!(
            wrong("{ company = true, file = \"near.eel\", limit = 1 }").contains("one of them")
        );
    }

    #[test]
    fn a_wrong_topic_or_filter_is_told_with_the_reason() {
        let wrong = |line: &str| {
            let flow = format!("[[flow]]\nkind = \"fanfare-group\"\nnode = \"b\"\n{line}");
            parse(&flow).unwrap_err().join("; ")
        };
        assert!(wrong("subscribe = \"t+\"").contains("stand for whole levels"));
        assert!(wrong("topic = \"t/#\"\nsize = 1").contains("wildcard"));
        assert!(wrong("topic = \"t\"").contains("size"));
    }
}
