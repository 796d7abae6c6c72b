//! `fanfare sim table`: experiments as tables, made or compared with those in git.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use clap::Args;
use fanfare_sim::{
    Experiment, Scenario,
    experiment::{Cell, Choice, Records, Results},
};

use super::{
    campaign::{Campaign, Run},
    cpu_time::cpu_time,
    curve_plot, lines,
    made::Made,
    written::{unwritable, write},
};
use crate::scenario_files::{
    folders_in, is_experiment, load_experiment, text_of, toml_files, variable,
};
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up_all};

const HELP: Help = Help::new(&[
    ("fanfare sim table", "all experiments, into results/"),
    ("fanfare sim table scenarios/experiments/congestion/beside-tcp.toml", "one of them"),
    ("fanfare sim table --check --cells 2 --seeds 1", "compare a part with results/"),
])
.exits(&[
    (Exit::Done, "done, and with --check: nothing differs"),
    (Exit::Failed, "with --check: something differs"),
    (Exit::Resource, "a file cannot be written"),
])
.files(&[("FILE", "experiment, in TOML; see docs/reference/experiment-files.md")]);

/// Make the tables of experiment files, beside published numbers
///
/// Runs every cell with many seeds, and compares the results with what the file expects.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct TableArgs {
    /// Experiment files, or directories of them
    #[arg(default_value = "scenarios/experiments")]
    files: Vec<PathBuf>,
    /// Directory of the tables
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// How many seeds [default: the file's]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Run only cells with these values; repeatable
    ///
    /// The other cells stay as they are.
    #[arg(long = "where", value_name = "NAME=VALUE,…", value_parser = variable)]
    only: Vec<(String, String)>,
    /// Run nothing: write the tables again from existing runs
    #[arg(long, conflicts_with_all = ["seeds", "only", "check"])]
    keep: bool,
    /// Compare with the existing tables instead of writing
    #[arg(long)]
    check: bool,
    /// With --check: at most so many cells of each table
    #[arg(long, requires = "check", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    cells: Option<u16>,
    /// Runs at a time [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024), hide_short_help = true)]
    jobs: Option<u16>,
    #[command(flatten)]
    output: OutputArgs,
}

/// An experiment, with the scenario of each of its cells.
struct Prepared {
    path: PathBuf,
    experiment: Experiment,
    cells: Vec<(Cell, usize)>,
}

pub(crate) fn run(args: &TableArgs) -> Exit {
    let output = Output::new(args.output);
    make_all(args, &output).unwrap_or_else(|failures| {
        output.clear();
        give_up_all(&output, &failures)
    })
}

/// Reads an experiment, and a scenario for each of its cells; gives its name.
pub(super) fn check(path: &Path) -> Result<String, Vec<Failure>> {
    prepare(path, &mut Campaign::default()).map(|prepared| prepared.experiment.name)
}

fn prepare(path: &Path, campaign: &mut Campaign) -> Result<Prepared, Vec<Failure>> {
    let experiment = load_experiment(path)?;
    let scenario = path.parent().unwrap_or(Path::new(".")).join(&experiment.scenario);
    let open = Scenario::variables(&text_of(&scenario)?);
    let mut cells = Vec::new();
    for cell in experiment.cells() {
        let number = campaign.scenario(&scenario, experiment.values(&cell, &open))?;
        cells.push((cell, number));
    }
    Ok(Prepared { path: path.to_path_buf(), experiment, cells })
}

