//! `[[flow]]` of kind `fanfare-group`: nodes that publish, subscribe and repair for each other.

use super::{fields::Fields, flows::sender_config, nodes::Nodes, units};
use crate::plan::Publication;
use fanfare_group::{Filter, GroupConfig, Subscription, Topic};
use fanfare_proto::{Duration, ReceiverConfig, SenderConfig};

/// Object ids kept in view: messages are many and small.
const OBJECTS_IN_VIEW: u16 = 8192;

/// Group nodes as the file describes them; nodes by number.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) nodes: Vec<usize>,
    pub(super) sender: SenderConfig,
    pub(super) receiver: ReceiverConfig,
    pub(super) config: GroupConfig,
    pub(super) subscription: Option<Subscription>,
    pub(super) publication: Option<Publication>,
    pub(super) at: Duration,
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
            repair_rate: fields.read("repair_rate", units::rate).unwrap_or(defaults.repair_rate),
            ..defaults
        };
        let subscription = fields.read("subscribe", |text| {
            Filter::new(text).map(Subscription::new).map_err(|error| error.to_string())
        });
        let publication = publication(fields);
        let at = fields.read("at", units::time).unwrap_or_default();
        let receiver = ReceiverConfig { objects_max: OBJECTS_IN_VIEW, ..ReceiverConfig::default() };
        let nodes = nodes.of(fields, "node", "\"name\"");
        Some(Self { nodes, sender, receiver, config, subscription, publication, at })
    }
}

/// With a topic it publishes: messages of `size`, one after the other, `count` or `until` a time.
fn publication(fields: &Fields<'_>) -> Option<Publication> {
    let topic = fields.read("topic", |text| Topic::new(text).map_err(|error| error.to_string()))?;
    let size = fields.need("size", fields.read("size", units::size), "\"1KiB\"")?;
    let count = fields.count("count", 1..=30_000).unwrap_or(u64::MAX);
    let until = fields.read("until", units::time).unwrap_or(Duration::MAX);
    Some(Publication { until, ..Publication::new(topic, size, count) })
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
