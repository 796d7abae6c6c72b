//! Options of layers: `fanfare send --layers`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use fanfare_files::{LayeredError, LayeredOptions};
use fanfare_node::proto::{Bitrate, congestion::layered::Scheme};

use fanfare_command::{Failure, units};

/// The lowest of layers that nobody chose: a receiver with less has to be thought of.
const BASE: Bitrate = Bitrate::kbps(128);
/// Each has the sum of those below grow by so much, in thousandths: what a receiver cannot use of its
/// path is at most 8 %, and 4 on average, and 128 layers reach beyond a gigabit.
const FACTOR: u16 = 1080;
/// All layers together, unless said: what `--one-way` sends unless said.
const MOST: Bitrate = Bitrate::mbps(10);

/// What is sent, and so how often receivers adapt. Shorter intervals than these cost rate, longer ones lose more
/// (results/layers/layers-interval.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Class {
    /// Twice a second: a late joiner reaches its rate sooner
    Live,
    /// Every second
    #[default]
    File,
    /// Every two seconds: fewer announcements, for layers of a few kbit/s
    Radio,
}

impl Class {
    fn interval(self) -> Duration {
        Duration::from_millis(match self {
            Self::Live => 500,
            Self::File => 1000,
            Self::Radio => 2000,
        })
    }
}

/// Options of layers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Layers")]
pub(crate) struct LayersArgs {
    /// Send one file in layers: each receiver chooses how many it takes, and so its rate
    ///
    /// Each layer is a group of its own. Give the rates of the layers from the lowest on, such as
    /// 256k,256k,512k. Or give auto: layers from 128k on, up to --rate [default: 10M] together.
    /// Receivers send no feedback.
    #[arg(long, value_name = "auto|RATES", allow_hyphen_values = true, conflicts_with_all = [
        "expect", "sign", "wait", "accept_plain", "carousel", "slow", "min_rate", "sync", "delete",
        "receipts", "fec", "fec_id", "parity", "segment", "no_pack",
    ], group = "timed", hide_short_help = true)]
    layers: Option<String>,
    /// How long to send layers [default: what a receiver of the lowest layer needs]
    ///
    /// With --code: how long receivers are waited for [default: 10m].
    #[arg(long = "for", value_name = "TIME", requires = "timed", hide_short_help = true)]
    pub(super) lasting: Option<String>,
    /// What is sent, and so how often receivers choose anew
    #[arg(long, value_enum, requires = "layers", default_value_t, hide_short_help = true)]
    class: Class,
}

impl LayersArgs {
    /// Whether layers are asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.layers.is_some()
    }

    /// What is to be sent over layers, if anything; `rate`: at most so much together.
    pub(crate) fn options(&self, rate: Option<Bitrate>) -> Result<Option<LayeredOptions>, Failure> {
        let Some(text) = &self.layers else { return Ok(None) };
        let layers = match text.as_str() {
            "auto" => auto(rate.unwrap_or(MOST)),
            _ if rate.is_some() => {
                let text = format!(
                    "layers ({text}): listed layers have their sum for a rate. Leave --rate out, or \
                     use --layers auto"
                );
                return Err(Failure::usage("layers.invalid", text));
            }
            list => {
                let rates = list.split(',').map(|rate| units::rate_of("layers", rate.trim()));
                Scheme::Listed(rates.collect::<Result<_, _>>()?)
            }
        };
        let sound = layers.layers().map_err(LayeredError::Layers);
        sound.map_err(|error| Failure::usage("layers.invalid", error.to_string()))?;
        let lasting = self.lasting.as_deref().map(|text| units::time("for", text)).transpose()?;
        Ok(Some(LayeredOptions { layers, interval: self.class.interval(), lasting }))
    }

    /// What they come to together.
    pub(crate) fn sum(options: &LayeredOptions) -> Bitrate {
        let sum = options.layers.layers().map_or(0.0, |layers| layers.sum(layers.count()));
        Bitrate::bps(sum as u64)
    }
}

/// As many layers as the rate has room for.
fn auto(most: Bitrate) -> Scheme {
    let scheme = |count| Scheme::Multiplicative { base: BASE.min(most), factor: FACTOR, count };
    let fits = |count: &u8| {
        let layers = scheme(*count).layers();
        layers.is_ok_and(|layers| layers.sum(layers.count()) <= most.as_bps() as f64)
    };
    scheme((1..=128).take_while(fits).last().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::send::SendArgs;
    use clap::FromArgMatches as _;

    #[test]
    fn layers_that_nobody_chose_reach_the_rate_and_not_beyond() {
        for (most, count) in [(Bitrate::mbps(10), 57), (Bitrate::kbps(64), 1)] {
            let layers = auto(most).layers().unwrap();
            let sum = layers.sum(layers.count());
            assert_eq!(layers.count(), count);
            assert!(sum <= most.as_bps() as f64 && sum * 1.08 > most.as_bps() as f64, "{sum}");
        }
        assert_eq!(auto(Bitrate::mbps(100_000)).layers().unwrap().count(), 128);
    }

    #[test]
    fn listed_layers_have_each_its_own_rate() {
        let layers = |text| {
            LayersArgs { layers: Some(text), lasting: None, class: Class::File }.options(None)
        };
        let options = layers("256k, 256k,512k".to_owned()).unwrap().unwrap();
        let layers_of = options.layers.layers().unwrap();
        assert_eq!([layers_of.sum(1), layers_of.sum(3)], [256e3, 1024e3]);
        for wrong in ["", "256k,,1M", "fast", "0"] {
            assert!(layers(wrong.to_owned()).is_err(), "{wrong}");
        }
        assert!(layers("1k,".repeat(128) + "1k").unwrap_err().text.contains("129 layers"));
    }

    #[test]
    fn what_is_sent_says_how_often_receivers_adapt() {
        for (class, millis) in [(Class::Live, 500), (Class::File, 1000), (Class::Radio, 2000)] {
            let args = LayersArgs { layers: Some("1M".to_owned()), lasting: None, class };
            let options = args.options(None).unwrap().unwrap();
            assert_eq!(options.interval, Duration::from_millis(millis));
        }
    }

    #[test]
    fn how_long_and_how_often_belong_to_layers() {
        let parse = |arguments: &[&str]| {
            let all = ["send", "file"].iter().chain(arguments);
            SendArgs::augment_args(clap::Command::new("send")).try_get_matches_from(all)
        };
        assert!(parse(&["--for", "10s"]).is_err());
        assert!(parse(&["--class", "live"]).is_err());
        assert!(parse(&["--layers", "auto", "--expect", "2"]).is_err());
        let matches = parse(&["--layers", "auto", "--for", "10s"]).unwrap();
        let args = LayersArgs::from_arg_matches(&matches).unwrap();
        let options = args.options(Some(Bitrate::mbps(1))).unwrap().unwrap();
        assert_eq!(options.lasting, Some(Duration::from_secs(10)));
    }
}
