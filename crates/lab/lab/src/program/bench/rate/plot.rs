//! The cells of `fanfare bench rate` as SVG: one line a cell, what each sender brought of what the link
//! carries, or, without a link, of what the best told rate brought.

use fanfare_lab::{RateRow, Spread};
use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    prelude::{Circle, Cross, IntoDrawingArea, PathElement, SVGBackend, TriangleMarker, WHITE},
    style::Color,
};

use crate::drawing::{COLOURS, DrawError};

/// Pixels: across, of a cell, and beside all cells.
const WIDTH: u32 = 900;
const LINE: u32 = 18;
const BESIDE: u32 = 110;
/// The axis ends here; what is more lies on its edge.
const TOP: f64 = 1.1;

/// What a cell shows, over the same.
struct Line<'a> {
    name: &'a str,
    auto: Spread,
    told: Option<f64>,
    tcp: Option<f64>,
}

impl<'a> Line<'a> {
    /// `None` where there is nothing to compare with.
    fn of(row: &'a RateRow) -> Option<Self> {
        let told = row.told_bps.map(|told| told.median);
        let whole = row.over_link.and(row.cell.carries_bps()).or(told)?;
        let of = |value: f64| (value / whole).min(TOP);
        let Spread { median, least, most } = row.auto_bps;
        let auto = Spread { median: of(median), least: of(least), most: of(most) };
        let tcp = row.tcp_bps.map(|tcp| of(tcp.median));
        Some(Self { name: row.cell.name, auto, told: told.map(of), tcp })
    }
}

/// The whole picture.
pub(super) fn draw(rows: &[RateRow]) -> Result<String, DrawError> {
    let lines: Vec<Line<'_>> = rows.iter().filter_map(Line::of).collect();
    let mut svg = String::new();
    {
        let size = (WIDTH, LINE * lines.len() as u32 + BESIDE);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let title = "goodput of the whole transfer, over what the link carries (free: over told)";
        let root = root.titled(title, ("sans-serif", 18))?;
        // The first cell is on top.
        let place = |number: usize| (lines.len() - 1 - number) as f64;
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(210)
            .build_cartesian_2d(0.0..TOP, -0.5..lines.len() as f64 - 0.5)?;
        let name = |y: &f64| {
            let number = y.round();
            let near = (y - number).abs() < 1e-6 && number >= 0.0;
            let line = || (lines.len() - 1).checked_sub(number as usize).map(|at| lines[at].name);
            near.then(line).flatten().unwrap_or_default().to_owned()
        };
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(plotters::style::BLACK.mix(0.08))
            .y_labels(lines.len() * 2 + 1)
            .y_label_formatter(&name)
            .x_label_formatter(&|x| format!("{x:.1}"))
            .draw()?;
        let [auto, told, tcp] = [COLOURS[0], COLOURS[1], COLOURS[2]];
        let each = || lines.iter().enumerate().map(|(number, line)| (place(number), line));
        let told_at = each().filter_map(|(y, line)| Some((line.told?, y)));
        chart
            .draw_series(told_at.map(|point| Cross::new(point, 4, told.stroke_width(2))))?
            .label("best told rate")
            .legend(move |(x, y)| Cross::new((x + 8, y), 4, told.stroke_width(2)));
        let tcp_at = each().filter_map(|(y, line)| Some((line.tcp?, y)));
        chart
            .draw_series(tcp_at.map(|point| TriangleMarker::new(point, 4, tcp.filled())))?
            .label("TCP to each")
            .legend(move |(x, y)| TriangleMarker::new((x + 8, y), 4, tcp.filled()));
        let spread = each().map(|(y, line)| {
            PathElement::new([(line.auto.least, y), (line.auto.most, y)], auto.stroke_width(2))
        });
        chart.draw_series(spread)?;
        let medians = each().map(|(y, line)| Circle::new((line.auto.median, y), 4, auto.filled()));
        chart
            .draw_series(medians)?
            .label("auto, least to most")
            .legend(move |(x, y)| Circle::new((x + 8, y), 4, auto.filled()));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(plotters::style::BLACK.mix(0.08))
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::tests::row;

    #[test]
    fn each_cell_has_its_name_and_a_point_for_each_sender() {
        let rows = [row("100M-3", 0.75), row("free-3", 0.9), row("beside-100M-1", 0.5)];
        let svg = draw(&rows).unwrap();
        assert!(svg.contains("100M-3") && svg.contains("free-3") && svg.contains("TCP to each"));
        // Medians of three cells, and one in the list of names.
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
    }

    #[test]
    fn names_are_readable_however_many_there_are() {
        let cells = fanfare_lab::RateCell::chosen(&[]).unwrap();
        let rows: Vec<RateRow> = cells.iter().map(|cell| row(cell.name, 0.75)).collect();
        let svg = draw(&rows).unwrap();
        for cell in cells {
            let shown = svg.lines().filter(|line| line.trim() == cell.name).count();
            assert_eq!(shown, 1, "{}", cell.name);
        }
    }

    #[test]
    fn no_cell_is_an_empty_picture() {
        assert!(draw(&[]).unwrap().ends_with("</svg>\n"));
    }
}
