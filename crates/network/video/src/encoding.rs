//! What ffmpeg is told: one decoding, one encoding for each rendition, files that are cut at the same
//! pictures.

use crate::ladder::Rendition;

/// The playlist that ffmpeg writes beside a rendition's segments.
pub const LIST: &str = "list.m3u8";
/// The beginning of a rendition's files.
pub const INIT: &str = "init.mp4";
/// Segments that ffmpeg keeps in its list: we look far more often than once in so many.
const LISTED: u32 = 12;
/// Pictures a second: phones and screens of any kind show these, and a source of variable rate becomes
/// one of a constant rate.
const PICTURES: f64 = 25.0;

/// Where pictures come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Bars with a running number and a tone.
    Test,
    /// A file, which is read as fast as it is to be played.
    File(String),
    /// A camera of this machine.
    Device(String),
    /// Something that sends by itself: rtsp, rtp, udp, http.
    Address(String),
}

impl Source {
    /// Reads what somebody wrote.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "test" => Self::Test,
            _ if text.starts_with("/dev/video") => Self::Device(text.to_owned()),
            _ if text.contains("://") => Self::Address(text.to_owned()),
            _ => Self::File(text.to_owned()),
        }
    }
    /// Whether it has sound is not known before somebody looks.
    #[must_use]
    pub fn needs_probe(&self) -> bool {
        matches!(self, Self::File(_) | Self::Address(_))
    }
    /// How ffmpeg finds it.
    #[must_use]
    pub fn input(&self) -> Vec<String> {
        let words: Vec<&str> = match self {
            Self::Test => {
                let bars = "testsrc2=size=1024x576:rate=25";
                vec!["-re", "-f", "lavfi", "-i", bars, "-f", "lavfi", "-i", "sine=frequency=440"]
            }
            Self::File(path) => vec!["-re", "-i", path],
            Self::Device(path) => vec!["-f", "v4l2", "-i", path],
            Self::Address(address) => vec!["-i", address],
        };
        words.into_iter().map(str::to_owned).collect()
    }
    /// The word that names its sound, if it is not the first input.
    fn sound(&self) -> &'static str {
        if *self == Self::Test { "1:a:0" } else { "0:a:0" }
    }
}

/// The arguments of ffmpeg, which writes `DIR/NAME/list.m3u8` for each rendition. `seconds`: of a
/// segment.
#[must_use]
pub fn arguments(
    source: &Source,
    ladder: &[Rendition],
    has_sound: bool,
    seconds: f64,
    dir: &str,
) -> Vec<String> {
    let mut out: Vec<String> =
        ["-hide_banner", "-loglevel", "error", "-nostdin", "-y"].map(str::to_owned).into();
    out.extend(source.input());
    let heads: String = (0..ladder.len()).map(|n| format!("[in{n}]")).collect();
    let scaled = ladder.iter().enumerate().map(|(n, rendition)| {
        format!("[in{n}]scale=-2:'min({},trunc(ih/2)*2)'[out{n}]", rendition.height)
    });
    let scaled = scaled.collect::<Vec<_>>().join(";");
    out.push("-filter_complex".to_owned());
    out.push(format!(
        "[0:v:0]fps={PICTURES},format=yuv420p,split={}{heads};{scaled}",
        ladder.len()
    ));
    for (n, rendition) in ladder.iter().enumerate() {
        out.extend(rendition_arguments(source, rendition, has_sound, seconds, n));
        out.push("-hls_segment_filename".to_owned());
        out.push(format!("{dir}/{}/%d.m4s", rendition.name));
        out.push(format!("{dir}/{}/{LIST}", rendition.name));
    }
    out
}

/// Each segment has its parameter sets, too: ffmpeg 5.1 and mpv read only the first beginning of a list, and
/// decode what follows a change of rendition with the sets of the rendition before.
fn rendition_arguments(
    source: &Source,
    rendition: &Rendition,
    has_sound: bool,
    seconds: f64,
    n: usize,
) -> Vec<String> {
    let rate = rendition.pictures(has_sound);
    // A segment is full of pictures at the rate, and no fuller.
    let buffer = (rate as f64 * seconds) as u64;
    let between = (PICTURES * seconds).round().max(1.0);
    let mut text = format!(
        "-map [out{n}] -c:v libx264 -preset veryfast -profile:v main -b:v {rate} -maxrate {rate} \
         -bufsize {buffer} -g {between} -keyint_min {between} -sc_threshold 0 -bf 0 \
         -bsf:v dump_extra=freq=k"
    );
    if has_sound {
        let sound = rendition.sound();
        text += &format!(" -map {} -c:a aac -ac 1 -ar 44100 -b:a {sound}", source.sound());
    }
    text += &format!(
        " -f hls -hls_time {seconds} -hls_segment_type fmp4 -hls_list_size {LISTED} \
         -hls_flags independent_segments+temp_file -hls_fmp4_init_filename {INIT}"
    );
    text.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder;

    #[test]
    fn sources_are_told_apart_by_how_they_are_written() {
        assert_eq!(Source::parse("test"), Source::Test);
        assert_eq!(Source::parse("/dev/video0"), Source::Device("/dev/video0".to_owned()));
        let camera = "rtsp://camera/1".to_owned();
        assert_eq!(Source::parse("rtsp://camera/1"), Source::Address(camera));
        assert_eq!(Source::parse("a.mp4"), Source::File("a.mp4".to_owned()));
    }

    #[test]
    fn one_input_is_split_and_every_rendition_has_its_outputs() {
        let ladder = ladder::parse("64k,400k").unwrap();
        let words = arguments(&Source::Test, &ladder, true, 1.0, "/d").join(" ");
        assert_eq!(words.matches("-i testsrc2").count(), 1);
        assert!(words.contains("split=2[in0][in1];[in0]scale"), "{words}");
        for name in ["/d/64k/list.m3u8", "/d/400k/list.m3u8", "/d/64k/%d.m4s"] {
            assert!(words.contains(name), "{name}: {words}");
        }
        assert_eq!(words.matches("-g 25 -keyint_min 25 -sc_threshold 0").count(), 2);
        assert_eq!(words.matches("-bsf:v dump_extra=freq=k").count(), 2, "{words}");
        let silent = arguments(&Source::parse("a.mp4"), &ladder, false, 0.4, "/d").join(" ");
        assert!(!silent.contains("-c:a") && silent.contains("-g 10 "), "{silent}");
    }
}
