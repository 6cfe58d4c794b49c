//! What finds what, without constants.

use samite_memory::Bits;
use samite_memory::lexical::{Builder, Context, Corpus, Field, Query, Weights};

/// Whether a query finds a document that is there beside another one.
pub(crate) fn finds(document: &str, query: &str) -> bool {
    let mut builder = Builder::default();
    builder.add(&[(Field::Body, document)]).unwrap();
    builder.add(&[(Field::Body, "zzz")]).unwrap();
    let part = builder.build();
    let visible = Bits::all(2);
    let corpus = Corpus::new(&[(&part, &visible)]);
    let scores = corpus.score(&Query::new(query), &Weights::bm25(), &Context::default());
    scores.scores[0] > 0.0
}
