//! Requests and answers of SNMP v2c.

use super::ber::{self, INTEGER, NULL, Name, SEQUENCE, TEXT, Value};

/// Kinds of them (RFC 3416).
const GET: u8 = 0xa0;
const GET_NEXT: u8 = 0xa1;
const RESPONSE: u8 = 0xa2;
const GET_BULK: u8 = 0xa5;
const VERSION_2C: u32 = 1;

/// What an agent says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) id: u32,
    /// 0, or why it has refused.
    pub(super) error: u64,
    pub(super) values: Vec<(Name, Value)>,
}

/// Asks for what follows these names: of the first `single` one each, of the others `rows` each.
pub(super) fn bulk(community: &str, id: u32, single: u32, rows: u32, names: &[Name]) -> Vec<u8> {
    request(GET_BULK, community, (id, single, rows), names)
}

/// Asks for the values of these names.
pub(super) fn get(community: &str, id: u32, names: &[Name]) -> Vec<u8> {
    request(GET, community, (id, 0, 0), names)
}

/// Asks for what follows each of these names.
pub(super) fn next(community: &str, id: u32, names: &[Name]) -> Vec<u8> {
    request(GET_NEXT, community, (id, 0, 0), names)
}

fn request(kind: u8, community: &str, numbers: (u32, u32, u32), names: &[Name]) -> Vec<u8> {
    let wanted =
        |name: &Name| ber::put(SEQUENCE, &[ber::put_name(name), ber::put(NULL, &[])].concat());
    let names = ber::put(SEQUENCE, &names.iter().flat_map(wanted).collect::<Vec<u8>>());
    let (id, first, second) = numbers;
    let body = [ber::put_number(id), ber::put_number(first), ber::put_number(second), names];
    let parts = [
        ber::put_number(VERSION_2C),
        ber::put(TEXT, community.as_bytes()),
        ber::put(kind, &body.concat()),
    ];
    ber::put(SEQUENCE, &parts.concat())
}

/// `None` for what is no answer of SNMP v2c.
pub(super) fn read(mut bytes: &[u8]) -> Option<Answer> {
    let mut message = ber::take_of(&mut bytes, SEQUENCE)?;
    if ber::number(ber::take_of(&mut message, INTEGER)?)? != u64::from(VERSION_2C) {
        return None;
    }
    ber::take_of(&mut message, TEXT)?;
    let mut body = ber::take_of(&mut message, RESPONSE)?;
    let id = ber::number(ber::take_of(&mut body, INTEGER)?)?.try_into().ok()?;
    let error = ber::number(ber::take_of(&mut body, INTEGER)?)?;
    ber::take_of(&mut body, INTEGER)?;
    let mut list = ber::take_of(&mut body, SEQUENCE)?;
    let mut values = Vec::new();
    while !list.is_empty() {
        let mut one = ber::take_of(&mut list, SEQUENCE)?;
        let name = ber::name(ber::take_of(&mut one, ber::NAME)?)?;
        let (tag, content) = ber::take(&mut one)?;
        values.push((name, ber::value(tag, content)?));
    }
    Some(Answer { id, error, values })
}

/// Reads any bytes as an answer, for tests with such: whether it was one.
#[must_use]
pub fn read_any(bytes: &[u8]) -> bool {
    read(bytes).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request becomes an answer by another kind and other values.
    fn answer(id: u32, values: &[(&[u32], Vec<u8>)]) -> Vec<u8> {
        let one = |(name, value): &(&[u32], Vec<u8>)| {
            ber::put(SEQUENCE, &[ber::put_name(name), value.clone()].concat())
        };
        let list = ber::put(SEQUENCE, &values.iter().flat_map(one).collect::<Vec<u8>>());
        let body = [ber::put_number(id), ber::put_number(0), ber::put_number(0), list].concat();
        let parts =
            [ber::put_number(1), ber::put(TEXT, b"public"), ber::put(RESPONSE, &body)].concat();
        ber::put(SEQUENCE, &parts)
    }

    #[test]
    fn golden_bytes_of_a_request() {
        let bytes = bulk("public", 1, 0, 10, &[vec![1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 300]]);
        #[rustfmt::skip]
        let expected = [
            0x30, 41, 2, 1, 1, 4, 6, b'p', b'u', b'b', b'l', b'i', b'c',
            0xa5, 28, 2, 1, 1, 2, 1, 0, 2, 1, 10, 0x30, 17, 0x30, 15,
            6, 11, 43, 6, 1, 2, 1, 31, 1, 1, 1, 0x82, 0x2c, 5, 0,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn all_kinds_of_values_are_read() {
        let values: [(&[u32], Vec<u8>); 5] = [
            (&[1, 3, 1], ber::put(0x46, &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
            (&[1, 3, 2], ber::put(0x41, &[0xff, 0, 0, 0])),
            (&[1, 3, 3], ber::put(TEXT, b"eth0")),
            (&[1, 3, 4], ber::put(0x81, &[])),
            (&[1, 3, 5], ber::put(INTEGER, &[0xff])),
        ];
        let read = read(&answer(200, &values)).unwrap();
        let found: Vec<Value> = read.values.into_iter().map(|(_, value)| value).collect();
        let text = Value::Text(b"eth0".to_vec());
        let counter = Value::Number(0xff00_0000);
        assert_eq!(read.id, 200);
        assert_eq!(found, [Value::Number(u64::MAX), counter, text, Value::Absent, Value::Negative]);
    }

    #[test]
    fn what_is_cut_or_broken_is_no_answer() {
        let whole = answer(7, &[(&[1, 3, 1], ber::put(INTEGER, &[1]))]);
        assert!((0..whole.len()).all(|cut| read(&whole[..cut]).is_none()));
        let long_name = ber::put(ber::NAME, &[1; 200]);
        assert_eq!(ber::name(&long_name[3..]), None);
        assert_eq!(ber::name(&[43, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(
            mut bytes in prop::collection::vec(any::<u8>(), 0..80), place in 0..40_usize,
        ) {
            let _ = read(&bytes);
            let mut whole = answer(7, &[(&[1, 3, 1], ber::put(INTEGER, &[1]))]);
            if let Some(byte) = bytes.pop() {
                let at = place % whole.len();
                whole[at] = byte;
            }
            let _ = read(&whole);
        }
    }
}
