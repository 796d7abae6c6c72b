//! `fanfare group join`: come into a group with a code.

use std::time::{Duration, Instant};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, units};
use fanfare_mls::{Change, GroupKeying as _, Invitation, InvitationError, Member};

use crate::membership::{
    channel::{ANSWER, ASK, Channel, Where},
    create::own_name,
    exits::{EXITS, refused},
    keep::NetworkArgs,
    lines::Line,
    place::{FILES, HomeArgs},
};

/// The answer is looked for so often.
const LOOK: Duration = Duration::from_millis(100);

const HELP: Help = Help::new(&[
    ("fanfare group join fanfare-join-1/239.255.42.9:6009/...", "what 'invite' has printed"),
    ("fanfare group join CODE --name fleet --interface eth0", "by another name, on this interface"),
])
.exits(EXITS)
.files(FILES);

/// Join a group with a code
///
/// The controller answers at once if 'fanfare group keep' is running there. Afterwards run it here.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct JoinArgs {
    /// What 'fanfare group invite' has printed
    code: String,
    /// What to call the group on this machine
    #[arg(long, default_value = "group", value_name = "NAME")]
    name: String,
    /// What this machine calls itself in the group [default: its host name]
    #[arg(long, value_name = "NAME")]
    own_name: Option<String>,
    /// How long to wait for an answer
    #[arg(long, default_value = "30s", value_name = "TIME")]
    wait: String,
    #[command(flatten)]
    home: HomeArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn run(args: &JoinArgs, output: &Output) -> Result<Exit, Failure> {
    let invitation: Invitation = args.code.parse().map_err(|error: InvitationError| {
        let text = format!("code ({}): {error}. Copy it again", args.code);
        Failure::new(Exit::Permission, "group.code", text)
    })?;
    let wait = units::time("wait", &args.wait)?;
    let place = args.home.place(&args.name)?;
    // Who has been in it before keeps its key, and so its place.
    let mut member = match place.member() {
        Ok(member) => member,
        Err(failure) if failure.code == "group.unknown" => {
            place.create()?;
            Member::new(&own_name(args.own_name.as_ref())).map_err(|f| refused("join", &f))?
        }
        Err(failure) => return Err(failure),
    };
    let at = Where { address: invitation.group, ..args.network.at(invitation.group) };
    let channel = Channel::of_invitation(&at, &invitation)?;
    let request = member.request().map_err(|fault| refused("join", &fault))?;
    place.set_address(invitation.group)?;
    place.keep(&member)?;
    channel.say(ASK, request)?;
    let change = answer(&channel, &mut member, wait)?;
    place.keep(&member)?;
    let (key, epoch) = (place.key().display().to_string(), change.from + 1);
    output.data(&format!("joined {} in epoch {epoch}. Its key is {key}", place.name));
    output.text(&format!("Run 'fanfare group keep {}' on this machine from now on.", place.name));
    let group = invitation.group.to_string();
    output.event(&Line::Group { name: &place.name, group, epoch, key });
    let members = member.members();
    members.iter().for_each(|view| output.event(&Line::member(view)));
    Ok(Exit::Done)
}

/// Waits for a welcome that is for this machine. Others are welcomed on the same channel.
fn answer(channel: &Channel, member: &mut Member, wait: Duration) -> Result<Change, Failure> {
    let until = Instant::now() + wait;
    while Instant::now() < until {
        for (topic, bytes) in channel.hear(LOOK) {
            if topic == ANSWER
                && let Ok(change) = Change::decode(&bytes)
                && member.join(&change).is_ok()
            {
                return Ok(change);
            }
        }
    }
    let text = format!(
        "group: nobody answered within {}. Run 'fanfare group keep' at the controller, and check that \
         the code was not used",
        units::about(wait)
    );
    Err(Failure::new(Exit::Permission, "group.no_answer", text))
}
