//! Memory in which the kernel writes packets: blocks that belong to it or to us (packet_mmap, TPACKET_V3).

use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
    ptr,
    sync::atomic::{Ordering, fence},
};

use super::filter::Step;

/// A block, bytes: large enough for the largest packet's headers many times over.
const BLOCK: usize = 1 << 18;
/// A block that is not full is handed over after so long, ms. Without it a quiet line tells nothing.
const HANDED_OVER: u32 = 10;
/// linux/if_packet.h: how the first packet of a block is found, and what stands where in its header.
const STATUS: usize = 8;
const PACKETS: usize = 12;
const FIRST: usize = 16;
/// The header of a packet, up to the address of its interface.
const HEADER: usize = 48;
/// A header of virtio before the packet: how it was joined. Bytes.
const JOINED: usize = 10;
/// Before anything is copied the kernel says which packets it went out with.
const OUTGOING: u8 = 4;
const USER: u32 = 1;

/// A packet in the ring.
pub(super) struct Raw<'b> {
    pub(super) seconds: u32,
    pub(super) nanos: u32,
    pub(super) bytes: &'b [u8],
    pub(super) length: u32,
    /// Bytes of each packet that it was joined of, or 0.
    pub(super) segment: u16,
    pub(super) outgoing: bool,
}

/// The socket and its memory.
#[derive(Debug)]
pub(super) struct Ring {
    socket: OwnedFd,
    memory: ptr::NonNull<u8>,
    blocks: usize,
    next: usize,
    knows_joined: bool,
}

// SAFETY: the memory belongs to this value alone, and whoever has it has all of it.
unsafe impl Send for Ring {}

impl Ring {
    /// `is_cooked`: the kernel takes off what is before IP.
    pub(super) fn open(
        interface: u32,
        memory: usize,
        filter: &[Step],
        is_cooked: bool,
    ) -> io::Result<Self> {
        // Protocol 0: nothing comes before the filter is there and locked.
        let kind = if is_cooked { libc::SOCK_DGRAM } else { libc::SOCK_RAW };
        // SAFETY: no pointers.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just made, and is nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        attach(&socket, filter)?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // Older kernels do not say how packets were joined: they are then counted as one.
        let knows_joined = set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32).is_ok();
        let blocks = (memory / BLOCK).clamp(2, 256);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            // Of this version only their product with the number counts.
            tp_frame_size: 2048,
            tp_frame_nr: (BLOCK / 2048 * blocks) as u32,
            tp_retire_blk_tov: HANDED_OVER,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = map(&socket, BLOCK * blocks)?;
        let ring = Self { socket, memory, blocks, next: 0, knows_joined };
        ring.bind(interface)?;
        Ok(ring)
    }

    fn bind(&self, interface: u32) -> io::Result<()> {
        // SAFETY: all zeros is a value of it.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as i32;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is one, of this length.
        let bound =
            unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) };
        if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// All packets of all blocks that are ours; the blocks go back.
    pub(super) fn take(&mut self, mut each: impl FnMut(&Raw<'_>)) -> usize {
        let mut taken = 0;
        for _ in 0..self.blocks {
            // SAFETY: a block is within the memory, and of this length.
            let block = unsafe { self.memory.as_ptr().add(self.next * BLOCK) };
            // SAFETY: as above; the kernel may write it at the same time, so it is read as volatile.
            let status = unsafe { block.add(STATUS).cast::<u32>().read_volatile() };
            if status & USER == 0 {
                break;
            }
            fence(Ordering::Acquire);
            // SAFETY: while the block is ours the kernel writes nothing in it.
            let bytes = unsafe { std::slice::from_raw_parts(block, BLOCK) };
            taken += read_block(bytes, self.knows_joined, &mut each);
            fence(Ordering::Release);
            // SAFETY: as above; nothing refers to the block any more.
            unsafe { block.add(STATUS).cast::<u32>().write_volatile(0) };
            self.next = (self.next + 1) % self.blocks;
        }
        taken
    }

    /// Packets, and those for which there was no room, since the last time.
    pub(super) fn counted(&self) -> io::Result<(u32, u32)> {
        let mut stats = [0_u32; 3];
        let mut length = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: the place is as long as is said.
        let got = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                stats.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if got < 0 { Err(io::Error::last_os_error()) } else { Ok((stats[0], stats[1])) }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCK * self.blocks) };
    }
}

/// The packets of a block: what the kernel has written is checked as if it came by the network.
fn read_block(block: &[u8], knows_joined: bool, each: &mut impl FnMut(&Raw<'_>)) -> usize {
    let word = |at: usize| {
        block.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
    };
    let half = |at: usize| {
        block.get(at..at + 2).and_then(|half| half.try_into().ok()).map_or(0, u16::from_ne_bytes)
    };
    let mut at = word(FIRST) as usize;
    let mut taken = 0;
    for _ in 0..word(PACKETS) {
        let start = at + usize::from(half(at + 24));
        let copied = word(at + 12) as usize;
        let Some(bytes) = block.get(start..start.saturating_add(copied)) else { break };
        // virtio_net.h: flags, kind, length of headers, length of segments; kind 0 is not joined.
        let joined = start.checked_sub(JOINED).filter(|_| knows_joined);
        let joined = joined.and_then(|at| block.get(at..at + JOINED)).filter(|head| head[1] != 0);
        each(&Raw {
            seconds: word(at + 4),
            nanos: word(at + 8),
            bytes,
            length: word(at + 16),
            segment: joined.map_or(0, |head| u16::from_ne_bytes([head[4], head[5]])),
            outgoing: block.get(at + HEADER + 10) == Some(&OUTGOING),
        });
        taken += 1;
        match word(at) as usize {
            0 => break,
            next => at += next,
        }
    }
    taken
}

fn attach(socket: &OwnedFd, filter: &[Step]) -> io::Result<()> {
    let mut steps: Vec<libc::sock_filter> = filter
        .iter()
        .map(|step| libc::sock_filter { code: step.code, jt: step.yes, jf: 0, k: step.value })
        .collect();
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
    set(socket, libc::SOL_SOCKET, libc::SO_LOCK_FILTER, &1_i32)
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is as long as is said, and the kernel only reads it.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), length)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn map(socket: &OwnedFd, length: usize) -> io::Result<ptr::NonNull<u8>> {
    // SAFETY: new memory, anywhere.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            socket.as_raw_fd(),
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    ptr::NonNull::new(memory.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
}
