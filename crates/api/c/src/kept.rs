//! What a program was lent: it stays in its place until the next call.

use std::ffi::{CString, c_char};

use fanfare_binding::{Outcome, Report};

use crate::types::{fanfare_outcome, fanfare_receipt, fanfare_receiver, fanfare_report};

/// Text for C: a zero in it would end it.
pub(crate) fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// What a handle has lent.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    texts: Vec<CString>,
    bytes: Vec<u8>,
    receipts: Vec<fanfare_receipt>,
    report: Option<Lent>,
}

/// Of a report: until the handle is closed.
#[derive(Debug)]
struct Lent {
    names: Vec<CString>,
    missing: CString,
    receivers: Receivers,
}

/// They point at names that stay beside them.
#[derive(Debug)]
struct Receivers(Vec<fanfare_receiver>);

#[expect(unsafe_code, reason = "pointers say nothing of threads")]
// SAFETY: the pointers are to texts of the same `Lent`, which nobody changes.
unsafe impl Send for Receivers {}

impl Kept {
    /// Forgets what the last call lent.
    pub(crate) fn renew(&mut self) {
        self.texts.clear();
        self.bytes.clear();
        self.receipts.clear();
    }

    /// The bytes of a text are elsewhere than its `CString`: they stay where they are.
    pub(crate) fn text(&mut self, content: &str) -> *const c_char {
        let content = text(content);
        let place = content.as_ptr();
        self.texts.push(content);
        place
    }

    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) -> &[u8] {
        self.bytes = bytes;
        &self.bytes
    }

    pub(crate) fn receipts(&mut self, receipts: Vec<fanfare_receipt>) -> &[fanfare_receipt] {
        self.receipts = receipts;
        &self.receipts
    }

    pub(crate) fn report(&mut self, report: &Report) -> fanfare_report {
        let names: Vec<CString> = report.receivers.iter().map(|one| text(&one.name)).collect();
        let receivers = report.receivers.iter().zip(&names).map(|(one, name)| fanfare_receiver {
            name: name.as_ptr(),
            node: one.node,
            outcome: outcome(one.outcome),
        });
        let receivers = Receivers(receivers.collect());
        let missing = text(&report.missing.join(", "));
        let lent = self.report.insert(Lent { names, missing, receivers });
        debug_assert_eq!(lent.names.len(), lent.receivers.0.len());
        fanfare_report {
            complete: report.complete,
            bytes: report.bytes,
            files: report.files,
            lost: report.lost,
            receivers: lent.receivers.0.as_ptr(),
            receiver_count: lent.receivers.0.len(),
            whole: report.whole(),
            missing: lent.missing.as_ptr(),
        }
    }
}

fn outcome(outcome: Outcome) -> fanfare_outcome {
    match outcome {
        Outcome::Complete => fanfare_outcome::FANFARE_COMPLETE,
        Outcome::Unverified => fanfare_outcome::FANFARE_UNVERIFIED,
        Outcome::Partial => fanfare_outcome::FANFARE_PARTIAL,
        Outcome::Differs => fanfare_outcome::FANFARE_DIFFERS,
        Outcome::Silent => fanfare_outcome::FANFARE_SILENT,
        Outcome::Left => fanfare_outcome::FANFARE_LEFT,
        Outcome::GivenUp => fanfare_outcome::FANFARE_GIVEN_UP,
    }
}
