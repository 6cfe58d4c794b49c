//! What needs real processes.

#[cfg(test)]
mod supervise;
