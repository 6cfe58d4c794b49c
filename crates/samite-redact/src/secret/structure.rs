//! Tokens that are known by how their parts relate rather than by a prefix.

use super::harmless::is_placeholder;
use crate::alphabet::{
    ALNUM, Alphabet, DIGIT, HEX, HEX_ANY, STD64, URL64, before, begins_word, byte, past_escape, slice,
};
use crate::shape::{Shape, is_hex};
use data_encoding::BASE64URL_NOPAD;
use std::ops::Range;

/// What was found, and what it is called.
type Found = Option<(Range<usize>, &'static str)>;

/// The signature of an address that AWS has signed, whose name begins at a place.
pub(crate) fn aws_signature(text: &[u8], at: usize) -> Option<(Range<usize>, &'static str)> {
    let start = at + b"x-amz-signature=".len();
    let digits = HEX_ANY.run(text, start, 65);
    (digits == 64).then_some((start..start + digits, "aws-signature"))
}

/// The signature of a shared access of Azure, whose name begins at a place: a digest of 32 bytes in base64, percent-encoded.
pub(crate) fn azure_signature(text: &[u8], at: usize) -> Option<(Range<usize>, &'static str)> {
    let start = at + b"sig=".len();
    let end = start + Alphabet::of(b"a-zA-Z0-9%+/=").run(text, start, 100);
    let value = slice(text, start, end);
    let escapes = memchr::memchr_iter(b'%', value).count();
    let fits = matches!(value.len() - escapes * 2, 43 | 44) && (value.ends_with(b"%3D") || value.ends_with(b"="));
    (fits && matches!(before(text, at), b'?' | b'&' | b';')).then_some((start..end, "azure-signature"))
}

/// `1234567890:AA…`, of a bot of Telegram, whose `:AA` begins at a place.
pub(crate) fn telegram(text: &[u8], at: usize) -> Found {
    let mut start = DIGIT.run_back(text, at, 12);
    // `/bot123:AA…/` in its addresses.
    let digits = at - start;
    let end = at + 1 + URL64.run(text, at + 1, 48);
    let length = end - at - 1;
    if !begins_word(text, start) && slice(text, start.saturating_sub(3), start).eq_ignore_ascii_case(b"bot") {
        start = at - digits;
    } else if !begins_word(text, start) {
        return None;
    }
    let token = slice(text, at + 3, end);
    ((6..=10).contains(&digits) && (34..=36).contains(&length) && Shape::of(token).is_random())
        .then_some((start..end, "telegram-token"))
}

/// `abc8Q~…`, of an application of Entra, whose `Q~` begins at a place.
pub(crate) fn azure(text: &[u8], at: usize) -> Found {
    let alphabet = Alphabet::of(b"a-zA-Z0-9_~.-");
    let start = at.checked_sub(4)?;
    let end = at + 2 + alphabet.run(text, at + 2, 40);
    let body = end - at - 2;
    let fits = alphabet.covers(slice(text, start, at))
        && DIGIT.has(before(text, at))
        && (31..=34).contains(&body)
        && !alphabet.has(before(text, start));
    (fits && Shape::of(slice(text, start, end)).is_random()).then_some((start..end, "azure-client-secret"))
}

/// `…-us12`, of Mailchimp, whose `-us` begins at a place.
pub(crate) fn mailchimp(text: &[u8], at: usize) -> Found {
    let start = at.checked_sub(32)?;
    let digits = DIGIT.run(text, at + 3, 3);
    let fits = HEX.covers(slice(text, start, at)) && (1..=2).contains(&digits) && begins_word(text, start);
    fits.then_some((start..at + 3 + digits, "mailchimp-key"))
}

/// `abcdef_…_mmk`, of `MaxMind`, whose `_mmk` begins at a place.
pub(crate) fn maxmind(text: &[u8], at: usize) -> Found {
    let start = at.checked_sub(36)?;
    let fits = ALNUM.covers(slice(text, start, start + 6))
        && byte(text, start + 6) == b'_'
        && ALNUM.covers(slice(text, start + 7, at));
    (fits && begins_word(text, start)).then_some((start..at + 4, "maxmind-key"))
}

/// `….atlasv1.…`, of Terraform, whose `.atlasv1.` begins at a place.
pub(crate) fn terraform(text: &[u8], at: usize) -> Found {
    let start = past_escape(text, ALNUM.run_back(text, at, 20));
    let body = URL64.run(text, at + 9, 120);
    (at - start >= 10 && body >= 50).then_some((start..at + 9 + body, "terraform-token"))
}

/// `sk-…T3BlbkFJ…`, of OpenAI, whose middle begins at a place.
pub(crate) fn openai(text: &[u8], at: usize) -> Found {
    let start = past_escape(text, URL64.run_back(text, at, 200));
    let end = at + URL64.run(text, at, 200);
    (at - start >= 16 && end - at >= 24).then_some((start..end, "openai-key"))
}

/// The secret key that stands beside an access key of AWS, which ends before a place.
pub(crate) fn aws_secret(text: &[u8], at: usize) -> Found {
    let gap = Alphabet::of(b" \t\r\n,;:|/\"'").run(text, at, 8);
    let start = at + gap;
    let run = STD64.run(text, start, 41);
    (gap > 0
        && run == 40
        && Shape::of(slice(text, start, start + 40)).is_random()
        && !is_hex(slice(text, start, start + 40)))
    .then_some((start..start + 40, "aws-secret-key"))
}

/// Words within a token that say what it is.
const SAYING: &[&[u8]] = &[
    b"sk",
    b"pat",
    b"secret",
    b"live",
    b"prod",
    b"tok",
    b"tkn",
    b"apikey",
    b"oauth",
    b"priv",
    b"private",
    b"sat",
    b"rk",
    b"accesstoken",
    b"refreshtoken",
    b"token",
    b"key",
    b"apitoken",
];
const DENYING: &[&[u8]] = &[
    b"pk",
    b"pub",
    b"public",
    b"publishable",
    b"cache",
    b"hash",
    b"id",
    b"sha256",
    b"sha1",
    b"sha512",
    b"md5",
    b"etag",
    b"idempotency",
];

/// A token among the characters `a-zA-Z0-9_-` of a long run: `acme_live_…`, one of Discord, one of Twilio.
pub(crate) fn in_run(text: &[u8], run: &Range<usize>) -> Found {
    let start = past_escape(text, run.start);
    let word = start + URL64.run(text, start, 300);
    let length = word - start;
    if length < 20 || !begins_word(text, start) {
        return None;
    }
    let value = slice(text, start, word);
    if length == 34 && value.starts_with(b"SK") && HEX_ANY.covers(slice(value, 2, 34)) {
        return Some((start..word, "twilio-key"));
    }
    if byte(text, word) == b'.' && (22..=30).contains(&length) {
        return discord(text, start, word);
    }
    let cut = value.iter().rposition(|byte| matches!(byte, b'_' | b'-'))?;
    let (label, body) = (slice(value, 0, cut), slice(value, cut + 1, length));
    if body.len() < 16 || body.len() > 128 || label.len() > 32 {
        return None;
    }
    let mut words = label.split(|byte| matches!(byte, b'_' | b'-'));
    let says = |word: &[u8], list: &[&[u8]]| list.iter().any(|other| word.eq_ignore_ascii_case(other));
    let denied = words.clone().any(|word| says(word, DENYING));
    let mut said = false;
    let mut last: &[u8] = b"";
    let strong = words.clone().any(|word| says(word, &[b"sk", b"pat", b"secret", b"live", b"prod", b"rk"]));
    let first = words.clone().next().unwrap_or_default();
    for word in words.by_ref() {
        // `key` and `token` say something after another word only: `api_key_…`, `acme_token_…`.
        let alone = matches!(word.to_ascii_lowercase().as_slice(), b"key" | b"token") && last.is_empty();
        said |= says(word, SAYING) && !alone;
        last = word;
    }
    let shape = Shape::of(body);
    let random = shape.is_random() && shape.digits > 0 && !is_placeholder(body);
    let mixed = shape.upper > 0 && shape.lower > 0 || strong && body.len() >= 24;
    (said && !denied && random && mixed && !first.is_empty()).then_some((start..word, "token"))
}

/// `MTIz….abcdef.…`: the number of a bot, a time, a signature.
fn discord(text: &[u8], start: usize, word: usize) -> Found {
    let time = URL64.run(text, word + 1, 8);
    let sign_at = word + 1 + time + 1;
    let sign = URL64.run(text, sign_at, 40);
    if !(6..=7).contains(&time) || byte(text, sign_at - 1) != b'.' || sign < 27 {
        return None;
    }
    let whole = (word - start) / 4 * 4;
    let decoded = BASE64URL_NOPAD.decode(slice(text, start, start + whole)).ok()?;
    DIGIT.covers(&decoded).then_some((start..sign_at + sign, "discord-token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_without_a_prefix_are_known_by_their_parts() {
        let hex = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
        for (text, mark, find, expected) in [
            (
                "1234567890:AAkR9wPq2LmXv7TzBn4YcD8sHfkR9wPq2Lm",
                ":AA",
                telegram as fn(&[u8], usize) -> Found,
                "telegram-token",
            ),
            ("x=abc8Q~kR9wPq2LmXv7TzBn4YcD8sHfkR9wPq2L", "Q~", azure, "azure-client-secret"),
            ("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", "_mmk", maxmind, "maxmind-key"),
        ] {
            let at = text.find(mark).unwrap();
            assert_eq!(find(text.as_bytes(), at).map(|found| found.1), Some(expected), "{text}");
        }
        let text = format!("{hex}-us12");
        assert_eq!(mailchimp(text.as_bytes(), 32), Some((0..37, "mailchimp-key")));
    }

    #[test]
    fn runs_with_telling_words_are_tokens() {
        for (text, expected) in [
            ("acme_live_kR9wPq2LmXv7TzBn4YcD8sHf", Some("token")),
            ("acme_pk_live_kR9wPq2LmXv7TzBn4YcD8sHf", None),
            ("toolu_kR9wPq2LmXv7TzBn4YcD8sHf", None),
            ("msg_01PdWvcjJ6E9BgscDveYt9YV", None),
            ("my-private-service-account-name", None),
            ("SK0f1e2d3c4b5a69788796a5b4c3d2e1f0", Some("twilio-key")),
            ("MTIzNDU2Nzg5MDEyMzQ1Njc4.GkR9wP.kR9wPq2LmXv7TzBn4YcD8sHfkR9", Some("discord-token")),
        ] {
            assert_eq!(in_run(text.as_bytes(), &(0..text.len())).map(|found| found.1), expected, "{text}");
        }
    }
}
