//! What was written comes back, and nothing else is believed.

use fanfare_proto::rng::Rng;

use super::{super::writer::Writer, *};

fn some(carried: Carried) -> Vec<Entry> {
    let owner = carried.owner.then_some(Owner { user: 1000, group: 100 });
    let attributes = match carried.has_attributes() {
        true => vec![(b"user.note".to_vec(), b"\0\xff".to_vec()), (b"user.b".to_vec(), vec![])],
        false => Vec::new(),
    };
    let mtime = Some(Mtime { seconds: -2, nanoseconds: 999_999_999 });
    let with = |mode, mtime| Properties { mode, mtime, owner, attributes: attributes.clone() };
    let entry = |name: &str, kind, properties| Entry { name: name.into(), kind, properties };
    let link = Properties { owner, mtime, ..Properties::default() };
    vec![
        entry("t", Kind::Directory, with(Some(0o2755), mtime)),
        entry("t/a", Kind::File, with(Some(0o4755), None)),
        entry("t/b", Kind::HardLink(first("t/a")), Properties::default()),
        entry("t/link", Kind::Link(b"a\xff".to_vec()), link),
        entry("tü/\u{10ff80}", Kind::Directory, with(Some(0), Some(Mtime::default()))),
    ]
}

fn first(name: &str) -> First {
    First { name: name.into(), size: 9, mtime: Mtime { seconds: 1, nanoseconds: 5 } }
}

fn encode(carried: Carried, entries: &[Entry]) -> Vec<u8> {
    let mut writer = Writer::new(carried);
    entries.iter().for_each(|entry| writer.push(entry));
    writer.finish().unwrap()
}

fn read_all(bytes: &[u8]) -> io::Result<Vec<Entry>> {
    let mut reader = TreeReader::open(bytes)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next()? {
        entries.push(entry);
    }
    Ok(entries)
}

#[test]
fn a_tree_comes_back_as_it_was_with_and_without_classes() {
    for bits in 0..16 {
        let carried = Carried::from_bits(bits).unwrap();
        assert_eq!(carried.bits(), bits);
        let bytes = encode(carried, &some(carried));
        assert_eq!(read_all(&bytes).unwrap(), some(carried), "{bits}");
        assert_eq!(TreeReader::open(&bytes[..]).unwrap().carried(), carried);
    }
    assert!(Writer::default().finish().is_none());
}

#[test]
fn a_tree_has_these_very_bytes() {
    let some = some(Carried::default());
    let golden = b"FNTR\x01\x00\x03\
        \x00\x01t\xed\x0b\x03\xff\x93\xeb\xdc\x03\
        \x06\x02/b\x03t/a\x09\x02\x05\
        \x09\x04link\x03\xff\x93\xeb\xdc\x03\x02a\xff";
    let entries = [some[0].clone(), some[2].clone(), some[3].clone()];
    assert_eq!(encode(Carried::default(), &entries), golden);
}

#[test]
fn names_and_targets_that_cannot_be_are_refused() {
    let directory = |name: &str| Entry {
        name: name.into(),
        kind: Kind::Directory,
        properties: Properties { mode: Some(0), ..Properties::default() },
    };
    for name in ["", "/etc", "t/../x", "t//x", "t/.", "t/.fanfare-x", ".."] {
        let bytes = encode(Carried::default(), &[directory(name)]);
        assert!(read_all(&bytes).is_err(), "{name}");
    }
    for target in [&b""[..], b"a\0b", &[b'x'; TARGET_MAX + 1]] {
        let link = Entry { kind: Kind::Link(target.to_vec()), ..directory("t/l") };
        assert!(read_all(&encode(Carried::default(), &[link])).is_err());
    }
}

#[test]
fn hostile_bytes_are_refused_without_panic() {
    let whole = encode(Carried::ALL, &some(Carried::ALL));
    assert!((0..whole.len()).all(|cut| read_all(&whole[..cut]).is_err()));
    assert!(read_all(&[&whole[..], &[0]].concat()).is_err(), "something after the end");
    assert!(read_all(b"FNTR\x01\x10\x00").is_err(), "a class of a later format");
    assert!(read_all(b"FNTR\x01\x00\x01\x00\xff\xff\xff\xff\x0f").is_err(), "an endless name");
    let mut rng = Rng::new(5);
    for _ in 0..50_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let _ = read_all(&bytes);
    }
}

#[test]
fn trees_of_chance_come_back_as_they_were() {
    let mut rng = Rng::new(6);
    for _ in 0..300 {
        let carried = Carried::from_bits(rng.below(16) as u8).unwrap();
        let entries: Vec<Entry> = (0..rng.below(40)).map(|_| chance(&mut rng, carried)).collect();
        if !entries.is_empty() {
            assert_eq!(read_all(&encode(carried, &entries)).unwrap(), entries);
        }
    }
}

/// An entry of any kind, its name made of any bytes.
fn chance(rng: &mut Rng, carried: Carried) -> Entry {
    let mut bytes = |max: u64| -> Vec<u8> {
        let len = 1 + rng.below(max);
        (0..len).map(|_| (1 + rng.below(255)) as u8).collect()
    };
    let part = |bytes: Vec<u8>| -> Vec<u8> {
        bytes.into_iter().map(|byte| if byte == b'/' { b'_' } else { byte }).collect()
    };
    let name = [b"t/".to_vec(), part(bytes(200)), b"/x".to_vec(), part(bytes(9))].concat();
    let (target, value) = (bytes(300), bytes(500));
    let attribute = (b"user.x".to_vec(), value);
    let attributes = vec![attribute; rng.below(3) as usize];
    let attributes = if carried.has_attributes() { attributes } else { Vec::new() };
    let owner = Owner { user: rng.below(1 << 32) as u32 & 0x7fff_ffff, group: 7 };
    let owner = carried.owner.then_some(owner);
    let seconds = rng.next_u64() as i64;
    let mtime = Some(Mtime { seconds, nanoseconds: rng.below(1_000_000_000) as u32 });
    let mode = Some(rng.below(0o10000) as u32);
    let name = fanfare_node::disk::name::text_of(&name);
    let (kind, properties) = match rng.below(4) {
        0 => (Kind::Directory, Properties { mode, mtime, owner, attributes }),
        1 => (Kind::Link(target), Properties { mtime, owner, ..Properties::default() }),
        2 => (Kind::HardLink(first("t/ö")), Properties::default()),
        _ => (Kind::File, Properties { mode, mtime: None, owner, attributes }),
    };
    Entry { name, kind, properties }
}
