//! Video as messages to a group, without I/O.
//!
//! A sender has the same pictures in several renditions, each cut into segments of about a second.
//! Every segment is a message on a topic of its rendition. Each node keeps what it has got, and gives
//! it to any player by HTTP.
//!
//! # Map, in reading order
//! - [`ladder`]: renditions by their rates; [`encoding`]: what ffmpeg is told to make of a source
//! - [`about`]: what a stream is, with the beginning of each rendition's files; [`segment`]: a piece of
//!   a rendition as a message; [`want`]: which rendition a viewer wants; `topics`: where they go
//! - [`demand`]: which renditions anybody wants; [`pace`]: how fast their segments are sent
//! - [`shelf`]: what a node has of a stream
//! - [`hls`] and [`dash`]: playlists of it; `hls` also reads those of ffmpeg; [`track`]: picture and
//!   sound apart, as DASH wants them
//! - [`choice`]: which rendition a viewer's path bears

pub mod about;
pub mod choice;
pub mod dash;
pub mod demand;
pub mod encoding;
pub mod hls;
pub mod ladder;
pub mod pace;
pub mod segment;
pub mod shelf;
pub mod topics;
pub mod track;
pub mod want;

pub use about::About;
pub use choice::Chooser;
pub use demand::Demand;
pub use ladder::Rendition;
pub use pace::Pace;
pub use segment::Segment;
pub use shelf::Shelf;
pub use want::Want;
