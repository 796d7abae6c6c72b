//! The comparison as pictures: what came within 5 s, and what came within any time, a panel for each
//! radio.

use fanfare_lab::HarnessCell;
use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::Shift,
    prelude::{
        DrawingArea, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, Rectangle, SVGBackend,
        WHITE,
    },
    style::{Color, RGBColor},
};

use crate::drawing::{COLOURS, DrawError};

/// Pixels of a panel, and of a bar in it.
const PANEL: (u32, u32) = (620, 360);
const BAR: u32 = 22;
/// The axis of time, s: from a packet's own time on the air to the end of a run.
const TIMES: std::ops::Range<f64> = 0.005..120.0;
/// Points of a line: more cannot be seen.
const POINTS: usize = 200;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Radios, in the order of the cells.
pub(super) fn radios(cells: &[HarnessCell]) -> Vec<&str> {
    let mut radios: Vec<&str> = Vec::new();
    for cell in cells {
        if !radios.contains(&cell.radio.as_str()) {
            radios.push(&cell.radio);
        }
    }
    radios
}

/// Bars: what came within 5 s, with the interval of 95 %.
pub(super) fn shares(cells: &[HarnessCell]) -> Result<String, DrawError> {
    let radios = radios(cells);
    let most = radios.iter().map(|radio| of(cells, radio).len()).max().unwrap_or(0) as u32;
    let height = most * BAR + 70;
    picture(&radios, height, "positions within 5 s, % of all pairs", |area, radio| {
        let of = of(cells, radio);
        let end = of.len() as f64 - 0.5;
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .caption(format!("radio: {radio}"), ("sans-serif", 15))
            .x_label_area_size(28)
            .y_label_area_size(110)
            .build_cartesian_2d(0.0..100.0, end..-0.5)?;
        let name = |y: &f64| {
            let near = (y - y.round()).abs() < 1e-6 && *y > -0.4;
            let name = near.then(|| of.get(y.round() as usize)).flatten();
            name.map(|cell| cell.system.clone()).unwrap_or_default()
        };
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(plotters::style::BLACK.mix(0.08))
            .y_labels(of.len() * 2 + 1)
            .y_label_formatter(&name)
            .draw()?;
        for (row, cell) in of.iter().enumerate() {
            let (y, share) = (row as f64, cell.shares[0]);
            let colour = if cell.is_ours() { COLOURS[1] } else { COLOURS[0] };
            let bar = Rectangle::new([(0.0, y - 0.35), (share.median, y + 0.35)], colour.filled());
            let ends = [share.median - share.interval, share.median + share.interval];
            let [from, to] = ends.map(|end| (end.clamp(0.0, 100.0), y));
            chart.draw_series([bar])?;
            let black = plotters::style::BLACK.stroke_width(2);
            chart.draw_series([PathElement::new([from, to], black)])?;
        }
        Ok(())
    })
}

/// Lines: what share of all pairs had it within a time.
pub(super) fn delays(cells: &[HarnessCell]) -> Result<String, DrawError> {
    let radios = radios(cells);
    picture(&radios, PANEL.1, "positions that came within a time, % of all pairs", |area, radio| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .caption(format!("radio: {radio}"), ("sans-serif", 15))
            .x_label_area_size(32)
            .y_label_area_size(40)
            .build_cartesian_2d(TIMES.log_scale(), 0.0..100.0)?;
        let light = plotters::style::BLACK.mix(0.08);
        chart.configure_mesh().light_line_style(WHITE).bold_line_style(light).x_desc("s").draw()?;
        for (number, cell) in of(cells, radio).into_iter().enumerate() {
            let (colour, width) = colour(number, cell);
            let sample =
                move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(width));
            chart
                .draw_series(LineSeries::new(line(cell), colour.stroke_width(width)))?
                .label(&cell.system)
                .legend(sample);
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 11))
            .background_style(WHITE.mix(0.8))
            .border_style(light)
            .draw()?;
        Ok(())
    })
}

/// The systems of a radio, the best first.
pub(super) fn of<'a>(cells: &'a [HarnessCell], radio: &str) -> Vec<&'a HarnessCell> {
    let mut of: Vec<&HarnessCell> = cells.iter().filter(|cell| cell.radio == radio).collect();
    of.sort_by(|a, b| b.shares[0].median.total_cmp(&a.shares[0].median));
    of
}

fn colour(number: usize, cell: &HarnessCell) -> (RGBColor, u32) {
    let others = [COLOURS[0], COLOURS[2], COLOURS[3], COLOURS[4], COLOURS[5], COLOURS[6]];
    match cell.is_ours() {
        true => (COLOURS[1], 4),
        // The better half has the thicker lines: colours come again.
        false => (others[number % others.len()], if number <= others.len() { 2 } else { 1 }),
    }
}

/// Time and share, at times that are evenly spread over the axis.
fn line(cell: &HarnessCell) -> Vec<(f64, f64)> {
    let (from, to) = (TIMES.start.ln(), TIMES.end.ln());
    let at = |n: usize| {
        let time = (from + (to - from) * n as f64 / POINTS as f64).exp();
        let came = cell.delays.partition_point(|delay| *delay <= time);
        (time, came as f64 * 100.0 / cell.pairs.max(1) as f64)
    };
    (0..=POINTS).map(at).collect()
}

/// Panels beside each other, under a title.
fn picture(
    radios: &[&str],
    height: u32,
    title: &str,
    panel: impl Fn(&Area<'_>, &str) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let columns = radios.len().clamp(1, 2);
    let rows = radios.len().div_ceil(columns).max(1);
    let size = (PANEL.0 * columns as u32, height * rows as u32 + 40);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let root = root.titled(title, ("sans-serif", 20))?;
        for (area, radio) in root.split_evenly((rows, columns)).iter().zip(radios) {
            panel(area, radio)?;
        }
        root.present()?;
    }
    Ok(svg)
}
