//! `FANFARE_NORM_OPTIONS`: settings for programs that offer none.
//!
//! ```text
//! FANFARE_NORM_OPTIONS="rate=100M,cc=auto,interface=eth0"
//! ```

use fanfare_proto::{Bitrate, CongestionControl};

/// The environment variable.
pub const VARIABLE: &str = "FANFARE_NORM_OPTIONS";

/// What it may say. Each takes the place of what a program says itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The rate, or with congestion control the most.
    pub rate: Option<Bitrate>,
    /// The congestion control.
    pub control: Option<CongestionControl>,
    /// The interface of multicast, by name or address.
    pub interface: Option<String>,
    /// Routers to pass plus one.
    pub ttl: Option<u8>,
    /// Probability of losing what is received, in percent.
    pub loss: Option<u8>,
}

impl Options {
    /// Reads `name=value,…`.
    ///
    /// # Errors
    /// Says what is wrong in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let Some((name, value)) = word.split_once('=') else {
                return Err(format!("{word:?} is not NAME=VALUE"));
            };
            let wrong = |what: &str| format!("{name}={value}: {what}");
            match name {
                "rate" => {
                    let rate = rate(value).ok_or_else(|| wrong("write a rate like 100M"))?;
                    options.rate = Some(rate);
                }
                "cc" => {
                    let known = "the known ones are fixed, norm, ecn, loss-tolerant and auto";
                    options.control = Some(control(value).ok_or_else(|| wrong(known))?);
                }
                "interface" => options.interface = Some(value.to_owned()),
                "ttl" => {
                    let ttl = value.parse().map_err(|_| wrong("write a number up to 255"))?;
                    options.ttl = Some(ttl);
                }
                "loss" => {
                    let loss = value.parse().ok().filter(|loss| *loss <= 100);
                    options.loss = Some(loss.ok_or_else(|| wrong("write a percentage"))?);
                }
                _ => {
                    return Err(format!(
                        "no option {name:?}; there are rate, cc, interface, ttl and loss"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn control(word: &str) -> Option<CongestionControl> {
    Some(match word {
        "fixed" => CongestionControl::Fixed,
        "norm" => CongestionControl::Norm,
        "ecn" => CongestionControl::Ecn,
        "loss-tolerant" => CongestionControl::LossTolerant,
        "auto" => CongestionControl::Auto,
        _ => return None,
    })
}

/// Bits a second, with k, M or G behind the number.
fn rate(text: &str) -> Option<Bitrate> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    let bits = number.parse::<f64>().ok()? * factor;
    (1.0..1e15).contains(&bits).then(|| Bitrate::bps(bits as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_are_written() {
        let options = Options::parse("rate=1.5M, cc=auto,interface=eth0,ttl=3,").unwrap();
        assert_eq!(options.rate, Some(Bitrate::bps(1_500_000)));
        assert_eq!(options.control, Some(CongestionControl::Auto));
        assert_eq!((options.interface.as_deref(), options.ttl), (Some("eth0"), Some(3)));
        assert_eq!(Options::parse("").unwrap(), Options::default());
    }

    #[test]
    fn a_mistake_is_refused_and_named() {
        for (text, word) in [
            ("rate", "NAME=VALUE"),
            ("rate=fast", "rate"),
            ("rate=nan", "rate"),
            ("rate=-1", "rate"),
            ("cc=tcp", "auto"),
            ("ttl=256", "255"),
            ("keyfile=x", "keyfile"),
        ] {
            let said = Options::parse(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }
}
