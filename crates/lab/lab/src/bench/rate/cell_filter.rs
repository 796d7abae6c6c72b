//! Which cells to measure.

use super::{cell::RateCell, grid};

impl RateCell {
    /// All of them, in the order of tables.
    #[must_use]
    pub fn all() -> Vec<Self> {
        [grid::FREE, grid::SHAPED, grid::OTHERS].concat()
    }

    /// The cells of these names; a star at the end stands for any rest. All of them for no name.
    ///
    /// # Errors
    /// Which name is unknown, and which there are.
    pub fn chosen(names: &[String]) -> Result<Vec<Self>, String> {
        let all = Self::all();
        if names.is_empty() {
            return Ok(all);
        }
        let mut chosen = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let fits = |cell: &&Self| match name.strip_suffix('*') {
                Some(start) => cell.name.starts_with(start),
                None => cell.name == name,
            };
            let before = chosen.len();
            chosen.extend(all.iter().filter(fits));
            if chosen.len() == before {
                return Err(unknown(name, &all));
            }
        }
        Ok(chosen)
    }
}

fn unknown(name: &str, all: &[RateCell]) -> String {
    let names: Vec<&str> = all.iter().map(|cell| cell.name).collect();
    format!("cell ({name}): no such cell. Use one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Result<Vec<&'static str>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let cells = RateCell::chosen(&names)?;
        Ok(cells.iter().map(|cell| cell.name).collect())
    }

    #[test]
    fn cells_are_chosen_by_name_in_the_order_that_they_are_asked_for() {
        assert_eq!(chosen(&["56k-3", " free-1"]), Ok(vec!["56k-3", "free-1"]));
        assert_eq!(chosen(&[]).unwrap().len(), RateCell::all().len());
    }

    #[test]
    fn a_star_stands_for_any_rest() {
        let beside = chosen(&["beside-*"]).unwrap();
        assert_eq!(beside.len(), 8);
        assert!(beside.iter().all(|name| name.starts_with("beside-")));
    }

    #[test]
    fn an_unknown_name_is_told_with_the_names_that_there_are() {
        for unknown in ["none", "none*"] {
            let text = chosen(&["56k-3", unknown]).unwrap_err();
            assert!(text.contains(unknown) && text.contains("56k-10ms-3"), "{text}");
        }
    }
}
