//! The programs of a scenario, and the hosts that they need.

use fanfare_proto::Duration;

use super::{mistakes, no_files};
use crate::scenario::{ExpectedExit, ProgramCommand, Scenario};

const PROGRAMS: &str = r#"
[scenario]
name = "programs"
duration = "10s"

[[node]]
name = "a"
[[node]]
name = "b"
[[node]]
name = "between"

[[link]]
from = ["a", "b"]
to = "between"
both = true

[[program]]
node = ["a", "b"]
command = ["echo", "two words"]
expect = 3
[[program]]
node = "a"
command = "cat | wc"
start = "1s"
stop = "2s"
background = true
"#;

#[test]
fn programs_make_hosts_of_their_nodes_and_are_read_as_they_are_written() {
    let scenario = Scenario::parse_for_laboratory(PROGRAMS, &no_files).unwrap();
    let hosts = scenario.plan(1).emulated_hosts();
    assert_eq!(hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let words = ProgramCommand::Words(vec!["echo".into(), "two words".into()]);
    let told: Vec<_> = scenario.programs.iter().map(|p| (p.host.0, &p.command, p.expect)).collect();
    let shell = ProgramCommand::Shell("cat | wc".into());
    assert_eq!(
        told,
        [
            (0, &words, ExpectedExit::Code(3)),
            (1, &words, ExpectedExit::Code(3)),
            (0, &shell, ExpectedExit::Any)
        ]
    );
    assert_eq!(scenario.programs[2].stop, Some(Duration::from_secs(2)));
}

#[test]
fn the_simulator_says_that_programs_alone_are_for_the_laboratory() {
    assert!(mistakes(PROGRAMS).contains("programs run on real hosts"), "{}", mistakes(PROGRAMS));
}

#[test]
fn a_network_in_which_nothing_runs_has_only_hosts_in_the_laboratory() {
    let text = PROGRAMS.split("[[program]]").next().unwrap();
    let scenario = Scenario::parse_for_laboratory(text, &no_files).unwrap();
    assert_eq!(scenario.plan(1).emulated_hosts().len(), 3);
    let one = text.replacen("name = \"b\"", "name = \"b\"\nhost = true", 1);
    let scenario = Scenario::parse_for_laboratory(&one, &no_files).unwrap();
    assert_eq!(scenario.plan(1).emulated_hosts()[0].name, "b");
}

#[test]
fn a_program_without_a_command_or_that_stops_before_its_start_is_a_mistake() {
    let text = PROGRAMS.replace("\"cat | wc\"", "\" \"").replace("stop = \"2s\"", "stop = \"1s\"");
    let list = Scenario::parse_for_laboratory(&text, &no_files).expect_err("mistakes");
    let all: String = list.iter().map(|mistake| format!("{mistake}\n")).collect();
    assert!(all.contains("is empty") && all.contains("must be later than its start"), "{all}");
}
