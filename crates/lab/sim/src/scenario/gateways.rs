//! `[[gateway]]`: which nodes of different groups are one machine.

use fanfare_messaging::Filter;

use super::{fields::Fields, nodes::Nodes, units};
use crate::{network::Host, plan::GatewayPlan};

/// Reads one: of the nodes that each side names the first are one machine, the second another.
pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes) -> Vec<GatewayPlan> {
    let words = fields.need("sides", fields.words("sides"), "[\"a*\", \"b*\"]");
    let hosts = |word| -> Vec<Host> {
        let found = nodes.find(word, fields.mistakes).into_iter();
        found.filter_map(|node| nodes.host(node)).collect()
    };
    let sides: Vec<Vec<Host>> = words.unwrap_or_default().into_iter().map(hosts).collect();
    let topics = fields.list("topics", |text| Filter::new(text).map_err(|error| error.to_string()));
    let rate = fields.read("rate", units::rate);
    let standby = fields.read("standby", units::time);
    let learning = fields.read("learn", units::time);
    fields.finish();
    let count = sides.first().map_or(0, Vec::len);
    if sides.len() < 2 || sides.iter().any(|side| side.len() != count) {
        let why = "must be two or more, of as many hosts each. Name them as [\"a*\", \"b*\"]";
        fields.mistakes.note(fields.at, format!("gateway.sides (): {why}"));
        return Vec::new();
    }
    let gateway = |number: usize| {
        let mut gateway = GatewayPlan::new(sides.iter().map(|side| side[number]));
        if !topics.is_empty() {
            gateway.filters.clone_from(&topics);
        }
        gateway.rate = rate.unwrap_or(gateway.rate);
        gateway.config.standby = standby.unwrap_or(gateway.config.standby);
        gateway.config.learning = learning.unwrap_or(gateway.config.learning);
        gateway
    };
    (0..count).map(gateway).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Host, Scenario, Values};

    const NODES: &str = r#"
[scenario]
name = "gateways"
duration = "60s"
[variables]
c = 0
[[node]]
name = "a"
count = 2
group = "1"
[[node]]
name = "b"
count = 2
group = "2"
[[node]]
name = "c"
count = "${c}"
[[link]]
from = "*"
to = "*"
[[flow]]
kind = "fanfare-group"
node = ["a*", "b*"]
topic = "t"
size = "1KiB"
every = "1s"
until = "10s"
subscribe = "t"
"#;

    fn parse(more: &str) -> Result<Scenario, String> {
        let none = |name: &str| Err(String::from(name));
        Scenario::parse_with(&format!("{NODES}{more}"), &Values::new(), &none)
            .map_err(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn nodes_of_two_groups_become_one_machine_each_and_none_where_there_are_none() {
        let text = "[[gateway]]\nsides = [\"a*\", \"b*\"]\nrate = \"20kbps\"\ntopics = \"t/#\"\n\
                    standby = \"2s\"\nlearn = \"0s\"\n[[gateway]]\nsides = [\"c*\", \"c*\"]";
        let report = parse(text).unwrap().plan(1).run();
        let hosts: Vec<&[Host]> = report.gateways.iter().map(|g| &g.hosts[..]).collect();
        assert_eq!(hosts, [&[Host(0), Host(2)][..], &[Host(1), Host(3)]]);
    }

    #[test]
    fn sides_that_do_not_pair_are_told() {
        let wrong = |sides: &str| parse(&format!("[[gateway]]\nsides = {sides}")).unwrap_err();
        assert!(wrong("[\"a*\", \"b1\"]").contains("of as many hosts each"));
        assert!(wrong("\"a*\"").contains("must be two or more"));
        assert!(wrong("[\"a*\", \"d*\"]").contains("there is no such node"));
    }
}
