//! What changes while an endpoint is open, and its descriptors for whoever waits for several endpoints.

use rustix::fd::{AsFd as _, BorrowedFd};
use std::io;
use std::net::SocketAddr;

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Another host or port takes the place of the unicast address it was opened for. `only`: nobody else
    /// is heard at the sending port any more.
    ///
    /// # Errors
    /// What the system says; a multicast group, before or after.
    pub fn aim(&mut self, to: SocketAddr, only: bool) -> io::Result<()> {
        if self.config.group.ip().is_multicast() || to.ip().is_multicast() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.config.group = to;
        match only {
            true => self.transmitter.receive_socket.socket.connect(&to.into()),
            false => Ok(()),
        }
    }

    /// Routers plus one that multicast datagrams may pass from now on.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_ttl(&self, ttl: u8) -> io::Result<()> {
        let socket = &self.transmitter.receive_socket.socket;
        match self.config.group.is_ipv4() {
            true => socket.set_multicast_ttl_v4(u32::from(ttl)),
            false => socket.set_multicast_hops_v6(u32::from(ttl)),
        }
    }

    /// Whether other sockets of this machine hear what is sent to a group.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_loopback(&self, loopback: bool) -> io::Result<()> {
        let socket = &self.transmitter.receive_socket.socket;
        match self.config.group.is_ipv4() {
            true => socket.set_multicast_loop_v4(loopback),
            false => socket.set_multicast_loop_v6(loopback),
        }
    }

    /// Lets this system, and routers of IPv4, fragment datagrams that are longer than a link takes. They are
    /// refused otherwise. For datagrams of others, whose length is theirs to choose.
    ///
    /// # Errors
    /// What the system says; one that has no such option is left as it is.
    pub fn let_fragment(&self) -> io::Result<()> {
        crate::option::let_fragment(
            &self.transmitter.receive_socket.socket,
            self.config.group.is_ipv6(),
        )
    }

    /// The upper six bits of the traffic class of what is sent from now on.
    pub fn set_dscp(&self, dscp: u8) {
        self.transmitter.set_dscp(dscp);
    }

    /// Bytes that the system may keep of what is sent.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_send_buffer(&self, bytes: usize) -> io::Result<()> {
        self.transmitter.receive_socket.socket.set_send_buffer_size(bytes)
    }

    /// Bytes that the system may keep for each socket that receives.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        let groups = self.groups.iter().map(|group| &group.receive_socket);
        let mut all = groups.chain([&self.transmitter.receive_socket]);
        all.try_for_each(|inlet| inlet.socket.set_recv_buffer_size(bytes))
    }

    /// What becomes readable when datagrams come: the sending socket first.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let groups = self.groups.iter().map(|group| &group.receive_socket);
        let all = [&self.transmitter.receive_socket].into_iter().chain(groups);
        all.chain(self.direct.iter().map(|direct| &direct.receive_socket))
            .map(|inlet| inlet.socket.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::config::EndpointConfig;
    use crate::config::Role;
    use crate::follow::loopback_interface;

    #[test]
    fn an_open_endpoint_takes_another_ttl_and_sends_from_the_port_that_was_asked_for() {
        let free = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let group = SocketAddr::new(Ipv4Addr::new(239, 255, 42, 29).into(), free.port());
        let interface = Some(loopback_interface(group.ip()).unwrap());
        let sending_port = free.port();
        let config = EndpointConfig { group, interface, sending_port, ..EndpointConfig::default() };
        let endpoint = Endpoint::open(&config).unwrap();
        assert_eq!(endpoint.local_addr().unwrap(), free);
        endpoint.set_ttl(7).unwrap();
        endpoint.set_loopback(false).unwrap();
        let socket = &endpoint.transmitter.receive_socket.socket;
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 7);
        assert!(!socket.multicast_loop_v4().unwrap());
        assert_eq!(endpoint.descriptors().count(), 2);
    }

    /// A socket that sends to `to`, and hears at a port that others may have, too.
    fn sharing(to: SocketAddr, port: u16) -> Endpoint {
        let config = EndpointConfig {
            group: to,
            role: Role::Sender,
            sending_port: port,
            shared_port: true,
            ..EndpointConfig::default()
        };
        Endpoint::open(&config).unwrap()
    }

    #[test]
    fn of_two_that_share_a_port_each_hears_the_host_that_it_aims_at() {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let peers = [(); 2].map(|()| std::net::UdpSocket::bind(local(0)).unwrap());
        let places = [0, 1].map(|n: usize| peers[n].local_addr().unwrap());
        let mut first = sharing(places[0], 0);
        let port = first.local_addr().unwrap().port();
        first.aim(places[0], true).unwrap();
        let mut second = sharing(places[0], port);
        second.aim(places[1], true).unwrap();
        assert_eq!(second.group(), places[1]);
        for (n, endpoint) in [&mut first, &mut second].into_iter().enumerate() {
            peers[n].send_to(&[n as u8], local(port)).unwrap();
            let mut heard = Vec::new();
            endpoint.receive(|_, bytes| heard.extend_from_slice(bytes)).unwrap();
            assert_eq!(heard, [n as u8]);
            endpoint.send(endpoint.group(), 1, None, &[7]).unwrap();
            assert_eq!(peers[n].recv_from(&mut [0; 9]).unwrap(), (1, local(port)));
        }
    }
}
