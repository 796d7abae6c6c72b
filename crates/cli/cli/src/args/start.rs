//! Start of a sender, and its stream's place among others.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use fanfare_command::{Failure, units};
use fanfare_files::{ChainWanted, StartWait, invitation::ChainPlace};

/// Times that a sender waits for receivers before it starts.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// Time to wait for the first receiver, or 'forever' [default: --wait]
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "one_way",
        help_heading = "Receivers",
        hide_short_help = true
    )]
    first_wait: Option<String>,
    /// Time to wait for the others once the first receiver is there, or 'forever' [default: --wait]
    ///
    /// Then the transfer starts with the receivers that are there.
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "one_way",
        help_heading = "Receivers",
        hide_short_help = true
    )]
    start_wait: Option<String>,
    /// Wait at least this long for others once the first receiver is there
    ///
    /// Even if all that --expect asks for are there.
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "one_way",
        help_heading = "Receivers",
        hide_short_help = true
    )]
    gather: Option<String>,
    /// The stream's place in a chain, as udp-sender finds it
    #[arg(long, value_name = "PLACE:CHAIN", requires = "as_stream", hide = true)]
    chain: Option<String>,
    /// File in which udp-sender keeps what it has sent of a chain
    #[arg(long = "chain-record", value_name = "FILE", requires = "chain", hide = true)]
    pub(super) record: Option<PathBuf>,
}

impl StartArgs {
    /// None where everybody is waited for as long as `wait`, from the beginning.
    pub(super) fn wait(&self, wait: Duration) -> Result<Option<StartWait>, Failure> {
        let limit = |what: &str, text: &Option<String>| match text.as_deref() {
            None => Ok(Some(wait)),
            Some("forever") => Ok(None),
            Some(text) => units::time(what, text).map(Some),
        };
        if self.first_wait.is_none() && self.start_wait.is_none() && self.gather.is_none() {
            return Ok(None);
        }
        let least = self.gather.as_deref().map(|text| units::time("gather", text)).transpose()?;
        Ok(Some(StartWait {
            first: limit("first-wait", &self.first_wait)?,
            others: limit("start-wait", &self.start_wait)?,
            least: least.unwrap_or_default(),
        }))
    }

    pub(super) fn place(&self) -> Result<Option<ChainPlace>, Failure> {
        let Some(text) = &self.chain else { return Ok(None) };
        match parse(text)? {
            ChainWanted { place, after: Some(chain) } => Ok(Some(ChainPlace { chain, place })),
            ChainWanted { after: None, .. } => Err(invalid(text)),
        }
    }
}

/// Reads which stream of a chain is wanted: `PLACE` or `PLACE:CHAIN`.
pub(super) fn parse(text: &str) -> Result<ChainWanted, Failure> {
    let (place, chain) = match text.split_once(':') {
        Some((place, chain)) => (place, Some(chain)),
        None => (text, None),
    };
    let place = place.parse().ok().filter(|place| *place > 0).ok_or_else(|| invalid(text))?;
    let chain = chain.map(|chain| u64::from_str_radix(chain, 16).map_err(|_| invalid(text)));
    Ok(ChainWanted { place, after: chain.transpose()? })
}

fn invalid(text: &str) -> Failure {
    let text = format!("chain ({text}): not a place in a chain. Write it as 2:00ff");
    Failure::usage("chain.invalid", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_chain_is_a_number_and_the_chain_in_hexadecimal() {
        assert_eq!(parse("3").unwrap(), ChainWanted { place: 3, after: None });
        assert_eq!(parse("1:ff").unwrap(), ChainWanted { place: 1, after: Some(255) });
        for wrong in ["", "0", "0:1", "x", "1:", "1:xyz", "-1", "1:11112222333344445"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
