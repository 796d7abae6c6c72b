//! The rows of the five papers: `results/rows.toml` says what each has and what stands here, and the
//! table in `results/README.md` is made of it. What is quoted must be in the page that it is quoted of.

use std::{fmt::Write as _, fs, path::Path, process::ExitCode};

use toml::de::{DeTable, DeValue};

use crate::step::Outcome;

const ROWS: &str = "results/rows.toml";
const PAGE: &str = "results/README.md";
const BEGINS: &str = "<!-- rows: made by `cargo xtask rows` of rows.toml -->";
const ENDS: &str = "<!-- end of rows -->";
/// All rows of the papers.
const COUNT: usize = 34;
/// What a row may be.
const STATES: [&str; 4] = ["stands", "short", "cited", "missing"];

/// A row as the file has it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    system: String,
    papers: String,
    paper: String,
    page: String,
    command: String,
    peer: String,
    ours: String,
    quoted: Vec<String>,
    state: String,
    why: String,
}

/// Writes the table anew.
pub(crate) fn update() -> ExitCode {
    let made = rows().and_then(|rows| {
        let page = read(PAGE)?;
        let new =
            with_table(&page, &table(&rows)).ok_or(format!("{PAGE}: has no place for rows"))?;
        fs::write(PAGE, new).map_err(|error| format!("{PAGE}: {error}"))
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the table is what the rows make, and the rows quote what their pages say.
pub(crate) fn check() -> Outcome {
    let checked = rows().and_then(|rows| {
        let mut findings =
            mistakes(&rows, |page| fs::read_to_string(Path::new("results").join(page)));
        let page = read(PAGE)?;
        if with_table(&page, &table(&rows)).as_deref() != Some(&page) {
            findings.push(format!("{PAGE} is not what {ROWS} makes: run `cargo xtask rows`"));
        }
        Ok(findings)
    });
    match checked {
        Ok(findings) if findings.is_empty() => Outcome::Passed,
        Ok(findings) => Outcome::Failed(findings.join("\n")),
        Err(why) => Outcome::Failed(why),
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

fn rows() -> Result<Vec<Row>, String> {
    parse(&read(ROWS)?)
}

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let table = DeTable::parse(text).map_err(|error| format!("{ROWS}: {error}"))?;
    let list = table.get_ref().get("row").and_then(|rows| rows.get_ref().as_array());
    let list = list.ok_or(format!("{ROWS}: no rows"))?;
    list.iter().map(|value| row(value.get_ref())).collect()
}

fn row(value: &DeValue<'_>) -> Result<Row, String> {
    let mut row = Row::default();
    let table = value.as_table().ok_or(format!("{ROWS}: a row is no table"))?;
    for (key, value) in table {
        let text = value.get_ref().as_str().map(str::to_owned);
        let list = value.get_ref().as_array().map(|all| {
            let texts = all.iter().filter_map(|one| one.get_ref().as_str());
            texts.map(str::to_owned).collect::<Vec<_>>()
        });
        match (key.get_ref().as_ref(), text, list) {
            ("system", Some(text), _) => row.system = text,
            ("papers", Some(text), _) => row.papers = text,
            ("paper", Some(text), _) => row.paper = text,
            ("page", Some(text), _) => row.page = text,
            ("command", Some(text), _) => row.command = text,
            ("peer", Some(text), _) => row.peer = text,
            ("ours", Some(text), _) => row.ours = text,
            ("state", Some(text), _) => row.state = text,
            ("why", Some(text), _) => row.why = text,
            ("quoted", _, Some(list)) => row.quoted = list,
            (key, ..) => return Err(format!("{ROWS}: {key}: not a key of a row, or not text")),
        }
    }
    Ok(row)
}

/// What rows lack, or say that their pages do not.
fn mistakes<E>(rows: &[Row], page: impl Fn(&str) -> Result<String, E>) -> Vec<String> {
    let mut found = Vec::new();
    if rows.len() != COUNT {
        found.push(format!("{ROWS}: {} rows, and the papers have {COUNT}", rows.len()));
    }
    for row in rows {
        let mut say = |what: &str| found.push(format!("{ROWS}: {}: {what}", row.system));
        if !STATES.contains(&&*row.state) {
            say("its state is none of stands, short, cited, missing");
        }
        if row.state != "stands" && row.why.is_empty() {
            say("does not say why it does not stand");
        }
        if matches!(&*row.state, "stands" | "short") && (row.page.is_empty() || row.ours.is_empty())
        {
            say("stands without a page, or without a figure of ours");
        }
        if matches!(&*row.state, "stands" | "short")
            && (row.command.is_empty() || row.peer.is_empty())
        {
            say("does not say which command makes it, or what its peer does today");
        }
        if row.paper.is_empty() {
            say("does not say what the paper says");
        }
        for file in row.command.split(' ').filter(|word| word.starts_with("scenarios/")) {
            if !Path::new(file).exists() {
                say(&format!("its command names {file}, which is not there"));
            }
        }
        if row.page.is_empty() {
            continue;
        }
        match page(&row.page) {
            Err(_) => say("its page is not there"),
            Ok(text) => {
                let both = format!("{} {}", row.peer, row.ours);
                for quoted in &row.quoted {
                    if !text.contains(quoted.as_str()) {
                        say(&format!("'{quoted}' is not in {}", row.page));
                    }
                    // A figure of the page that is nowhere in the row proves nothing.
                    let figure = quoted.split(" ±").next().unwrap_or_default();
                    if !both.replace(',', "").contains(figure)
                        && !row.paper.replace(',', "").contains(figure)
                    {
                        say(&format!("'{figure}' is quoted, and not in the row"));
                    }
                }
            }
        }
    }
    found
}

fn table(rows: &[Row]) -> String {
    let mut out = String::new();
    let count = |state: &str| rows.iter().filter(|row| row.state == state).count();
    let _ = writeln!(
        out,
        "{} rows: {} stand, {} are short of what was wanted, {} are cited only, {} are missing.\n",
        rows.len(),
        count("stands"),
        count("short"),
        count("cited"),
        count("missing")
    );
    out += "| | row | papers | what the paper says | its peer today | ours | state | made by |\n";
    out += "|--:|---|---|---|---|---|---|---|\n";
    for (row, number) in rows.iter().zip(1..) {
        let name = match row.page.as_str() {
            "" => row.system.clone(),
            page => format!("[{}]({page})", row.system),
        };
        let state = match row.why.as_str() {
            "" => row.state.clone(),
            why => format!("**{}**: {why}", row.state),
        };
        let command = match row.command.as_str() {
            "" | "the same" => row.command.clone(),
            command => format!("`{command}`"),
        };
        let Row { papers, paper, peer, ours, .. } = row;
        let _ = writeln!(
            out,
            "| {number} | {name} | {papers} | {paper} | {peer} | {ours} | {state} | {command} |"
        );
    }
    out
}

/// The page with this table in its place; `None` when it has no such place.
fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGINS)?;
    let (_, after) = rest.split_once(ENDS)?;
    Some(format!("{before}{BEGINS}\n\n{table}\n{ENDS}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[row]]\nsystem = \"NATS\"\npapers = \"002\"\npaper = \"82 %\"\n\
        page = \"a.md\"\ncommand = \"x\"\npeer = \"14.29 %\"\nours = \"99.99 %\"\n\
        quoted = [\"14.29\", \"99.99\"]\nstate = \"stands\"\n";

    fn found(text: &str, page: &str) -> String {
        let rows = parse(text).unwrap();
        mistakes(&rows, |_| Ok::<String, ()>(page.to_owned())).join("\n")
    }

    #[test]
    fn figures_that_their_page_does_not_have_are_found() {
        let all = ONE.repeat(COUNT);
        assert_eq!(found(&all, "14.29 and 99.99"), "");
        assert!(found(&all, "14.29 and 98.00").contains("'99.99' is not in a.md"));
        let other = all.replace("ours = \"99.99 %\"", "ours = \"100 %\"");
        assert!(found(&other, "14.29 and 99.99").contains("'99.99' is quoted, and not in the row"));
    }

    #[test]
    fn rows_that_are_missing_or_do_not_stand_say_so() {
        assert!(found(ONE, "14.29 99.99").contains("1 rows"));
        let short = ONE.replace("\"stands\"", "\"short\"");
        assert!(found(&short, "14.29 99.99").contains("does not say why"));
        let bare = ONE.replace("command = \"x\"\n", "");
        assert!(found(&bare, "14.29 99.99").contains("which command makes it"));
        let gone = ONE.replace("\"x\"", "\"fanfare sim table scenarios/none.toml\"");
        assert!(found(&gone, "14.29 99.99").contains("names scenarios/none.toml"));
        let vague = ONE.replace("\"stands\"", "\"fine\"");
        assert!(found(&vague, "14.29 99.99").contains("its state is none"));
        assert!(parse("[[row]]\nsytem = \"x\"\n").is_err());
    }

    #[test]
    fn the_table_takes_its_place_and_nothing_else() {
        let page = format!("before\n{BEGINS}\nold\n{ENDS}\nafter\n");
        let new = with_table(&page, &table(&parse(ONE).unwrap())).unwrap();
        assert!(new.starts_with("before\n") && new.ends_with("\nafter\n") && !new.contains("old"));
        assert!(
            new.contains("| 1 | [NATS](a.md) | 002 | 82 % | 14.29 % | 99.99 % | stands | `x` |")
        );
        assert_eq!(with_table(&new, &table(&parse(ONE).unwrap())).as_deref(), Some(&*new));
        assert_eq!(with_table("no place", "x"), None);
    }
}
