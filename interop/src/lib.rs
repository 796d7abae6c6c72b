//! Interoperability with NRL's NORM, in network namespaces.
//!
//! In reading order: [`tool`] runs system programs, [`lab`] makes hosts as namespaces, [`impair`]
//! loses and counts packets, [`process`] watches a program in a host, [`nrl`] and [`fanfare`] are
//! the two peers, [`payload`] the files that travel and [`scratch`] where they lie, [`cell`] one experiment as data, [`cells`] the
//! list of them, [`company`] group nodes beside one, [`run`] carries one out, [`matrix`] all of them, [`report`] writes the table,
//! [`decode`] asks `tshark` whether it understands us, [`efficiency`] counts bytes under loss,
//! [`congestion`] fills a narrow line, [`streams`] sends what has no end, [`zeromq`] runs ZeroMQ on
//! our libnorm.so.1, [`examples`] NRL's examples and bindings, [`rates`] measures
//! both libraries, [`power`] fails the power
//! of a receiver, [`tcp`] compares the simulator's TCP with this kernel's, [`trees`] sends real
//! directories, [`devices`] disks.
//!
//! Needs root and the packages that [`tool::PACKAGES`] names; installs nothing itself.

pub mod calls;
pub mod cell;
pub mod cells;
pub mod company;
pub mod congestion;
pub mod decode;
pub mod devices;
pub mod efficiency;
pub mod examples;
pub mod fanfare;
pub mod impair;
pub mod lab;
pub mod matrix;
pub mod nrl;
pub mod payload;
pub mod power;
pub mod process;
pub mod rates;
pub mod report;
pub mod run;
pub mod scratch;
pub mod streams;
pub mod tcp;
pub mod tool;
pub mod trees;
pub mod zeromq;
