//! Networks: loss in bursts, disorder, clocks that drift, radio, links that flows share.

mod bursty_loss;
mod clock_drift;
mod disorder;
mod radio;
mod shared_road;
