//! The fabric: sessions, steps, checkpoints, forks, rewind and recovery over journals and workspaces.
