//! `fanfare sim sweep`: scenario files over many seeds and values, here or on a Dask cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    slice::from_ref,
    thread::available_parallelism,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up_all};
use fanfare_sim::{Scenario, Summary, Values, experiment::Choice};

use super::{
    campaign::{Campaign, Run},
    dask::{Cluster, Piece},
    written::unwritable,
};
use crate::scenario_files::{is_experiment, load_experiment, text_of, variable};

/// Seeds of each cell unless an experiment or the user says otherwise: as `fanfare sim run`.
const SEEDS: u64 = 20;

const HELP: Help = Help::new(&[
    ("fanfare sim sweep small.toml --seeds 1000", "a thousand seeds"),
    ("fanfare sim sweep cell.toml --vary loss=0.1%,1%,10%", "three values"),
    ("fanfare sim sweep cell.toml --dask tcp://head:8786", "on a cluster"),
])
.exits(&[
    (Exit::Done, "done"),
    (Exit::Failed, "a run failed"),
    (Exit::Resource, "Python, Dask or the scheduler is missing, or a file cannot be written"),
])
.files(&[("FILE", "scenario, in TOML; see docs/reference/scenario-files.md")]);

/// Run scenarios over many seeds and values, and write a CSV file
///
/// Each combination of values is a cell, and each cell has many seeds. A scenario may hold ${NAME}
/// where --vary gives values. An experiment's file says itself what varies. The result has a line
/// for each cell and figure: runs, mean, half of the 95 % confidence interval, least, greatest. It
/// depends only on files, values and seeds, not on where it was computed.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(super) struct SweepArgs {
    /// Scenario files, or one experiment file
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Values of a variable, with commas; repeatable
    #[arg(long, value_name = "NAME=A,B", value_parser = variable)]
    vary: Vec<(String, String)>,
    /// Only these values of what an experiment varies; repeatable
    #[arg(long = "where", value_name = "NAME=A,B", value_parser = variable)]
    only: Vec<(String, String)>,
    /// First seed [default: the experiment's, or 1]
    #[arg(long)]
    seed: Option<u64>,
    /// How many seeds [default: the experiment's, or 20]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    seeds: Option<u64>,
    /// Runs at a time [default: one for each core]
    #[arg(long, hide_short_help = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Compute on the Dask cluster of this scheduler
    ///
    /// It needs Python with dask and distributed here, and fanfare with fanfare-lab on the workers.
    #[arg(long, value_name = "ADDRESS")]
    dask: Option<String>,
    /// Seeds in one piece of work of a cluster
    #[arg(
        long, default_value_t = 10, hide_short_help = true, requires = "dask",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    piece: u64,
    /// The program as workers of the cluster find it
    #[arg(
        long,
        default_value = "fanfare",
        value_name = "PROGRAM",
        hide_short_help = true,
        requires = "dask"
    )]
    fanfare: String,
    /// CSV file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// One combination of values.
struct Cell {
    /// The scenario's file.
    path: PathBuf,
    /// The names of its values, in the order of the columns.
    labels: Vec<String>,
    values: Values,
    first: u64,
    seeds: u64,
}

impl Cell {
    fn seeds(&self) -> std::ops::Range<u64> {
        self.first..self.first.saturating_add(self.seeds)
    }
}

/// Values of each figure of a cell, by seed.
type Figures = BTreeMap<String, BTreeMap<u64, f64>>;

pub(super) fn run(args: &SweepArgs) -> Exit {
    let output = Output::new(args.output);
    sweep(args, &output).unwrap_or_else(|failures| {
        output.clear();
        give_up_all(&output, &failures)
    })
}

