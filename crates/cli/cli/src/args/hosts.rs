//! Single hosts to send to, where multicast does not reach them.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
};

use clap::Args;
use fanfare_command::{Exit, Failure, text_file};
use fanfare_node::scoped_host;

/// Every packet goes to each host: more are better reached by multicast, or by several senders.
const HOSTS_MAX: usize = 256;

/// Options of hosts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Receivers")]
pub(crate) struct HostArgs {
    /// Send to these hosts, where multicast does not reach them
    ///
    /// Names or addresses, with commas between; :PORT where it is not the group's. Each runs
    /// 'fanfare recv'. Every packet is sent once to each of them, and to no multicast group.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', conflicts_with_all = ["layers", "streams", "unicast"])]
    to: Vec<String>,
    /// Send to the hosts in this file, one a line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["layers", "streams", "unicast"], hide_short_help = true)]
    to_file: Option<PathBuf>,
    /// With --to: send to the multicast group as well
    ///
    /// Hosts that receive it there are sent no copies.
    #[arg(long, hide_short_help = true)]
    with_group: bool,
    /// With --to: send everything to each host from here
    ///
    /// Otherwise each packet goes to one of the hosts, which passes it on to the others, as far as they
    /// reach each other.
    #[arg(long, hide_short_help = true)]
    no_serve: bool,
    /// Send to the multicast group only: do not look for hosts that hear none
    ///
    /// Otherwise small broadcasts, at most 0.5 % of the rate, find hosts of this link that hear nothing of
    /// the group, and these are sent copies.
    #[arg(long, conflicts_with_all = ["to", "to_file"], hide_short_help = true)]
    no_unicast: bool,
}

impl HostArgs {
    /// Whether hosts are given.
    pub(crate) fn are_given(&self) -> bool {
        !self.to.is_empty() || self.to_file.is_some()
    }

    /// Whether each host is sent everything from here.
    pub(crate) fn are_copied_to(&self) -> bool {
        self.no_serve
    }

    /// Whether hosts that hear no multicast are left alone.
    pub(crate) fn are_left(&self) -> bool {
        self.no_unicast
    }

    /// Whether the group is sent to, too.
    pub(crate) fn with_group(&self) -> bool {
        self.with_group || !self.are_given()
    }

    /// Their addresses, of the group's family and with its port where they have none. Each once. With names
    /// that have several, of which only the first is sent to, and what to say of them.
    pub(crate) fn resolve(&self, group: SocketAddr) -> Result<Hosts, Failure> {
        let mut known = BTreeSet::new();
        let (mut hosts, mut doubtful) = (Vec::new(), Vec::new());
        for name in self.names()? {
            let (address, others) = resolve(&name, group)?;
            if !others.is_empty() {
                let others: Vec<String> = others.iter().map(|ip| ip.to_string()).collect();
                doubtful.push(format!(
                    "to ({name}): the name has several addresses. {} is sent to, and not {}. Name the \
                     address that you mean",
                    address.ip(),
                    others.join(", ")
                ));
            }
            if known.insert(address) {
                hosts.push(address);
            }
        }
        if self.are_given() && hosts.is_empty() {
            let text = "to (): no host. Write them as --to 10.0.0.2,10.0.0.3";
            return Err(Failure::usage("to.empty", text));
        }
        if self.with_group && !self.are_given() {
            let text = "with-group (true): the group is sent to anyway without --to. Leave it out";
            return Err(Failure::usage("to.empty", text));
        }
        if hosts.len() > HOSTS_MAX {
            let text = format!(
                "to ({} hosts): more than {HOSTS_MAX}, and each packet goes to each. Use a \
                 multicast group, or several senders",
                hosts.len()
            );
            return Err(Failure::usage("to.too_many", text));
        }
        Ok(Hosts { addresses: hosts, doubtful })
    }

    fn names(&self) -> Result<Vec<String>, Failure> {
        let mut names: Vec<String> = self.to.iter().map(|name| name.trim().to_owned()).collect();
        if let Some(path) = &self.to_file {
            let read = match path.as_os_str() == "-" {
                true => text_file::read_all(std::io::stdin()),
                false => text_file::read(path),
            };
            let text = read.map_err(|error| {
                let text = format!(
                    "to-file ({}): cannot be read ({error}). Name a file with one host a line",
                    path.display()
                );
                Failure::new(Exit::Usage, "to.unreadable", text)
            })?;
            let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
            names.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
        }
        Ok(names)
    }
}

/// Hosts to send to.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) addresses: Vec<SocketAddr>,
    /// What to say of names that have several addresses.
    pub(crate) doubtful: Vec<String>,
}

fn wrong(name: &str, why: &str) -> Failure {
    Failure::usage("to.invalid", format!("to ({name}): {why}"))
}

