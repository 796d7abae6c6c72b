//! Lines beneath the bar on a terminal: one for each receiver.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Printable;

/// Rows of a terminal that does not tell its height.
const TERMINAL_ROWS: u16 = 24;
/// Rows that are left for the bar and for what was printed before.
const OTHER_ROWS: usize = 6;
/// More lines than this nobody reads at a glance.
const ROWS_MAX: usize = 40;

/// The bar's lines.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) bars: MultiProgress,
    rows: Mutex<Vec<ProgressBar>>,
}

impl Rows {
    pub(crate) fn new(target: ProgressDrawTarget) -> Self {
        Self { bars: MultiProgress::with_draw_target(target), rows: Mutex::default() }
    }

    /// How many there is room for.
    pub(crate) fn room(&self) -> usize {
        if self.bars.is_hidden() {
            return 0;
        }
        let rows =
            fanfare_udp::os::terminal::size(io::stderr()).map_or(TERMINAL_ROWS, |size| size.1);
        usize::from(rows).saturating_sub(OTHER_ROWS).min(ROWS_MAX)
    }

    /// Shows these, instead of those before.
    pub(crate) fn show(&self, lines: &[String]) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        while rows.len() > lines.len() {
            rows.pop().iter().for_each(ProgressBar::finish_and_clear);
        }
        while rows.len() < lines.len() {
            let row = self.bars.add(ProgressBar::no_length());
            if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                row.set_style(style);
            }
            rows.push(row);
        }
        for (row, line) in rows.iter().zip(lines) {
            row.set_message(Printable(line).to_string());
        }
    }
}
