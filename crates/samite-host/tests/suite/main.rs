//! What needs real processes.

#[cfg(test)]
mod storage;
#[cfg(test)]
mod supervise;
