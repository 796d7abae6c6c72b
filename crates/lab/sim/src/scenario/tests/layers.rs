//! Layered sessions of a scenario.

use super::no_files;
use crate::scenario::{Mistake, Scenario};

const LAYERS: &str = r#"
[scenario]
name = "layers"
duration = "10s"
leave = "3s"

[[node]]
name = "s"
count = 2
[[node]]
name = "r"
count = 2
[[link]]
from = "s*"
to = "r*"
rate = "1Mbps"
both = true

[[flow]]
kind = "layered"
cc = "plm"
from = "s*"
to = "r*"
layers = { base = "12kbps", factor = 1.3, count = 20 }
join = "2s"
[[reaction]]
name = "start"
node = "r*"
share = "1Mbps"
"#;

#[test]
fn several_sources_of_layers_have_a_receiver_each_and_one_has_all() {
    let report = Scenario::parse(LAYERS, &no_files).unwrap().plan(1).run();
    assert_eq!(report.layered.len(), 2);
    let one =
        LAYERS.replace("from = \"s*\"\nto = \"r*\"\nlayers", "from = \"s1\"\nto = \"r*\"\nlayers");
    let scenario = Scenario::parse(&one, &no_files).unwrap();
    let report = scenario.plan(1).run();
    assert_eq!(report.layered.len(), 2);
    let metrics = scenario.metrics_of(&report);
    assert!(metrics.iter().any(|(name, _)| name == "reaction_s:start"), "{metrics:?}");
}

#[test]
fn layers_that_cannot_be_and_sources_without_receivers_are_told_with_their_lines() {
    let wrong = |old: &str, new: &str| {
        let text = LAYERS.replace(old, new);
        let mistakes = Scenario::parse(&text, &no_files).unwrap_err();
        mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(wrong("factor = 1.3", "factor = 0.5").contains("not possible"));
    assert!(wrong("base = \"12kbps\", factor = 1.3, ", "").contains("have no rates"));
    let unequal = wrong("to = \"r*\"\nlayers", "to = \"r1\"\nlayers");
    assert!(unequal.contains("flow.to (1 nodes): 2 sources need a receiver each"), "{unequal}");
    assert!(wrong("to = \"r*\"\nlayers", "to = \"s1\"\nlayers").contains("is a source"));
    assert!(wrong("\"plm\"", "\"webrc\"").contains("webrc has waves"));
    assert!(
        wrong("base = \"12kbps\", factor = 1.3", "waves = \"4096bps\"").contains("webrc has waves")
    );
    assert!(wrong("\"plm\"", "\"plum\"").contains("plm"));
    let hasty = wrong("join = \"2s\"", "interval = \"0s\"");
    assert!(hasty.contains("flow.interval (0s): out of range"), "{hasty}");
    let lab = Scenario::parse_for_laboratory(LAYERS, &no_files).unwrap_err();
    assert!(lab[0].to_string().contains("runs in the simulator only"), "{lab:?}");
}
