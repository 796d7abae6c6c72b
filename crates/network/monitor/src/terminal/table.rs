//! Columns as wide as what is in them, cut to a terminal's width.

/// Rows beneath a head. The first column and those named `left` begin at the left.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    left: &'static [usize],
}

impl Table {
    pub(super) fn new(head: &[&str], left: &'static [usize]) -> Self {
        Self { rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()], left }
    }

    pub(super) fn add(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let columns = self.rows[0].len();
        let widest = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let line = |row: &Vec<String>| {
            let cell = |(at, cell): (usize, &String)| match self.left.contains(&at) {
                true => format!("{cell:<0$}", widths[at]),
                false => format!("{cell:>0$}", widths[at]),
            };
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            cut(cells.join("  ").trim_end(), width)
        };
        self.rows.iter().map(line).collect()
    }
}

/// The beginning of a text that has room, with a mark where something is left out.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them_and_lines_are_cut() {
        let mut table = Table::new(&["name", "n", "what"], &[0, 2]);
        table.add(vec!["a".to_owned(), "100".to_owned(), "x".to_owned()]);
        assert_eq!(table.lines(80), ["name    n  what", "a     100  x"]);
        assert_eq!(table.lines(6), ["name …", "a    …"]);
    }
}
