//! Do receive buffers hold what comes while a program is not looking?

use std::time::Duration;

use fanfare_proto::Bitrate;

use super::finding::Finding;

/// A receiver may be kept from running this long by others on its machine.
const PAUSE: Duration = Duration::from_millis(100);

/// What was seen of buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferFacts {
    /// The rate that must fit.
    pub(crate) rate: Bitrate,
    /// `net.core.rmem_max`, bytes.
    pub(crate) limit: Option<u64>,
    /// What Fanfare asks for, bytes.
    pub(crate) asked: u64,
    /// Datagrams that found a full buffer, of all programs, before and after the exchange.
    pub(crate) overruns: Option<(u64, u64)>,
    /// Datagrams that found ours full.
    pub(crate) own_overruns: u64,
}

pub(crate) fn judge(facts: &BufferFacts) -> Finding {
    let BufferFacts { rate, limit, asked, overruns, own_overruns } = *facts;
    let needed = bytes_for(rate);
    let advice = format!("sysctl -w net.core.rmem_max={}", needed.max(asked));
    let Some(limit) = limit else {
        return Finding::skip("buffer.unseen", "this system does not show net.core.rmem_max");
    };
    let lost = overruns.map_or(0, |(before, after)| after.saturating_sub(before)).max(own_overruns);
    if lost > 0 {
        return Finding::warn(
            "buffer.overrun",
            format!("{lost} datagrams found a full receive buffer during the test"),
            format!("{advice}; and see what keeps the machine busy"),
        );
    }
    let effective = limit.min(asked);
    if effective < needed {
        let holds = Bitrate::bps(effective * 8 * 1000 / PAUSE.as_millis() as u64);
        return Finding::warn(
            "buffer.small",
            format!("net.core.rmem_max={limit} holds 100 ms at {holds}; {rate} needs {needed}"),
            if limit < asked { advice } else { format!("send with --rate {}", short(holds)) },
        );
    }
    let before = match overruns {
        Some((_, 0)) | None => String::new(),
        Some((_, n)) => format!("; {n} datagrams found a full buffer since boot, none now"),
    };
    Finding::ok(
        "buffer.ok",
        format!(
            "net.core.rmem_max={limit} holds 100 ms at {rate}, which are {needed} bytes{before}"
        ),
    )
}

fn bytes_for(rate: Bitrate) -> u64 {
    rate.as_bps() / 8 * PAUSE.as_millis() as u64 / 1000
}

/// As `--rate` reads it.
fn short(rate: Bitrate) -> String {
    format!("{}M", (rate.as_bps() / 1_000_000).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(limit: u64) -> BufferFacts {
        BufferFacts {
            rate: Bitrate::mbps(100),
            limit: Some(limit),
            asked: 4 << 20,
            overruns: Some((5, 5)),
            own_overruns: 0,
        }
    }

    #[test]
    fn the_default_limit_is_too_small_for_100_mbit_and_the_command_says_how_much() {
        let finding = judge(&facts(212_992));
        assert_eq!(finding.code, "buffer.small");
        assert!(finding.seen.contains("100.0 Mbit/s needs 1250000"), "{}", finding.seen);
        assert_eq!(finding.advice.unwrap(), "sysctl -w net.core.rmem_max=4194304");
        assert_eq!(judge(&facts(4 << 20)).code, "buffer.ok");
    }

    #[test]
    fn a_rate_beyond_what_fanfare_asks_for_is_not_cured_by_the_limit() {
        let finding = judge(&BufferFacts { rate: Bitrate::mbps(1000), ..facts(1 << 30) });
        assert_eq!(finding.code, "buffer.small");
        assert_eq!(finding.advice.unwrap(), "send with --rate 335M");
    }

    #[test]
    fn overruns_count_when_they_grow_during_the_test() {
        let growing = judge(&BufferFacts { overruns: Some((5, 9)), ..facts(4 << 20) });
        assert_eq!(growing.code, "buffer.overrun");
        assert!(growing.seen.starts_with("4 datagrams"));
        let own = judge(&BufferFacts { own_overruns: 1, ..facts(4 << 20) });
        assert_eq!(own.code, "buffer.overrun");
        assert!(judge(&facts(4 << 20)).seen.contains("5 datagrams found a full buffer since boot"));
    }
}