fn make_all(args: &TableArgs, output: &Output) -> Result<Exit, Vec<Failure>> {
    let begun = cpu_time();
    let mut campaign = Campaign::default();
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for path in experiment_files(&args.files).map_err(|failure| vec![failure])? {
        match prepare(&path, &mut campaign) {
            Ok(prepared) => all.push(prepared),
            Err(mistakes) => failures.extend(mistakes),
        }
    }
    if !failures.is_empty() {
        return Err(failures);
    }
    if args.keep {
        all.iter_mut().for_each(|prepared| prepared.cells.clear());
    }
    choose(args, &mut all).map_err(|failure| vec![failure])?;
    let wanted = |prepared: &Prepared| prepared.runs(args).map(|(_, run)| run).collect::<Vec<_>>();
    let total = all.iter().flat_map(wanted).collect::<BTreeSet<Run>>().len();
    let jobs =
        args.jobs.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    let mut differing = 0;
    for prepared in &all {
        let name = &prepared.experiment.name;
        campaign.run(wanted(prepared).into_iter(), jobs, |done| {
            output.progress(done as u64, total as u64, format!("{done} of {total} runs, {name}"));
        });
        let made = match args.check {
            true => prepared.compare(args, &campaign),
            false => prepared.make(args, &campaign),
        };
        let made = made.map_err(|failure| vec![failure])?;
        differing += made.differences.len();
        tell(&made, output);
    }
    output.clear();
    if differing > 0 {
        let text = format!(
            "tables ({}): {differing} differ from what is made now. If that is meant, make them \
             anew: fanfare sim table",
            args.out.display()
        );
        return Err(vec![Failure::new(Exit::Failed, "table.differs", text)]);
    }
    let cpu_seconds = (cpu_time() - begun).as_secs_f64();
    let (tables, exit) = (all.len(), Exit::Done as u8);
    lines::TablesResult { event: "result", ok: true, exit, tables, runs: total, cpu_seconds }
        .print(output);
    Ok(Exit::Done)
}

