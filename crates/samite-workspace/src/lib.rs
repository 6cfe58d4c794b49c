//! Directories as Merkle trees of sealed blocks: snapshot, diff, restore.
