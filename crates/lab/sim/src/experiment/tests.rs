//! Whole experiment files: what is accepted, what is refused, and the resulting table.

use super::*;
use crate::{results::metrics::Metric, scenario::tests::damaged};

const TEXT: &str = r#"
[experiment]
name = "t"
about = "goodput by loss"
scenario = "road.toml"
seeds = 2

[set]
queue = "long"

[[vary]]
name = "protocol"
values = ["auto", { name = "TCP", tcp = "${flows}", cc = "none" }]

[[vary]]
name = "flows"
values = [1, 5]

[[figure]]
name = "goodput"
unit = "kbit/s"
metric = ["goodput_bps:r*", "rest"]
scale = 0.001
digits = 0

[[reference]]
name = "paper"
file = "paper.csv"
column = "kbps"

[[reference]]
name = "one"
where = { flows = 5 }
cell = { flows = 1 }

[[expect]]
that = "as in the paper"
of = "paper"
at_least = 1

[[expect]]
that = "five get what one gets"
of = "one"
at_least = 0.9
at_most = 1.1

[plot]
x = "flows"
log = true
"#;
const PAPER: &str =
    "# Their table.\nprotocol,flows,kbps\nauto,1,900\nauto,5,1000\nTCP,1,\nother,1,3\n";

fn parse(text: &str) -> Result<Experiment, Vec<Mistake>> {
    Experiment::parse(text, &|file| match file {
        "paper.csv" => Ok(PAPER.to_owned()),
        other => Err(format!("there is no {other}")),
    })
}
fn experiment() -> Experiment {
    parse(TEXT).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}
fn mistakes(text: &str) -> String {
    let list = parse(text).expect_err("mistakes");
    list.iter().map(|mistake| format!("{mistake}\n")).collect()
}
/// Runs of every cell: 950 and 952 kbit/s over two receivers with one flow, half of it with five.
fn records(experiment: &Experiment) -> Records {
    let mut records = Records::default();
    for cell in experiment.cells() {
        let share = if experiment.labels(&cell)[1] == "5" { 0.5 } else { 1.0 };
        for seed in [1, 2] {
            let bps = share * (948e3 + 2e3 * seed as f64);
            let metric = |name: &str, value| -> Metric { (name.to_owned(), value) };
            let metrics =
                [metric("goodput_bps:r1", bps - 1e3), metric("jain", 1.0), metric("rest", 1e3)];
            let figures = experiment.figures.iter().map(|figure| figure.of(&metrics)).collect();
            records.add(cell.clone(), seed, figures);
        }
    }
    records
}

#[test]
fn every_combination_is_a_cell_with_the_values_of_its_levels() {
    let experiment = experiment();
    let cells = experiment.cells();
    let labels: Vec<String> = cells.iter().map(|cell| experiment.labels(cell).join(" ")).collect();
    assert_eq!(labels, ["auto 1", "auto 5", "TCP 1", "TCP 5"]);
    let open = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let values = experiment.values(&cells[3], &open(&["tcp", "cc", "queue"]));
    let shown: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(shown, ["cc=none", "queue=long", "tcp=5"]);
    // Nothing names it: what the scenario does not know is a mistake.
    assert_eq!(experiment.values(&cells[0], &open(&["flows"]))["protocol"], "auto");
}

#[test]
fn a_table_has_means_intervals_references_and_verdicts() {
    let experiment = experiment();
    let records = records(&experiment);
    let results = Results::new(&experiment, &records);
    let csv = results.to_csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "protocol,flows,figure,unit,runs,mean,ci95,least,greatest,paper,of paper,one,of one",
            "auto,1,goodput,kbit/s,2,951.00,12.71,950.00,952.00,900,1.0567,,",
            "auto,5,goodput,kbit/s,2,475.50,6.35,475.00,476.00,1000,0.4755,951,0.5000",
        ]
    );
    let text = results.to_markdown(Some("t.svg"));
    assert!(text.contains("| auto | 5 | 476 ± 6 | 1000 | 0.475 | 951 | 0.500 |"), "{text}");
    assert!(text.contains("- **as in the paper**: not so in 1 of 2: auto 5 (0.475)\n"), "{text}");
    assert!(text.contains("![goodput by loss](t.svg)"), "{text}");
    let verdicts = results.verdicts();
    assert_eq!((verdicts[1].held, verdicts[1].missed.len()), (0, 2));
    let curves = experiment.plot.as_ref().unwrap().curves(&results);
    assert_eq!(curves.len(), 2);
    assert_eq!((curves[1].name.as_str(), curves[1].points[1].0), ("TCP", 5.0));
}

#[test]
fn runs_that_were_written_are_read_again_and_give_the_same_table() {
    let experiment = experiment();
    let mut records = records(&experiment);
    let csv = records.to_csv(&experiment);
    assert_eq!(csv.lines().nth(1), Some("auto,1,1,950.00"));
    let again = Records::from_csv(&csv, &experiment).unwrap();
    assert_eq!((&again, again.to_csv(&experiment)), (&records, csv.clone()));
    let mut newer = Records::default();
    let cell = experiment.cells()[1].clone();
    newer.add(cell.clone(), 1, vec![Some(7.0)]);
    records.replace(newer);
    assert_eq!((records.len(), again.differences(&records)), (7, vec![(&cell, 1), (&cell, 2)]));
    for broken in ["x,y\n", &csv.replace("auto,1,2", "auto,3,2"), &(csv.clone() + "auto,1\n")] {
        assert!(Records::from_csv(broken, &experiment).unwrap_err().contains("Create"));
    }
}

#[test]
fn a_figure_that_no_run_has_is_named() {
    let experiment = experiment();
    let mut records = Records::default();
    records.add(experiment.cells()[0].clone(), 1, vec![experiment.figures[0].of(&[])]);
    assert_eq!(Results::new(&experiment, &records).missing(), ["goodput"]);
}

#[test]
fn every_mistake_is_told_at_once_with_its_line_and_a_way_out() {
    let text = TEXT
        .replace("seeds = 2", "seds = 2")
        .replace("values = [1, 5]", "values = [1, 1]")
        .replace("column = \"kbps\"", "column = \"mbps\"")
        .replace("cell = { flows = 1 }", "cell = { flow = 1 }")
        .replace("where = { flows = 5 }", "where = { flows = 50 }")
        .replace("of = \"paper\"", "of = \"papers\"")
        .replace("x = \"flows\"", "x = \"protocol\"");
    let expected = "\
line 6: experiment (seds): has no such key. Did you mean seeds?
line 17: vary.values (array): has 1 twice. Name each once
line 28: reference.file (paper.csv): has no column mbps. It has: protocol, flows, kbps
line 33: reference.where (flows = 50): has no such value. Known are: 1, 1
line 34: reference.cell (flow): does not vary here. Did you mean flows?
line 38: expect.of (papers): is not a [[reference]] beside this figure. Known are: one
line 47: plot.x (auto): is not a place on the axis. Use another factor
";
    assert_eq!(mistakes(&text), expected);
}

#[test]
fn what_is_missing_is_named() {
    let found = mistakes("[experiment]\nname = \"x\"\n");
    for what in ["experiment (scenario)", "has no figure", "nothing varies"] {
        assert!(found.contains(what), "{what}: {found}");
    }
    assert!(mistakes(&TEXT.replace("paper.csv", "x.csv")).contains("there is no x.csv"));
    assert!(mistakes("[experiment").contains("TOML:"));
}

#[test]
fn no_text_makes_the_reader_panic() {
    damaged(TEXT).for_each(|text| _ = parse(&text));
}
