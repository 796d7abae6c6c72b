//! A DASH manifest (ISO 23009-1) of what a node has.
//!
//! Picture and sound are a representation each, in the rendition that the node got. Where the rendition
//! changes, or a segment is missing, a period begins.

use std::fmt::Write as _;

use crate::{
    hls::date,
    shelf::{Place, Shelf},
    track::{self, Kind},
};

/// Segments in the manifest: as in the list of what is live.
const WINDOW: usize = 30;
/// Segments that are named before they are there. A server makes who asks for one wait for it. ffmpeg
/// takes up the last segment again when it has reached the end of the manifest.
pub const AHEAD: u32 = 2;
/// Names of the tracks in paths, and their media types.
const TRACKS: [(Kind, &str, &str); 2] =
    [(Kind::Picture, "picture", "video/mp4"), (Kind::Sound, "sound", "audio/mp4")];

/// The kind of track that a path names so.
#[must_use]
pub fn kind_of(name: &str) -> Option<Kind> {
    TRACKS.iter().find(|(_, of, _)| *of == name).map(|(kind, ..)| *kind)
}

/// The manifest.
#[must_use]
pub fn manifest<P>(shelf: &Shelf<P>) -> String {
    let about = shelf.about();
    let places = shelf.places(None);
    let first = places.len().saturating_sub(WINDOW);
    let first = places.get(first).map_or(0, |place| place.number);
    // A period keeps its name and its beginning when its first segments leave the window.
    let runs: Vec<Run<'_>> =
        runs(&places, shelf.oldest_run()).into_iter().filter_map(|run| run.since(first)).collect();
    let begun = shelf.epoch_ms();
    let seconds = f64::from(about.segment_ms) / 1000.0;
    let kind = match (shelf.has_ended(), begun) {
        (false, Some(begun)) => format!(
            "type=\"dynamic\" availabilityStartTime=\"{}\" minimumUpdatePeriod=\"PT{seconds}S\" \
             suggestedPresentationDelay=\"PT{}S\"",
            date(begun),
            3.0 * seconds
        ),
        _ => {
            let total: f64 = runs.iter().map(|run| lasts(run.places)).sum();
            format!("type=\"static\" mediaPresentationDuration=\"PT{total}S\"")
        }
    };
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" \
         minBufferTime=\"PT{seconds}S\" {kind}>\n"
    );
    let mut at = 0.0;
    for run in &runs {
        let ended = shelf.has_ended();
        let began = if ended { run.places[0].number } else { run.began };
        let begins = u64::from(began) * u64::from(about.segment_ms);
        let is_newest = run.places.last().map(|place| place.number) == shelf.newest();
        let ahead = if is_newest && !ended { AHEAD } else { 0 };
        let starts = if ended { at } else { begins as f64 / 1000.0 };
        period(&mut out, shelf, run, Period { begins, starts, ahead });
        at += lasts(run.places);
    }
    out += "</MPD>\n";
    out
}

/// Places one after the other of one rendition, without a gap.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    places: &'a [Place],
    /// Number of its first one, which may be gone.
    began: u32,
}

impl<'a> Run<'a> {
    /// Those from a number on, if there are any.
    fn since(self, first: u32) -> Option<Self> {
        let from = self.places.partition_point(|place| place.number < first);
        let places: &'a [Place] = &self.places[from..];
        (!places.is_empty()).then_some(Self { places, ..self })
    }
}

/// All runs; of the oldest one some may be gone, and it began with `oldest`.
fn runs(places: &[Place], oldest: Option<u32>) -> Vec<Run<'_>> {
    let rendition = |place: &Place| place.held.map(|(rendition, _)| rendition);
    let runs = places.chunk_by(|one, next| rendition(one) == rendition(next));
    let runs = runs.filter(|run| run[0].held.is_some()).enumerate();
    runs.map(|(n, places)| {
        let own = places[0].number;
        let began = if n == 0 { oldest.unwrap_or(own) } else { own };
        Run { places, began }
    })
    .collect()
}

/// Seconds.
fn lasts(run: &[Place]) -> f64 {
    let durations = run.iter().filter_map(|place| place.held).map(|(_, one)| one.duration_ms);
    f64::from(durations.sum::<u32>()) / 1000.0
}

/// A period's times.
#[derive(Debug, Clone, Copy)]
struct Period {
    /// Milliseconds of its first picture, from the beginning of the stream.
    begins: u64,
    /// Seconds from the beginning of the presentation.
    starts: f64,
    /// Segments that are named before they are there.
    ahead: u32,
}

