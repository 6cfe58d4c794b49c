//! Progress of long work, on standard error and only when a person watches it.

use super::look::Look;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// The progress of one piece of long work. It disappears when it is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(look: Look, wanted: bool, what: &str) -> Self {
        let target = if look.terminal && wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {human_pos}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// How far it is: done, of a whole when it is known.
    pub(crate) fn set(&self, done: u64, whole: Option<u64>) {
        if let (Some(whole), true) = (whole, self.0.length() != whole) {
            self.0.set_length(whole);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {wide_bar} {human_pos}/{human_len} {eta}")
            {
                self.0.set_style(style);
            }
        }
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
