//! All runs as a table, with ratios within the same run of the command.

use fanfare_sim::Sorted;
use std::fmt::Write as _;

use super::{Way, median, row::ProxyRun};

/// One line: the way, the loss, and how many downloads at once.
type Cell = (f64, Way, u32);

/// Ratios and figures of all runs, in Markdown.
#[must_use]
pub fn proxy_table(runs: &[ProxyRun]) -> String {
    let cells = cells(runs);
    let mut text =
        "| loss | way | at once | kbit/s | after 20 s | of NORM | of CUBIC | of BBR | of one \
                    | Jain | first MB, s | whole |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for cell in &cells {
        let _ = writeln!(text, "{}", line(runs, *cell));
    }
    let has_keys = |cell: &&Cell| of(runs, **cell).any(|run| !run.echo_alone_ms.is_empty());
    let typed: Vec<&Cell> = cells.iter().filter(has_keys).collect();
    if !typed.is_empty() {
        text.push_str(
            "\nKeys typed by ssh, and how long each took until it was seen, ms:\n\n\
             | loss | way | alone, median | p95 | beside, median | p95 | more at p95 | keys |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        for cell in typed {
            let _ = writeln!(text, "{}", echoes(runs, *cell));
        }
    }
    let has_page = |cell: &&Cell| of(runs, **cell).any(|run| run.page.is_some());
    let loaded: Vec<&Cell> = cells.iter().filter(has_page).collect();
    if !loaded.is_empty() {
        text.push_str(
            "\nA page of 100 files in a browser, from its start until it has drawn all, s:\n\n\
             | loss | way | median | least | most | of CUBIC | of BBR | same picture |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        for cell in loaded {
            let _ = writeln!(text, "{}", page(runs, *cell));
        }
    }
    text
}

/// In how many runs the picture was that of a direct load, too.
fn page(runs: &[ProxyRun], cell: Cell) -> String {
    let pages = |cell| whole(runs, cell).filter_map(|run| run.page.as_ref());
    let of_way = |cell| pages(cell).map(|page| page.seconds).collect::<Sorted>();
    let own = of_way(cell);
    let beside = |control| match cell.1 {
        Way::Tcp(_) => String::new(),
        _ => ratio(own.median(), of_way((cell.0, Way::Tcp(control), cell.2)).median()),
    };
    let direct = runs.iter().find(|run| run.way.starts_with("TCP") && run.page.is_some());
    let drawn = direct.and_then(|run| run.page.as_ref()).map(|page| &page.picture);
    let same = pages(cell).filter(|page| drawn == Some(&page.picture));
    format!(
        "| {} % | {} | {:.1} | {:.1} | {:.1} | {} | {} | {} of {} |",
        cell.0,
        cell.1.name(),
        own.median().unwrap_or_default(),
        own.first().copied().unwrap_or_default(),
        own.last().copied().unwrap_or_default(),
        beside("cubic"),
        beside("bbr"),
        same.count(),
        own.len()
    )
}

fn cells(runs: &[ProxyRun]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for run in runs {
        let way = Way::ALL.into_iter().find(|way| way.name() == run.way);
        let cell = way.map(|way| (run.loss, way, run.connections));
        cells.extend(cell.filter(|cell| !cells.contains(cell)));
    }
    let place = |way: &Way| Way::ALL.iter().position(|other| other == way);
    cells.sort_by(|a, b| {
        a.0.total_cmp(&b.0).then(place(&a.1).cmp(&place(&b.1))).then(a.2.cmp(&b.2))
    });
    cells
}

fn of(runs: &[ProxyRun], (loss, way, connections): Cell) -> impl Iterator<Item = &ProxyRun> {
    let name = way.name();
    runs.iter()
        .filter(move |run| run.way == name && run.loss == loss && run.connections == connections)
}

fn whole(runs: &[ProxyRun], cell: Cell) -> impl Iterator<Item = &ProxyRun> {
    of(runs, cell).filter(|run| run.why.is_empty())
}

/// The median of those that were whole.
fn middle(runs: &[ProxyRun], cell: Cell, figure: fn(&ProxyRun) -> f64) -> Option<f64> {
    let figures: Vec<f64> = whole(runs, cell).map(figure).collect();
    (!figures.is_empty()).then(|| median(figures))
}

/// This over that, where both are there.
fn ratio(ours: Option<f64>, theirs: Option<f64>) -> String {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if theirs > 0.0 => format!("{:.2}", ours / theirs),
        _ => String::new(),
    }
}

