//! HLS playlists (RFC 8216): those of a node, and those that ffmpeg writes.

use std::fmt::Write as _;

use crate::{
    shelf::{Place, Shelf},
    track::{self, Kind},
};

/// Segments in the list of what is live: a player begins three before its end, and pauses are short.
pub const WINDOW: usize = 30;
/// Version 8 has gaps (RFC 8216bis); 7 has files of MP4.
const HEAD: &str = "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-INDEPENDENT-SEGMENTS\n";

/// A segment that is a whole file: its name begins so.
pub const WHOLE: &str = "whole-";

/// Which part of a stream a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The newest.
    Live,
    /// The newest, for players that cannot begin files anew (VLC 3): all renditions of a life behind one beginning,
    /// that of the best. Each segment has its parameter sets. It is a whole file, with that beginning in it: where
    /// a sender has begun anew, VLC asks for the next segment and for no other beginning. A gap is a file, too.
    Plain,
    /// All that is here, from the beginning on.
    All,
}

/// The list of what can be played: one entry, in whatever rendition this node's path bears.
#[must_use]
pub fn master<P>(shelf: &Shelf<P>, list: &str) -> String {
    let best = shelf.about().renditions.last();
    let rate = best.map_or(0, |(rendition, _)| rendition.rate);
    let mut line = format!("#EXT-X-STREAM-INF:BANDWIDTH={rate}");
    let init = best.map_or(&[][..], |(_, init)| init);
    // The best of them needs the highest level.
    let codecs = [Kind::Picture, Kind::Sound].map(|kind| track::codec(init, kind));
    let codecs: Vec<String> = codecs.into_iter().flatten().collect();
    if !codecs.is_empty() {
        let _ = write!(line, ",CODECS=\"{}\"", codecs.join(","));
    }
    if let Some([width, height]) = track::size(init) {
        let _ = write!(line, ",RESOLUTION={width}x{height}");
    }
    format!("{HEAD}{line}\n{list}\n")
}

/// A place in a list, and the life of the sender that it is of.
struct ListedPlace<'a, P> {
    shelf: &'a Shelf<P>,
    place: Place,
}

/// The list of segments: of one rendition, or each in the one that this node got. `before`: lives of the sender
/// that are over, the oldest first. What is live shows the end of them until enough has come: a player that finds
/// an empty list gives up.
#[must_use]
pub fn media<P>(
    before: &[Shelf<P>],
    shelf: &Shelf<P>,
    rendition: Option<usize>,
    part: Part,
) -> String {
    let mut all: Vec<ListedPlace<'_, P>> = Vec::new();
    for life in before.iter().filter(|_| part != Part::All && rendition.is_none()).chain([shelf]) {
        let places = life.places(rendition);
        // A life begins with 0, and numbers of a list have no holes.
        let first = places.first().map_or(0, |place| place.number);
        let missing = if all.is_empty() { 0..0 } else { 0..first };
        let gaps = missing.map(|number| Place { number, held: None });
        all.extend(gaps.chain(places).map(|place| ListedPlace { shelf: life, place }));
    }
    let from = if part == Part::All { 0 } else { all.len().saturating_sub(WINDOW) };
    let listed = &all[from..];
    let longest = listed.iter().filter_map(|one| one.place.held).map(|(_, s)| s.duration_ms).max();
    let target = longest.unwrap_or(0).max(shelf.about().segment_ms).div_ceil(1000).max(1);
    let mut out = format!("{HEAD}#EXT-X-TARGETDURATION:{target}\n");
    let begins = listed.first().map_or(shelf, |one| one.shelf);
    let first = begins.sequence(listed.first().map_or(0, |one| one.place.number));
    let _ = writeln!(out, "#EXT-X-MEDIA-SEQUENCE:{first}");
    let gone = match part {
        Part::Plain => begins.lives_gone(),
        Part::Live | Part::All => {
            begins.changes_gone(&places_before(&all[..(from + 1).min(all.len())], rendition))
        }
    };
    if gone > 0 {
        let _ = writeln!(out, "#EXT-X-DISCONTINUITY-SEQUENCE:{gone}");
    }
    if part == Part::All && !shelf.has_ended() {
        out += "#EXT-X-PLAYLIST-TYPE:EVENT\n";
    }
    let mut writer = EntryWriter::new(&all, from, part == Part::Plain);
    for one in listed {
        writer.entry(&mut out, one);
    }
    if shelf.has_ended() {
        out += "#EXT-X-ENDLIST\n";
    }
    out
}

