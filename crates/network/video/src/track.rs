//! Picture and sound apart: one track of a file that has both (ISO/IEC 14496-12).
//!
//! A segment travels with both, so that a node never has one without the other. Players of DASH want
//! a representation for each: ffmpeg takes all that it reads from one for a single track.
//!
//! Files come from the network: one that does not have the expected form gives `None`.

/// Bytes of a box's length and type.
const HEAD: usize = 8;
/// Bytes of version and flags, which most boxes begin with.
const FLAGS: usize = 4;
/// Flags of `tfhd` (8.8.7): where the data begins, and what stands before the size of a sample.
const BASE_OFFSET: u32 = 0x1;
const BEFORE_SIZE: [u32; 2] = [0x2, 0x8];
const SIZE: u32 = 0x10;
/// Flags of `trun` (8.8.8): where the data begins, flags of the first sample, and what each sample
/// has: duration, size, flags, time of composition.
const RUN_OFFSET: u32 = 0x1;
const RUN_FIRST_FLAGS: u32 = 0x4;
const RUN_DURATION: u32 = 0x100;
const RUN_SIZE: u32 = 0x200;
const RUN_FLAGS: u32 = 0x400;
const RUN_COMPOSITION: u32 = 0x800;

/// What a track is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Moving pictures.
    Picture,
    /// Sound.
    Sound,
}

/// A track of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track {
    /// Its number in the file.
    pub id: u32,
    /// Bytes of a sample, where a segment does not say it.
    sample_bytes: u32,
}

/// The first track of this kind that the beginning of a rendition's files announces.
#[must_use]
pub fn find(init: &[u8], kind: Kind) -> Option<Track> {
    let handler: &[u8] = if kind == Kind::Picture { b"vide" } else { b"soun" };
    let moov = body_of(init, *b"moov")?;
    let is_it = |trak: &&[u8]| {
        let handled = body_of(trak, *b"mdia").and_then(|mdia| body_of(mdia, *b"hdlr"));
        handled.and_then(|hdlr| hdlr.get(8..12)) == Some(handler)
    };
    let id = id_of_track(bodies(moov, *b"trak").iter().find(|trak| is_it(trak))?)?;
    let extends = body_of(moov, *b"mvex").map(|mvex| bodies(mvex, *b"trex")).unwrap_or_default();
    let own = extends.iter().find(|trex| number(trex, FLAGS) == Some(id));
    Some(Track { id, sample_bytes: own.and_then(|trex| number(trex, 16)).unwrap_or(0) })
}

/// Bytes of a sample entry before its boxes (ISO/IEC 14496-12, 12.1.3 and 12.2.3), and where a picture's width
/// stands in it; its height follows.
const PICTURE_ENTRY: usize = 78;
const SOUND_ENTRY: usize = 28;
const WIDTH: usize = 24;
/// Tags of descriptors (ISO/IEC 14496-1, 7.2.2.1): of the decoder, and of what is particular to it.
const DECODER: u8 = 4;
const SPECIFIC: u8 = 5;
/// Bytes of a decoder's descriptor, and of an elementary stream's without options, before the next one.
const DECODER_BYTES: usize = 13;
const STREAM_BYTES: usize = 3;

/// The codec of a track as RFC 6381 writes it: `avc1.4d401f`, `mp4a.40.2`.
#[must_use]
pub fn codec(init: &[u8], kind: Kind) -> Option<String> {
    let (format, entry) = sample_entry(init, kind)?;
    match &format {
        b"avc1" | b"avc3" => {
            let config = body_of(entry.get(PICTURE_ENTRY..)?, *b"avcC")?;
            let [_, profile, constraints, level, ..] = *config else { return None };
            let name = core::str::from_utf8(&format).ok()?;
            Some(format!("{name}.{profile:02x}{constraints:02x}{level:02x}"))
        }
        b"mp4a" => {
            let esds = body_of(entry.get(SOUND_ENTRY..)?, *b"esds")?;
            let (_, stream) = descriptor(esds.get(FLAGS..)?)?;
            let (tag, decoder) = descriptor(stream.get(STREAM_BYTES..)?)?;
            let object = *decoder.first().filter(|_| tag == DECODER)?;
            let (tag, specific) = descriptor(decoder.get(DECODER_BYTES..)?)?;
            let audio = specific.first().filter(|_| tag == SPECIFIC)? >> 3;
            Some(format!("mp4a.{object:02x}.{audio}"))
        }
        _ => None,
    }
}

