//! pcapng files: blocks, each with its length before and after it. Interfaces say how time is counted.

use std::mem;

use fanfare_wire::units::Time;

use super::{
    input::{Broken, Input, time},
    origin::{Each, Origin},
};
use crate::sensor::dissect::Frame;

/// Interfaces of a section, more are not followed.
const INTERFACES_MAX: usize = 1024;

/// How an interface's frames begin, by the number of files, and how its time is counted.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    /// Units of time in a second, and seconds that are added.
    units: u128,
    offset: i64,
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

    /// An option of an interface with a value of this length.
    fn option<'b>(&self, options: &'b [u8], wanted: u16, length: usize) -> Option<&'b [u8]> {
        let mut at = 0;
        loop {
            let (code, long) = (self.half(options, at)?, usize::from(self.half(options, at + 2)?));
            if code == 0 {
                return None;
            }
            if code == wanted && long == length {
                return options.get(at + 4..at + 4 + length);
            }
            at += 4 + long.next_multiple_of(4);
        }
    }

    /// Units of time in a second, from the options of an interface.
    fn units(&self, options: &[u8]) -> u128 {
        const RESOLUTION: u16 = 9;
        let value = self.option(options, RESOLUTION, 1).map_or(6, |value| value[0]);
        let power = u32::from(value & 0x7f);
        let units =
            if value & 0x80 == 0 { 10_u128.checked_pow(power) } else { 1_u128.checked_shl(power) };
        units.unwrap_or(1_000_000).max(1)
    }

    /// Seconds that are added to each time of an interface.
    fn offset(&self, options: &[u8]) -> i64 {
        const OFFSET: u16 = 14;
        let value: Option<[u8; 8]> =
            self.option(options, OFFSET, 8).and_then(|value| value.try_into().ok());
        let number = if self.little { i64::from_le_bytes } else { i64::from_be_bytes };
        value.map_or(0, number)
    }
}

impl Interface {
    /// A time that is counted in the interface's units.
    fn time(&self, units: u128) -> Time {
        let nanos = units.saturating_mul(1_000_000_000) / self.units;
        let offset = u128::from(self.offset.unsigned_abs()) * 1_000_000_000;
        time(if self.offset < 0 { nanos.saturating_sub(offset) } else { nanos + offset })
    }
}

pub(super) fn read(input: &mut Input<'_>, each: &mut Each<'_>) -> Result<u64, Broken> {
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
        // A key log or a comment may be longer than any packet: its start is enough.
        input.start_of(length - 8)?;
        let buffer = mem::take(&mut input.buffer);
        let body = &buffer[..buffer.len().min(length - 12)];
        let cut = || Broken { at, why: "a block that is too short for what it is".to_owned() };
        match kind {
            1 => {
                let number = section.half(body, 0).ok_or_else(cut)?;
                let copied = section.word(body, 4).ok_or_else(cut)?;
                let units = section.units(body.get(8..).unwrap_or_default());
                let offset = section.offset(body.get(8..).unwrap_or_default());
                if section.interfaces.len() < INTERFACES_MAX {
                    let link = number.into();
                    section.interfaces.push(Interface { link, units, offset, copied });
                }
            }
            6 => {
                enhanced(&section, body, each).ok_or_else(cut)?;
                count += 1;
            }
            2 => {
                packet(&section, body, each).ok_or_else(cut)?;
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

fn enhanced(section: &Section, body: &[u8], each: &mut Each<'_>) -> Option<()> {
    let interface = section.word(body, 0)?;
    timed(section, interface, body, each)
}

/// What both have after the interface.
fn timed(section: &Section, number: u32, body: &[u8], each: &mut Each<'_>) -> Option<()> {
    let interface = section.interfaces.get(number as usize)?;
    let (high, low) = (section.word(body, 4)?, section.word(body, 8)?);
    let copied = section.word(body, 12)? as usize;
    let length = section.word(body, 16)?;
    let bytes = body.get(20..20_usize.checked_add(copied)?)?;
    let units = u128::from(high) << 32 | u128::from(low);
    let at = interface.time(units);
    each(
        Origin { link: interface.link, interface: number },
        Frame { at, bytes, length, segment: 0 },
    );
    Some(())
}

/// A packet as the first pcapng files had it: its interface is a half, and a count of drops follows it.
fn packet(section: &Section, body: &[u8], each: &mut Each<'_>) -> Option<()> {
    let interface = u32::from(section.half(body, 0)?);
    timed(section, interface, body, each)
}

/// A packet without a time.
fn simple(section: &Section, body: &[u8], each: &mut Each<'_>) -> Option<()> {
    let interface = section.interfaces.first()?;
    let length = section.word(body, 0)?;
    let most = if interface.copied == 0 { length } else { length.min(interface.copied) };
    let bytes = body.get(4..4_usize.checked_add(most as usize)?)?;
    each(
        Origin { link: interface.link, interface: 0 },
        Frame { at: time(0), bytes, length, segment: 0 },
    );
    Some(())
}
