//! `fanfare sim`: the same seed prints the same bytes, mistakes end with 2, files come out.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

/// Experiments whose runs take minutes of a core.
const LONG: [&str; 5] = ["companies", "crowd", "jamming", "orphans", "pscbt-companies"];

fn sim(args: &[&str]) -> Output {
    let mut command = Command::new(crate::PROGRAM);
    command.arg("sim").args(args).output().expect("fanfare runs")
}
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
/// A directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}
fn file(name: &str) -> String {
    format!("{}/../../../scenarios/files/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_same_seeds_print_the_same_bytes_on_any_number_of_threads() {
    let run = |jobs| sim(&["run", &file("small"), "--seeds", "3", "--json", "--jobs", jobs]);
    let (one, two) = (run("1"), run("2"));
    assert_eq!((one.status.code(), text(&one.stdout)), (Some(0), text(&two.stdout)));
    let lines: Vec<String> = text(&one.stdout).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 5);
    for (line, event) in lines.iter().zip(["scenario", "seed", "seed", "seed", "result"]) {
        assert!(line.starts_with(&format!("{{\"event\":\"{event}\"")), "{line}");
    }
    assert!(lines[4].contains("\"complete\":3") && lines[4].contains("\"ci95\":"), "{}", lines[4]);
    let other = sim(&["run", &file("small"), "--seeds", "3", "--json", "--seed", "9"]);
    assert_ne!(text(&other.stdout), text(&one.stdout));
}

#[test]
fn every_mistake_in_a_file_is_told_and_ends_with_2() {
    let path = directory("mistakes").join("wrong.toml");
    fs::write(&path, "[scenario]\nname = \"w\"\nduration = \"5\"\n[[nod]]\nname = \"a\"\n")
        .unwrap();
    for command in ["run", "check"] {
        let out = sim(&[command, path.to_str().unwrap()]);
        assert_eq!(out.status.code(), Some(2));
        let told = text(&out.stderr);
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(lines.iter().any(|line| line.contains("line 3: scenario.duration (5)")), "{told}");
        assert!(lines.iter().any(|line| line.contains("line 4: file (nod)")), "{told}");
        assert!(told.contains("Did you mean node?"), "{told}");
    }
    let out = sim(&["run", "no-such.toml", "--json"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stdout).contains("\"code\":\"scenario.unreadable\""));
    assert!(text(&out.stdout).ends_with("{\"event\":\"result\",\"ok\":false,\"exit\":2}\n"));
}

#[test]
fn figures_time_series_and_a_plot_are_written_where_they_are_wanted() {
    let dir = directory("files");
    let plot = dir.join("plot.svg");
    let out = sim(&[
        "run",
        &file("dumbbell"),
        "--seeds",
        "1",
        "--csv",
        dir.to_str().unwrap(),
        "--plot",
        plot.to_str().unwrap(),
    ]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("goodput_sum_bps"), "{}", text(&out.stdout));
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    assert!(read("metrics.csv").starts_with("seed,figure,value\n1,"));
    // 40 s in steps of 100 ms: two directions of the bottleneck; two receivers and a TCP flow.
    assert_eq!(read("hops.csv").lines().count(), 1 + 2 * 400);
    assert_eq!(read("goodput.csv").lines().count(), 1 + 3 * 400);
    assert!(read("plot.svg").starts_with("<svg"));
    let refused = sim(&["run", &file("small"), "--seeds", "1", "--plot", "/proc/no/plot.svg"]);
    assert_eq!(refused.status.code(), Some(5), "{}", text(&refused.stderr));
}

#[test]
fn a_run_that_should_complete_and_does_not_is_a_partial_success() {
    let path = directory("partial").join("deaf.toml");
    let small = fs::read_to_string(file("small")).unwrap();
    let deaf = small.replace(
        "[[flow]]\nkind = \"fanfare-send\"",
        "[[link]]\nfrom = \"*\"\nto = \"r7\"\nup = false\n[[flow]]\nkind = \"fanfare-send\"",
    );
    fs::write(&path, deaf.replace("\"60s\"", "\"5s\"")).unwrap();
    let out = sim(&["run", path.to_str().unwrap(), "--seeds", "2"]);
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stdout));
    assert!(text(&out.stderr).contains("2 of 2 seeds did not complete"), "{}", text(&out.stderr));
}

#[test]
fn the_files_of_a_directory_are_listed_with_what_they_are_about() {
    let dir = format!("{}/../../../scenarios/files", env!("CARGO_MANIFEST_DIR"));
    let out = sim(&["list", &dir]);
    let listed = text(&out.stdout);
    assert!(out.status.success() && listed.contains("small.toml  30 receivers"), "{listed}");
}

fn experiments() -> String {
    format!("{}/../../../scenarios/experiments", env!("CARGO_MANIFEST_DIR"))
}

/// The experiments of all folders.
fn experiment_files() -> Vec<String> {
    let folders = fs::read_dir(experiments()).unwrap().map(|folder| folder.unwrap().path());
    folders
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path().to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".toml"))
        .collect()
}

