//! What receivers and senders of files say of themselves: statuses, announcements, manifests; keys,
//! lists of trust and policies as files. Nothing panics, and what was read is written the same again.
#![no_main]

use fanfare_files::content::{
    announcement::Announcement,
    invitation::Invitation,
    manifest::{Head, Manifest},
    receipt::Status,
};
use fanfare_crypto::policy::Policy;
use fanfare_crypto::{Key, Trusted};
use libfuzzer_sys::fuzz_target;
use std::hint::black_box;

fuzz_target!(|bytes: &[u8]| {
    if let Some(status) = Status::parse(bytes) {
        black_box(Status::parse(&status.encode()).expect("it is read again"));
    }
    black_box(Invitation::parse(bytes));
    black_box(Announcement::signer(bytes, "239.255.42.1:6003"));
    black_box(Announcement::parse(bytes).shown_name());
    black_box(Head::signer(bytes, "239.255.42.1:6003"));
    let (info, body) = bytes.split_at(bytes.len().min(200));
    if let Some(head) = Head::parse(info) {
        black_box(Manifest::from_body(head, body));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        black_box(Policy::parse(text).is_ok());
        if let Ok(trusted) = Trusted::parse(text) {
            let again = Trusted::parse(&trusted.to_text()).expect("it is read again");
            assert_eq!(again.to_text(), trusted.to_text());
        }
        if let Ok(key) = Key::parse(text) {
            assert_eq!(Key::parse(&key.to_text()), Ok(key));
        }
    }
});
