//! pcapng files: blocks, each with its length before and after it. Interfaces say how time is counted.

use std::mem;

use super::input::{Broken, Input, link, time};
use crate::dissect::{Frame, LinkType};

/// Interfaces of a section, more are not followed.
const INTERFACES_MAX: usize = 1024;

/// How an interface's frames begin, and units of time in a second.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    units: u128,
    copied: u32,
}

/// A section, whose byte order is its own.
#[derive(Default)]
struct Section {
    little: bool,
    interfaces: Vec<Interface>,
}

impl Section {
    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) })
    }

    fn half(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let half = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(if self.little { u16::from_le_bytes(half) } else { u16::from_be_bytes(half) })
    }

    /// Units of time in a second, from the options of an interface.
    fn units(&self, options: &[u8]) -> u128 {
        const RESOLUTION: u16 = 9;
        let mut at = 0;
        while let (Some(code), Some(length)) = (self.half(options, at), self.half(options, at + 2))
        {
            if code == RESOLUTION && length == 1 {
                let value = options.get(at + 4).copied().unwrap_or(6);
                let power = u32::from(value & 0x7f);
                let units = if value & 0x80 == 0 {
                    10_u128.checked_pow(power)
                } else {
                    1_u128.checked_shl(power)
                };
                return units.unwrap_or(1_000_000).max(1);
            }
            at += 4 + usize::from(length).next_multiple_of(4);
        }
        1_000_000
    }
}

pub(super) fn read(
    input: &mut Input<'_>,
    each: &mut dyn FnMut(LinkType, Frame<'_>),
) -> Result<u64, Broken> {
    let mut section = begin(input)?;
    let mut count = 0;
    while let Some(kind) = input.word()? {
        if kind == [0x0a, 0x0d, 0x0d, 0x0a] {
            section = begin(input)?;
            continue;
        }
        let kind = section.word(&kind, 0).unwrap_or(0);
        let length = input.word()?.and_then(|word| section.word(&word, 0)).unwrap_or(0) as usize;
        if length < 12 || !length.is_multiple_of(4) {
            return Err(input.broken(format!("a block of {length} bytes, which none has")));
        }
        let at = input.at;
        input.bytes(length - 8)?;
        let buffer = mem::take(&mut input.buffer);
        let body = &buffer[..length - 12];
        let cut = || Broken { at, why: "a block that is too short for what it is".to_owned() };
        match kind {
            1 => {
                let number = section.half(body, 0).ok_or_else(cut)?;
                let copied = section.word(body, 4).ok_or_else(cut)?;
                let units = section.units(body.get(8..).unwrap_or_default());
                let link = link(input, number.into())?;
                if section.interfaces.len() < INTERFACES_MAX {
                    section.interfaces.push(Interface { link, units, copied });
                }
            }
            6 => {
                enhanced(&section, body, each).ok_or_else(cut)?;
                count += 1;
            }
            3 => {
                simple(&section, body, each).ok_or_else(cut)?;
                count += 1;
            }
            // Names, statistics, and what later versions have.
            _ => {}
        }
        input.buffer = buffer;
    }
    Ok(count)
}

/// A section's header, behind its first word.
fn begin(input: &mut Input<'_>) -> Result<Section, Broken> {
    let cut = |input: &Input<'_>| input.broken("it ends within the header of a section");
    let length = input.word()?.ok_or_else(|| cut(input))?;
    let order = input.word()?.ok_or_else(|| cut(input))?;
    let little = match order {
        [0x1a, 0x2b, 0x3c, 0x4d] => false,
        [0x4d, 0x3c, 0x2b, 0x1a] => true,
        _ => return Err(input.broken("no byte order that is known")),
    };
    let section = Section { little, ..Section::default() };
    let length = section.word(&length, 0).unwrap_or(0) as usize;
    if length < 28 || !length.is_multiple_of(4) {
        return Err(input.broken(format!("a section's header of {length} bytes")));
    }
    input.bytes(length - 12)?;
    Ok(section)
}

fn enhanced(
    section: &Section,
    body: &[u8],
    each: &mut dyn FnMut(LinkType, Frame<'_>),
) -> Option<()> {
    let interface = section.interfaces.get(section.word(body, 0)? as usize)?;
    let (high, low) = (section.word(body, 4)?, section.word(body, 8)?);
    let copied = section.word(body, 12)? as usize;
    let length = section.word(body, 16)?;
    let bytes = body.get(20..20_usize.checked_add(copied)?)?;
    let units = u128::from(high) << 32 | u128::from(low);
    let at = time(units * 1_000_000_000 / interface.units);
    each(interface.link, Frame { at, bytes, length, segment: 0 });
    Some(())
}

/// A packet without a time.
fn simple(section: &Section, body: &[u8], each: &mut dyn FnMut(LinkType, Frame<'_>)) -> Option<()> {
    let interface = section.interfaces.first()?;
    let length = section.word(body, 0)?;
    let most = if interface.copied == 0 { length } else { length.min(interface.copied) };
    let bytes = body.get(4..4_usize.checked_add(most as usize)?)?;
    each(interface.link, Frame { at: time(0), bytes, length, segment: 0 });
    Some(())
}