/// The address of a host, and others that its name has.
fn resolve(name: &str, group: SocketAddr) -> Result<(SocketAddr, Vec<IpAddr>), Failure> {
    let wrong = |why: String| wrong(name, &why);
    if name.is_empty() {
        return Err(wrong("a host's name is empty. Leave out the comma".to_owned()));
    }
    let with_port = |name: &str, port: u16| (name, port).to_socket_addrs();
    // An IPv6 address has colons of its own.
    let scoped = scoped_host(name, group.port()).map_err(wrong)?;
    let found = match (name.parse::<SocketAddr>(), name.parse::<IpAddr>()) {
        _ if scoped.is_some() => Ok(Vec::from_iter(scoped)),
        (Ok(address), _) if address.port() > 0 => Ok(vec![address]),
        (_, Ok(ip)) => Ok(vec![SocketAddr::new(ip, group.port())]),
        _ => match name.rsplit_once(':') {
            Some((host, port)) => {
                let port = port.parse().ok().filter(|port| *port > 0);
                let port = port.ok_or_else(|| {
                    wrong(format!("{name} has no port from 1 to 65535 behind the colon"))
                })?;
                with_port(host, port).map(Iterator::collect)
            }
            None => with_port(name, group.port()).map(Iterator::collect),
        },
    };
    let found: Vec<SocketAddr> = found.map_err(|error| {
        wrong(format!("no address is known for this name ({error}). Check the spelling"))
    })?;
    choose(name, found, group)
}

/// The one address of the group's family that is taken of those `found`, and the others.
fn choose(
    name: &str,
    found: Vec<SocketAddr>,
    group: SocketAddr,
) -> Result<(SocketAddr, Vec<IpAddr>), Failure> {
    let wrong = |why: String| wrong(name, &why);
    let family = if group.is_ipv4() { "IPv4" } else { "IPv6" };
    let mut usable = found.into_iter().filter(|address| address.is_ipv4() == group.is_ipv4());
    let address = usable.next().ok_or_else(|| {
        wrong(format!("has no {family} address. Name another, or give a --group of its family"))
    })?;
    if address.port() == 0 {
        return Err(wrong(format!("{name} has no port from 1 to 65535 behind the colon")));
    }
    if address.ip().is_multicast() {
        return Err(wrong("is a multicast group. Use --group for it".to_owned()));
    }
    if address.ip().is_unspecified() {
        return Err(wrong("is no host's address. Name the host".to_owned()));
    }
    let others: BTreeSet<IpAddr> =
        usable.map(|other| other.ip()).filter(|ip| *ip != address.ip()).collect();
    Ok((address, others.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn group() -> SocketAddr {
        SocketAddr::from(([239, 255, 42, 1], 6003))
    }
    fn args(to: &[&str]) -> HostArgs {
        let to = to.iter().map(|&host| host.to_owned()).collect();
        HostArgs { to, to_file: None, with_group: false, no_serve: false, no_unicast: false }
    }
    fn refused(host: &str) -> String {
        args(&[host]).resolve(group()).unwrap_err().text
    }

    #[test]
    fn a_host_has_the_groups_port_unless_it_says_another_and_counts_once() {
        let hosts = args(&["10.0.0.2", "10.0.0.3:7000", "10.0.0.2:6003"])
            .resolve(group())
            .unwrap()
            .addresses;
        let expected: [SocketAddr; 2] =
            ["10.0.0.2:6003".parse().unwrap(), "10.0.0.3:7000".parse().unwrap()];
        assert_eq!(hosts, expected);
        let six = SocketAddr::from(([0xff05, 0, 0, 0, 0, 0, 0, 1], 6003));
        let hosts = args(&["fd00::2", "[fd00::3]:7000"]).resolve(six).unwrap().addresses;
        assert_eq!(hosts[0].port(), 6003);
        assert_eq!(hosts[1].port(), 7000);
    }

    #[test]
    fn what_is_no_host_is_refused_with_the_reason() {
        assert!(refused("239.255.42.1").contains("is a multicast group"));
        assert!(refused("fd00::1").contains("has no IPv4 address"));
        assert!(refused("10.0.0.2:0").contains("no port"));
        assert!(refused("0.0.0.0").contains("no host's address"));
        assert!(refused("").contains("empty"));
        assert!(refused("no-such-host.invalid").contains("no address is known"));
        let many: Vec<String> =
            (0..300).map(|n| format!("10.0.{}.{}", n / 250, n % 250 + 1)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(args(&many).resolve(group()).unwrap_err().text.contains("more than 256"));
    }

    #[test]
    fn a_file_of_hosts_has_one_a_line_and_comments() {
        let path = std::env::temp_dir().join(format!("fanfare-hosts-{}", std::process::id()));
        let text = "# two rooms\n10.0.0.2\n\n10.0.0.3 # the printer's neighbour\n";
        let wide = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [text.into(), format!("\u{feff}{}", text.replace('\n', "\r\n")).into(), wide] {
            let bytes: Vec<u8> = bytes;
            fs::write(&path, bytes).unwrap();
            let hosts = HostArgs { to_file: Some(path.clone()), ..args(&[]) };
            assert_eq!(hosts.resolve(group()).unwrap().addresses.len(), 2);
        }
        fs::remove_file(path).unwrap();
    }
}