fn line(runs: &[ProxyRun], cell: Cell) -> String {
    let (loss, way, connections) = cell;
    let goodput = |cell| middle(runs, cell, |run| run.goodput_bps);
    let steady = |cell| middle(runs, cell, |run| run.steady_bps);
    let own = goodput(cell);
    // What a stream of NORM has in its first seconds is the search for its receiver.
    let native = match way {
        Way::Norm(control) => ratio(steady(cell), steady((loss, Way::Native(control), 1))),
        _ => String::new(),
    };
    let beside = |control| match way {
        Way::Tcp(_) => String::new(),
        _ => ratio(own, goodput((loss, Way::Tcp(control), connections))),
    };
    let one = if connections > 1 { ratio(own, goodput((loss, way, 1))) } else { String::new() };
    let jain = middle(runs, cell, |run| run.jain).filter(|_| connections > 1);
    let firsts: Vec<f64> = whole(runs, cell).filter_map(|run| run.first_s).collect();
    let first = match firsts.is_empty() {
        true => "-".to_owned(),
        false => format!("{:.1}", median(firsts)),
    };
    let counted = (whole(runs, cell).count(), of(runs, cell).count());
    format!(
        "| {loss} % | {} | {connections} | {} | {} | {native} | {} | {} | {one} | {} | {first} | {} of {} |",
        way.name(),
        spread(&whole(runs, cell).map(|run| run.goodput_bps).collect()),
        kilo(steady(cell).unwrap_or(0.0)),
        beside("cubic"),
        beside("bbr"),
        jain.map_or_else(String::new, |jain| format!("{jain:.3}")),
        counted.0,
        counted.1,
    )
}

fn kilo(bps: f64) -> String {
    format!("{:.0}", bps / 1e3)
}

/// The median, and in brackets the least and the most.
fn spread(figures: &Sorted) -> String {
    let Some(median) = figures.median() else { return "-".to_owned() };
    match figures[..] {
        [least, .., most] => format!("{} ({} to {})", kilo(median), kilo(least), kilo(most)),
        _ => kilo(median),
    }
}

fn echoes(runs: &[ProxyRun], cell: Cell) -> String {
    let gathered = |figures: fn(&ProxyRun) -> &[f64]| {
        whole(runs, cell).flat_map(figures).copied().collect::<Sorted>()
    };
    let (alone, beside) = (gathered(|run| &run.echo_alone_ms), gathered(|run| &run.echo_beside_ms));
    let [[a50, a95], [b50, b95]] = [&alone, &beside]
        .map(|times| [times.median(), times.percentile(95)].map(Option::unwrap_or_default));
    format!(
        "| {} % | {} | {a50:.0} | {a95:.0} | {b50:.0} | {b95:.0} | {:+.0} | {} and {} |",
        cell.0,
        cell.1.name(),
        b95 - a95,
        alone.len(),
        beside.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::proxy::page::Loaded;

    fn run(way: Way, connections: u32, kbits: f64, why: &str) -> ProxyRun {
        let mut run = ProxyRun::new(way.name(), 1.0, connections, 1);
        (run.goodput_bps, run.steady_bps, run.jain) = (kbits * 1e3, kbits * 1e3, 0.99);
        why.clone_into(&mut run.why);
        run
    }

    #[test]
    fn a_line_has_its_ratios_to_what_was_measured_beside_it() {
        let runs = [
            run(Way::Tcp("cubic"), 1, 400.0, ""),
            run(Way::Tcp("bbr"), 1, 800.0, ""),
            run(Way::Native("auto"), 1, 880.0, ""),
            run(Way::Norm("auto"), 1, 820.0, ""),
            run(Way::Norm("auto"), 1, 880.0, ""),
            run(Way::Norm("auto"), 1, 0.0, "there was no link"),
            run(Way::Norm("auto"), 10, 833.0, ""),
        ];
        let text = proxy_table(&runs);
        let one = "| 1 % | proxy, NORM auto | 1 | 850 (820 to 880) | 850 | 0.97 | 2.12 | 1.06 |  |  | - | 2 of 3 |";
        assert!(text.contains(one), "{text}");
        let ten =
            "| 1 % | proxy, NORM auto | 10 | 833 | 833 | 0.95 |  |  | 0.98 | 0.990 | - | 1 of 1 |";
        assert!(text.contains(ten), "{text}");
        assert!(!text.contains("typed by ssh"), "{text}");
    }

    #[test]
    fn a_page_stands_beside_its_direct_load_with_the_same_picture_or_another() {
        let loaded = |way, seconds, picture: &[u8]| {
            let mut run = run(way, 1, 800.0, "");
            run.page = Some(Loaded { seconds, picture: picture.to_vec() });
            run
        };
        let runs = [
            loaded(Way::Tcp("bbr"), 24.0, b"drawn"),
            loaded(Way::Norm("auto"), 11.0, b"drawn"),
            loaded(Way::Norm("auto"), 13.0, b"half"),
        ];
        let line = "| 1 % | proxy, NORM auto | 12.0 | 11.0 | 13.0 |  | 0.50 | 1 of 2 |";
        let text = proxy_table(&runs);
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn keys_of_all_runs_are_gathered() {
        let mut typed = run(Way::Norm("auto"), 1, 800.0, "");
        typed.echo_alone_ms = vec![490.0; 20];
        typed.echo_beside_ms = (0..20).map(|n| 500.0 + f64::from(n)).collect();
        let text = proxy_table(&[typed.clone(), typed]);
        let line = "| 1 % | proxy, NORM auto | 490 | 490 | 510 | 518 | +28 | 40 and 40 |";
        assert!(text.contains(line), "{text}");
    }
}
