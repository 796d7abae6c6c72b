//! The pages of options are what the program says. What has no page of its own is on `fanfare.md`.

use crate::command_line::program;

/// Commands with a page of their own; those of the laboratory have theirs from its program.
const OTHERS: [&str; 9] =
    ["lab", "sim", "bench", "link", "proxy", "group", "sensor", "video", "relay"];

/// Compares a page with the options of these commands.
fn check(file: &str, commands: &[&str], head: &str) {
    let program = program();
    let chosen = program.get_subcommands().filter(|one| commands.contains(&one.get_name()));
    let part = clap::Command::new("fanfare").bin_name("fanfare").subcommands(chosen.cloned());
    let path = format!("{}/../../../docs/reference/options/{file}", env!("CARGO_MANIFEST_DIR"));
    fanfare_command::pages::check_reference(part, head, path.as_ref());
}

#[test]
fn the_page_of_reference_is_what_the_program_says() {
    let program = program();
    let all = program.get_subcommands().map(clap::Command::get_name);
    let rest: Vec<&str> = all.filter(|name| !OTHERS.contains(name)).collect();
    let head = "# All options

*For people who look for one option. Afterwards you know every option of every command. This page is
made of `--help`.*

[Commands](../cli.md) is the overview, with the options that most people need. These commands have
pages of their own: [link and proxy](proxy.md), [group](group.md), [relay](relay.md),
[sensor](sensor.md), [video](video.md), and [lab, sim and bench](lab.md).
";
    check("fanfare.md", &rest, head);
}

#[test]
fn the_page_of_reference_of_link_and_proxy_is_what_the_program_says() {
    let head = "# Options of link and proxy

*For people who use `fanfare link` or `fanfare proxy`. Afterwards you know every option. This page
is made of `--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the other commands.
";
    check("proxy.md", &["link", "proxy"], head);
}

#[test]
fn the_page_of_reference_of_group_is_what_the_program_says() {
    let head = "# Options of group

*For people who use `fanfare group`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the other commands.
";
    check("group.md", &["group"], head);
}

#[test]
fn the_page_of_reference_of_relay_is_what_the_program_says() {
    let head = "# Options of relay

*For people who run `fanfare relay`. Afterwards you know every option. This page is made of
`--help`.*

[Join islands with a relay](../../how-to/reach/join-islands.md) begins with an example. [All
options](fanfare.md) has the other commands.
";
    check("relay.md", &["relay"], head);
}

#[test]
fn the_page_of_reference_of_sensor_is_what_the_program_says() {
    let head = "# Options of sensor

*For people who use `fanfare sensor`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the other commands.
";
    check("sensor.md", &["sensor"], head);
}

#[test]
fn the_page_of_reference_of_video_is_what_the_program_says() {
    let head = "# Options of video

*For people who use `fanfare video`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview.
[Video to a group](../../how-to/video/video-to-a-group.md) has examples.
";
    check("video.md", &["video"], head);
}
