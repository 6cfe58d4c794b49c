//! A command's output: bounded in memory, whole in a file when it is long, shown while it runs when asked.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// How much is kept in memory of each end of an output, unless told otherwise: 256 KiB.
pub const KEEP: usize = 256 << 10;

/// What to do with one output of a command.
#[derive(Debug)]
pub struct Capture {
    /// How many bytes to keep from the beginning.
    pub keep_first: usize,
    /// How many bytes to keep from the end, of those after the first.
    pub keep_last: usize,
    /// Where all of it goes, from its first byte, once it is longer than `keep_first`.
    pub spill: Option<File>,
    /// How many bytes go there at most.
    pub spill_limit: u64,
    /// Whether to pass it on to this process's own output while it comes.
    pub echo: bool,
}

impl Default for Capture {
    fn default() -> Self {
        Self { keep_first: KEEP, keep_last: KEEP, spill: None, spill_limit: 4 << 30, echo: false }
    }
}

/// What is kept of an output.
#[derive(Debug, Default)]
pub struct Output {
    /// Its beginning.
    pub first: Vec<u8>,
    /// Its end, without what is in `first`.
    pub last: Vec<u8>,
    /// How many bytes it had.
    pub total: u64,
    /// The file given for the whole of it.
    pub spill: Option<File>,
    /// How many bytes went there; 0 when `first` is the whole.
    pub spilled: u64,
    /// Why the file is not the whole, in words: it could not be written, or the limit was reached.
    pub spill_error: Option<String>,
    /// Whether its end was seen. A process that could not be ended may still hold it open.
    pub complete: bool,
}

impl Output {
    /// The whole output, when memory holds it.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let kept = self.first.len() as u64 + self.last.len() as u64;
        (kept == self.total).then(|| [self.first.as_slice(), self.last.as_slice()].concat())
    }
}

/// Which of our own outputs an echo goes to.
#[derive(Clone, Copy)]
pub(super) enum Echo {
    Stdout,
    Stderr,
}

/// An output while it is read.
pub(super) struct Collected {
    capture: Capture,
    first: Vec<u8>,
    last: VecDeque<u8>,
    total: u64,
    spilled: u64,
    spill_error: Option<String>,
    complete: bool,
}

impl Collected {
    pub(super) fn new(capture: Capture) -> Self {
        Self {
            capture,
            first: Vec::new(),
            last: VecDeque::new(),
            total: 0,
            spilled: 0,
            spill_error: None,
            complete: false,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let fits = self.capture.keep_first.saturating_sub(self.first.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(fits);
        self.first.extend_from_slice(first);
        self.total += bytes.len() as u64;
        if rest.is_empty() {
            return;
        }
        if self.spilled == 0 {
            let first = std::mem::take(&mut self.first);
            self.spill(&first);
            self.first = first;
        }
        self.spill(rest);
        let keep = self.capture.keep_last;
        let rest = rest.get(rest.len().saturating_sub(keep)..).unwrap_or_default();
        let over = (self.last.len() + rest.len()).saturating_sub(keep);
        self.last.drain(..over.min(self.last.len()));
        self.last.extend(rest);
    }

    fn spill(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.capture.spill else { return };
        if self.spill_error.is_some() {
            return;
        }
        let room = usize::try_from(self.capture.spill_limit.saturating_sub(self.spilled)).unwrap_or(usize::MAX);
        let fits = bytes.get(..room).unwrap_or(bytes);
        match file.write_all(fits) {
            Ok(()) => self.spilled += fits.len() as u64,
            Err(error) => self.spill_error = Some(error.to_string()),
        }
        if fits.len() < bytes.len() {
            self.spill_error = Some(format!("longer than the limit of {} bytes", self.capture.spill_limit));
        }
    }

    /// What was collected until now.
    pub(super) fn take(&mut self) -> Output {
        Output {
            first: std::mem::take(&mut self.first),
            last: std::mem::take(&mut self.last).into(),
            total: self.total,
            spill: self.capture.spill.take(),
            spilled: self.spilled,
            spill_error: self.spill_error.take(),
            complete: self.complete,
        }
    }
}

/// Reads an output to its end.
pub(super) fn collect(mut from: impl Read, collected: &Arc<Mutex<Collected>>, echo: Echo) {
    let mut buffer = vec![0; 64 << 10];
    let mut echoing = collected.lock().unwrap_or_else(PoisonError::into_inner).capture.echo;
    loop {
        let size = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let bytes = buffer.get(..size).unwrap_or_default();
        // Whoever closed our output is no reason to stop the command or to lose its output.
        echoing = echoing
            && match echo {
                Echo::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
                Echo::Stderr => io::stderr().write_all(bytes),
            }
            .is_ok();
        collected.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
    }
    collected.lock().unwrap_or_else(PoisonError::into_inner).complete = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Seek, SeekFrom};

    #[test]
    fn a_short_output_is_whole_and_spills_nothing() {
        let spill = Some(tempfile::tempfile().unwrap());
        let mut collected = Collected::new(Capture { keep_first: 5, keep_last: 5, spill, ..Capture::default() });
        collected.add(b"abc");
        collected.add(b"de");
        let output = collected.take();
        assert_eq!(output.whole().unwrap(), b"abcde");
        assert_eq!((output.total, output.spilled), (5, 0));
    }

    #[test]
    fn the_limit_of_the_file_is_kept_and_told() {
        let spill = Some(tempfile::tempfile().unwrap());
        let mut collected =
            Collected::new(Capture { keep_first: 2, keep_last: 2, spill, spill_limit: 5, ..Capture::default() });
        collected.add(b"abcdefgh");
        collected.add(b"ij");
        let output = collected.take();
        assert_eq!((output.first.as_slice(), output.last.as_slice(), output.total), (&b"ab"[..], &b"ij"[..], 10));
        assert_eq!(output.spilled, 5);
        assert_eq!(output.spill_error.as_deref(), Some("longer than the limit of 5 bytes"));
        assert_eq!(output.whole(), None);
    }

    proptest! {
        #[test]
        fn both_ends_are_kept_and_the_file_is_the_whole(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..12),
            keep_first in 0usize..50,
            keep_last in 0usize..50,
        ) {
            let spill = Some(tempfile::tempfile().unwrap());
            let mut collected = Collected::new(Capture { keep_first, keep_last, spill, ..Capture::default() });
            for chunk in &chunks {
                collected.add(chunk);
            }
            let whole = chunks.concat();
            let mut output = collected.take();
            prop_assert_eq!(output.total, whole.len() as u64);
            prop_assert_eq!(&output.first, &whole[..keep_first.min(whole.len())]);
            let rest = &whole[output.first.len()..];
            prop_assert_eq!(&output.last, &rest[rest.len().saturating_sub(keep_last)..]);
            if whole.len() > keep_first {
                let mut file = output.spill.take().unwrap();
                file.seek(SeekFrom::Start(0)).unwrap();
                let mut spilled = Vec::new();
                file.read_to_end(&mut spilled).unwrap();
                prop_assert_eq!(spilled, whole);
            } else {
                prop_assert_eq!(output.spilled, 0);
            }
        }
    }
}
