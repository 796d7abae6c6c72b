//! A DASH manifest (ISO 23009-1) of what a node has: one representation for each rendition of which it
//! has anything.

use std::fmt::Write as _;

use crate::{
    hls::date,
    shelf::{Place, Shelf},
};

/// Segments in the manifest: as in the list of what is live.
const WINDOW: usize = 30;

/// The manifest.
#[must_use]
pub fn manifest<P>(shelf: &Shelf<P>) -> String {
    let about = shelf.about();
    let (count, ended) = (about.renditions.len(), shelf.has_ended());
    let held: Vec<(usize, Vec<Place>)> = (0..count)
        .map(|n| (n, newest(&shelf.places(Some(n)))))
        .filter(|(_, places)| !places.is_empty())
        .collect();
    let begun = shelf.places(None).iter().find_map(|place| place.held).map(|(_, segment)| {
        segment.begun_ms.saturating_sub(u64::from(segment.number) * u64::from(about.segment_ms))
    });
    let seconds = f64::from(about.segment_ms) / 1000.0;
    let kind = match (ended, begun) {
        (false, Some(begun)) => format!(
            "type=\"dynamic\" availabilityStartTime=\"{}\" minimumUpdatePeriod=\"PT{seconds}S\" \
             suggestedPresentationDelay=\"PT{}S\"",
            date(begun),
            3.0 * seconds
        ),
        _ => format!("type=\"static\" mediaPresentationDuration=\"PT{}S\"", total(&held)),
    };
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" \
         minBufferTime=\"PT{seconds}S\" {kind}>\n<Period id=\"{}\" start=\"PT0S\">\n\
         <AdaptationSet mimeType=\"video/mp4\" segmentAlignment=\"true\" startWithSAP=\"1\">\n",
        about.life
    );
    held.iter().for_each(|(n, places)| representation(&mut out, shelf, *n, places));
    out += "</AdaptationSet>\n</Period>\n</MPD>\n";
    out
}

/// The newest ones without a gap: a manifest has no other way to leave one out.
fn newest(places: &[Place]) -> Vec<Place> {
    let whole = places.iter().rev().take(WINDOW).take_while(|place| place.held.is_some());
    let mut whole: Vec<Place> = whole.copied().collect();
    whole.reverse();
    whole
}

fn total(held: &[(usize, Vec<Place>)]) -> f64 {
    let ends = |(_, places): &(usize, Vec<Place>)| {
        places.iter().filter_map(|place| place.held).map(|(_, s)| u64::from(s.duration_ms)).sum()
    };
    held.iter().map(ends).max().unwrap_or(0_u64) as f64 / 1000.0
}

fn representation<P>(out: &mut String, shelf: &Shelf<P>, n: usize, places: &[Place]) {
    let about = shelf.about();
    let (name, rate) = (&about.renditions[n].0.name, about.renditions[n].0.rate);
    let first = places.first().map_or(0, |place| place.number);
    let begins = u64::from(first) * u64::from(about.segment_ms);
    let offset = if shelf.has_ended() { begins } else { 0 };
    let _ = write!(
        out,
        "<Representation id=\"{name}\" bandwidth=\"{rate}\">\n\
         <SegmentTemplate timescale=\"1000\" presentationTimeOffset=\"{offset}\" startNumber=\"{first}\" \
         initialization=\"{name}/init-{}.mp4\" media=\"{name}/$Number$.m4s\">\n<SegmentTimeline>\n",
        about.life
    );
    for (at, place) in places.iter().enumerate() {
        let Some((_, segment)) = place.held else { continue };
        let begins = if at == 0 { format!("t=\"{begins}\" ") } else { String::new() };
        let _ = writeln!(out, "<S {begins}d=\"{}\"/>", segment.duration_ms);
    }
    *out += "</SegmentTimeline>\n</SegmentTemplate>\n</Representation>\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{about::About, shelf::tests::shelf};

    #[test]
    fn each_rendition_that_is_here_has_a_representation() {
        let text = manifest(&shelf(&[(0, 4), (0, 5), (1, 5)]));
        assert!(
            text.contains("type=\"dynamic\" availabilityStartTime=\"2026-09-21T14:13:20.000Z\"")
        );
        assert!(text.contains("<Representation id=\"64k\" bandwidth=\"64000\">"), "{text}");
        assert!(text.contains("startNumber=\"4\" initialization=\"64k/init-7.mp4\""), "{text}");
        assert!(text.contains("<S t=\"4000\" d=\"1000\"/>\n<S d=\"1000\"/>"), "{text}");
        assert!(text.contains("startNumber=\"5\" initialization=\"400k/init-7.mp4\""), "{text}");
    }

    #[test]
    fn what_has_ended_does_not_change_any_more() {
        let mut shelf = shelf(&[(0, 4), (0, 5)]);
        let about = About { last: Some(5), ..shelf.about().clone() };
        shelf.on_about(about);
        let text = manifest(&shelf);
        assert!(text.contains("type=\"static\" mediaPresentationDuration=\"PT2S\""), "{text}");
        assert!(text.contains("presentationTimeOffset=\"4000\""), "{text}");
    }

    #[test]
    fn what_comes_before_a_gap_is_left_out() {
        let text = manifest(&shelf(&[(0, 1), (0, 3), (0, 4), (0, 5), (0, 6)]));
        assert!(
            text.contains("startNumber=\"3\"") && !text.contains("startNumber=\"1\""),
            "{text}"
        );
    }
}
