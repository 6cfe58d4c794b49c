//! Texts as vectors: a built-in encoder, a local model file, or an endpoint.