fn period<P>(out: &mut String, shelf: &Shelf<P>, run: &Run<'_>, times: Period) {
    let about = shelf.about();
    let Some((rendition, _)) = run.places[0].held else { return };
    let (one, init) = &about.renditions[rendition];
    let (life, first, begins) = (about.life, run.places[0].number, times.begins);
    let own = u64::from(first) * u64::from(about.segment_ms);
    let _ =
        writeln!(out, "<Period id=\"{life}-{}-{begins}\" start=\"PT{}S\">", one.name, times.starts);
    for (of, track, kind) in TRACKS.iter().filter(|(kind, ..)| track::find(init, *kind).is_some()) {
        let codecs = track::codec(init, *of);
        let codecs = codecs.map_or_else(String::new, |codec| format!(" codecs=\"{codec}\""));
        let size = if *of == Kind::Picture { track::size(init) } else { None };
        let size = size.map_or_else(String::new, |[width, height]| {
            format!(" width=\"{width}\" height=\"{height}\"")
        });
        let _ = write!(
            out,
            "<AdaptationSet contentType=\"{}\" mimeType=\"{kind}\" segmentAlignment=\"true\" \
             startWithSAP=\"1\">\n\
             <Representation id=\"{}-{track}\"{codecs}{size} bandwidth=\"{}\">\n\
             <SegmentTemplate timescale=\"1000\" presentationTimeOffset=\"{begins}\" \
             startNumber=\"{first}\" initialization=\"{}/{track}-{life}.mp4\" \
             media=\"{}/{track}-$Number$.m4s\">\n<SegmentTimeline>\n",
            kind.split('/').next().unwrap_or_default(),
            one.name,
            one.rate,
            one.name,
            one.name,
        );
        for (at, (_, segment)) in run.places.iter().filter_map(|place| place.held).enumerate() {
            let begins = if at == 0 { format!("t=\"{own}\" ") } else { String::new() };
            let _ = writeln!(out, "<S {begins}d=\"{}\"/>", segment.duration_ms);
        }
        for _ in 0..times.ahead {
            let _ = writeln!(out, "<S d=\"{}\"/>", about.segment_ms);
        }
        *out += "</SegmentTimeline>\n</SegmentTemplate>\n</Representation>\n</AdaptationSet>\n";
    }
    *out += "</Period>\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{about::About, shelf::tests::shelf, track::tests::beginning};

    fn with_tracks(held: &[(usize, u32)], last: Option<u32>) -> Shelf<u32> {
        let mut shelf = shelf(held);
        let mut about = About { last, ..shelf.about().clone() };
        about.renditions.iter_mut().for_each(|(_, init)| *init = beginning());
        assert!(shelf.on_about(about).is_none());
        shelf
    }

    #[test]
    fn picture_and_sound_have_a_representation_each() {
        let text = manifest(&with_tracks(&[(0, 4), (0, 5)], None));
        assert!(
            text.contains("type=\"dynamic\" availabilityStartTime=\"2026-09-21T14:13:20.000Z\"")
        );
        for (track, kind, codec, size) in [
            ("picture", "video", "avc1.4d401f", " width=\"640\" height=\"360\""),
            ("sound", "audio", "mp4a.40.2", ""),
        ] {
            let of = |part: &str| part.replace("TRACK", track).replace("KIND", kind);
            let of = |part: &str| of(part).replace("CODEC", codec).replace("SIZE", size);
            for part in [
                "<AdaptationSet contentType=\"KIND\" mimeType=\"KIND/mp4\"",
                "<Representation id=\"64k-TRACK\" codecs=\"CODEC\"SIZE bandwidth=\"64000\">",
                "startNumber=\"4\" initialization=\"64k/TRACK-7.mp4\"",
                "media=\"64k/TRACK-$Number$.m4s\"",
            ] {
                assert!(text.contains(&of(part)), "{part}: {text}");
            }
        }
        assert_eq!(
            text.matches("<S t=\"4000\" d=\"1000\"/>\n<S d=\"1000\"/>").count(),
            2,
            "{text}"
        );
    }

    #[test]
    fn a_period_keeps_its_name_and_beginning_while_its_first_segments_leave() {
        let mut all: Vec<(usize, u32)> = (0..50).map(|n| (usize::from(n >= 10), n)).collect();
        let early = manifest(&with_tracks(&all, None));
        all.extend((50..70).map(|n| (1, n)));
        let later = manifest(&with_tracks(&all, None));
        let small = Shelf::new(with_tracks(&[], None).about().clone(), 1000);
        let small = all.iter().fold(small, |mut shelf, (rendition, number)| {
            assert!(shelf.put(*rendition, crate::shelf::tests::segment(*number), 100, *number));
            shelf
        });
        for text in [early, later, manifest(&small)] {
            assert!(text.contains("<Period id=\"7-400k-10000\" start=\"PT10S\">"), "{text}");
            assert_eq!(text.matches("<Period").count(), 1, "{text}");
            assert!(text.contains("availabilityStartTime=\"2026-09-21T14:13:20.000Z\""));
        }
        assert!(manifest(&small).contains("<S t=\"60000\" "));
    }

    #[test]
    fn what_has_ended_does_not_change_any_more() {
        let text = manifest(&with_tracks(&[(0, 4), (0, 5)], Some(5)));
        assert!(text.contains("type=\"static\" mediaPresentationDuration=\"PT2S\""), "{text}");
        assert!(text.contains("start=\"PT0S\""), "{text}");
        assert!(text.contains("presentationTimeOffset=\"4000\""), "{text}");
    }

    #[test]
    fn a_period_begins_where_the_rendition_changes_and_after_a_gap() {
        let held = [(0, 1), (0, 3), (0, 4), (1, 5), (1, 6)];
        let text = manifest(&with_tracks(&held, None));
        for period in
            ["7-64k-1000\" start=\"PT1S", "7-64k-3000\" start=\"PT3S", "7-400k-5000\" start=\"PT5S"]
        {
            assert!(text.contains(period), "{period}: {text}");
        }
        assert_eq!(text.matches("<Period").count(), 3);
        let named = text.matches("<S ").count();
        assert_eq!(named, 2 * (5 + AHEAD as usize), "each track, with those that are to come");
    }
}
