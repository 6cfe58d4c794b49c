//! Which records answer a question best: words, vectors, who said it and when, each over what is visible alone. Pure.
//!
//! The score of a visible record is
//!
//! ```text
//! score     = relevance + 0.1 speaker + 0.2 date - 0.06 asks
//! relevance = 0.7 coverage + 0.3 dot      where there is a vector of the question
//!           = coverage                    where there is none
//! ```
//!
//! *coverage* is the share of the question's words that the record and its neighbours answer ([`lexical`](crate::lexical)). *dot* is
//! how much nearer the record's vector is to the question's than the visible records' are on average, with 0.2 of its predecessor's
//! and 0.3 of its successors'; 0 without a vector. While a model is changed there are two spaces: then it is the mean over those in which
//! the record has a vector, each weighted by the share of visible records that have one there, and multiplied so that its standard
//! deviation is that of the space that is being left. *speaker* is 1 where the question names who said it, *date* the share of the
//! question's year, month and day that are the record's, *asks* 1 where the record itself ends with a question: its neighbour answers
//! that. Of equal scores the newest record is first. Nothing depends on how many are asked for, and nothing on a record that is not
//! visible.

mod combine;
mod index;
mod list;

pub use combine::{Scored, Wanted, score};
pub use index::{Index, Taken, embedded_text};
pub use list::{Listed, Source, fair, lists};

#[cfg(test)]
mod tests;