/// Files, and the experiments in directories and their sub-directories.
fn experiment_files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            for dir in std::iter::once(path.clone()).chain(folders_in(path)) {
                files.extend(toml_files(&dir)?.into_iter().filter(|path| is_experiment(path)));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// Leaves the cells that `--where` and `--cells` want.
fn choose(args: &TableArgs, all: &mut [Prepared]) -> Result<(), Failure> {
    let mut why = None;
    for prepared in &mut *all {
        let mut choice = Choice::default();
        for (name, levels) in &args.only {
            let levels: Vec<&str> = levels.split(',').collect();
            match choice.narrow(&prepared.experiment.factors, name, &levels) {
                Ok(()) => prepared.cells.retain(|(cell, _)| choice.holds(cell)),
                Err(text) => {
                    why = why.or(Some(text));
                    prepared.cells.clear();
                }
            }
        }
        if let Some(most) = args.cells.map(usize::from).filter(|n| *n < prepared.cells.len()) {
            let all = prepared.cells.len();
            prepared.cells = (0..most).map(|n| prepared.cells[n * all / most].clone()).collect();
        }
    }
    match why {
        Some(text) if all.iter().all(|prepared| prepared.cells.is_empty()) => {
            Err(Failure::usage("where.unknown", format!("--where {text}")))
        }
        _ => Ok(()),
    }
}

fn tell(made: &Made, output: &Output) {
    lines::TableLine::of(made).print(output);
    output.data(&format!("{}: {}, {} runs", made.name, made.about, made.runs));
    made.verdicts.iter().for_each(|verdict| output.data(&format!("  {verdict}")));
    made.differences.iter().for_each(|text| output.text(&format!("differs: {text}")));
}

impl Prepared {
    /// Every run that is wanted, and its cell.
    fn runs(&self, args: &TableArgs) -> impl Iterator<Item = (&Cell, Run)> {
        let first = self.experiment.seed;
        let count = self.seeds(args);
        self.cells.iter().flat_map(move |(cell, number)| {
            (first..first + count).map(move |seed| (cell, (*number, seed)))
        })
    }
    fn seeds(&self, args: &TableArgs) -> u64 {
        args.seeds.unwrap_or(self.experiment.seeds)
    }
    fn file(&self, args: &TableArgs, ending: &str) -> PathBuf {
        self.folder(args).join(format!("{}.{ending}", self.experiment.name))
    }
    fn folder(&self, args: &TableArgs) -> PathBuf {
        match self.experiment.folder.as_str() {
            "" => args.out.clone(),
            folder => args.out.join(folder),
        }
    }

    fn records(&self, args: &TableArgs, campaign: &Campaign) -> Records {
        let mut records = Records::default();
        for (cell, run) in self.runs(args) {
            let metrics = campaign.metrics(run);
            let figures = self.experiment.figures.iter().map(|figure| figure.of(metrics));
            records.add(cell.clone(), run.1, figures.collect());
        }
        records
    }
    /// What is in git.
    fn recorded(&self, args: &TableArgs) -> Result<Records, Failure> {
        let path = self.file(args, "runs.csv");
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        text.and_then(|text| Records::from_csv(&text, &self.experiment)).map_err(|why| {
            let text = format!("runs ({}): {why}. Run fanfare sim table", path.display());
            Failure::usage("table.unreadable", text)
        })
    }

    fn make(&self, args: &TableArgs, campaign: &Campaign) -> Result<Made, Failure> {
        let fresh = self.records(args, campaign);
        let mut records = Records::default();
        if args.keep || !args.only.is_empty() && self.file(args, "runs.csv").exists() {
            records = self.recorded(args)?;
        }
        records.replace(fresh);
        let results = Results::new(&self.experiment, &records);
        if let Some(name) = results.missing().first() {
            let shown = self.path.display();
            let text = format!(
                "{shown} figure ({name}): no run has its metric. fanfare sim run shows their names"
            );
            return Err(Failure::usage("figure.unknown", text));
        }
        let folder = self.folder(args);
        std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
        for (path, text) in self.files(args, &records, &results)? {
            write(&path, &text)?;
        }
        Ok(self.made(&records, &results, Vec::new()))
    }

    fn compare(&self, args: &TableArgs, campaign: &Campaign) -> Result<Made, Failure> {
        let (fresh, recorded) = (self.records(args, campaign), self.recorded(args)?);
        let shown = |(cell, seed): (&Cell, u64)| {
            let labels = self.experiment.labels(cell).join(" ");
            format!("{} {labels} seed {seed}", self.experiment.name)
        };
        let mut differences: Vec<String> =
            fresh.differences(&recorded).into_iter().map(shown).collect();
        let results = Results::new(&self.experiment, &recorded);
        for (path, text) in self.files(args, &recorded, &results)? {
            if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                differences.push(format!("{} is not of its runs", path.display()));
            }
        }
        Ok(Made { runs: fresh.len(), ..self.made(&recorded, &results, differences) })
    }

    /// The files of a table and what is in them.
    fn files(
        &self,
        args: &TableArgs,
        records: &Records,
        results: &Results<'_>,
    ) -> Result<Vec<(PathBuf, String)>, Failure> {
        let mut files = vec![
            (self.file(args, "runs.csv"), records.to_csv(&self.experiment)),
            (self.file(args, "csv"), results.to_csv()),
        ];
        let mut picture = None;
        if let Some(plot) = &self.experiment.plot {
            let path = self.file(args, "svg");
            let svg = curve_plot::draw(plot, results).map_err(|why| {
                let text = format!("plot ({}): cannot be drawn ({why})", path.display());
                Failure::new(Exit::Failed, "plot.failed", text)
            })?;
            files.push((path, svg));
            picture = Some(format!("{}.svg", self.experiment.name));
        }
        files.push((self.file(args, "md"), results.to_markdown(picture.as_deref())));
        Ok(files)
    }

    fn made(&self, records: &Records, results: &Results<'_>, differences: Vec<String>) -> Made {
        Made {
            name: self.experiment.name.clone(),
            about: self.experiment.about.clone(),
            cells: results.cells().len(),
            runs: records.len(),
            verdicts: results.verdicts(),
            differences,
        }
    }
}
