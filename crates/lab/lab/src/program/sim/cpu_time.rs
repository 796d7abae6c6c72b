//! Time of a core.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time that this process had a core: others on the machine do not count.
pub(super) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