#[test]
fn a_variable_is_given_a_value_and_one_that_is_not_there_is_refused() {
    let with = |set: &str| {
        let short = ["--set", "duration=12s", "--set", "warm_up=2s", "--set", set];
        sim(&[&["run", &file("road"), "--seeds", "1"][..], &short].concat())
    };
    let out = with("ours=3");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("goodput_bps:r3"), "{}", text(&out.stdout));
    let out = with("our=3");
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("variable (our): is not in this file. Did you mean ours?"));
    assert_eq!(with("ours").status.code(), Some(2));
}

/// An experiment of two cells of a few seconds each, in a directory of its own.
fn small_experiment(name: &str) -> (PathBuf, String) {
    let dir = directory(name);
    let path = dir.join("short.toml");
    let text = "[experiment]\nname = \"short\"\nabout = \"goodput by loss\"\nseeds = 2\n\
                scenario = \"ROAD\"\n[set]\nduration = \"20s\"\nwarm_up = \"5s\"\n\
                [[vary]]\nname = \"loss\"\nvalues = [\"0%\", \"10%\"]\n\
                [[figure]]\nname = \"goodput\"\nmetric = \"goodput_sum_bps\"\nscale = 0.001\n\
                [[expect]]\nthat = \"much\"\nat_least = 890\n[plot]\nx = \"loss\"\n";
    fs::write(&path, text.replace("ROAD", &file("road"))).unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

#[test]
fn a_table_is_made_the_same_on_any_number_of_threads_and_a_change_of_it_is_found() {
    let (dir, path) = small_experiment("table");
    let out = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let make = |to: &str, more: &[&str]| {
        let made = sim(&[&["table", &path, "--out", &out(to)][..], more].concat());
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
        text(&made.stdout)
    };
    let told = make("one", &["--jobs", "1"]);
    assert!(told.contains("**much**: not so in 1 of 2: 10%"), "{told}");
    make("two", &["--jobs", "3"]);
    for ending in ["md", "csv", "runs.csv", "svg"] {
        let read = |to: &str| fs::read_to_string(dir.join(to).join(format!("short.{ending}")));
        assert_eq!(read("one").unwrap(), read("two").unwrap());
    }
    let check = || sim(&["table", &path, "--out", &out("two"), "--check", "--seeds", "1"]);
    assert_eq!(check().status.code(), Some(0));
    let runs = dir.join("two/short.runs.csv");
    let kept = fs::read_to_string(&runs).unwrap();
    let changed = kept.lines().map(|line| match line.starts_with("10%,1,") {
        true => String::from("10%,1,5.000"),
        false => line.to_owned(),
    });
    fs::write(&runs, changed.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let differs = check();
    assert_eq!(differs.status.code(), Some(1));
    assert!(text(&differs.stderr).contains("short 10% seed 1"), "{}", text(&differs.stderr));
    make("two", &["--where", "loss=10%"]);
    assert_eq!(fs::read_to_string(&runs).unwrap(), kept);
    make("two", &["--keep"]);
    assert_eq!(check().status.code(), Some(0));
}

#[test]
fn mistakes_in_an_experiment_end_with_2() {
    let (_, path) = small_experiment("wrong");
    let right = fs::read_to_string(&path).unwrap();
    let told = |from: &str, to: &str| {
        fs::write(&path, right.replace(from, to)).unwrap();
        let out = sim(&["table", &path, "--out", &(path.clone() + ".out")]);
        assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
        text(&out.stderr)
    };
    assert!(told("seeds =", "seds =").contains("Did you mean seeds?"));
    assert!(told("warm_up =", "warmup =").contains("variable (warmup): is not in this file"));
    assert!(told("goodput_sum_bps", "goodput_bps").contains("figure (goodput): no run has"));
    fs::write(&path, &right).unwrap();
    let out = sim(&["table", &path, "--where", "loss=5%"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("has no such value"), "{}", text(&out.stderr));
    let out = sim(&["table", &path, "--check", "--out", "nowhere"]);
    assert!(text(&out.stderr).contains("Run fanfare sim table"), "{}", text(&out.stderr));
}

#[test]
fn every_experiment_and_all_its_cells_are_understood() {
    let files = experiment_files();
    let args: Vec<&str> = ["check"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let out = sim(&args);
    assert!(files.len() >= 8 && out.status.success(), "{}", text(&out.stderr));
}

#[test]
fn the_tables_in_git_are_what_is_made_now() {
    let results = format!("{}/../../../results", env!("CARGO_MANIFEST_DIR"));
    for path in experiment_files() {
        // Of those whose cells take minutes each the first, which is the smallest.
        let is_long = LONG.iter().any(|name| path.ends_with(&format!("/{name}.toml")));
        let cells = if is_long { "1" } else { "3" };
        let part = ["--check", "--cells", cells, "--seeds", "1"];
        let out = sim(&[&["table", &path, "--out", &results][..], &part].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    }
}
