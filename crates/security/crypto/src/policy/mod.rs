//! Who may send and publish, how much and how large.
//!
//! ```
//! use fanfare_crypto::policy::{Policy, Who};
//! let policy = Policy::parse(
//!     "[[rule]]\n\
//!      who = ['10.1.0.0/16']\n\
//!      send = true\n\
//!      max_size = '2G'\n\
//!      publish = ['weather/#']\n",
//! )
//! .unwrap();
//! let near = Who { address: Some([10, 1, 2, 3].into()), ..Who::default() };
//! let rule = policy.rule(&near).unwrap();
//! assert!(rule.send && rule.may_publish("weather/rain") && !rule.may_publish("orders/now"));
//! assert_eq!(rule.max_size, Some(2_000_000_000));
//! assert!(policy.rule(&Who::default()).is_none(), "who fits no rule may do nothing");
//! ```
//!
//! Rules are tried in their order; the first that fits somebody says all that they may do. Nothing is
//! negotiated: each node enforces its own file where bytes come in.
//!
//! - `who`: whom a rule is about; `rule`: what it allows; `file`: reads them
//! - `account`: what somebody has had so far, beside what a rule allows

mod account;
mod file;
mod rule;
mod who;

pub use account::{Account, Refused};
pub use rule::{Policy, Rule};
pub use who::{Subject, Who};
