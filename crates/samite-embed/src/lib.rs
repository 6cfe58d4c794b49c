//! Texts as vectors: a built-in encoder, a local model file, or an endpoint.
//!
//! Whoever embeds says which [`Space`] its vectors are of, and every vector is looked at before anybody gets it: the right number of
//! them, of the right dimensions, finite, of unit length. Nothing here waits without an end: a model is given texts of bounded
//! length in batches of bounded size, and a request has a time limit. Files are read by whoever calls.

#[cfg(feature = "builtin")]
mod builtin;
mod embedder;
#[cfg(feature = "onnx")]
mod encoder;
mod endpoint;
#[cfg(feature = "onnx")]
mod file;
#[cfg(feature = "onnx")]
mod wordpiece;

#[cfg(feature = "builtin")]
pub use builtin::Builtin;
pub use embedder::{Embedder, Side, accept, is_blank};
pub use endpoint::{ApiKey, Endpoint, EndpointOptions, KeySource};
#[cfg(feature = "onnx")]
pub use file::{FileModel, FileOptions};
pub use samite_model::memory::{Normalisation, Pooling, Space, SpaceParts};
