//! HLS playlists (RFC 8216): those of a node, and those that ffmpeg writes.

use std::fmt::Write as _;

use crate::{
    shelf::{Place, Shelf},
    track::{self, Kind},
};

/// Segments in the list of what is live: a player begins three before its end, and pauses are short.
const WINDOW: usize = 30;
/// Version 8 has gaps (RFC 8216bis); 7 has files of MP4.
const HEAD: &str = "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-INDEPENDENT-SEGMENTS\n";

/// Which part of a stream a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The newest.
    Live,
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

/// The list of segments: of one rendition, or each in the one that this node got.
#[must_use]
pub fn media<P>(shelf: &Shelf<P>, rendition: Option<usize>, part: Part) -> String {
    let all = shelf.places(rendition);
    let from = if part == Part::Live { all.len().saturating_sub(WINDOW) } else { 0 };
    let (before, places) = (&all[..(from + 1).min(all.len())], &all[from..]);
    let longest = places.iter().filter_map(|place| place.held).map(|(_, s)| s.duration_ms).max();
    let target = longest.unwrap_or(0).max(shelf.about().segment_ms).div_ceil(1000).max(1);
    let mut out = format!("{HEAD}#EXT-X-TARGETDURATION:{target}\n");
    let first = shelf.sequence(places.first().map_or(0, |place| place.number));
    let _ = writeln!(out, "#EXT-X-MEDIA-SEQUENCE:{first}");
    let gone = shelf.changes_gone(if rendition.is_none() { before } else { &[] });
    if gone > 0 {
        let _ = writeln!(out, "#EXT-X-DISCONTINUITY-SEQUENCE:{gone}");
    }
    if part == Part::All && !shelf.has_ended() {
        out += "#EXT-X-PLAYLIST-TYPE:EVENT\n";
    }
    let mut last = None;
    for place in places {
        entry(&mut out, shelf, place, &mut last);
    }
    if shelf.has_ended() {
        out += "#EXT-X-ENDLIST\n";
    }
    out
}

/// A segment, or a gap. Where the rendition changes, files begin anew.
fn entry<P>(out: &mut String, shelf: &Shelf<P>, place: &Place, last: &mut Option<usize>) {
    let Some((rendition, segment)) = place.held else {
        let seconds = f64::from(shelf.about().segment_ms) / 1000.0;
        let name = &shelf.about().renditions[last.unwrap_or(0)].0.name;
        let _ = write!(out, "#EXT-X-GAP\n#EXTINF:{seconds:.3},\n{name}/{}.m4s\n", place.number);
        return;
    };
    let name = &shelf.about().renditions[rendition].0.name;
    if *last != Some(rendition) {
        if last.is_some() {
            out.push_str("#EXT-X-DISCONTINUITY\n");
        }
        let life = shelf.about().life;
        let _ = writeln!(out, "#EXT-X-MAP:URI=\"{name}/init-{life}.mp4\"");
        let _ = writeln!(out, "#EXT-X-PROGRAM-DATE-TIME:{}", date(segment.begun_ms));
        *last = Some(rendition);
    }
    let seconds = f64::from(segment.duration_ms) / 1000.0;
    let _ = write!(out, "#EXTINF:{seconds:.3},\n{name}/{}.m4s\n", place.number);
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
            #EXTINF:1.000,\n64k/4.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"400k/init-7.mp4\"\n\
            #EXT-X-PROGRAM-DATE-TIME:2026-09-21T14:13:25.000Z\n#EXTINF:1.000,\n400k/5.m4s\n\
            #EXTINF:1.000,\n400k/6.m4s\n";
        assert_eq!(media(&shelf, None, Part::Live), expected);
        assert!(media(&shelf, Some(1), Part::All).contains("#EXT-X-PLAYLIST-TYPE:EVENT"));
        assert!(master(&shelf, "live.m3u8").ends_with("BANDWIDTH=400000\nlive.m3u8\n"));
    }

    #[test]
    fn gaps_keep_their_numbers_and_the_end_is_told() {
        let mut shelf = shelf(&[(0, 4), (0, 6), (0, 7), (0, 8)]);
        let text = media(&shelf, None, Part::Live);
        assert!(text.contains("#EXT-X-GAP\n#EXTINF:1.000,\n64k/5.m4s\n"), "{text}");
        assert!(!text.contains("ENDLIST"));
        let about = About { last: Some(8), ..shelf.about().clone() };
        shelf.on_about(about);
        assert!(media(&shelf, None, Part::All).ends_with("#EXT-X-ENDLIST\n"));
    }

    #[test]
    fn only_the_newest_are_live() {
        let all: Vec<(usize, u32)> = (0..50).map(|n| (0, n)).collect();
        let text = media(&shelf(&all), None, Part::Live);
        assert!(text.contains("MEDIA-SEQUENCE:20\n") && text.contains("/49.m4s"), "{text}");
    }

    #[test]
    fn changes_that_have_left_the_list_are_counted() {
        let of = |changes_at: u32| {
            let all: Vec<(usize, u32)> =
                (0..50).map(|n| (usize::from(n >= changes_at), n)).collect();
            media(&shelf(&all), None, Part::Live)
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
        shelf.on_about(about);
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
