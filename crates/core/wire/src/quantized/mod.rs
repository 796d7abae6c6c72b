//! RTT, rate, group size and loss in their forms on the wire (RFC 5740 4.2.1, 4.2.3.4; RFC 5401).
//!
//! Times are whole nanoseconds. Rates and losses are `f64`, because the protocol computes with
//! fractions anyway. No function here needs `libm`.

mod group_size;
mod loss;
mod rate;
mod rtt;

pub use group_size::GroupSize;
pub use loss::QuantizedLoss;
pub use rate::QuantizedRate;
pub use rtt::QuantizedRtt;
