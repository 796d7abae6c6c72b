//! A program with one session on the loopback interface, by the functions that C programs call.

use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_void},
    path::{Path, PathBuf},
    ptr,
    time::{Duration, Instant},
};

use norm::{
    edge::{acking::*, enqueue::*, instance::*, network::*, node::*, object::*, receiver::*},
    edge::{sender::*, session::*, stream::*},
    kinds::EventType,
};

type Word = *const c_void;

/// Nothing takes longer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// NormEvent.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) kind: i32,
    pub(crate) session: Word,
    pub(crate) sender: Word,
    pub(crate) object: Word,
}

pub(crate) struct Program {
    instance: Word,
    pub(crate) session: Word,
    seen: RefCell<Vec<i32>>,
}

pub(crate) fn sender(group: u8, id: u32) -> Program {
    let program = Program::new(group, id);
    program.send();
    program
}

pub(crate) fn receiver(group: u8, id: u32) -> Program {
    let program = Program::new(group, id);
    program.receive();
    program
}

impl Program {
    /// In the group of this number: tests run beside each other.
    pub(crate) fn new(group: u8, id: u32) -> Self {
        let instance = NormCreateInstance(false);
        let address = CString::new(format!("239.255.77.{group}")).unwrap();
        let port = 17_600 + u16::from(group);
        let interface = CString::new("lo").unwrap();
        // SAFETY: strings that live long enough.
        let session = unsafe {
            let session = NormCreateSession(instance, address.as_ptr(), port, id);
            assert!(NormSetMulticastInterface(session, interface.as_ptr()));
            session
        };
        assert!(!session.is_null());
        Self { instance, session, seen: RefCell::default() }
    }

    /// With a session that is made so.
    pub(crate) fn of(make: fn(Word, u16, u32) -> Word, port: u16, id: u32) -> Self {
        let instance = NormCreateInstance(false);
        let session = make(instance, port, id);
        assert!(!session.is_null());
        Self { instance, session, seen: RefCell::default() }
    }

    pub(crate) fn send(&self) {
        self.send_as(7);
    }

    /// With this instance id.
    pub(crate) fn send_as(&self, instance: u16) {
        NormSetTxRate(self.session, 50e6);
        NormSetGrttEstimate(self.session, 0.005);
        assert!(NormStartSender(self.session, instance, 1 << 20, 1400, 16, 4, 0));
    }

    pub(crate) fn receive(&self) {
        NormSetDefaultSyncPolicy(self.session, 2);
        assert!(NormStartReceiver(self.session, 1 << 20));
    }

    pub(crate) fn stop_receiving(&self) {
        NormStopReceiver(self.session);
    }

    pub(crate) fn requeue(&self, object: Word) -> bool {
        NormRequeueObject(self.session, object)
    }

    pub(crate) fn set_grtt(&self, seconds: f64) {
        NormSetGrttEstimate(self.session, seconds);
    }

    pub(crate) fn grtt(&self) -> f64 {
        NormGetGrttEstimate(self.session)
    }

    /// Bytes of the address that is listened at, and the port.
    pub(crate) fn bound_to(&self) -> Option<(u32, u16)> {
        let (mut bytes, mut length, mut port) = ([0_u8; 16], 16, 0);
        // SAFETY: all of them can be written.
        let told = unsafe {
            let start = bytes.as_mut_ptr().cast();
            NormGetRxBindAddress(self.session, start, &raw mut length, &raw mut port)
        };
        told.then_some((length, port))
    }

    pub(crate) fn hear_itself(&self) {
        assert!(NormSetLoopback(self.session, true));
    }

