//! Values as SNMP writes them: a tag, a length, the content (X.690, the part that RFC 3417 allows).

/// The name of a value: numbers from the root of all names.
pub(super) type Name = Vec<u32>;

/// Numbers of a name (RFC 2578).
const NAME_MAX: usize = 128;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const TEXT: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const NAME: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;

/// A value that an agent gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Of any kind of number.
    Number(u64),
    Negative,
    Text(Vec<u8>),
    /// There is none, or none after it.
    Absent,
    /// Of a kind that is not needed.
    Other,
}

/// Takes one value from the front: its tag and its content.
pub(super) fn take<'b>(bytes: &mut &'b [u8]) -> Option<(u8, &'b [u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        let (number, after) = rest.split_at_checked(count)?;
        length = number.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    *bytes = after;
    Some((tag, content))
}

/// Takes one value of this kind.
pub(super) fn take_of<'b>(bytes: &mut &'b [u8], tag: u8) -> Option<&'b [u8]> {
    take(bytes).filter(|(found, _)| *found == tag).map(|(_, content)| content)
}

/// A number that is not negative.
pub(super) fn number(content: &[u8]) -> Option<u64> {
    // A zero in front keeps the highest bit from being a sign.
    let digits = content.strip_prefix(&[0]).unwrap_or(content);
    let fits = !content.is_empty() && digits.len() <= 8 && content[0] & 0x80 == 0;
    fits.then(|| digits.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

pub(super) fn name(content: &[u8]) -> Option<Name> {
    let (&first, mut rest) = content.split_first()?;
    let mut name = vec![u32::from(first / 40).min(2), 0];
    name[1] = u32::from(first) - name[0] * 40;
    while !rest.is_empty() {
        let mut number = 0_u32;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            number = number.checked_mul(128)?.checked_add(u32::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                break;
            }
        }
        name.push(number);
        if name.len() > NAME_MAX {
            return None;
        }
    }
    Some(name)
}

pub(super) fn value(tag: u8, content: &[u8]) -> Option<Value> {
    Some(match tag {
        INTEGER if content.first().is_some_and(|first| first & 0x80 != 0) => Value::Negative,
        // Counter32, Gauge32, TimeTicks, Counter64. Some agents forget the zero in front of them.
        0x41..=0x43 | 0x46 if content.first().is_some_and(|first| first & 0x80 != 0) => {
            Value::Number(number(&[&[0], content].concat())?)
        }
        INTEGER | 0x41..=0x43 | 0x46 => Value::Number(number(content)?),
        TEXT => Value::Text(content.to_vec()),
        0x80..=0x82 | NULL => Value::Absent,
        _ => Value::Other,
    })
}

/// Writes a value.
pub(super) fn put(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let length = content.len();
    match length {
        0..=0x7f => bytes.push(length as u8),
        0x80..=0xff => bytes.extend([0x81, length as u8]),
        _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend(content);
    bytes
}

pub(super) fn put_number(number: u32) -> Vec<u8> {
    let bytes = u64::from(number).to_be_bytes();
    // One zero stays where the next bit would be a sign.
    let first = (0..7).find(|at| bytes[*at] != 0 || bytes[at + 1] & 0x80 != 0).unwrap_or(7);
    put(INTEGER, &bytes[first..])
}

pub(super) fn put_name(name: &[u32]) -> Vec<u8> {
    let mut content = vec![(name[0] * 40 + name[1]) as u8];
    for number in &name[2..] {
        let sevens = (32 - number.leading_zeros()).div_ceil(7).max(1);
        for at in (0..sevens).rev() {
            let more = if at == 0 { 0 } else { 0x80 };
            content.push((number >> (7 * at) & 0x7f) as u8 | more);
        }
    }
    put(NAME, &content)
}
