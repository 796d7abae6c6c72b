//! `--watch`: a page for one transfer.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use fanfare_command::Failure;

use crate::watching::WatchPlan;

/// Where the page is when no address is given. Nothing else is registered there.
const ADDRESS: &str = "127.0.0.1:7979";

/// Options of a command that can be watched.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Live page")]
pub(crate) struct WatchArgs {
    /// Show the transfer as a live page, at this address [default: 127.0.0.1:7979]
    ///
    /// A browser on this machine opens http://127.0.0.1:7979/. It shows who has how much, what limits
    /// the rate, and who is late and why. /metrics has the same for Prometheus. 'fanfare watch' shows
    /// it in a terminal. Write --watch=ADDR for another address. Without ADDR a free port is taken when 7979 is in use.
    #[arg(
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        hide_short_help = true
    )]
    watch: Option<String>,
    /// Show the page only to those who have the token in this file
    ///
    /// The token has at least 32 characters. It is needed where others can reach ADDR.
    #[arg(long, value_name = "FILE", requires = "watch", hide_short_help = true)]
    watch_token: Option<PathBuf>,
    /// Name of the proxy with TLS through which others reach the page
    ///
    /// Nothing is encrypted here. Where others can reach ADDR, such a proxy and --watch-token are needed.
    #[arg(long, value_name = "NAME", requires = "watch_token", hide_short_help = true)]
    watch_proxy: Option<String>,
}

impl WatchArgs {
    pub(crate) fn plan(&self) -> Result<Option<WatchPlan>, Failure> {
        let Some(text) = &self.watch else { return Ok(None) };
        let (address, is_given) = page_at("watch", text)?;
        let (token, proxy) = (self.watch_token.clone(), self.watch_proxy.clone());
        Ok(Some(WatchPlan { address, is_given, token, proxy }))
    }
}

/// Where a page is wanted, and whether there and nowhere else.
pub(crate) fn page_at(option: &str, text: &str) -> Result<(SocketAddr, bool), Failure> {
    let is_given = !text.is_empty();
    let text = if is_given { text } else { ADDRESS };
    let address = text.parse().map_err(|_| {
        let text = format!("{option} ({text}): not an address with a port. Use 127.0.0.1:7979");
        Failure::usage("watch.invalid", text)
    })?;
    Ok((address, is_given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(address: &str) -> Result<Option<WatchPlan>, Failure> {
        WatchArgs { watch: Some(address.to_owned()), ..WatchArgs::default() }.plan()
    }

    #[test]
    fn without_an_address_the_page_is_on_loopback() {
        let plan = plan("").unwrap().unwrap();
        assert!(plan.address.ip().is_loopback() && !plan.is_given);
        assert!(WatchArgs::default().plan().unwrap().is_none());
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example() {
        let refused = plan("7979").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "error: watch (7979): not an address with a port. Use 127.0.0.1:7979"
        );
    }
}