fn sweep(args: &SweepArgs, output: &Output) -> Result<Exit, Vec<Failure>> {
    let (mut columns, mut cells) = (None, Vec::new());
    for path in &args.files {
        let (names, more) = args.cells(path)?;
        if columns.as_ref().is_some_and(|columns| *columns != names) {
            let shown = path.display();
            let text =
                format!("files ({shown}): varies otherwise than those before. Sweep it alone");
            return Err(vec![Failure::usage("sweep.invalid", text)]);
        }
        columns = Some(names);
        cells.extend(more);
    }
    let one = |failure| vec![failure];
    // Before the work, which may take hours.
    let mut file = open(args.out.as_deref()).map_err(one)?;
    let figures = match &args.dask {
        None => here(args, &cells, output)?,
        Some(address) => on_cluster(args, address, &cells, output)?,
    };
    output.clear();
    let written = write(&mut file, &columns.unwrap_or_default(), &cells, &figures);
    let path = args.out.as_deref().unwrap_or(Path::new("standard output"));
    written.map_err(|error| one(unwritable(path, &error)))?;
    Ok(Exit::Done)
}

impl SweepArgs {
    /// The columns of a file, and its cells.
    fn cells(&self, path: &Path) -> Result<(Vec<String>, Vec<Cell>), Vec<Failure>> {
        let refused = |text: String| vec![Failure::usage("sweep.invalid", text)];
        let shown = path.display();
        if !is_experiment(path) {
            if !self.only.is_empty() {
                let text = format!("where ({shown}): is no experiment file. Use --vary");
                return Err(refused(text));
            }
            let names = self.vary.iter().map(|(name, _)| name.clone()).collect();
            let (first, seeds) = (self.seed.unwrap_or(1), self.seeds.unwrap_or(SEEDS));
            let cell = |labels: Vec<String>| {
                let named = self.vary.iter().map(|(name, _)| name.clone());
                let values = named.zip(labels.clone()).collect();
                Cell { path: path.to_owned(), labels, values, first, seeds }
            };
            return Ok((names, combinations(&self.vary).into_iter().map(cell).collect()));
        }
        if !self.vary.is_empty() {
            let text =
                format!("vary ({shown}): an experiment says itself what varies. Use --where");
            return Err(refused(text));
        }
        let experiment = load_experiment(path)?;
        let mut choice = Choice::default();
        for (name, values) in &self.only {
            let values: Vec<&str> = values.split(',').collect();
            let narrowed = choice.narrow(&experiment.factors, name, &values);
            narrowed.map_err(|why| refused(format!("where {why}")))?;
        }
        let scenario = path.parent().unwrap_or(Path::new(".")).join(&experiment.scenario);
        let open: BTreeSet<String> = Scenario::variables(&text_of(&scenario)?);
        let cells = experiment.cells().into_iter().filter(|cell| choice.holds(cell));
        let cells = cells.map(|cell| Cell {
            path: scenario.clone(),
            labels: experiment.labels(&cell).into_iter().map(str::to_owned).collect(),
            values: experiment.values(&cell, &open),
            first: self.seed.unwrap_or(experiment.seed),
            seeds: self.seeds.unwrap_or(experiment.seeds),
        });
        let names = experiment.factors.iter().map(|factor| factor.name.clone()).collect();
        Ok((names, cells.collect()))
    }
}

