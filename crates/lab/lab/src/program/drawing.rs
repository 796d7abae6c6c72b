//! What all plots share.

use plotters::prelude::RGBColor;

/// Colours that differ for colour-blind eyes too (Okabe and Ito 2008), without their yellow, which
/// is too light for a line; then again.
pub(crate) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// Why a plot cannot be drawn.
pub(crate) type DrawError = Box<dyn std::error::Error>;
