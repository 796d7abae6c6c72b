//! Hosts as network namespaces on two links, which only root may make.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::draw::{HostPlan, address};

/// Hosts on one bridge for each link; all are gone when this is dropped.
pub(super) struct LinkWorld {
    prefix: String,
    hosts: usize,
}

fn shell(text: &str) {
    let mut child = Command::new("sh").arg("-e").stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
}

impl LinkWorld {
    pub(super) fn new(name: &str, hosts: &[HostPlan]) -> Self {
        let prefix = format!("fs{}x{name}", std::process::id());
        let world = Self { prefix, hosts: hosts.len() };
        let switch = world.switch();
        let mut text = format!("ip netns add {switch}\n");
        for link in [1, 2] {
            text += &format!(
                "ip -n {switch} link add br{link} type bridge mcast_snooping 0\n\
                 ip -n {switch} link set br{link} up\n"
            );
        }
        for (number, host) in hosts.iter().enumerate() {
            let name = world.host(number);
            // No address waits for others to object: nobody has it twice.
            text += &format!(
                "ip netns add {name}\n\
                 ip netns exec {name} sysctl -qw net.ipv6.conf.default.accept_dad=0 \
                 net.ipv6.conf.all.accept_dad=0\n\
                 ip -n {name} link set lo up\n"
            );
            for (at, link) in host.links.iter().enumerate() {
                let (four, six) = (address(number, *link, false), address(number, *link, true));
                text += &format!(
                    "ip -n {switch} link add p{number}x{at} type veth peer name eth{at} netns {name}\n\
                     ip -n {switch} link set p{number}x{at} master br{link} up\n\
                     ip -n {name} addr add {four}/24 brd + dev eth{at}\n\
                     ip -n {name} addr add {six}/64 dev eth{at} nodad\n\
                     ip -n {name} link set eth{at} up\n"
                );
            }
            text += &format!("ip -n {name} route add default dev eth0\n");
            if host.deaf {
                let chains = (0..host.links.len()).map(|at| {
                    format!(
                        "chain c{at} {{ type filter hook ingress device \"eth{at}\" priority 0; \
                         ip daddr 224.0.0.0/4 drop; ip6 daddr ff05::/16 drop; }}; "
                    )
                });
                let rules = format!("table netdev t {{ {} }}", chains.collect::<String>());
                text += &format!("echo '{rules}' | ip netns exec {name} nft -f -\n");
            }
        }
        shell(&text);
        world
    }

    fn switch(&self) -> String {
        format!("{}sw", self.prefix)
    }

    fn host(&self, number: usize) -> String {
        format!("{}h{number}", self.prefix)
    }

    /// A program on a host, with its output and errors in files `NAME.out` and `NAME.err` there.
    pub(super) fn start(
        &self,
        host: usize,
        words: &[String],
        files: &Path,
        input: Option<&Path>,
    ) -> Child {
        let file = |end: &str| File::create(files.with_extension(end)).unwrap();
        let input = input.map_or(Stdio::null(), |path| File::open(path).unwrap().into());
        Command::new("ip")
            .args(["netns", "exec", &self.host(host)])
            .args(words)
            .env("XDG_CONFIG_HOME", files.with_extension("config"))
            .stdin(input)
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap()
    }
}

impl Drop for LinkWorld {
    fn drop(&mut self) {
        let names = (0..self.hosts).map(|n| self.host(n)).chain([self.switch()]);
        for name in names {
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}