/// Every choice of one value for each name; the last name varies fastest.
fn combinations(vary: &[(String, String)]) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for (_, values) in vary {
        let with = |chosen: &Vec<String>| {
            let chosen = chosen.clone();
            values.split(',').map(move |value| [&chosen[..], &[value.to_owned()]].concat())
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// On the cores of this machine.
fn here(args: &SweepArgs, cells: &[Cell], output: &Output) -> Result<Vec<Figures>, Vec<Failure>> {
    let mut campaign = Campaign::default();
    let mut numbers = Vec::new();
    for cell in cells {
        numbers.push(campaign.scenario(&cell.path, cell.values.clone())?);
    }
    let runs = |place: usize| cells[place].seeds().map(move |seed| (place, seed));
    let wanted: Vec<Run> =
        (0..cells.len()).flat_map(runs).map(|(place, seed)| (numbers[place], seed)).collect();
    let total = wanted.iter().collect::<BTreeSet<_>>().len();
    let jobs =
        args.jobs.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from);
    campaign.run(wanted.into_iter(), jobs, |done| {
        output.progress(done as u64, total as u64, format!("{done} of {total} runs"));
    });
    let figures = |(cell, number): (&Cell, &usize)| {
        let mut figures = Figures::new();
        for seed in cell.seeds() {
            for (name, value) in campaign.metrics((*number, seed)) {
                figures.entry(name.clone()).or_default().insert(seed, *value);
            }
        }
        figures
    };
    Ok(cells.iter().zip(&numbers).map(figures).collect())
}

/// On a cluster, which is given the text of the scenarios.
fn on_cluster(
    args: &SweepArgs,
    address: &str,
    cells: &[Cell],
    output: &Output,
) -> Result<Vec<Figures>, Vec<Failure>> {
    let (mut pieces, mut places) = (Vec::new(), Vec::new());
    for (place, cell) in cells.iter().enumerate() {
        let text = text_of(&cell.path)?;
        let starts = cell.seeds().step_by(usize::try_from(args.piece).unwrap_or(usize::MAX));
        for first in starts {
            let seeds = args.piece.min(cell.seeds().end - first);
            let (values, text) = (cell.values.clone(), text.clone());
            pieces.push(Piece { fanfare: args.fanfare.clone(), text, values, first, seeds });
            places.push(place);
        }
    }
    let one = |failure| vec![failure];
    let mut figures: Vec<Figures> = cells.iter().map(|_| Figures::new()).collect();
    let mut cluster = Cluster::start(address, &pieces).map_err(one)?;
    for (done, place) in places.into_iter().enumerate() {
        for (seed, metrics) in cluster.next().map_err(one)? {
            for (name, value) in metrics {
                figures[place].entry(name).or_default().insert(seed, value);
            }
        }
        let total = pieces.len();
        output.progress(done as u64 + 1, total as u64, format!("{} of {total} pieces", done + 1));
    }
    Ok(figures)
}

fn open(path: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    Ok(match path {
        None => Box::new(io::stdout().lock()),
        Some(path) => {
            let file = File::create(path).map_err(|error| unwritable(path, &error))?;
            Box::new(BufWriter::new(file))
        }
    })
}

/// A line for each cell and figure.
fn write(
    file: &mut dyn Write,
    columns: &[String],
    cells: &[Cell],
    figures: &[Figures],
) -> io::Result<()> {
    let row = |words: &[String]| words.iter().map(|word| field(word)).collect::<Vec<_>>().join(",");
    let head = ["scenario".to_owned()].into_iter().chain(columns.iter().cloned());
    let tail = ["figure", "runs", "mean", "ci95", "min", "max"].map(str::to_owned);
    writeln!(file, "{}", row(&head.chain(tail).collect::<Vec<_>>()))?;
    for (cell, figures) in cells.iter().zip(figures) {
        let name = cell.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (figure, values) in figures {
            let values: Vec<f64> = values.values().copied().collect();
            let Summary { runs, mean, ci95, least, greatest } = Summary::of(&values);
            let numbers = [runs as f64, mean, ci95, least, greatest].map(|n| n.to_string());
            let words = [from_ref(&name), &cell.labels, from_ref(figure), &numbers].concat();
            writeln!(file, "{}", row(&words))?;
        }
    }
    file.flush()
}

/// As RFC 4180 quotes it.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_made() {
        let vary = [("a", "1,2"), ("b", "x,y")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let made: Vec<String> = combinations(&vary).iter().map(|labels| labels.concat()).collect();
        assert_eq!(made, ["1x", "1y", "2x", "2y"]);
        assert_eq!(combinations(&[]), [Vec::<String>::new()]);
    }

    #[test]
    fn what_has_a_comma_is_quoted() {
        assert_eq!(["a", "a,b", "a\"b"].map(field), ["a", "\"a,b\"", "\"a\"\"b\""]);
    }
}
