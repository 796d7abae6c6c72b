//! The document in a terminal: the same as the page, as lines of text.
//!
//! - `view`: the lines of a document; `table`: columns; `units`: numbers for people
//! - `screen`: a terminal that shows them anew and anew, until `q` is pressed

mod screen;
mod table;
mod units;
mod view;

pub use screen::Screen;
pub use view::lines;