/// Width and height of the picture.
#[must_use]
pub fn size(init: &[u8]) -> Option<[u16; 2]> {
    let (_, entry) = sample_entry(init, Kind::Picture)?;
    let both = number(entry, WIDTH)?;
    Some([(both >> 16) as u16, (both & 0xffff) as u16])
}

/// Format and body of the first sample entry of a track of this kind.
fn sample_entry(init: &[u8], kind: Kind) -> Option<([u8; 4], &[u8])> {
    let track = find(init, kind)?;
    let moov = body_of(init, *b"moov")?;
    let traks = bodies(moov, *b"trak");
    let trak = traks.iter().find(|trak| id_of_track(trak) == Some(track.id))?;
    let stbl = [*b"mdia", *b"minf", *b"stbl"]
        .iter()
        .try_fold(*trak, |within, kind| body_of(within, *kind))?;
    // Version and flags, and how many there are.
    let entries = body_of(stbl, *b"stsd")?.get(FLAGS + 4..)?;
    let first = boxes(entries)?.into_iter().next()?;
    Some((first.kind, first.body))
}

/// Tag and body of a descriptor: its length has seven bits in each byte.
fn descriptor(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (tag, mut rest) = bytes.split_first()?;
    let mut length = 0_usize;
    for _ in 0..4 {
        let (byte, after) = rest.split_first()?;
        (length, rest) = (length << 7 | usize::from(byte & 0x7f), after);
        if byte & 0x80 == 0 {
            return Some((*tag, rest.get(..length)?));
        }
    }
    None
}

/// The beginning of a rendition's files, with this track only.
#[must_use]
pub fn init(init: &[u8], track: Track) -> Option<Vec<u8>> {
    rebuilt(init, |kind, body| match kind {
        b"moov" => rebuilt(body, |kind, body| match kind {
            b"trak" => (id_of_track(body)? == track.id).then(|| body.to_vec()),
            b"mvex" => rebuilt(body, |kind, body| {
                let is_other = kind == b"trex" && number(body, FLAGS) != Some(track.id);
                (!is_other).then(|| body.to_vec())
            }),
            _ => Some(body.to_vec()),
        }),
        _ => Some(body.to_vec()),
    })
}

/// A segment with this track only, and only its data.
#[must_use]
pub fn segment(segment: &[u8], track: Track) -> Option<Vec<u8>> {
    let all = boxes(segment)?;
    let at = all.iter().position(|one| one.kind == *b"moof")?;
    let moof = &all[at];
    let traf = bodies(moof.body, *b"traf").into_iter().find(|traf| {
        body_of(traf, *b"tfhd").and_then(|tfhd| number(tfhd, FLAGS)) == Some(track.id)
    })?;
    let default = default_size(body_of(traf, *b"tfhd")?)?.unwrap_or(track.sample_bytes);
    let head = body_of(moof.body, *b"mfhd")?;
    // Boxes that stay as long as they were: what is before the data is known.
    let before = HEAD + (HEAD + head.len()) + (HEAD + traf.len()) + HEAD;
    let mut data = Vec::new();
    let traf = rebuilt(traf, |kind, body| {
        if kind != b"trun" {
            return Some(body.to_vec());
        }
        let run = Run::of(body, default)?;
        let from = moof.begins.checked_add(run.offset)?;
        // Runs that overlap could name the same bytes again and again.
        if data.len().checked_add(run.bytes)? > segment.len() {
            return None;
        }
        let offset = i32::try_from(before + data.len()).ok()?;
        data.extend_from_slice(segment.get(from..from.checked_add(run.bytes)?)?);
        let mut body = body.to_vec();
        body.get_mut(8..12)?.copy_from_slice(&offset.to_be_bytes());
        Some(body)
    })?;
    let mut out = Vec::with_capacity(before + data.len());
    // An index would name lengths that are no longer so.
    for one in all[..at].iter().filter(|one| one.kind != *b"sidx") {
        put(&mut out, one.kind, one.body);
    }
    let mut inner = Vec::new();
    put(&mut inner, *b"mfhd", head);
    put(&mut inner, *b"traf", &traf);
    put(&mut out, *b"moof", &inner);
    put(&mut out, *b"mdat", &data);
    Some(out)
}

/// Where the data of a run is, from the beginning of its `moof` on.
struct Run {
    offset: usize,
    bytes: usize,
}

