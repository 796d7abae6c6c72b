//! `[[vary]]`: what varies, and the resulting cells.

use crate::scenario::{Values, fields::Fields, variables::plain};
use fanfare_crypto::toml::suggest;
use std::collections::BTreeMap;
use toml::{Spanned, de::DeValue};

/// Something that varies from cell to cell.
#[derive(Debug, Clone)]
pub struct Factor {
    /// Its name: a column.
    pub name: String,
    /// The values it takes.
    pub levels: Vec<Level>,
}

/// One of its values.
#[derive(Debug, Clone)]
pub struct Level {
    /// What the column says.
    pub name: String,
    /// What it puts into the scenario.
    pub values: Values,
}

/// One combination: a level of each factor, by number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell(Vec<usize>);

impl Cell {
    /// The level of each factor.
    #[must_use]
    pub fn levels(&self) -> &[usize] {
        &self.0
    }
    /// The same with the levels that `choice` names.
    pub(super) fn moved(&self, choice: &Choice) -> Self {
        let mut levels = self.0.clone();
        for (factor, chosen) in &choice.0 {
            levels[*factor] = chosen.first().copied().unwrap_or(levels[*factor]);
        }
        Self(levels)
    }
}

/// Some of the cells: those with one of these levels, by factor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice(BTreeMap<usize, Vec<usize>>);

impl Choice {
    /// Whether it is one of them.
    #[must_use]
    pub fn holds(&self, cell: &Cell) -> bool {
        self.0.iter().all(|(factor, levels)| levels.contains(&cell.0[*factor]))
    }
    /// Narrows it to some levels of a factor, by their names.
    ///
    /// # Errors
    /// When there is no such factor, or no such level of it.
    pub fn narrow(
        &mut self,
        factors: &[Factor],
        name: &str,
        levels: &[&str],
    ) -> Result<(), String> {
        let Some(number) = factors.iter().position(|factor| factor.name == name) else {
            let hint = suggest(name, factors.iter().map(|factor| factor.name.as_str()));
            return Err(format!("({name}): does not vary here. {hint}"));
        };
        let known = &factors[number].levels;
        let find = |wanted: &&str| {
            known.iter().position(|level| level.name == **wanted).ok_or_else(|| {
                let hint = suggest(wanted, known.iter().map(|level| level.name.as_str()));
                format!("({name} = {wanted}): has no such value. {hint}")
            })
        };
        let chosen: Vec<usize> = levels.iter().map(find).collect::<Result<_, _>>()?;
        self.0.insert(number, chosen);
        Ok(())
    }
}

/// `where = { loss = "1%", flows = [1, 5] }`.
pub(super) fn choice(fields: &Fields<'_>, key: &'static str, factors: &[Factor]) -> Choice {
    let mut choice = Choice::default();
    let Some(table) = fields.table(key) else { return choice };
    for (name, value) in table.entries() {
        let list = value.get_ref().as_array();
        let values: Vec<String> = match list {
            Some(list) => list.iter().filter_map(|value| plain(value.get_ref())).collect(),
            None => plain(value.get_ref()).into_iter().collect(),
        };
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        if let Err(why) = choice.narrow(factors, name, &values) {
            fields.mistakes.note(value.span().start, format!("{}.{key} {why}", fields.name));
        }
    }
    choice
}

/// Every combination of levels; the last factor varies fastest.
pub(super) fn cells(factors: &[Factor]) -> Vec<Cell> {
    let mut cells = vec![Vec::new()];
    for factor in factors {
        let more = |cell: &Vec<usize>| {
            let cell = cell.clone();
            (0..factor.levels.len()).map(move |level| [&cell[..], &[level]].concat())
        };
        cells = cells.iter().flat_map(more).collect();
    }
    cells.into_iter().map(Cell).collect()
}

/// Reads one `[[vary]]`.
pub(super) fn read(fields: &Fields<'_>) -> Option<Factor> {
    let name = fields.need("name", fields.text("name"), "\"loss\"");
    let values = fields.need("values", fields.get("values"), "[\"1%\", \"10%\"]");
    fields.finish();
    let (name, values) = (name?, values?);
    let levels: Vec<Level> = match values.get_ref().as_array() {
        Some(list) => list.iter().filter_map(|value| level(fields, name, value)).collect(),
        None => Vec::new(),
    };
    if levels.is_empty() {
        fields.wrong("values", values, "must be a list. Write values = [1, 5, 10]");
    }
    let twice = |level: &&Level| levels.iter().filter(|l| l.name == level.name).count() > 1;
    if let Some(level) = levels.iter().find(twice) {
        fields.wrong("values", values, format!("has {} twice. Name each once", level.name));
    }
    Some(Factor { name: name.to_owned(), levels })
}

/// A value of the variable that is called as the factor, or several variables and a name.
fn level(fields: &Fields<'_>, factor: &str, value: &Spanned<DeValue<'_>>) -> Option<Level> {
    let level = match (plain(value.get_ref()), value.get_ref().as_table()) {
        (Some(text), _) => {
            let values = Values::from([(factor.to_owned(), text.clone())]);
            Level { name: text, values }
        }
        (None, Some(table)) => {
            let fields = Fields::new("values", value.span().start, table, fields.mistakes);
            let name = fields.need("name", fields.text("name"), "\"a name\"")?.to_owned();
            let values = super::set(&fields).into_iter().filter(|(key, _)| key != "name");
            Level { name, values: values.collect() }
        }
        _ => {
            fields.wrong("values", value, "is not a value. Write text, a number or { name = … }");
            return None;
        }
    };
    if level.name.contains([',', '"', '|', '\n']) {
        fields.wrong("values", value, "cannot stand in a table. Leave out , \" and |");
    }
    Some(level)
}