    /// The next event of this kind; others are passed over, and their numbers noted.
    pub(crate) fn await_event(&self, kind: EventType) -> Event {
        let began = Instant::now();
        loop {
            if let Some(event) = self.next_event() {
                if event.kind == kind as i32 {
                    return event;
                }
            } else {
                assert!(began.elapsed() < PATIENCE, "no {kind:?}, but {:?}", self.seen.borrow());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    pub(crate) fn next_event(&self) -> Option<Event> {
        let mut event =
            Event { kind: 0, session: ptr::null(), sender: ptr::null(), object: ptr::null() };
        // SAFETY: the same layout, which another test compares.
        let came = unsafe { NormGetNextEvent(self.instance, (&raw mut event).cast(), false) };
        if came {
            self.seen.borrow_mut().push(event.kind);
        }
        came.then_some(event)
    }

    pub(crate) fn events_of(&self, kind: EventType) -> usize {
        self.seen.borrow().iter().filter(|seen| **seen == kind as i32).count()
    }

    pub(crate) fn enqueue(&self, data: &[u8], info: &[u8]) -> Word {
        let (start, length) = (info.as_ptr().cast(), info.len() as u32);
        // SAFETY: slices of this length.
        unsafe {
            NormDataEnqueue(self.session, data.as_ptr().cast(), data.len() as u32, start, length)
        }
    }

    pub(crate) fn enqueue_file(&self, path: &Path) -> Word {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a string.
        unsafe { NormFileEnqueue(self.session, path.as_ptr(), ptr::null(), 0) }
    }

    pub(crate) fn enqueue_file_with(&self, path: &Path, info: &[u8]) -> Word {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a string, and a slice of this length.
        unsafe {
            let (start, length) = (info.as_ptr().cast(), info.len() as u32);
            NormFileEnqueue(self.session, path.as_ptr(), start, length)
        }
    }

    pub(crate) fn set_cache(&self, folder: &Path) -> bool {
        let folder = CString::new(folder.to_str().unwrap()).unwrap();
        // SAFETY: a string.
        unsafe { NormSetCacheDirectory(self.instance, folder.as_ptr()) }
    }

    pub(crate) fn add_acking_node(&self, id: u32) -> bool {
        NormAddAckingNode(self.session, id)
    }

    pub(crate) fn set_watermark(&self, object: Word) -> bool {
        NormSetWatermark(self.session, object, false)
    }

    pub(crate) fn ask_with_watermark(&self, object: Word, question: &[u8]) -> bool {
        let (start, length) = (question.as_ptr().cast(), question.len() as u32);
        // SAFETY: a slice of this length.
        unsafe { NormSetWatermarkEx(self.session, object, start, length, false) }
    }

    pub(crate) fn answer_of(&self, id: u32) -> Option<Vec<u8>> {
        // SAFETY: the length is that of the buffer.
        filled(|start, length| unsafe { NormGetAckEx(self.session, id, start, length) })
    }

    pub(crate) fn reset_watermark(&self) -> bool {
        NormResetWatermark(self.session)
    }

    pub(crate) fn adapt(&self, enable: bool) {
        NormSetCongestionControl(self.session, enable, true);
    }

    pub(crate) fn bound_rate(&self, min: f64, max: f64) {
        NormSetTxRateBounds(self.session, min, max);
    }

    pub(crate) fn set_rate(&self, rate: f64) {
        NormSetTxRate(self.session, rate);
    }

    pub(crate) fn rate(&self) -> f64 {
        NormGetTxRate(self.session)
    }

    pub(crate) fn cancel_watermark(&self) {
        NormCancelWatermark(self.session);
    }

    pub(crate) fn set_robust(&self, factor: i32) {
        NormSetTxRobustFactor(self.session, factor);
    }

    pub(crate) fn acking_status(&self, id: u32) -> i32 {
        NormGetAckingStatus(self.session, id)
    }

    pub(crate) fn completed(&self) -> u32 {
        NormCountCompletedObjects(self.session)
    }

    pub(crate) fn command(&self, content: &[u8]) -> bool {
        let (start, length) = (content.as_ptr().cast(), content.len() as u32);
        // SAFETY: a slice of this length.
        unsafe { NormSendCommand(self.session, start, length, false) }
    }

    pub(crate) fn request_nothing(&self) {
        NormSetDefaultNackingMode(self.session, 0);
    }

    pub(crate) fn lose(&self, percent: f64) {
        NormSetRxLoss(self.session, percent);
    }

    pub(crate) fn open_stream(&self, buffer: u32) -> Word {
        // SAFETY: no info.
        let stream = unsafe { NormStreamOpen(self.session, buffer, ptr::null(), 0) };
        assert!(!stream.is_null());
        stream
    }

    /// Writes all of it, and waits for room where there is none.
    pub(crate) fn write_all(&self, stream: Word, bytes: &[u8]) {
        let (mut rest, began) = (bytes, Instant::now());
        while !rest.is_empty() {
            let taken = write(stream, rest);
            rest = &rest[taken..];
            if taken == 0 {
                self.next_event();
                assert!(began.elapsed() < PATIENCE, "no room for {} bytes", rest.len());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        flush(stream, true, 2);
    }

    pub(crate) fn read_stream_to_its_end(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let stream = self.await_event(EventType::RxObjectNew).object;
        loop {
            let before = all.len();
            all.extend(read(stream, 10_000).expect("no break"));
            if all.len() == before {
                if self.events_of(EventType::RxObjectCompleted) > 0 {
                    return all;
                }
                let began = Instant::now();
                while self.next_event().is_none() {
                    assert!(began.elapsed() < PATIENCE, "{} bytes, {:?}", all.len(), self.seen);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    /// Bytes until there are so many, and the breaks between them.
    pub(crate) fn read_stream_until(&self, most: usize) -> (usize, usize) {
        let (mut bytes, mut breaks, began) = (0, 0, Instant::now());
        let stream = self.await_event(EventType::RxObjectNew).object;
        while bytes < most {
            match read(stream, 10_000) {
                None => breaks += 1,
                Some(some) if some.is_empty() => {
                    assert!(began.elapsed() < PATIENCE, "{bytes} bytes, {breaks} breaks");
                    self.next_event();
                    std::thread::sleep(Duration::from_millis(1));
                }
                Some(some) => bytes += some.len(),
            }
        }
        (bytes, breaks)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        NormDestroyInstance(self.instance);
    }
}

fn filled(call: impl Fn(*mut c_char, *mut u32) -> bool) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; 2000];
    let mut length = 2000;
    call(bytes.as_mut_ptr().cast(), &raw mut length).then(|| {
        bytes.truncate(length as usize);
        bytes
    })
}

pub(crate) fn data(object: Word) -> Vec<u8> {
    let start = NormDataAccessData(object).cast::<u8>();
    assert!(!start.is_null());
    // SAFETY: the object's bytes, as long as its event was not released.
    unsafe { std::slice::from_raw_parts(start, NormObjectGetSize(object) as usize) }.to_vec()
}

pub(crate) fn info(object: Word) -> Vec<u8> {
    let mut bytes = vec![0_u8; usize::from(NormObjectGetInfoLength(object))];
    // SAFETY: the length is that of the buffer.
    unsafe { NormObjectGetInfo(object, bytes.as_mut_ptr().cast(), bytes.len() as u16) };
    bytes
}

pub(crate) fn kind(object: Word) -> i32 {
    NormObjectGetType(object)
}

pub(crate) fn node_id(node: Word) -> u32 {
    NormNodeGetId(node)
}

pub(crate) fn command(node: Word) -> Option<Vec<u8>> {
    // SAFETY: the length is that of the buffer.
    filled(|start, length| unsafe { NormNodeGetCommand(node, start, length) })
}

pub(crate) fn question(node: Word) -> Option<Vec<u8>> {
    // SAFETY: the length is that of the buffer.
    filled(|start, length| unsafe { NormNodeGetWatermarkEx(node, start, length) })
}

pub(crate) fn answer(node: Word, content: &[u8]) -> bool {
    // SAFETY: a slice of this length.
    unsafe { NormNodeSendAckEx(node, content.as_ptr().cast(), content.len() as u32) }
}

pub(crate) fn file_name(file: Word) -> PathBuf {
    let mut bytes = vec![0_u8; 4096];
    // SAFETY: the length is that of the buffer.
    assert!(unsafe { NormFileGetName(file, bytes.as_mut_ptr().cast(), 4096) });
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(bytes[..end].to_vec()).unwrap().into()
}

pub(crate) fn rename(file: Word, name: &Path) -> bool {
    let name = CString::new(name.to_str().unwrap()).unwrap();
    // SAFETY: a string.
    unsafe { NormFileRename(file, name.as_ptr()) }
}

pub(crate) fn write(stream: Word, bytes: &[u8]) -> usize {
    // SAFETY: a slice of this length.
    unsafe { NormStreamWrite(stream, bytes.as_ptr().cast(), bytes.len() as u32) as usize }
}

pub(crate) fn flush(stream: Word, end_of_message: bool, mode: i32) {
    NormStreamFlush(stream, end_of_message, mode);
}

pub(crate) fn close(stream: Word) {
    NormStreamClose(stream, true);
}

pub(crate) fn seek(stream: Word) -> bool {
    NormStreamSeekMsgStart(stream)
}

/// `None` for a break.
pub(crate) fn read(stream: Word, most: u32) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; most as usize];
    let mut length = most;
    // SAFETY: the length is that of the buffer.
    let whole = unsafe { NormStreamRead(stream, bytes.as_mut_ptr().cast(), &raw mut length) };
    bytes.truncate(length as usize);
    whole.then_some(bytes)
}
