//! The program `fanfare`: the same bytes on many machines, and who has them.
//!
//! - `command_line`: what is asked for, with `args`: options
//! - `send`, `receive`: files; `pipe`: bytes as they come; `publish`, `subscribe`: messages, and `group`: what they share
//! - `node`: a member that is always there; `bridge`: to other groups, plain UDP multicast and NATS
//! - `demo`, `doctor`, `parts`, `norm_exec`: a file per command
//! - `estimate`: how long it will take; `warnings`: what more than one command warns of
//! - `meeting`: sender and receivers meet by a code
//! - `watching`: the page of a transfer; `watch`: pages in a terminal
//! - `monitor`: a group on a page, with `monitoring` and `host_facts`; `sensor`: what passes by
//! - `two_nodes`: links and the proxy; `relay`: islands; `video`; `membership`: groups whose members change
//! - `left_out`: commands that a build does not have

use std::process::ExitCode;

mod args;
mod bridge;
mod command_line;
#[cfg(test)]
mod config_tests;
mod demo;
mod doctor;
mod estimate;
mod group;
#[cfg(any(
    test,
    not(target_os = "linux"),
    not(all(
        feature = "groups",
        feature = "proxy",
        feature = "relay",
        feature = "sensor",
        feature = "video"
    ))
))]
mod left_out;
mod meeting;
#[cfg(all(feature = "groups", unix))]
mod membership;
mod monitor;
mod monitoring;
mod node;
mod norm_exec;
mod parts;
mod pipe;
mod publish;
mod receive;
#[cfg(all(
    test,
    feature = "groups",
    feature = "nats",
    feature = "proxy",
    feature = "relay",
    feature = "sensor",
    feature = "video",
    target_os = "linux"
))]
mod reference_tests;
#[cfg(feature = "relay")]
mod relay;
mod send;
#[cfg(all(feature = "sensor", target_os = "linux"))]
mod sensor;
mod subscribe;
#[cfg(all(feature = "proxy", target_os = "linux"))]
mod two_nodes;
#[cfg(test)]
mod usage_tests;
#[cfg(feature = "video")]
mod video;
mod warnings;
mod watch;
mod watching;

use command_line::{GRAMMAR, Refused, Task, program, understand};
use fanfare_command::{
    Exit, Output, end, generate, give_up, give_up_all, interrupt, misunderstood, say,
};
use fanfare_monitor::transfer::Kind;
#[cfg(not(all(feature = "groups", unix)))]
use left_out::membership;
#[cfg(not(feature = "relay"))]
use left_out::relay;
#[cfg(not(all(feature = "sensor", target_os = "linux")))]
use left_out::sensor;
#[cfg(not(all(feature = "proxy", target_os = "linux")))]
use left_out::two_nodes;
#[cfg(not(feature = "video"))]
use left_out::video;
use watching::watched;

fn main() -> ExitCode {
    let words = match fanfare_command::shims::translate(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => {
            say(&failure);
            return end(failure.exit).into();
        }
    };
    let task = match understand(&words) {
        Ok(task) => task,
        Err(Refused::Line(error)) => return misunderstood(&error, &words),
        Err(Refused::Plan(failures, shown)) => {
            return give_up_all(&Output::new(shown), &failures).into();
        }
        Err(Refused::Doctor(failures, shown)) => return doctor::refuse(shown, &failures).into(),
    };
    let sends = matches!(task, Task::Send(..));
    if sends {
        interrupt::hold_go();
    }
    if task.has_own_signals() {
        fanfare_udp::os::signal::survive_file_limit();
    } else {
        interrupt::install(task.has_file());
    }
    if sends {
        interrupt::install_go();
    }
    end(run(task)).into()
}

fn run(task: Task) -> Exit {
    match task {
        Task::Send(plan, reload) => {
            let output = Output::new(plan.output).per_file();
            let page = plan.watch.clone();
            watched(page, Kind::Send, output, |output| send::run(*plan, reload, output))
        }
        Task::SendStreams(plan, shown) => send::run_streams(plan, shown, &Output::new(shown)),
        Task::Receive(plan, reload) => {
            let output = Output::new(plan.output).per_file();
            let page = plan.watch.clone();
            watched(page, Kind::Receive, output, |output| receive::run(*plan, reload, output))
        }
        Task::PipeSend(plan) => {
            let output = Output::new(plan.output);
            pipe::send(*plan, &output)
        }
        Task::PipeReceive(plan) => {
            let output = Output::new(plan.output);
            pipe::receive(*plan, &output)
        }
        Task::Publish(args) => publish::run(&args),
        Task::Subscribe(args) => subscribe::run(&args),
        Task::Node(plan) => {
            let output = Output::new(plan.output);
            node::run(plan, &output)
        }
        Task::NodeStatus(args) => {
            let output = Output::new(args.output);
            let told = node::status(&args.socket.there(), &output);
            told.unwrap_or_else(|failure| give_up(&output, &failure))
        }
        Task::Bridge(args) => bridge::run(&args),
        Task::NormExec(args) => norm_exec::run(&args),
        Task::Demo(args) => demo::run(&args),
        Task::Doctor(plan) => doctor::run(&plan),
        Task::Watch(args) => watch::run(&args),
        Task::Monitor(args) => monitor::run(&args),
        Task::Link(args) => two_nodes::link::run(&args),
        Task::Proxy(args) => two_nodes::proxy::run(&args),
        Task::Group(args) => membership::run(&args),
        Task::Sensor(args) => sensor::run(&args),
        Task::Video(args) => video::run(&args),
        Task::Relay(args) => relay::run(&args),
        Task::Companion(program, command, args) => program.run(command, &args),
        Task::Key(args) => fanfare_command::keys::key::run(&args),
        Task::Id(args) => fanfare_command::keys::identity::show(&args),
        Task::Trust(args) => fanfare_command::keys::trust::run(&args),
        Task::Receipts(args) => fanfare_command::keys::receipts::run(&args),
        Task::Parts(args) => parts::run(&args),
        Task::Config(args) => fanfare_command::config::run(&args, &GRAMMAR),
        Task::Completions(args) => generate::completions(&args, program()),
        Task::Man(args) => generate::man(&args, program()),
    }
}
