//! Programs of libnorm.so.1 that call anything in any order, with handles that are dead, null, of another
//! kind, or no handles at all: nothing panics, nothing hangs, and each answers.
#![no_main]

use std::{ffi::c_char, ptr};

use libfuzzer_sys::fuzz_target;
use norm::edge::{
    acking::*, enqueue::*, instance::*, network::*, node::*, object::*, receiver::*, sender::*,
    session::*, stream::*,
};

type Word = *const std::ffi::c_void;

/// NormEvent, as a program in C has it.
#[repr(C)]
struct Told {
    kind: i32,
    words: [Word; 3],
}

/// More of them say nothing new, and take long.
const CALLS_MAX: usize = 64;
/// A stream that takes no memory worth speaking of.
const BUFFER_MAX: u32 = 1 << 22;

/// What a program holds, and what it was given to say.
struct Program<'a> {
    input: &'a [u8],
    instances: Vec<Word>,
    handles: Vec<Word>,
    port: u16,
}

impl Program<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.input.split_first() else { return 0 };
        self.input = rest;
        *first
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// Also what is none: zero, less than nothing, no number.
    fn real(&mut self) -> f64 {
        let number = f64::from(self.number() as i32) / 1000.0;
        [number, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, number, number, number]
            [usize::from(self.byte()) % 8]
    }

    /// One that it was given once, whatever has become of it; or none.
    fn any(&mut self) -> Word {
        let choice = usize::from(self.byte());
        match self.handles.get(choice % (self.handles.len() + 2)) {
            Some(handle) => *handle,
            None if choice % 2 == 0 => ptr::null(),
            None => self.number() as usize as Word,
        }
    }

    fn instance(&mut self) -> Word {
        let choice = usize::from(self.byte());
        let found = self.instances.get(choice % (self.instances.len() + 1)).copied();
        found.unwrap_or_else(|| self.any())
    }

    fn keep(&mut self, handle: Word) {
        if !handle.is_null() {
            self.handles.push(handle);
        }
    }

    fn step(&mut self) {
        match self.byte() % 6 {
            0 => self.begin(),
            1 => self.set(),
            2 => self.send(),
            3 => self.receive(),
            4 => self.ask(),
            _ => self.end(),
        }
    }

    fn begin(&mut self) {
        let session = self.any();
        match self.byte() % 4 {
            0 if self.instances.len() < 2 => {
                let instance = NormCreateInstance(false);
                self.instances.extend((!instance.is_null()).then_some(instance));
            }
            0 | 1 => {
                let address = [c"239.255.42.9", c"127.0.0.1", c"nowhere.invalid", c"::1"]
                    [usize::from(self.byte()) % 2];
                let (instance, id) = (self.instance(), self.number() % 4);
                // Port 0 is any.
                let port = if id == 3 { 0 } else { self.port };
                let session = unsafe { NormCreateSession(instance, address.as_ptr(), port, id) };
                unsafe { NormSetMulticastInterface(session, c"lo".as_ptr()) };
                NormSetLoopback(session, true);
                self.keep(session);
            }
            2 => {
                let (segment, source, parity) =
                    (self.number() as u16, u16::from(self.byte()), u16::from(self.byte()));
                NormStartSender(session, 1, 1 << 20, segment, source, parity, self.byte());
            }
            _ => drop(NormStartReceiver(session, self.number() % (1 << 20))),
        }
    }

    fn set(&mut self) {
        let (session, real, number) = (self.any(), self.real(), self.number());
        match self.byte() % 25 {
            0 => NormSetTxRate(session, real),
            1 => NormSetTxRateBounds(session, real, self.real()),
            2 => NormSetCongestionControl(session, number & 1 == 0, number & 2 == 0),
            3 => NormSetFlowControl(session, real),
            4 => NormSetTxCacheBounds(session, i64::from(number), number, self.number()),
            5 => NormSetAutoParity(session, number as u8),
            6 => NormSetGrttEstimate(session, real),
            7 => NormSetGrttMax(session, real),
            8 => NormSetGrttProbingMode(session, number as i32),
            9 => NormSetGrttProbingInterval(session, real, self.real()),
            10 => NormSetBackoffFactor(session, real),
            11 => NormSetGroupSize(session, number),
            12 => NormSetTxRobustFactor(session, number as i32),
            13 => NormSetRxCacheLimit(session, number as u16),
            14 => NormSetSilentReceiver(session, number & 1 == 0, self.number() as i32),
            15 => NormSetDefaultSyncPolicy(session, number as i32),
            16 => NormSetDefaultNackingMode(session, number as i32),
            17 => drop(NormAddAckingNode(session, number % 5)),
            18 => NormRemoveAckingNode(session, number % 5),
            19 => NormSetAutoAckingNodes(session, number as i32),
            20 => NormSetId(session, number),
            21 => {
                let address = [c"239.255.42.9", c"127.0.0.1", c"127.0.0.2"][number as usize % 3];
                let port = self.port + (number >> 2) as u16 % 3;
                unsafe { NormChangeDestination(session, address.as_ptr(), port, number & 1 == 0) };
            }
            22 => {
                let port = self.port + number as u16 % 3;
                unsafe { NormSetTxPort(session, port, number & 1 == 0, ptr::null()) };
            }
            23 => unsafe {
                NormSetRxPortReuse(session, number & 1 == 0, ptr::null(), ptr::null(), 0);
            },
            _ => NormSetUserTimer(session, real),
        }
    }

    fn send(&mut self) {
        let (handle, length) = (self.any(), self.number() % 3000);
        let content = vec![self.byte(); 3000];
        let start: *const c_char = content.as_ptr().cast();
        match self.byte() % 10 {
            0 => {
                let buffer = self.number() % BUFFER_MAX;
                let stream = unsafe { NormStreamOpen(handle, buffer, start, length % 100) };
                self.keep(stream);
            }
            1 | 2 => drop(unsafe { NormStreamWrite(handle, start, length) }),
            3 => NormStreamFlush(handle, length & 1 == 0, (length >> 1) as i32 % 4),
            4 => NormStreamMarkEom(handle),
            5 => NormStreamSetPushEnable(handle, length & 1 == 0),
            6 => {
                let object =
                    unsafe { NormDataEnqueue(handle, start, length, start, length % 2000) };
                self.keep(object);
            }
            7 => drop(unsafe { NormSendCommand(handle, start, length, length & 1 == 0) }),
            8 => drop(NormSetWatermark(handle, self.any(), length & 1 == 0)),
            _ => NormStreamSetAutoFlush(handle, length as i32),
        }
    }

    fn receive(&mut self) {
        let handle = self.any();
        let mut room = [0 as c_char; 512];
        match self.byte() % 6 {
            0 | 1 => {
                let mut told = Told { kind: 0, words: [ptr::null(); 3] };
                let instance = self.instance();
                if unsafe { NormGetNextEvent(instance, (&raw mut told).cast(), false) } {
                    assert!((0..=28).contains(&told.kind));
                    told.words.into_iter().for_each(|word| self.keep(word));
                }
            }
            2 => {
                let mut count = self.number() % 512;
                unsafe { NormStreamRead(handle, room.as_mut_ptr(), &raw mut count) };
                assert!(count <= 512);
            }
            3 => drop(NormStreamSeekMsgStart(handle)),
            4 => drop(unsafe { NormObjectGetInfo(handle, room.as_mut_ptr(), 512) }),
            _ => drop(NormDataAccessData(handle)),
        }
    }

    fn ask(&mut self) {
        let handle = self.any();
        match self.byte() % 14 {
            0 => drop(NormObjectGetType(handle)),
            1 => drop(NormObjectGetSize(handle)),
            2 => drop(NormObjectGetBytesPending(handle)),
            3 => drop(NormStreamGetVacancy(handle, 7)),
            4 => drop(NormStreamHasVacancy(handle)),
            5 => drop(NormStreamGetReadOffset(handle)),
            6 => drop(NormStreamGetBufferUsage(handle)),
            7 => drop(NormGetAckingStatus(handle, u32::from(self.byte()))),
            8 => drop(NormGetTxRate(handle)),
            9 => drop(NormNodeGetId(handle)),
            10 => drop(NormObjectGetSender(handle)),
            11 => drop(NormGetDescriptor(self.instance())),
            12 => drop(NormCountCompletedObjects(handle)),
            _ => drop(NormGetLocalNodeId(handle)),
        }
    }

    fn end(&mut self) {
        let handle = self.any();
        match self.byte() % 14 {
            0 => NormStreamClose(handle, self.byte() & 1 == 0),
            1 => NormObjectCancel(handle),
            2 => NormObjectRetain(handle),
            3 => NormObjectRelease(handle),
            4 => NormStopSender(handle),
            5 => NormStopReceiver(handle),
            6 => NormDestroySession(handle),
            7 => NormStopInstance(self.instance()),
            8 => drop(NormRestartInstance(self.instance())),
            9 => NormReleasePreviousEvent(self.instance()),
            10 => NormCancelWatermark(handle),
            11 => drop(NormResetWatermark(handle)),
            12 => NormCancelCommand(handle),
            _ => NormDestroyInstance(self.instance()),
        }
    }
}

fuzz_target!(|input: &[u8]| {
    // Other programs of this machine have other ports.
    let port = 20_000 + (std::process::id() % 40_000) as u16;
    let mut program = Program { input, instances: Vec::new(), handles: Vec::new(), port };
    program.instances.push(NormCreateInstance(false));
    for _ in 0..CALLS_MAX {
        if program.input.is_empty() {
            break;
        }
        program.step();
    }
    program.instances.iter().for_each(|instance| NormDestroyInstance(*instance));
    // Once more: what is dead answers.
    program.instances.iter().for_each(|instance| NormDestroyInstance(*instance));
});
