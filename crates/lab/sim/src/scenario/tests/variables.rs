//! Variables that are replaced before the text is read.

use fanfare_proto::Duration;

use super::{no_files, run};
use crate::{
    network::Host,
    scenario::{Scenario, Values},
};

#[test]
fn variables_decide_how_many_there_are_and_each_pair_has_its_group() {
    let text = r#"
[variables]
pairs = 3
tcp = 0
[scenario]
name = "v"
duration = "10s"
[[node]]
name = "s"
count = ${pairs}
group = "pair*"
[[node]]
name = "r"
count = ${pairs}
group = "pair*"
[[node]]
name = "west"
[[node]]
name = "east"
[[link]]
from = "s*"
to = "west"
both = true
[[link]]
from = "west"
to = "east"
both = true
rate = "1Mbps"
[[link]]
from = "east"
to = "r*"
both = true
[[flow]]
kind = "fanfare-send"
node = "s*"
size = "endless"
rate = "100kbps"
stagger = "2s"
[[flow]]
kind = "fanfare-recv"
node = "r*"
[[flow]]
kind = "tcp"
name = "t"
count = ${tcp}
from = "west"
to = "east"
stagger = "1s"
"#;
    let report = run(text);
    let at = |host, from, to| {
        let secs = Duration::from_secs;
        report.goodput(Host(host), &(secs(from)..secs(to)))
    };
    // s1 to s3, then r1 to r3: the second pair begins after 2 s and nobody hears another's sender.
    assert!(at(4, 0, 2) == 0.0 && (60e3..100e3).contains(&at(4, 4, 10)), "{report}");
    assert!((60e3..100e3).contains(&at(3, 4, 10)) && at(5, 0, 4) == 0.0, "{report}");
    let values = |pairs: [(&str, &str); 2]| -> Values {
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    };
    let none = Scenario::parse_with(text, &values([("pairs", "0"), ("tcp", "2")]), &no_files);
    let report = none.unwrap_or_else(|mistakes| panic!("{mistakes:#?}")).plan(1).run();
    assert!(report.hosts.is_empty());
    let secs = Duration::from_secs;
    let got = |n: usize| report.flows[n].received.sum(&(secs(0)..secs(1)));
    assert!(report.flow_name(1) == "t2" && got(0) > 0 && got(1) == 0, "{report}");
}