impl Run {
    fn of(trun: &[u8], default: u32) -> Option<Self> {
        let (flags, count) = (number(trun, 0)?, number(trun, FLAGS)?);
        if flags & RUN_OFFSET == 0 {
            return None;
        }
        let offset = usize::try_from(number(trun, 8)?).ok()?;
        let has = |flag: u32| usize::from(flags & flag != 0);
        let samples = trun.get(12 + 4 * has(RUN_FIRST_FLAGS)..)?;
        let before = 4 * has(RUN_DURATION);
        let each = before + 4 * (has(RUN_SIZE) + has(RUN_FLAGS) + has(RUN_COMPOSITION));
        let count = usize::try_from(count).ok()?;
        if flags & RUN_SIZE == 0 {
            let bytes = count.checked_mul(usize::try_from(default).ok()?)?;
            return Some(Self { offset, bytes });
        }
        let samples = samples.get(..count.checked_mul(each)?)?.chunks_exact(each);
        let sizes = samples.map(|sample| number(sample, before).unwrap_or(0) as usize);
        Some(Self { offset, bytes: sizes.sum() })
    }
}

/// The size of each sample that a `tfhd` says, if it says one. `None`: data does not begin at the `moof`.
fn default_size(tfhd: &[u8]) -> Option<Option<u32>> {
    let flags = number(tfhd, 0)?;
    if flags & BASE_OFFSET != 0 {
        return None;
    }
    let before = BEFORE_SIZE.iter().filter(|flag| flags & **flag != 0).count();
    Some((flags & SIZE != 0).then(|| number(tfhd, 8 + 4 * before)).flatten())
}

fn id_of_track(trak: &[u8]) -> Option<u32> {
    let tkhd = body_of(trak, *b"tkhd")?;
    // Version 1 has two times of eight bytes before it (8.3.2).
    number(tkhd, if tkhd.first() == Some(&1) { 20 } else { 12 })
}

struct Found<'a> {
    kind: [u8; 4],
    /// Where its head is.
    begins: usize,
    body: &'a [u8],
}

/// The boxes that fill `bytes`.
fn boxes(bytes: &[u8]) -> Option<Vec<Found<'_>>> {
    let (mut found, mut begins) = (Vec::new(), 0);
    while begins < bytes.len() {
        let len = usize::try_from(number(bytes, begins)?).ok()?;
        let kind = bytes.get(begins + 4..begins + HEAD)?.first_chunk().copied()?;
        let body = bytes.get(begins + HEAD..begins.checked_add(len)?)?;
        found.push(Found { kind, begins, body });
        begins += len;
    }
    Some(found)
}

fn bodies(bytes: &[u8], kind: [u8; 4]) -> Vec<&[u8]> {
    let all = boxes(bytes).unwrap_or_default();
    all.into_iter().filter(|one| one.kind == kind).map(|one| one.body).collect()
}

fn body_of(bytes: &[u8], kind: [u8; 4]) -> Option<&[u8]> {
    bodies(bytes, kind).first().copied()
}

