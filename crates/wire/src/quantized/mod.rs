//! RTT, rate, group size and loss in the forms that travel (RFC 5740 4.2.1, 4.2.3.4; RFC 5401).
//!
//! Times go in and out as whole nanoseconds; rates and losses, where the protocol computes with
//! fractions anyway, as `f64`. No function here needs `libm`.

mod group_size;
mod loss;
mod rate;
mod rtt;

pub use group_size::GroupSize;
pub use loss::QuantizedLoss;
pub use rate::QuantizedRate;
pub use rtt::QuantizedRtt;
