//! A run over time as SVG: what receivers got above, how many layers they were in, and how long packets
//! waited below.

use fanfare_sim::{LayeredReport, Report, Scenario, Series, series::STEP};
use plotters::{
    chart::SeriesLabelPosition,
    coord::Shift,
    prelude::{
        ChartBuilder, DrawingArea, IntoDrawingArea, LineSeries, PathElement, SVGBackend, WHITE,
    },
    style::Color,
};

use crate::drawing::{COLOURS, DrawError};

/// Pixels: two diagrams, one below the other, and what another one needs.
const SIZE: (u32, u32) = (1000, 640);
const ANOTHER: u32 = 300;
/// Lines in one diagram; more cannot be told apart.
const LINES_MAX: usize = 12;
/// Points in a line: more than pixels show nothing.
const POINTS_MAX: usize = 400;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A line: its name, and its value every so many seconds.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The whole picture.
pub(super) fn draw(scenario: &Scenario, report: &Report) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let steps = (report.ended.as_secs_f64() / STEP.as_secs_f64()) as usize;
        let panels = [
            ("goodput, kbit/s", goodputs(report, steps)),
            ("layers", layers(report, steps)),
            ("longest wait, ms", delays(report, steps)),
        ];
        // What is not in the scenario is not drawn; goodputs always are.
        let shown = |(n, (_, lines)): &(usize, &(&str, Vec<Line>))| *n == 0 || !lines.is_empty();
        let panels: Vec<_> = panels.iter().enumerate().filter(shown).map(|(_, all)| all).collect();
        let height = SIZE.1 + ANOTHER * panels.len().saturating_sub(2) as u32;
        let root = SVGBackend::with_string(&mut svg, (SIZE.0, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!("{}, seed {}", scenario.name, report.seed);
        let root = root.titled(&title, ("sans-serif", 22))?;
        for (area, (what, lines)) in root.split_evenly((panels.len(), 1)).iter().zip(panels) {
            panel(area, what, lines)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn goodputs(report: &Report, steps: usize) -> Vec<Line> {
    let series = report.goodput_series();
    let line = |(name, series): (String, &Series)| {
        let group = group(steps);
        let seconds = group as f64 * STEP.as_secs_f64();
        let kbps = |first: usize| {
            let bytes: u64 = (first..first + group).map(|step| series.at(step)).sum();
            bytes as f64 * 8.0 / seconds / 1e3
        };
        Line { name, points: points(steps, kbps) }
    };
    series.into_iter().take(LINES_MAX).map(line).collect()
}

fn layers(report: &Report, steps: usize) -> Vec<Line> {
    let line = |receiver: &LayeredReport| {
        let level = |first: usize| receiver.level_at(STEP * first as u32) as f64;
        Line { name: report.label(receiver.place), points: points(steps, level) }
    };
    report.layered.iter().take(LINES_MAX).map(line).collect()
}

fn delays(report: &Report, steps: usize) -> Vec<Line> {
    let busy = report.hops.iter().filter(|hop| hop.rate.is_some() && hop.carried > 0);
    busy.take(LINES_MAX)
        .map(|hop| {
            let ms = |first: usize| {
                let steps = first..first + group(steps);
                let longest = steps.map(|step| hop.longest_us.at(step)).max();
                longest.unwrap_or(0) as f64 / 1e3
            };
            Line { name: report.hop_name(hop), points: points(steps, ms) }
        })
        .collect()
}

/// Steps of the series in one point.
fn group(steps: usize) -> usize {
    steps.div_ceil(POINTS_MAX).max(1)
}

fn points(steps: usize, value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let firsts = (0..steps).step_by(group(steps));
    firsts.map(|first| (first as f64 * STEP.as_secs_f64(), value(first))).collect()
}

fn panel(area: &Area<'_>, what: &str, lines: &[Line]) -> Result<(), DrawError> {
    let all = || lines.iter().flat_map(|line| &line.points);
    let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(1e-3, f64::max);
    let (right, top) = (most(|p| p.0), most(|p| p.1) * 1.05);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    let light = plotters::style::BLACK.mix(0.08);
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(light)
        .x_desc("seconds")
        .y_desc(what)
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&|y| format!("{y}"))
        .draw()?;
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let series = LineSeries::new(line.points.iter().copied(), colour.stroke_width(2));
        let sample = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2));
        chart.draw_series(series)?.label(&line.name).legend(sample);
    }
    let background = WHITE.mix(0.8);
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(background)
        .border_style(light)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(text: &str) -> String {
        let scenario = Scenario::parse(text, &|_| Err(String::new())).unwrap();
        draw(&scenario, &scenario.plan(1).run()).unwrap()
    }

    #[test]
    fn a_shared_road_has_its_waits_below_its_goodputs() {
        let svg = picture(include_str!("../../../../../../scenarios/files/dumbbell.toml"));
        for word in ["<svg", "dumbbell, seed 1", "goodput, kbit/s", "longest wait, ms", "west-east"]
        {
            assert!(svg.contains(word), "{word}");
        }
        assert!(svg.len() < 200_000, "{}", svg.len());
    }

    #[test]
    fn a_layered_session_has_its_layers_between_goodputs_and_waits() {
        let svg = picture(include_str!("../../../../../../scenarios/files/layers.toml"));
        let place = |word: &str| svg.find(word).unwrap_or_else(|| panic!("{word}"));
        assert!(place("goodput, kbit/s") < place(">\nlayers\n"));
        assert!(place(">\nlayers\n") < place("longest wait, ms"));
        assert_eq!(
            picture(include_str!("../../../../../../scenarios/files/small.toml")).find("layers"),
            None
        );
    }

    #[test]
    fn a_network_of_paths_has_goodputs_alone() {
        let svg = picture(include_str!("../../../../../../scenarios/files/small.toml"));
        assert!(svg.contains("goodput, kbit/s") && !svg.contains("longest wait"));
        assert_eq!(svg, picture(include_str!("../../../../../../scenarios/files/small.toml")));
    }
}
