//! `fanfare group invite`: a code for one more machine.

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_mls::Invitation;

use crate::membership::{
    exits::EXITS,
    lines::Line,
    place::{FILES, Place, PlaceArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare group invite fleet", "for one machine, within a day"),
    ("fanfare group invite fleet --times 20 --for 2h", "for a class"),
])
.exits(EXITS)
.files(FILES);

/// Print a code with which others can join
///
/// 'fanfare group keep' must be running here when they use it. Who has the code can join: send it by
/// a way that nobody else reads.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct InviteArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// How many machines may use it
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// How long it can be used
    #[arg(long = "for", default_value = "1d", value_name = "TIME")]
    lasts: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn run(args: &InviteArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    let lasts = units::time("for", &args.lasts)?;
    let member = place.member()?;
    if !member.controls() {
        let fault = fanfare_mls::Fault::NoController;
        return Err(crate::membership::exits::refused("invite", &fault));
    }
    let invitation = Invitation::new(place.address()?);
    let invitation = invitation.ok_or_else(|| {
        crate::membership::exits::refused("invite", &fanfare_mls::Fault::NoRandom)
    })?;
    let until = now() + lasts.as_secs();
    offer(&place, &invitation, (args.times, until))?;
    output.data(&invitation.to_string());
    output.event(&Line::Invitation { name: &place.name, code: invitation.to_string() });
    Ok(Exit::Done)
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Writes an invitation down: `CODE TIMES UNTIL`.
pub(crate) fn offer(
    place: &Place,
    invitation: &Invitation,
    (times, until): (u32, u64),
) -> Result<(), Failure> {
    let code = invitation.to_string();
    let short: String = code.chars().rev().take(8).collect();
    place.order(&format!("invitation-{short}"), &format!("{code} {times} {until}\n"))
}

/// Reads what was written down.
pub(crate) fn offered(text: &str) -> Option<(Invitation, u32, u64)> {
    let mut words = text.split_whitespace();
    let invitation = words.next()?.parse().ok()?;
    Some((invitation, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_that_was_written_down_is_read_again() {
        let invitation = Invitation::new("239.255.42.9:6009".parse().unwrap()).unwrap();
        let text = format!("{invitation} 3 1700000000\n");
        assert_eq!(offered(&text), Some((invitation, 3, 1_700_000_000)));
        assert_eq!(offered("something else"), None);
    }
}
