//! `--adapt`: whether a sender does what a monitor advises.

use std::{net::SocketAddr, net::ToSocketAddrs as _, path::PathBuf};

use crate::Failure;
use clap::{Args, ValueEnum};

/// Options of a command that can be advised.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Adaptation")]
pub struct AdaptArgs {
    /// What becomes of a monitor's advice
    ///
    /// A monitor that sees a full link ('fanfare monitor --monitor-sensors') advises a ceiling for the
    /// rate. It holds for 30 seconds unless it is said again.
    #[arg(long, value_name = "HOW", default_value = "off", hide_short_help = true)]
    adapt: Adapting,
    /// Page of the monitor that advises
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7979", hide_short_help = true)]
    adapt_from: String,
    /// Only advice for this link, as the page calls it; repeat it for more [default: all]
    #[arg(long, value_name = "LINK", hide_short_help = true)]
    adapt_link: Vec<String>,
    /// File with the token of the page, where it needs one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    adapt_token: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Adapting {
    /// Nobody is asked
    #[default]
    Off,
    /// It is said
    Advise,
    /// It is said and done
    Obey,
}

/// Whose advice is heard, and what becomes of it.
#[derive(Debug, Clone)]
pub struct AdaptPlan {
    /// What is advised is done.
    pub obeys: bool,
    /// The monitor's page.
    pub from: SocketAddr,
    /// Only of these links, or of all where there are none.
    pub links: Vec<String>,
    /// The page's.
    pub token: Option<String>,
}

impl AdaptArgs {
    /// Nothing where nobody is to be asked.
    pub fn plan(&self) -> Result<Option<AdaptPlan>, Failure> {
        if self.adapt == Adapting::Off {
            return Ok(None);
        }
        let mut found = self.adapt_from.to_socket_addrs().into_iter().flatten();
        let from = found.next().ok_or_else(|| {
            let text = format!(
                "adapt-from ({}): not an address with a port. Use 127.0.0.1:7979",
                self.adapt_from
            );
            Failure::usage("adapt.invalid", text)
        })?;
        let token = self.adapt_token.as_ref().map(crate::text_file::read).transpose();
        let token = token.map_err(|error| {
            let text = format!("adapt-token: cannot be read ({error}). Check its name");
            Failure::usage("adapt.invalid", text)
        })?;
        let token = token.map(|token| token.trim().to_owned());
        let (obeys, links) = (self.adapt == Adapting::Obey, self.adapt_link.clone());
        Ok(Some(AdaptPlan { obeys, from, links, token }))
    }
}
