//! Compression of payloads and blocks: zstd in contexts that each thread keeps, with a dictionary for payloads.

use crate::dictionary::dictionary;
use samite_model::{Error, Result};
use std::cell::RefCell;
use std::io;
use std::sync::LazyLock;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::{CParameter, WriteBuf, compress_bound};

/// The body is the plaintext.
const RAW: u8 = 0;
/// The body is a zstd frame without its magic number.
const ZSTD: u8 = 1;
/// As [`ZSTD`], with the dictionary of version 1.
const ZSTD_DICTIONARY_1: u8 = 2;

const LEVEL: i32 = 3;
/// For payloads that are short: little is left to find once the dictionary's words are.
const SHORT_LEVEL: i32 = 1;
/// Up to so many bytes a payload is short, as the starts and outcomes of most steps are.
const SHORT: usize = 512;
/// For blocks that are small: their literals stay as they are.
const SMALL_LEVEL: i32 = -1;
/// Up to so many bytes a block is small, as most files of a workspace are: reading the tables of its codes would cost
/// more than all the rest of opening it.
const SMALL: usize = 4 << 10;
/// Shorter ones do not shrink.
const SHORTEST: usize = 64;
/// Longer ones make their own context while they go.
const LONGEST_WITH_DICTIONARY: usize = 64 << 10;
/// The four bytes that every frame begins with, and that are therefore not stored.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A thread keeps no larger buffer than this.
pub(crate) const KEPT_BUFFER: usize = 2 << 20;

static ENCODER: LazyLock<EncoderDictionary<'static>> = LazyLock::new(|| EncoderDictionary::copy(&dictionary(), LEVEL));
static SHORT_ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(&dictionary(), SHORT_LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(&dictionary()));

#[derive(Default)]
struct Contexts {
    plain: Option<Compressor<'static>>,
    small: Option<Compressor<'static>>,
    dictionary: Option<Compressor<'static>>,
    short: Option<Compressor<'static>>,
    plain_decompressor: Option<Decompressor<'static>>,
    dictionary_decompressor: Option<Decompressor<'static>>,
    buffer: Vec<u8>,
}

thread_local! {
    static CONTEXTS: RefCell<Contexts> = RefCell::default();
}

/// Calls `then` with the codec and the body for a payload.
pub(crate) fn compress<T>(payload: &[u8], then: impl FnOnce(u8, &[u8]) -> Result<T>) -> Result<T> {
    let codec = if payload.len() <= LONGEST_WITH_DICTIONARY { ZSTD_DICTIONARY_1 } else { ZSTD };
    with_codec(codec, payload, then)
}

/// Calls `then` with the codec and the body for a block.
pub(crate) fn compress_block<T>(plaintext: &[u8], then: impl FnOnce(u8, &[u8]) -> Result<T>) -> Result<T> {
    with_codec(ZSTD, plaintext, then)
}

fn with_codec<T>(codec: u8, plaintext: &[u8], then: impl FnOnce(u8, &[u8]) -> Result<T>) -> Result<T> {
    if plaintext.len() < SHORTEST {
        return then(RAW, plaintext);
    }
    CONTEXTS.with_borrow_mut(|contexts| {
        let failed = |error: io::Error| Error::internal("cannot_compress", "zstd refused to compress").because(error);
        let compressor = match codec {
            ZSTD_DICTIONARY_1 if plaintext.len() <= SHORT => {
                ready(&mut contexts.short, || dictionary_compressor(&SHORT_ENCODER))
            }
            ZSTD_DICTIONARY_1 => ready(&mut contexts.dictionary, || dictionary_compressor(&ENCODER)),
            _ if plaintext.len() <= SMALL => ready(&mut contexts.small, || plain_compressor(SMALL_LEVEL)),
            _ => ready(&mut contexts.plain, || plain_compressor(LEVEL)),
        }
        .map_err(failed)?;
        contexts.buffer.clear();
        contexts.buffer.reserve(compress_bound(plaintext.len()));
        compressor.compress_to_buffer(plaintext, &mut contexts.buffer).map_err(failed)?;
        let result = match contexts.buffer.strip_prefix(&MAGIC) {
            Some(body) if body.len() < plaintext.len() => then(codec, body),
            _ => then(RAW, plaintext),
        };
        if contexts.buffer.capacity() > KEPT_BUFFER {
            contexts.buffer = Vec::new();
        }
        result
    })
}

/// The plaintext, of exactly `length` bytes, of a body that begins at `at` in `bytes`; `None` when it is something
/// else. At least four bytes must lie before the body: they are overwritten.
pub(crate) fn decompress(codec: u8, bytes: &mut [u8], at: usize, length: usize) -> Option<Vec<u8>> {
    if codec == RAW {
        return bytes.get(at..).filter(|body| body.len() == length).map(<[u8]>::to_vec);
    }
    // What does not fit is an error of zstd's, so that a few bytes cannot become many.
    let mut plaintext = Vec::with_capacity(length);
    decompress_frame(codec, bytes, at, &mut plaintext)?;
    (plaintext.len() == length).then_some(plaintext)
}

/// As [`decompress`], into a place that the plaintext fills.
pub(crate) fn decompress_into(codec: u8, bytes: &mut [u8], at: usize, plaintext: &mut [u8]) -> Option<()> {
    if codec == RAW {
        let body = bytes.get(at..).filter(|body| body.len() == plaintext.len())?;
        plaintext.copy_from_slice(body);
        return Some(());
    }
    let length = decompress_frame(codec, bytes, at, plaintext)?;
    (length == plaintext.len()).then_some(())
}

/// How many bytes a frame gave.
fn decompress_frame<C: WriteBuf + ?Sized>(codec: u8, bytes: &mut [u8], at: usize, place: &mut C) -> Option<usize> {
    let frame = bytes.get_mut(at.checked_sub(MAGIC.len())?..)?;
    frame.first_chunk_mut::<4>().map(|magic| *magic = MAGIC)?;
    CONTEXTS.with_borrow_mut(|contexts| {
        let decompressor = match codec {
            ZSTD => ready(&mut contexts.plain_decompressor, Decompressor::new),
            ZSTD_DICTIONARY_1 => ready(&mut contexts.dictionary_decompressor, dictionary_decompressor),
            _ => return None,
        }
        .ok()?;
        decompressor.decompress_to_buffer(frame, place).ok()
    })
}

/// The context in a place, made at its first use.
fn ready<T>(place: &mut Option<T>, make: impl FnOnce() -> io::Result<T>) -> io::Result<&mut T> {
    let context = match place.take() {
        Some(context) => context,
        None => make()?,
    };
    Ok(place.insert(context))
}

fn plain_compressor(level: i32) -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(level)?;
    slim(&mut compressor)?;
    Ok(compressor)
}

fn dictionary_compressor(dictionary: &'static EncoderDictionary<'static>) -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::with_prepared_dictionary(dictionary)?;
    slim(&mut compressor)?;
    Ok(compressor)
}

/// Leaves out what the envelope and the header say already.
fn slim(compressor: &mut Compressor<'static>) -> io::Result<()> {
    compressor.set_parameter(CParameter::ContentSizeFlag(false))?;
    compressor.set_parameter(CParameter::ChecksumFlag(false))?;
    compressor.set_parameter(CParameter::DictIdFlag(false))
}

fn dictionary_decompressor() -> io::Result<Decompressor<'static>> {
    Decompressor::with_prepared_dictionary(&DECODER)
}
