//! A flow of this kernel's TCP through the relay.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_tcp_congestion;

use super::{Conditions, relay};
use crate::lab::{Family, Host, Lab};
use crate::tool::{self, ToolError};

/// Bytes of an IP packet with 1440 of payload: as the model's.
const MTU: u32 = 1492;
/// What the hosts' own network must carry: VXLAN adds 50 bytes.
const OUTER_MTU: u32 = 1600;
const TCP_PORT: u16 = 6020;
/// Longer than the worst handshake.
const CONNECT: Duration = Duration::from_secs(20);
/// How long a writer may take to notice that it should stop.
const NOTICE: Duration = Duration::from_millis(100);

/// Goodput in bit/s over `time` from the first byte that arrives.
///
/// # Errors
/// When a system program or a socket fails.
pub fn goodput(conditions: &Conditions, time: Duration, seed: u64) -> Result<f64, ToolError> {
    let lab = Lab::new(3, Family::V4)?;
    let [sender, middle, receiver] = lab.hosts() else {
        unreachable!("a lab has as many hosts as were asked for")
    };
    for (host, other, number) in [(sender, 2, 1), (receiver, 1, 2)] {
        tunnel(host, middle, number, other)?;
    }
    widen(middle)?;
    let socket = inside(middle, || UdpSocket::bind(("0.0.0.0", relay::PORT)))?;
    let listener = inside(receiver, || TcpListener::bind(("0.0.0.0", TCP_PORT)))?;
    let ends = [sender, receiver].map(ip);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let bottleneck = conditions.bottleneck(seed);
        let relay = scope.spawn(|| relay::run(&socket, ends[0], ends[1], bottleneck, &stop));
        let source = scope.spawn(|| {
            let target = SocketAddr::new(inner(2).into(), TCP_PORT);
            let stream = inside(sender, || {
                let stream = TcpStream::connect_timeout(&target, CONNECT)?;
                // By socket: the setting of a namespace allows only what all users may have.
                set_tcp_congestion(&stream, conditions.kernel_name())?;
                Ok(stream)
            })?;
            // The sink may go first; what counts is what it got.
            let _ = pour(&stream, &stop);
            Ok::<(), ToolError>(())
        });
        let bytes = accept(&listener).and_then(|stream| drain(stream, time));
        stop.store(true, Ordering::Relaxed);
        joined(source)??;
        joined(relay)?.map_err(tool::at("relay"))?;
        let bytes = bytes.map_err(tool::at("sink"))?;
        Ok(bytes as f64 * 8.0 / time.as_secs_f64())
    })
}

/// A VXLAN device whose packets all go to the relay.
fn tunnel(host: &Host, relay: &Host, number: u8, other: u8) -> Result<(), ToolError> {
    let mac = |n: u8| format!("02:00:00:00:77:{n:02x}");
    widen(host)?;
    let lines = format!(
        "link add vx0 address {} mtu {MTU} type vxlan id 1 remote {} dstport {} nolearning\n\
         addr add {}/24 dev vx0\nlink set vx0 up\nneigh add {} lladdr {} dev vx0\n",
        mac(number),
        relay.address(),
        relay::PORT,
        inner(number),
        inner(other),
        mac(other),
    );
    tool::output_with_input("ip", &["-n", host.namespace(), "-batch", "-"], &lines)?;
    // Single segments, so that the line counts what it would count; and with their checksum, which
    // else would be left to a device that never sees them.
    let off = ["-K", "vx0", "tso", "off", "gso", "off", "gro", "off", "tx", "off"];
    host.output("ethtool", &off).map(drop)
}

/// Lets a host's wire carry the tunnel's packets whole.
fn widen(host: &Host) -> Result<(), ToolError> {
    let mtu = OUTER_MTU.to_string();
    let set = |namespace: &str, device: &str| {
        tool::output("ip", &["-n", namespace, "link", "set", device, "mtu", &mtu]).map(drop)
    };
    set(host.namespace(), "eth0")?;
    set(host.bridge(), &host.port())
}

/// The address within the tunnel.
fn inner(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, number)
}

fn ip(host: &Host) -> IpAddr {
    host.address().parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Makes a socket in a host.
fn inside<T: Send>(
    host: &Host,
    make: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, ToolError> {
    host.enter(make)?.map_err(tool::at(host.namespace()))
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> Result<T, ToolError> {
    thread.join().map_err(|_| ToolError::Failed {
        command: "a thread of the comparison".into(),
        why: "it panicked".into(),
    })
}

/// Waits for the flow, but not for ever.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let within = Timespec { tv_sec: CONNECT.as_secs() as i64, tv_nsec: 0 };
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&within))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(listener.accept()?.0),
    }
}

/// Writes until told to stop or the other end has gone.
fn pour(mut stream: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
    let zeros = [0; 64 << 10];
    stream.set_write_timeout(Some(NOTICE))?;
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&zeros) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Counts what arrives within `time` of the first byte.
fn drain(mut stream: TcpStream, time: Duration) -> io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut begun: Option<Instant> = None;
    let mut bytes = 0;
    loop {
        let left = begun.map_or(CONNECT, |begun| time.saturating_sub(begun.elapsed()));
        if left.is_zero() || tool::interrupted() {
            return Ok(bytes);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(got) => {
                begun.get_or_insert_with(Instant::now);
                bytes += got as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.is_some() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
