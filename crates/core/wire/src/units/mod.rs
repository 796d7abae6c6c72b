//! Time, bit rates, random numbers, timers and congestion marks, as state machines without I/O use them.
//!
//! Nothing here reads a clock or the system's random numbers. The driver passes in the time, and
//! seeds the generator. So a run can be repeated exactly.
//!
//! - [`time`]: points in time and durations, in nanoseconds
//! - [`rate`]: bits per second
//! - [`rng`]: a seeded random number generator
//! - [`timer_queue`]: the next timeout of many machines
//! - [`ecn`]: marks in the IP header

pub mod ecn;
pub mod rate;
pub mod rng;
pub mod time;
pub mod timer_queue;

pub use ecn::Ecn;
pub use rate::Bitrate;
pub use rng::Rng;
pub use time::{Duration, Time};
pub use timer_queue::TimerQueue;
