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
    let places = &places[places.len().saturating_sub(WINDOW)..];
    let runs = runs(places);
    let begun = places.iter().find_map(|place| place.held).map(|(_, segment)| {
        segment.begun_ms.saturating_sub(u64::from(segment.number) * u64::from(about.segment_ms))
    });
    let seconds = f64::from(about.segment_ms) / 1000.0;
    let kind = match (shelf.has_ended(), begun) {
        (false, Some(begun)) => format!(
            "type=\"dynamic\" availabilityStartTime=\"{}\" minimumUpdatePeriod=\"PT{seconds}S\" \
             suggestedPresentationDelay=\"PT{}S\"",
            date(begun),
            3.0 * seconds
        ),
        _ => {
            let total: f64 = runs.iter().map(|run| lasts(run)).sum();
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
        let begins = if shelf.has_ended() { at } else { begins(shelf, run) as f64 / 1000.0 };
        let is_newest = run.last().map(|place| place.number) == shelf.newest();
        let ahead = if is_newest && !shelf.has_ended() { AHEAD } else { 0 };
        period(&mut out, shelf, run, begins, ahead);
        at += lasts(run);
    }
    out += "</MPD>\n";
    out
}

/// Places one after the other of one rendition, without a gap.
fn runs(places: &[Place]) -> Vec<&[Place]> {
    let rendition = |place: &Place| place.held.map(|(rendition, _)| rendition);
    let runs = places.chunk_by(|one, next| rendition(one) == rendition(next));
    runs.filter(|run| run[0].held.is_some()).collect()
}

/// Seconds.
fn lasts(run: &[Place]) -> f64 {
    let durations = run.iter().filter_map(|place| place.held).map(|(_, one)| one.duration_ms);
    f64::from(durations.sum::<u32>()) / 1000.0
}

/// Milliseconds from the beginning of the stream.
fn begins<P>(shelf: &Shelf<P>, run: &[Place]) -> u64 {
    u64::from(run[0].number) * u64::from(shelf.about().segment_ms)
}

fn period<P>(out: &mut String, shelf: &Shelf<P>, run: &[Place], begins_at: f64, ahead: u32) {
    let about = shelf.about();
    let Some((rendition, _)) = run[0].held else { return };
    let (one, init) = &about.renditions[rendition];
    let (life, first, begins) = (about.life, run[0].number, begins(shelf, run));
    let _ = writeln!(out, "<Period id=\"{life}-{}-{begins}\" start=\"PT{begins_at}S\">", one.name);
    for (_, track, kind) in TRACKS.iter().filter(|(kind, ..)| track::find(init, *kind).is_some()) {
        let _ = write!(
            out,
            "<AdaptationSet contentType=\"{}\" mimeType=\"{kind}\" segmentAlignment=\"true\" \
             startWithSAP=\"1\">\n\
             <Representation id=\"{}-{track}\" bandwidth=\"{}\">\n\
             <SegmentTemplate timescale=\"1000\" presentationTimeOffset=\"{begins}\" \
             startNumber=\"{first}\" initialization=\"{}/{track}-{life}.mp4\" \
             media=\"{}/{track}-$Number$.m4s\">\n<SegmentTimeline>\n",
            kind.split('/').next().unwrap_or_default(),
            one.name,
            one.rate,
            one.name,
            one.name,
        );
        for (at, (_, segment)) in run.iter().filter_map(|place| place.held).enumerate() {
            let begins = if at == 0 { format!("t=\"{begins}\" ") } else { String::new() };
            let _ = writeln!(out, "<S {begins}d=\"{}\"/>", segment.duration_ms);
        }
        for _ in 0..ahead {
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
        shelf.on_about(about);
        shelf
    }

    #[test]
    fn picture_and_sound_have_a_representation_each() {
        let text = manifest(&with_tracks(&[(0, 4), (0, 5)], None));
        assert!(
            text.contains("type=\"dynamic\" availabilityStartTime=\"2026-09-21T14:13:20.000Z\"")
        );
        for (track, kind) in [("picture", "video"), ("sound", "audio")] {
            let of = |part: &str| part.replace("TRACK", track).replace("KIND", kind);
            for part in [
                "<AdaptationSet contentType=\"KIND\" mimeType=\"KIND/mp4\"",
                "<Representation id=\"64k-TRACK\" bandwidth=\"64000\">",
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