/// Places of the same life before the last of these, and that one; none of one rendition alone.
fn places_before<P>(all: &[ListedPlace<'_, P>], rendition: Option<usize>) -> Vec<Place> {
    let life = all.last().filter(|_| rendition.is_none()).map(|one| one.shelf.about().life);
    let same = all.iter().filter(|one| Some(one.shelf.about().life) == life);
    same.map(|one| one.place).collect()
}

/// Memory of what a list has said so far.
struct EntryWriter {
    /// Life and rendition that were shown last, also where that is no longer listed.
    shown: Option<(u64, Option<usize>)>,
    /// Those whose beginning of files is named.
    mapped: Option<(u64, usize)>,
    /// All renditions of a life count as the best.
    plain: bool,
}

impl EntryWriter {
    /// For the places of `all` from this one on. A change to the first of them is counted as gone; one behind a gap
    /// is still to be told.
    fn new<P>(all: &[ListedPlace<'_, P>], from: usize, plain: bool) -> Self {
        let first = all.get(from);
        let life = first.map(|one| one.shelf.about().life);
        let is_held = first.is_some_and(|one| one.place.held.is_some());
        let known = if is_held { from + 1 } else { from };
        let same = all.iter().take(known).filter(|one| Some(one.shelf.about().life) == life);
        let rendition = same.rev().find_map(|one| one.place.held).map(|(rendition, _)| rendition);
        Self { shown: life.map(|life| (life, rendition)), mapped: None, plain }
    }

    /// A segment, or a gap. Where the rendition or the life changes, files begin anew.
    fn entry<P>(&mut self, out: &mut String, one: &ListedPlace<'_, P>) {
        let about = one.shelf.about();
        let (number, life) = (one.place.number, about.life);
        let begins = self.shown.is_some_and(|(shown, _)| shown != life);
        let before = self.shown.and_then(|(_, rendition)| rendition).filter(|_| !begins);
        let Some((rendition, segment)) = one.place.held else {
            if begins {
                out.push_str("#EXT-X-DISCONTINUITY\n");
            }
            self.shown = Some((life, before));
            let seconds = f64::from(about.segment_ms) / 1000.0;
            let name = &about.renditions[before.unwrap_or(0)].0.name;
            let file = self.file(number);
            let _ = write!(out, "#EXT-X-GAP\n#EXTINF:{seconds:.3},\n{name}/{life}/{file}\n");
            return;
        };
        if begins || (!self.plain && before.is_some_and(|before| before != rendition)) {
            out.push_str("#EXT-X-DISCONTINUITY\n");
        }
        self.shown = Some((life, Some(rendition)));
        let name = &about.renditions[rendition].0.name;
        let of = if self.plain { about.renditions.len().saturating_sub(1) } else { rendition };
        if self.mapped != Some((life, of)) {
            let of_name = &about.renditions[of].0.name;
            let _ = writeln!(out, "#EXT-X-MAP:URI=\"{of_name}/init-{life}.mp4\"");
            let _ = writeln!(out, "#EXT-X-PROGRAM-DATE-TIME:{}", date(segment.begun_ms));
            self.mapped = Some((life, of));
        }
        let seconds = f64::from(segment.duration_ms) / 1000.0;
        let file = self.file(number);
        let _ = write!(out, "#EXTINF:{seconds:.3},\n{name}/{life}/{file}\n");
    }

    fn file(&self, number: u32) -> String {
        let whole = if self.plain { WHOLE } else { "" };
        format!("{whole}{number}.m4s")
    }
}

/// Milliseconds since 1970 as RFC 3339 writes them, in UTC.
pub(crate) fn date(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a day after 1970: years begin in March, so that leap days end them.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + next, month, day)
}

/// What ffmpeg has written so far: numbers and milliseconds of segments, and whether more comes.
#[must_use]
pub fn parse_encoded(text: &str) -> (Vec<(u32, u32)>, bool) {
    let (mut segments, mut duration, mut ended) = (Vec::new(), None, false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("#EXTINF:") {
            let seconds: Option<f64> = rest.split(',').next().and_then(|text| text.parse().ok());
            duration = seconds.map(|seconds| (seconds * 1000.0).round() as u32);
        } else if line == "#EXT-X-ENDLIST" {
            ended = true;
        } else if let Some(name) = line.strip_suffix(".m4s") {
            let number = name.rsplit('/').next().and_then(|name| name.parse().ok());
            segments.extend(number.zip(duration.take()));
        }
    }
    (segments, ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{about::About, shelf::tests::shelf};

    #[test]
    fn a_list_names_files_and_says_where_the_rendition_changes() {
        let shelf = shelf(&[(0, 4), (1, 5), (1, 6)]);
        let expected = "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-INDEPENDENT-SEGMENTS\n\
            #EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:4\n\
            #EXT-X-MAP:URI=\"64k/init-7.mp4\"\n#EXT-X-PROGRAM-DATE-TIME:2026-09-21T14:13:24.000Z\n\
            #EXTINF:1.000,\n64k/7/4.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"400k/init-7.mp4\"\n\
            #EXT-X-PROGRAM-DATE-TIME:2026-09-21T14:13:25.000Z\n#EXTINF:1.000,\n400k/7/5.m4s\n\
            #EXTINF:1.000,\n400k/7/6.m4s\n";
        assert_eq!(media(&[], &shelf, None, Part::Live), expected);
        assert!(media(&[], &shelf, Some(1), Part::All).contains("#EXT-X-PLAYLIST-TYPE:EVENT"));
        assert!(master(&shelf, "live.m3u8").ends_with("BANDWIDTH=400000\nlive.m3u8\n"));
    }

    #[test]
    fn gaps_keep_their_numbers_and_the_end_is_told() {
        let mut shelf = shelf(&[(0, 4), (0, 6), (0, 7), (0, 8)]);
        let text = media(&[], &shelf, None, Part::Live);
        assert!(text.contains("#EXT-X-GAP\n#EXTINF:1.000,\n64k/7/5.m4s\n"), "{text}");
        assert!(!text.contains("ENDLIST"));
        let about = About { last: Some(8), ..shelf.about().clone() };
        assert!(shelf.on_about(about).is_none());
        assert!(media(&[], &shelf, None, Part::All).ends_with("#EXT-X-ENDLIST\n"));
    }

    #[test]
    fn only_the_newest_are_live() {
        let all: Vec<(usize, u32)> = (0..50).map(|n| (0, n)).collect();
        let text = media(&[], &shelf(&all), None, Part::Live);
        assert!(text.contains("MEDIA-SEQUENCE:20\n") && text.contains("/49.m4s"), "{text}");
    }

    /// Entry of a list for each segment: its number, the life and number of its file, a gap, and changes before it.
    fn rows(text: &str) -> Vec<(u64, String, bool, u64)> {
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
        let mut number: u64 = value("#EXT-X-MEDIA-SEQUENCE:").unwrap();
        let mut changes: u64 = value("#EXT-X-DISCONTINUITY-SEQUENCE:").unwrap_or(0);
        let (mut out, mut gap) = (Vec::new(), false);
        for line in text.lines() {
            changes += u64::from(line == "#EXT-X-DISCONTINUITY");
            gap |= line == "#EXT-X-GAP";
            if let Some(file) = line.strip_suffix(".m4s") {
                let file = file.split_once('/').unwrap().1.to_owned();
                out.push((number, file, std::mem::take(&mut gap), changes));
                number += 1;
            }
        }
        out
    }

    /// Chance that a seed repeats.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % limit
        }
    }

    /// Memory of what lists have said of each number: its file, a gap, and changes before it.
    #[derive(Default)]
    struct ToldEntries(std::collections::BTreeMap<u64, (String, bool, u64)>);

    impl ToldEntries {
        /// The list says of no number something else than those before it.
        fn read(&mut self, text: &str, seed: u64) {
            let rows = rows(text);
            assert!(rows.len() <= WINDOW && (self.0.is_empty() || !rows.is_empty()), "{text}");
            for (number, file, gap, changes) in rows {
                let known = self.0.entry(number).or_insert((file.clone(), gap, changes));
                assert_eq!(*known, (file, gap, changes), "seed {seed}, {number}: {text}");
            }
        }
    }

    /// Senders that are started anew, lose segments and change the rendition; lists after each segment.
    #[test]
    fn no_list_says_something_else_of_a_segment_than_lists_before_it() {
        for seed in 0..200 {
            let mut random = Chance(seed);
            let mut current = shelf(&[]);
            let mut before: Vec<Shelf<u32>> = Vec::new();
            let (mut live, mut plain) = (ToldEntries::default(), ToldEntries::default());
            for life in 7..7 + 1 + random.below(4) {
                let about = About { life, ..current.about().clone() };
                before.extend(current.on_about(about));
                before.iter_mut().for_each(|over| over.keep_newest(WINDOW));
                let mut rendition = 0;
                for number in 0..random.below(80) {
                    if random.below(10) == 0 {
                        rendition = 1 - rendition;
                    }
                    let number = u32::try_from(number).unwrap();
                    let one = crate::Segment { life, ..crate::shelf::tests::segment(number) };
                    if random.below(7) > 0 {
                        assert!(current.put(rendition, one, 1, number));
                    }
                    live.read(&media(&before, &current, None, Part::Live), seed);
                    plain.read(&media(&before, &current, None, Part::Plain), seed);
                }
            }
        }
    }

    #[test]
    fn a_plain_list_has_one_beginning_of_files_for_each_life_and_changes_with_lives_alone() {
        let mut current = shelf(&[(0, 0), (1, 1), (0, 2)]);
        let about = About { life: 8, ..current.about().clone() };
        let before = [current.on_about(about).unwrap()];
        let one = crate::Segment { life: 8, ..crate::shelf::tests::segment(0) };
        assert!(current.put(0, one, 1, 0));
        let text = media(&before, &current, None, Part::Plain);
        let counted = ["EXT-X-MAP", "#EXT-X-DISCONTINUITY\n"].map(|tag| text.matches(tag).count());
        assert_eq!(counted, [2, 1], "{text}");
        for part in [
            "URI=\"400k/init-7.mp4\"",
            "400k/7/whole-1.m4s",
            "64k/7/whole-2.m4s\n#EXT-X-DISCONTINUITY",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_sender_that_begins_anew_empties_no_list_and_numbers_have_no_holes() {
        let mut current = shelf(&[(0, 0), (0, 1), (1, 2)]);
        let about = About { life: 8, ..current.about().clone() };
        let before = [current.on_about(about).unwrap()];
        let old = media(&before, &current, None, Part::Live);
        assert!(old.ends_with("400k/7/2.m4s\n"), "{old}");
        let one = crate::Segment { life: 8, ..crate::shelf::tests::segment(1) };
        assert!(current.put(0, one, 1, 1));
        let new = media(&before, &current, None, Part::Live);
        let expected = "#EXT-X-DISCONTINUITY\n#EXT-X-GAP\n#EXTINF:1.000,\n64k/8/0.m4s\n\
            #EXT-X-MAP:URI=\"64k/init-8.mp4\"\n#EXT-X-PROGRAM-DATE-TIME:2026-09-21T14:13:21.000Z\n\
            #EXTINF:1.000,\n64k/8/1.m4s\n";
        assert_eq!(new.strip_prefix(&old), Some(expected));
    }

    #[test]
    fn changes_that_have_left_the_list_are_counted() {
        let of = |changes_at: u32| {
            let all: Vec<(usize, u32)> =
                (0..50).map(|n| (usize::from(n >= changes_at), n)).collect();
            media(&[], &shelf(&all), None, Part::Live)
        };
        // The list begins with 20.
        for (at, gone) in [(5, true), (19, true), (20, true), (21, false), (40, false)] {
            let text = of(at);
            assert_eq!(text.contains("#EXT-X-DISCONTINUITY-SEQUENCE:1\n"), gone, "{at}: {text}");
            assert_eq!(text.contains("#EXT-X-DISCONTINUITY\n"), !gone, "{at}: {text}");
        }
    }

    #[test]
    fn the_first_list_says_codecs_and_size() {
        let mut shelf = shelf(&[(0, 4)]);
        let mut about = shelf.about().clone();
        about.renditions.iter_mut().for_each(|(_, init)| *init = track::tests::beginning());
        assert!(shelf.on_about(about).is_none());
        let text = master(&shelf, "live.m3u8");
        let line =
            "BANDWIDTH=400000,CODECS=\"avc1.4d401f,mp4a.40.2\",RESOLUTION=640x360\nlive.m3u8\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_798_761_599_999, "2026-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(date(ms), text);
        }
    }

    #[test]
    fn what_ffmpeg_wrote_is_read() {
        let text = "#EXTM3U\n#EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:1.000000,\n0.m4s\n\
                    #EXTINF:0.480000,\n1.m4s\n#EXT-X-ENDLIST\n";
        assert_eq!(parse_encoded(text), (vec![(0, 1000), (1, 480)], true));
        assert_eq!(parse_encoded(""), (vec![], false));
    }
}
