//! `fanfare sim sweep`: the same file wherever it is computed, and mistakes in one line.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use crate::support::Stage;

/// Stands for the cluster's library: everything is computed here, at once.
const CLUSTER: &str = "
class Future:
    def __init__(self, value): self.value = value
    def result(self): return self.value
class Client:
    def __init__(self, address, timeout):
        if address == 'tcp://nowhere:1': raise OSError('Timed out')
    def __enter__(self): return self
    def __exit__(self, *error): pass
    def scheduler_info(self, n_workers): return {'workers': {'one': {}}}
    def map(self, call, pieces, pure): return [Future(call(piece)) for piece in pieces]
";

fn files() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios")
}

fn small() -> String {
    files().join("files/small.toml").to_str().unwrap().to_owned()
}

fn sweep(stage: &Stage, args: &[&str]) -> Output {
    let mut command = Command::new(crate::PROGRAM);
    command.args(["sim", "sweep"]).args(args).env("PYTHONPATH", stage.path("python"));
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_number_of_jobs_and_the_size_of_pieces_do_not_show() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("python/dask")).unwrap();
    stage.text("python/dask/__init__.py", "");
    stage.text("python/dask/distributed.py", CLUSTER);
    let small = small();
    let run = |more: &[&str]| {
        let out = sweep(&stage, &[&[small.as_str(), "--seeds", "3"], more].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let one = run(&["--jobs", "1"]);
    assert!(one.starts_with("scenario,figure,runs,mean,ci95,min,max\nsmall.toml,"), "{one}");
    assert_eq!(run(&["--jobs", "2"]), one);
    // This program takes `sim run`, as workers are asked for it.
    let worker = ["--dask", "tcp://head:8786", "--piece", "2", "--fanfare", crate::PROGRAM];
    assert_eq!(run(&worker), one);
}

#[test]
fn an_experiment_says_what_varies_and_where_keeps_some_of_it() {
    let stage = Stage::new();
    let path = stage.text(
        "short.toml",
        &format!(
            "[experiment]\nname = \"short\"\nabout = \"a\"\nseeds = 2\nscenario = \"{}\"\n\
             [set]\nduration = \"12s\"\nwarm_up = \"2s\"\n\
             [[vary]]\nname = \"loss\"\nvalues = [\"0%\", \"10%\"]\n\
             [[figure]]\nname = \"goodput\"\nmetric = \"goodput_sum_bps\"\n",
            files().join("files/road.toml").display()
        ),
    );
    let out_file = stage.path("out.csv");
    let args = [path.to_str().unwrap(), "--where", "loss=10%", "--out", out_file.to_str().unwrap()];
    let out = sweep(&stage, &args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let csv = fs::read_to_string(out_file).unwrap();
    assert!(csv.starts_with("scenario,loss,figure,runs,"), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.starts_with("road.toml,10%,")), "{csv}");
    assert!(csv.contains(",goodput_sum_bps,2,"), "{csv}");
}

#[test]
fn bad_input_is_told_in_one_line_and_nothing_is_run() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path("python/dask")).unwrap();
    stage.text("python/dask/__init__.py", "");
    stage.text("python/dask/distributed.py", CLUSTER);
    let experiment = files().join("experiments/layers/layers-sessions.toml");
    let (experiment, small) = (experiment.to_str().unwrap(), small());
    for (args, code, told) in [
        (vec!["nowhere.toml"], 2, "scenario (nowhere.toml): cannot be read"),
        (vec![small.as_str(), "--where", "a=1"], 2, "is no experiment file. Use --vary"),
        (vec![experiment, "--where", "size=1"], 2, "where (size): does not vary here."),
        (vec![experiment, "--where", "sessions=17"], 2, "(sessions = 17): has no such value."),
        (vec![experiment, "--vary", "cc=era"], 2, "an experiment says itself what varies."),
        (vec![small.as_str(), "--vary", "loss"], 2, "vary (loss): "),
        (vec![small.as_str(), "--out", "/nowhere/out.csv"], 5, "output (/nowhere/out.csv): "),
        (vec![small.as_str(), "--dask", "tcp://nowhere:1"], 5, "Start a scheduler there"),
        (vec![small.as_str(), "--dask", "x", "--fanfare", "no-such"], 1, "Say where it is with"),
    ] {
        let out = sweep(&stage, &[&args[..], &["--seeds", "1"]].concat());
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(told) && error.lines().count() == 1, "{args:?}: {error}");
        assert!(out.stdout.is_empty(), "{}", text(&out.stdout));
    }
}
