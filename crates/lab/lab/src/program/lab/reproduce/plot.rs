//! The tables of `fanfare lab reproduce` as SVG: time over the bound, a panel for each value of one
//! half of the cells' keys, a line for each system over the other half.

use fanfare_lab::{Experiment, Point, System};
use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    prelude::{
        Circle, DrawingArea, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, SVGBackend,
        WHITE,
    },
    style::Color,
};

use crate::drawing::{COLOURS, DrawError};

/// Pixels of a panel.
const PANEL: (u32, u32) = (560, 360);
/// Panels beside each other.
const COLUMNS: usize = 2;
/// The axis ends at so many times the bound, so that the good can be told apart; what is slower
/// lies on its upper edge, and its figure is in the table.
const TOP: f64 = 2.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The whole picture.
pub(super) fn draw(experiment: &Experiment, points: &[Point]) -> Result<String, DrawError> {
    let halves = |cell: &str| cell.split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned()));
    let mut seconds: Vec<String> = Vec::new();
    for (_, second) in points.iter().filter_map(|point| halves(&point.cell)) {
        if !seconds.contains(&second) {
            seconds.push(second);
        }
    }
    let rows = seconds.len().div_ceil(COLUMNS).max(1);
    let size = (PANEL.0 * COLUMNS as u32, PANEL.1 * rows as u32 + 40);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let title = format!(
            "{}: time over the bound, {} bytes to {}",
            experiment.name, experiment.size, experiment.receivers
        );
        let root = root.titled(&title, ("sans-serif", 20))?;
        for (area, second) in root.split_evenly((rows, COLUMNS)).iter().zip(&seconds) {
            let ours = points.iter().filter(|point| point.cell.ends_with(&format!(":{second}")));
            panel(area, experiment, second, &ours.collect::<Vec<_>>())?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn panel(
    area: &Area<'_>,
    experiment: &Experiment,
    second: &str,
    points: &[&Point],
) -> Result<(), DrawError> {
    let firsts = firsts(points);
    let [over, panel] = experiment.axes;
    // Places of equal distance: rates and round trips alike, and zero has one.
    let end = firsts.len() as f64 - 0.5;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .caption(format!("{panel}: {second}"), ("sans-serif", 15))
        .x_label_area_size(32)
        .y_label_area_size(48)
        .build_cartesian_2d(-0.5..end, (0.98..TOP).log_scale())?;
    let light = plotters::style::BLACK.mix(0.08);
    let label = |x: &f64| {
        let place = x.round();
        let near = (x - place).abs() < 1e-6 && place >= 0.0;
        near.then(|| firsts.get(place as usize).cloned()).flatten().unwrap_or_default()
    };
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(light)
        .x_labels(firsts.len() * 2 + 1)
        .x_desc(over)
        .x_label_formatter(&label)
        .y_label_formatter(&|y| format!("{:.2}", y))
        .draw()?;
    for (number, system) in System::ALL.into_iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let place = |point: &&&Point| {
            let first = point.cell.split(':').next().unwrap_or("");
            firsts.iter().position(|known| known == first).map(|at| at as f64)
        };
        let ours: Vec<(f64, &Point)> = points
            .iter()
            .filter(|point| point.system == system)
            .filter_map(|point| Some((place(&point)?, *point)))
            .collect();
        if ours.is_empty() {
            continue;
        }
        let line = ours.iter().map(|(x, point)| (*x, point.median.min(TOP)));
        let width = if system == System::Fanfare { 3 } else { 1 };
        let sample =
            move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(width));
        chart
            .draw_series(LineSeries::new(line.clone(), colour.stroke_width(width)))?
            .label(system.name())
            .legend(sample);
        chart.draw_series(line.map(|point| Circle::new(point, 2, colour.filled())))?;
        let spread = ours.iter().map(|(x, point)| {
            let ends = [(*x, point.least.min(TOP)), (*x, point.most.min(TOP))];
            PathElement::new(ends, colour.stroke_width(1))
        });
        chart.draw_series(spread)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(light)
        .draw()?;
    Ok(())
}

/// The first halves of the keys, in the order of the cells.
fn firsts(points: &[&Point]) -> Vec<String> {
    let mut firsts: Vec<String> = Vec::new();
    for point in points {
        let first = point.cell.split(':').next().unwrap_or("").to_owned();
        if !firsts.contains(&first) {
            firsts.push(first);
        }
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_a_panel_for_each_reliability_and_slow_systems_stay_inside() {
        let experiment = Experiment::find("s000-table1").unwrap();
        let point = |cell: &str, system, median| Point {
            cell: cell.into(),
            system,
            median,
            least: median - 0.01,
            most: median + 90.0,
        };
        let points = [
            point("1024:90", System::Fanfare, 1.05),
            point("10240:90", System::Fanfare, 1.04),
            point("1024:70", System::Tcp, 8.0),
        ];
        let svg = draw(&experiment, &points).unwrap();
        assert_eq!(svg.matches("reliability, %: ").count(), 2, "{svg}");
        assert!(svg.contains("fanfare") && svg.contains("tcp") && !svg.contains("norm"));
        let heights = svg.split("cy=\"").skip(1).filter_map(|rest| rest.split('"').next());
        assert!(heights.map(|y| y.parse::<u32>().unwrap()).all(|y| y < PANEL.1 + 40), "{svg}");
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let experiment = Experiment::find("s003").unwrap();
        assert!(draw(&experiment, &[]).unwrap().ends_with("</svg>\n"));
    }
}
