//! Figures of an experiment over a factor, as SVG: a curve for each combination of the others, with
//! confidence intervals.

use fanfare_sim::experiment::{Curve, Plot, Results};
use plotters::{
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::ranged1d::{AsRangedCoord, ValueFormatter},
    prelude::{IntoDrawingArea, IntoLogRange, LineSeries, PathElement, Ranged, SVGBackend, WHITE},
    style::Color,
};

use crate::drawing::{COLOURS, DrawError};

/// Pixels.
const SIZE: (u32, u32) = (900, 540);
/// Room beyond the outermost points of a logarithmic axis.
const MARGIN: f64 = 1.3;

/// The whole picture.
pub(super) fn draw(plot: &Plot, results: &Results<'_>) -> Result<String, DrawError> {
    let curves = plot.curves(results);
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let least = all().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let most = all().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    let top = all().map(|p| p.1 + p.2).fold(1e-9, f64::max) * 1.05;
    match plot.log {
        true => {
            let axis = (least / MARGIN..most * MARGIN).log_scale();
            panel(plot, results, &curves, axis, top)
        }
        false => panel(plot, results, &curves, least.min(0.0)..most * 1.05, top),
    }
}

fn panel<X>(
    plot: &Plot,
    results: &Results<'_>,
    curves: &[Curve],
    axis: X,
    top: f64,
) -> Result<String, DrawError>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let root = root.titled(&results.experiment.about, ("sans-serif", 18))?;
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(axis, 0.0..top)?;
        let light = plotters::style::BLACK.mix(0.08);
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(light)
            .x_desc(&plot.x_title)
            .y_desc(plot.y_title(results))
            .x_label_formatter(&|x| format!("{}", (x * 1e9).round() / 1e9))
            .y_label_formatter(&|y| format!("{y}"))
            .draw()?;
        for (number, curve) in curves.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let line =
                LineSeries::new(curve.points.iter().map(|p| (p.0, p.1)), colour.stroke_width(2));
            let sample =
                move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2));
            chart.draw_series(line)?.label(&curve.name).legend(sample);
            let interval = |p: &(f64, f64, f64)| {
                PathElement::new([(p.0, p.1 - p.2), (p.0, p.1 + p.2)], colour.stroke_width(1))
            };
            chart.draw_series(curve.points.iter().map(interval))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(light)
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}
