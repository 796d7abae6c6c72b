//! `[[reference]]`: a number beside a figure, from a file or from another cell.

use super::{
    factors::{self, Cell, Choice, Factor},
    figures::{self, Figure},
};
use crate::scenario::{ReadFile, fields::Fields};

/// A number beside a figure, in the cells that have one.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Its name: a column, with the ratio in the next.
    pub name: String,
    /// The figure that it stands beside, by number.
    pub figure: usize,
    cells: Choice,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    /// Lines of a file: levels by factor, and the number.
    File(Vec<Line>),
    /// The same figure of the cell with these levels in the place of its own.
    Cell(Choice),
}

/// One line of a file.
#[derive(Debug, Clone)]
struct Line {
    cells: Choice,
    number: f64,
}

impl Reference {
    /// The number beside a cell; `mean` gives the figure's mean of another.
    pub(super) fn of(&self, cell: &Cell, mean: impl Fn(&Cell) -> Option<f64>) -> Option<f64> {
        if !self.cells.holds(cell) {
            return None;
        }
        match &self.from {
            From::File(lines) => {
                lines.iter().find(|line| line.cells.holds(cell)).map(|line| line.number)
            }
            From::Cell(choice) => mean(&cell.moved(choice)),
        }
    }
}

/// Reads one `[[reference]]`.
pub(super) fn read(
    fields: &Fields<'_>,
    factors: &[Factor],
    figures: &[Figure],
    read: &ReadFile<'_>,
) -> Option<Reference> {
    let name = fields.need("name", fields.text("name"), "\"paper\"");
    let figure = figures::named(fields, "figure", figures);
    let cells = factors::choice(fields, "where", factors);
    let from = if fields.has("cell") {
        Some(From::Cell(factors::choice(fields, "cell", factors)))
    } else {
        let file = fields.need("file", fields.text("file"), "\"paper.csv\"");
        let column = fields.need("column", fields.text("column"), "\"goodput_kbps\"");
        let lines = file.zip(column).map(|(file, column)| {
            read(file).and_then(|text| lines(&text, factors, column)).map(From::File)
        });
        lines.and_then(|lines| {
            let wrong =
                |why| fields.get("file").into_iter().for_each(|v| fields.wrong("file", v, &why));
            lines.map_err(wrong).ok()
        })
    };
    fields.finish();
    Some(Reference { name: name?.to_owned(), figure: figure?, cells, from: from? })
}

/// A file of comma-separated values: `#` begins a comment; the first line names the columns; those
/// called as a factor say for which of its levels a line holds. Lines of other levels are left out.
fn lines(text: &str, factors: &[Factor], column: &str) -> Result<Vec<Line>, String> {
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let mut rows = rows.map(|line| line.split(',').map(str::trim).collect::<Vec<&str>>());
    let heading = rows.next().unwrap_or_default();
    let Some(place) = heading.iter().position(|name| *name == column) else {
        return Err(format!("has no column {column}. It has: {}", heading.join(", ")));
    };
    let keys: Vec<(usize, &Factor)> = factors
        .iter()
        .filter_map(|factor| Some((heading.iter().position(|n| *n == factor.name)?, factor)))
        .collect();
    let mut lines = Vec::new();
    for row in rows {
        let cell = |place: usize| row.get(place).copied().unwrap_or_default();
        let mut cells = Choice::default();
        let level = |(at, factor): &(usize, &Factor)| {
            cells.narrow(factors, &factor.name, &[cell(*at)]).is_ok()
        };
        let known = keys.iter().all(level);
        if !known || cell(place).is_empty() {
            continue;
        }
        let number = cell(place).parse();
        let number =
            number.map_err(|_| format!("has no number in {:?}. Correct it", row.join(",")))?;
        lines.push(Line { cells, number });
    }
    if lines.is_empty() {
        return Err(format!("has no line for any cell. Its columns are: {}", heading.join(", ")));
    }
    Ok(lines)
}
