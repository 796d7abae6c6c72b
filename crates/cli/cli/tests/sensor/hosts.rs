//! Two hosts with a cable between them, as network namespaces.

use std::{
    fs::File,
    os::fd::AsFd as _,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

static NEXT: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Hosts {
    pub(crate) near: String,
    pub(crate) far: String,
}

impl Hosts {
    /// `near` is 10.77.0.1 at `v0`, `far` is 10.77.0.2 at `v1`. Nothing where namespaces cannot be made.
    pub(crate) fn new() -> Option<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let stem = format!("ffs{}x{number}", std::process::id());
        let (near, far) = (format!("{stem}a"), format!("{stem}b"));
        if !ip(&["netns", "add", &near]) {
            eprintln!("not run: network namespaces cannot be made here");
            return None;
        }
        let hosts = Self { near, far };
        assert!(ip(&["netns", "add", &hosts.far]));
        let cable = ["link", "add", "v0", "netns", &hosts.near, "type", "veth"];
        assert!(ip(&[&cable[..], &["peer", "name", "v1", "netns", &hosts.far]].concat()));
        for (host, card, address) in
            [(&hosts.near, "v0", "10.77.0.1/24"), (&hosts.far, "v1", "10.77.0.2/24")]
        {
            // Otherwise the system speaks IPv6 whenever it likes.
            inside(host, || {
                std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1").unwrap();
            });
            assert!(ip(&["-n", host, "addr", "add", address, "dev", card]));
            assert!(ip(&["-n", host, "link", "set", card, "up"]));
            assert!(ip(&["-n", host, "link", "set", "lo", "up"]));
        }
        Some(hosts)
    }

    /// A command that runs on the near host.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near, program]);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.near]);
        ip(&["netns", "del", &self.far]);
    }
}

fn ip(args: &[&str]) -> bool {
    let done = Command::new("ip").args(args).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// Runs something on a host: its sockets stay there.
pub(crate) fn inside<T: Send>(host: &str, run: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/var/run/netns/{host}")).unwrap();
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            run()
        });
        inside.join().unwrap()
    })
}

pub(crate) fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let is = found.is_ok_and(|found| found.status.success());
    if !is {
        eprintln!("not run: {program} is not installed");
    }
    is
}
