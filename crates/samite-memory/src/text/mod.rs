//! Text to terms: what a document is found by, and what a query looks for.
//!
//! A text is put into Unicode's form NFKC without characters that nobody sees, cut into words, and each word is folded: lower
//! case, without the marks that a person may leave out. A document's words are then stemmed by the language that the
//! document is in. A query is in no language: it is stemmed by every language that the documents it is asked of are in, and
//! a document answers to the stem of its own. So a word that was typed finds the documents that hold it, however short the
//! query is and whatever was taken for the language of either.
//!
//! Scripts that put no spaces between words are cut into single characters and pairs of neighbours. A word that is written
//! like code or like an address (`node.js`, `user-id`, `src/main.rs`, `v1.2.3`, `bob@example.org`) gives the whole of it
//! and its parts, a date the same terms however it is written. No character of a text is ever an operator.
//!
//! All of it is linear in the text's length, and defined for every text.

mod compound;
mod date;
mod fold;
mod language;
mod question;
mod scan;
mod script;
mod stop;
mod token;

pub use date::NamedDate;
pub(crate) use language::LANGUAGES;
pub use language::{Language, Languages};
pub use question::asks;
pub use script::Script;
pub(crate) use script::is_unseen;
pub use token::{Kind, MAX_CHARACTERS, Token, tokens};

/// The version of everything that decides which terms a text gives: rules, lists, the tables of Unicode, the stemmers.
///
/// An index made by another one is made again.
pub const ANALYSER: u8 = 1;
