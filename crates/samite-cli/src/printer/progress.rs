//! Progress of long work, on standard error and only when a person watches it.

use super::look::Look;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use samite::Observer;
use std::time::Duration;

/// The progress of one piece of long work. It disappears when it is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(look: Look, wanted: bool, what: &str) -> Self {
        let target = if look.terminal && wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// How far it is: done, of a whole when it is known.
    pub(crate) fn set(&self, done: u64, whole: Option<u64>) {
        show(&self.0, done, whole);
    }

    /// Shows what a library tells of its work.
    pub(crate) fn observer(&self) -> Observer {
        let bar = self.0.clone();
        Observer::new(move |now| {
            bar.set_message(now.what);
            show(&bar, now.done, now.whole);
        })
    }
}

fn show(bar: &ProgressBar, done: u64, whole: Option<u64>) {
    if bar.length() != whole {
        let template = match whole {
            Some(_) if bar.message().ends_with("(bytes)") => "{spinner} {msg} {wide_bar} {bytes}/{total_bytes} {eta}",
            Some(_) => "{spinner} {msg} {wide_bar} {human_pos}/{human_len} {eta}",
            None => "{spinner} {msg} {human_pos} {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        match whole {
            Some(whole) => bar.set_length(whole),
            None => bar.unset_length(),
        }
    }
    bar.set_position(done);
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
