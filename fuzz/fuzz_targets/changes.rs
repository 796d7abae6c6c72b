//! What controllers, members and those who join say to each other, codes and member files: nothing
//! panics, and what was read is written the same again.
#![no_main]

use fanfare_mls::{Change, Invitation, Leaving, Member};
use libfuzzer_sys::fuzz_target;
use std::hint::black_box;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(change) = Change::decode(bytes) {
        assert_eq!(Change::decode(&change.encode()), Ok(change));
    }
    if let Ok(leaving) = Leaving::decode(bytes) {
        assert_eq!(Leaving::decode(&leaving.encode()), Ok(leaving));
    }
    black_box(Member::who_asks(bytes).is_ok());
    black_box(Member::from_bytes(bytes).is_ok());
    if let Some(invitation) =
        std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<Invitation>().ok())
    {
        assert_eq!(invitation.to_string().parse(), Ok(invitation));
    }
});
