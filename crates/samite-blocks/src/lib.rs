//! Packs of sealed blocks, on files.
