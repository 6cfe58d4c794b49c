//! Trees: a directory as Merkle nodes.
