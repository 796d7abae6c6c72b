//! ffmpeg as a child: it writes segments into a folder of ours, and we look there.

use std::{
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::JoinHandle,
};

use fanfare_command::{Exit, Failure};
use fanfare_video::{
    encoding::{self, INIT, LIST, Source},
    hls,
    ladder::Rendition,
};

use super::plan::Plan;

/// Bytes of its complaints that are kept.
const COMPLAINT_MAX: usize = 4 << 10;

/// A running ffmpeg.
#[derive(Debug)]
pub(crate) struct Encoder {
    child: Child,
    complaints: Option<JoinHandle<String>>,
    folder: PathBuf,
    ladder: Vec<Rendition>,
    /// The next number of each rendition.
    next: Vec<u32>,
}

/// A segment that is ready.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) rendition: usize,
    pub(crate) number: u32,
    pub(crate) duration_ms: u32,
    pub(crate) file: Vec<u8>,
}

impl Encoder {
    /// Looks at the source, and starts.
    ///
    /// # Errors
    /// There is no ffmpeg, or no room for its files, or the source cannot be read.
    pub(crate) fn start(plan: &Plan) -> Result<Self, Failure> {
        let has_sound = match plan.source.needs_probe() {
            true => probe(&plan.source)?,
            false => plan.source == Source::Test,
        };
        let folder = std::env::temp_dir().join(format!("fanfare-video-{}", std::process::id()));
        for rendition in &plan.ladder {
            fs::create_dir_all(folder.join(&rendition.name))
                .map_err(|error| disk(&folder, &error))?;
        }
        let seconds = plan.segment.as_secs_f64();
        let dir = folder.to_string_lossy();
        let words = encoding::arguments(&plan.source, &plan.ladder, has_sound, seconds, &dir);
        let mut child = start_bound(&words).map_err(|error| missing("ffmpeg", &error))?;
        let complaints = child.stderr.take().map(|mut from| {
            std::thread::spawn(move || {
                let (mut text, mut piece) = (String::new(), [0; 512]);
                while let Ok(count @ 1..) = from.read(&mut piece) {
                    if text.len() < COMPLAINT_MAX {
                        text += &String::from_utf8_lossy(&piece[..count]);
                    }
                }
                text
            })
        });
        let (ladder, next) = (plan.ladder.clone(), vec![0; plan.ladder.len()]);
        Ok(Self { child, complaints, folder, ladder, next })
    }

    /// The beginnings of all renditions' files, once there is a segment of each.
    pub(crate) fn beginnings(&self) -> Option<Vec<Vec<u8>>> {
        let of = |rendition: &Rendition| {
            let folder = self.folder.join(&rendition.name);
            folder.join(LIST).exists().then(|| fs::read(folder.join(INIT)).ok()).flatten()
        };
        self.ladder.iter().map(of).collect()
    }

    /// Segments that are new since the last time; each file is gone afterwards.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn new_segments(&mut self) -> Result<Vec<Encoded>, Failure> {
        let mut found = Vec::new();
        for (rendition, one) in self.ladder.iter().enumerate() {
            let folder = self.folder.join(&one.name);
            let Ok(text) = fs::read_to_string(folder.join(LIST)) else { continue };
            for (number, duration_ms) in hls::parse_encoded(&text).0 {
                if number < self.next[rendition] {
                    continue;
                }
                let path = folder.join(format!("{number}.m4s"));
                let file = fs::read(&path).map_err(|error| disk(&path, &error))?;
                // What cannot be removed now is removed with its folder.
                let _ = fs::remove_file(&path);
                self.next[rendition] = number + 1;
                found.push(Encoded { rendition, number, duration_ms, file });
            }
        }
        found.sort_by_key(|segment| (segment.number, segment.rendition));
        Ok(found)
    }

    /// Whether it has ended. All that it wrote is in its lists then.
    ///
    /// # Errors
    /// It failed: what it complained of.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Failure> {
        let Ok(Some(status)) = self.child.try_wait() else { return Ok(false) };
        if status.success() {
            return Ok(true);
        }
        let said = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let said = said.lines().last().unwrap_or("it says nothing").trim().to_owned();
        let text = format!("ffmpeg ({said}): gave up. Try the source with 'ffplay SOURCE'");
        Err(Failure::new(Exit::Failed, "ffmpeg.failed", text))
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // It has ended already, or ends now; its folder is nobody else's.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts ffmpeg so that it ends with this program, however that ends: a killed one cannot end it, and it would
/// fill the disk for ever. util-linux's setpriv asks the kernel for that (Linux, prctl(2) PR_SET_PDEATHSIG).
fn start_bound(words: &[String]) -> io::Result<Child> {
    let start = |mut command: Command| {
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
    };
    // What cannot be started at all is told as such, and not by setpriv.
    let is_there = Command::new("ffmpeg")
        .arg("-version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    is_there?;
    let mut bound = Command::new("setpriv");
    bound.args(["--pdeathsig", "KILL", "ffmpeg"]);
    start(bound).or_else(|_| start(Command::new("ffmpeg")))
}

/// Whether a source has sound.
fn probe(source: &Source) -> Result<bool, Failure> {
    let (Source::File(place) | Source::Address(place) | Source::Device(place)) = source else {
        return Ok(true);
    };
    let words =
        ["-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", "-i", place];
    let told = Command::new("ffprobe")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| missing("ffprobe", &error))?;
    let kinds = String::from_utf8_lossy(&told.stdout);
    if !told.status.success() || !kinds.contains("video") {
        let said = String::from_utf8_lossy(&told.stderr);
        let why = said.lines().last().unwrap_or("it has no pictures").trim();
        let text = format!("source ({place}): cannot be read ({why}). Give another");
        return Err(Failure::new(Exit::Failed, "source.unreadable", text));
    }
    Ok(kinds.contains("audio"))
}

fn missing(program: &str, error: &io::Error) -> Failure {
    let text = format!(
        "program ({program}): cannot be started ({error}). Install it with: apt install ffmpeg"
    );
    Failure::new(Exit::Resource, "ffmpeg.missing", text)
}

fn disk(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    let text = format!("folder ({path}): {error}. Free some room, or set TMPDIR to another disk");
    Failure::new(Exit::Resource, "disk.failed", text)
}
