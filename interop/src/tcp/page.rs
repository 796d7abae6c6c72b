//! The table of the comparison as Markdown.

use std::fmt::Write as _;

use super::{Plan, Row};

/// What the page says before its table: what the model is, and how it is compared.
const OPENING: &str = include_str!("opening.md");

/// The whole page.
pub fn page(command: &str, date: &str, kernel: &str, plan: &Plan, rows: &[Row]) -> String {
    let mut out = String::from(OPENING);
    // Writing to a String can't fail.
    let _ = write!(
        out,
        "\n## The numbers\n\n\
         Made by `{command}` on {date}, Linux {kernel}. Goodput in kbit/s over {} s from the first\n\
         byte; mean of {} runs with loss, one without; ± is the standard error. A run's seed gives the\n\
         model and the kernel the same losses as long as both send the same.\n\n\
         {}\n\n\
         | path | model | kernel | model against kernel |\n|---|--:|--:|--:|\n",
        plan.time.as_secs(),
        plan.runs,
        summary(rows),
    );
    for row in rows {
        out += &line(row);
        out.push('\n');
    }
    out
}

/// One row of the table.
pub fn line(row: &Row) -> String {
    format!(
        "| {} | {} | {} | {:+.0} % |",
        row.conditions.name(),
        cell(&row.model),
        cell(&row.kernel),
        difference(row) * 100.0
    )
}

/// How far the rows are apart, in words.
fn summary(rows: &[Row]) -> String {
    let mut words = String::new();
    let classes = [("without loss", 0.0), ("at 0.1 %", 0.001), ("at 1 %", 0.01), ("at 5 %", 0.05)];
    for (name, loss) in classes {
        let worst = rows
            .iter()
            .filter(|row| row.conditions.loss == loss)
            .map(|row| difference(row).abs())
            .reduce(f64::max);
        if let Some(worst) = worst {
            let _ = write!(words, "{name} within {:.0} %, ", (worst * 100.0).ceil());
        }
    }
    format!("Model against kernel: {}.", words.trim_end_matches(", "))
}

fn difference(row: &Row) -> f64 {
    mean(&row.model) / mean(&row.kernel) - 1.0
}

fn cell(goodputs: &[f64]) -> String {
    let mean = mean(goodputs);
    let n = goodputs.len() as f64;
    if n < 2.0 {
        return format!("{:.0}", mean / 1e3);
    }
    let squares: f64 = goodputs.iter().map(|g| (g - mean) * (g - mean)).sum();
    format!("{:.0} ± {:.0}", mean / 1e3, (squares / (n - 1.0) / n).sqrt() / 1e3)
}

fn mean(goodputs: &[f64]) -> f64 {
    goodputs.iter().sum::<f64>() / goodputs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::Conditions;
    use super::*;
    use fanfare_sim::tcp::Algorithm;
    use std::time::Duration;

    #[test]
    fn a_row_has_means_their_error_and_the_difference() {
        let rtt = Duration::from_millis(20);
        let conditions = Conditions { algorithm: Algorithm::Reno, mbps: 10, rtt, loss: 0.001 };
        let row = Row { conditions, model: vec![1.0e6, 1.2e6], kernel: vec![1e6, 1e6] };
        let text = "| Reno 10 Mbit/s 20 ms 0.1 % | 1100 ± 100 | 1000 ± 0 | +10 % |";
        assert_eq!(line(&row), text);
        assert_eq!(summary(&[row]), "Model against kernel: at 0.1 % within 11 %.");
    }
}