/// The boxes of `bytes` with what `body` makes of each; without those of which it makes nothing.
fn rebuilt(
    bytes: &[u8],
    mut body: impl FnMut(&[u8; 4], &[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    for one in boxes(bytes)? {
        if let Some(body) = body(&one.kind, one.body) {
            put(&mut out, one.kind, &body);
        }
    }
    Some(out)
}

fn put(out: &mut Vec<u8>, kind: [u8; 4], body: &[u8]) {
    out.extend(u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(kind);
    out.extend(body);
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.first_chunk().copied()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn boxed(kind: [u8; 4], body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, kind, body);
        out
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// 640 x 360, main profile, level 3.1.
    fn picture_entry() -> Vec<u8> {
        let mut entry = vec![0; PICTURE_ENTRY];
        entry[WIDTH..WIDTH + 4].copy_from_slice(&[2, 128, 1, 104]);
        entry.extend(boxed(*b"avcC", &[1, 0x4d, 0x40, 0x1f, 0xff]));
        boxed(*b"avc1", &entry)
    }

    /// AAC of low complexity, with lengths of four bytes as ffmpeg writes them.
    fn sound_entry() -> Vec<u8> {
        let tagged = |tag: u8, body: &[u8]| {
            [&[tag, 0x80, 0x80, 0x80, u8::try_from(body.len()).unwrap()], body].concat()
        };
        let specific = tagged(SPECIFIC, &[0x12, 0x08]);
        let decoder = tagged(DECODER, &[&[0x40][..], &[0; 12], &specific].concat());
        let stream = tagged(3, &[&[0, 2, 0][..], &decoder].concat());
        let mut entry = vec![0; SOUND_ENTRY];
        entry.extend(boxed(*b"esds", &[&[0; 4][..], &stream].concat()));
        boxed(*b"mp4a", &entry)
    }

    /// The beginning of a file with a picture and a sound.
    pub(crate) fn beginning() -> Vec<u8> {
        let trak = |id: u32, handler: &[u8; 4]| {
            let tkhd = boxed(*b"tkhd", &words(&[3, 0, 0, id]));
            let hdlr = boxed(*b"hdlr", &[&[0; 8][..], handler].concat());
            let entry = if handler == b"vide" { picture_entry() } else { sound_entry() };
            let stsd = boxed(*b"stsd", &[words(&[0, 1]), entry].concat());
            let minf = boxed(*b"minf", &boxed(*b"stbl", &stsd));
            boxed(*b"trak", &[tkhd, boxed(*b"mdia", &[hdlr, minf].concat())].concat())
        };
        let trex = |id: u32, size: u32| boxed(*b"trex", &words(&[0, id, 1, 0, size, 0]));
        let mvex = boxed(*b"mvex", &[trex(1, 0), trex(2, 3)].concat());
        let moov = [trak(1, b"vide"), trak(2, b"soun"), mvex].concat();
        [boxed(*b"ftyp", b"iso5"), boxed(*b"moov", &moov)].concat()
    }

    /// Pictures of 2 and 4 bytes, and two sounds of 3 bytes, as `trex` says.
    pub(crate) fn both() -> Vec<u8> {
        let tfhd = |id: u32| boxed(*b"tfhd", &words(&[0x2_0000, id]));
        let moof = |first: u32| {
            let sizes = words(&[RUN_OFFSET | RUN_SIZE, 2, first, 2, 4]);
            let counted = words(&[RUN_OFFSET, 2, first + 6]);
            let one = boxed(*b"traf", &[tfhd(1), boxed(*b"trun", &sizes)].concat());
            let two = boxed(*b"traf", &[tfhd(2), boxed(*b"trun", &counted)].concat());
            boxed(*b"moof", &[boxed(*b"mfhd", &words(&[0, 9])), one, two].concat())
        };
        let first = u32::try_from(moof(0).len() + HEAD).unwrap();
        let index = boxed(*b"sidx", &[0; 8]);
        [boxed(*b"styp", b"msdh"), index, moof(first), boxed(*b"mdat", b"ppPPPPsssSSS")].concat()
    }

    fn data(segment: &[u8]) -> (&[u8], &[u8]) {
        let mdat = body_of(segment, *b"mdat").unwrap();
        let all = boxes(segment).unwrap();
        let moof = all.iter().find(|one| one.kind == *b"moof").unwrap();
        let traf = body_of(moof.body, *b"traf").unwrap();
        let offset = number(body_of(traf, *b"trun").unwrap(), 8).unwrap() as usize;
        (mdat, &segment[moof.begins + offset..])
    }

    #[test]
    fn each_kind_has_its_track() {
        let id = |kind| find(&beginning(), kind).unwrap().id;
        assert_eq!((id(Kind::Picture), id(Kind::Sound)), (1, 2));
        let sound = find(&beginning(), Kind::Sound).unwrap();
        let only = init(&beginning(), sound).unwrap();
        assert_eq!(find(&only, Kind::Sound), Some(sound));
        assert_eq!(find(&only, Kind::Picture), None);
    }

    #[test]
    fn codecs_and_size_are_read_from_the_beginning() {
        let of = |kind| codec(&beginning(), kind);
        assert_eq!(of(Kind::Picture).as_deref(), Some("avc1.4d401f"));
        assert_eq!(of(Kind::Sound).as_deref(), Some("mp4a.40.2"));
        assert_eq!(size(&beginning()), Some([640, 360]));
        assert_eq!((codec(b"", Kind::Sound), size(&[0; 9])), (None, None));
    }

    #[test]
    fn a_segment_of_one_track_has_its_data_where_it_says() {
        for (kind, expected) in [(Kind::Picture, &b"ppPPPP"[..]), (Kind::Sound, b"sssSSS")] {
            let track = find(&beginning(), kind).unwrap();
            let only = segment(&both(), track).unwrap();
            assert_eq!(data(&only), (expected, expected));
            assert!(body_of(&only, *b"sidx").is_none());
        }
    }

    #[test]
    fn a_file_that_is_cut_or_changed_gives_nothing_or_a_file_and_no_panic() {
        let track = find(&beginning(), Kind::Sound).unwrap();
        for at in 0..both().len() {
            let _ = segment(&both()[..at], track);
            let mut changed = both();
            changed[at] ^= 0xff;
            let _ = segment(&changed, track);
        }
        for at in 0..beginning().len() {
            let mut changed = beginning();
            changed[at] ^= 0x81;
            let _ = (find(&changed, Kind::Sound), init(&changed, track));
            let _ = (codec(&changed, Kind::Sound), codec(&changed, Kind::Picture), size(&changed));
        }
    }
}
