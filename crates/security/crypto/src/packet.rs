//! The bytes ahead of what is sealed.

/// The low half of a sealed datagram's first byte: no NORM message has it.
const MARK: u8 = 0x08;
const LONG: u8 = 0;
const SHORT: u8 = 1;
const HELLO: u8 = 2;

/// How much is put around a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// 24 bytes, with a tag of 16.
    #[default]
    Long,
    /// 12 bytes, with a tag of 8: for radios, where each byte costs air time.
    Short,
}

impl Form {
    /// Bytes that each message becomes longer by.
    #[must_use]
    pub const fn overhead(self) -> usize {
        self.head() + self.tag()
    }

    /// Bytes ahead of the sealed ones.
    pub(crate) const fn head(self) -> usize {
        match self {
            Self::Long => 8,
            Self::Short => 4,
        }
    }

    pub(crate) const fn tag(self) -> usize {
        match self {
            Self::Long => 16,
            Self::Short => 8,
        }
    }

    /// How many bits of the number travel.
    pub(crate) const fn number_bits(self) -> u32 {
        match self {
            Self::Long => 32,
            Self::Short => 16,
        }
    }
}

/// What the head of a sealed message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) form: Form,
    /// Low 2 bits.
    pub(crate) generation: u8,
    /// Low 8 bits; 0 in short form.
    pub(crate) epoch: u8,
    /// Low 8 bits in short form.
    pub(crate) slot: u16,
    /// Low 32 bits, or 16.
    pub(crate) number: u32,
}

/// What kind of datagram it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message(Head),
    Hello,
    /// Not sealed.
    Clear,
    /// Cut off, or of another version.
    Malformed,
}

impl Head {
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let version = if self.form == Form::Long { LONG } else { SHORT };
        out.push(version << 6 | (self.generation & 3) << 4 | MARK);
        match self.form {
            Form::Long => {
                out.push(self.epoch);
                out.extend(self.slot.to_be_bytes());
                out.extend(self.number.to_be_bytes());
            }
            Form::Short => {
                out.push(self.slot as u8);
                out.extend((self.number as u16).to_be_bytes());
            }
        }
    }
}

/// The first byte of a hello.
pub(crate) const HELLO_MARK: u8 = HELLO << 6 | MARK;

/// Whether a datagram looks sealed, by its first byte.
pub(crate) fn is_sealed(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & 0x0f == MARK)
}

/// Reads the head.
pub(crate) fn kind_of(datagram: &[u8]) -> Kind {
    if !is_sealed(datagram) {
        return Kind::Clear;
    }
    let generation = datagram[0] >> 4 & 3;
    match (datagram[0] >> 6, datagram) {
        (LONG, [_, epoch, s1, s0, n3, n2, n1, n0, rest @ ..]) if rest.len() >= 16 => {
            Kind::Message(Head {
                form: Form::Long,
                generation,
                epoch: *epoch,
                slot: u16::from_be_bytes([*s1, *s0]),
                number: u32::from_be_bytes([*n3, *n2, *n1, *n0]),
            })
        }
        (SHORT, [_, slot, n1, n0, rest @ ..]) if rest.len() >= 8 => Kind::Message(Head {
            form: Form::Short,
            generation,
            epoch: 0,
            slot: u16::from(*slot),
            number: u32::from(u16::from_be_bytes([*n1, *n0])),
        }),
        (HELLO, _) => Kind::Hello,
        _ => Kind::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back_as_they_were_and_cut_ones_are_malformed() {
        for (form, epoch, slot, number) in
            [(Form::Long, 0xfe, 0xabcd, 0x0102_0304), (Form::Short, 0, 0xcd, 0x0304)]
        {
            for generation in 0..4 {
                let head = Head { form, generation, epoch, slot, number };
                let mut bytes = Vec::new();
                head.append(&mut bytes);
                assert_eq!(bytes.len(), form.head());
                bytes.extend(vec![0; form.tag()]);
                assert_eq!(kind_of(&bytes), Kind::Message(head));
                assert_eq!(kind_of(&bytes[..bytes.len() - 1]), Kind::Malformed);
            }
        }
    }

    #[test]
    fn a_norm_message_is_clear() {
        for first in [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x10] {
            assert_eq!(kind_of(&[first, 0, 0]), Kind::Clear);
        }
        assert_eq!((kind_of(&[]), kind_of(&[0xc8; 40])), (Kind::Clear, Kind::Malformed));
    }
}
