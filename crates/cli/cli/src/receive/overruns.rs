//! What `recv` says when its receive buffer has run over, and what mends it.

/// What is asked for each socket.
const ASKED: u64 = 4 << 20;
/// Linux shows here what a socket may have without CAP_NET_ADMIN.
const LIMIT: &str = "/proc/sys/net/core/rmem_max";

/// Warns once.
#[derive(Debug, Default)]
pub(crate) struct Overruns {
    warned: bool,
}

impl Overruns {
    /// So many runs of datagrams have found the buffer full.
    pub(crate) fn on_overrun(&mut self, runs: u64) -> Option<String> {
        let is_first = !std::mem::replace(&mut self.warned, true);
        let limit = || std::fs::read_to_string(LIMIT).ok()?.trim().parse().ok();
        is_first.then(|| format!("{}. {}", summary(runs), advice(limit())))
    }
}

/// In one sentence.
pub(crate) fn summary(runs: u64) -> String {
    let what = if runs == 1 { "1 run" } else { &format!("{runs} runs") };
    format!(
        "{what} of datagrams found the receive buffer full: this machine was behind, not the network"
    )
}

fn advice(limit: Option<u64>) -> String {
    match limit {
        Some(limit) if limit < ASKED => {
            format!("Senders slow down; a longer buffer: sysctl -w net.core.rmem_max={ASKED}")
        }
        _ => "Senders slow down; with CAP_NET_ADMIN the buffer is 32 MiB".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_overrun_is_warned_of_with_what_mends_it() {
        let mut overruns = Overruns::default();
        assert!(overruns.on_overrun(1).is_some_and(|text| text.starts_with("1 run of")));
        assert_eq!(overruns.on_overrun(9), None);
        assert!(advice(Some(212_992)).ends_with("net.core.rmem_max=4194304"));
        assert!(advice(Some(ASKED)).contains("CAP_NET_ADMIN"));
    }
}
