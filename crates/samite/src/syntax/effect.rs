//! `--effect idempotent|keyed[:WINDOW]|contained|observable[:SETTLE]|opaque`, with `--within PATH` for `contained`.

use samite_model::step::Effect;
use samite_model::{Error, Result};

/// The effect that a word and the paths of `--within` declare.
///
/// # Errors
/// `invalid` (`bad_effect`, `bad_duration`, `bad_path`) with what would be right.
pub fn parse_effect(text: &str, within: &[String]) -> Result<Effect> {
    let (class, argument) = match text.split_once(':') {
        Some((class, argument)) => (class, Some(argument)),
        None => (text, None),
    };
    let seconds = argument.map(parse_seconds).transpose();
    let effect = match (class, argument) {
        ("idempotent", None) => Effect::Idempotent,
        ("keyed", _) => Effect::Keyed { window_seconds: seconds? },
        ("contained", None) => {
            let paths = within.iter().map(|path| inside(path)).collect::<Result<Vec<_>>>()?;
            // The workspace itself among them is the whole of it, for which no paths stand.
            Effect::Contained { within: if paths.iter().any(String::is_empty) { Vec::new() } else { paths } }
        }
        ("observable", _) => Effect::Observable { settle_seconds: seconds? },
        ("opaque", None) => Effect::Opaque,
        _ => {
            return Err(Error::invalid("bad_effect", format!("{text:?} is no effect"))
                .hint("one of idempotent, keyed[:WINDOW], contained, observable[:SETTLE], opaque"));
        }
    };
    if !within.is_empty() && !matches!(effect, Effect::Contained { .. }) {
        return Err(Error::invalid("bad_effect", format!("--within says nothing about a step that is {class}"))
            .hint("use it with --effect contained"));
    }
    Ok(effect)
}

/// So many units.
fn times(digits: &str, unit: Option<u64>) -> Option<u64> {
    let number = Some(digits).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    number.parse::<u64>().ok()?.checked_mul(unit?)
}

/// A time in seconds: `90`, `90s`, `15m`, `24h`, `7d`.
///
/// # Errors
/// `invalid` (`bad_duration`).
pub fn parse_seconds(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        _ => None,
    };
    times(digits, unit).ok_or_else(|| {
        Error::invalid("bad_duration", format!("{text:?} is no time"))
            .hint("a number of seconds, or with a unit: 90s, 15m, 24h, 7d")
    })
}

/// A part of the whole in percent, as thousandths: `5%`, `2.5%`.
///
/// # Errors
/// `invalid` (`bad_share`).
pub fn parse_share(text: &str) -> Result<u32> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    Some((whole, tenth))
        .filter(|(whole, tenth)| digits(whole) && digits(tenth) && tenth.len() == 1)
        .and_then(|(whole, tenth)| whole.parse::<u32>().ok()?.checked_mul(10)?.checked_add(tenth.parse().ok()?))
        .filter(|share| *share <= 1000)
        .ok_or_else(|| {
            Error::invalid("bad_share", format!("{text:?} is no share")).hint("in percent, to a tenth: 5%, 2.5%")
        })
}

/// A number of bytes: `4096`, `512K`, `100M`, `10G`, `1T`; units are powers of 1024.
///
/// # Errors
/// `invalid` (`bad_size`).
pub fn parse_bytes(text: &str) -> Result<u64> {
    let upper = text.to_ascii_uppercase();
    let short = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let digits = short.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit = match short.get(digits.len()..).unwrap_or_default() {
        "" => Some(1),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        "T" => Some(1u64 << 40),
        _ => None,
    };
    times(digits, unit).ok_or_else(|| {
        Error::invalid("bad_size", format!("{text:?} is no number of bytes"))
            .hint("a number, or with a unit: 512K, 100M, 10G")
    })
}

/// A path below the workspace, without what changes nothing in it.
fn inside(path: &str) -> Result<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if path.starts_with('/') || parts.contains(&"..") || path.contains('\0') || path.is_empty() {
        return Err(Error::invalid("bad_path", format!("{path:?} is no path inside the workspace"))
            .hint("give it relative to the workspace, without .."));
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_sizes_are_understood_or_refused() {
        for (text, right) in [("5%", 50), ("2.5%", 25), ("7", 70), ("0%", 0), ("100%", 1000)] {
            assert_eq!(parse_share(text).unwrap(), right, "{text}");
        }
        for text in ["", "%", "-1%", "101%", "1.25%", "a", "5 %", "99999999999%"] {
            assert_eq!(parse_share(text).unwrap_err().code(), "bad_share", "{text}");
        }
        for (text, right) in [("0", 0), ("4096", 4096), ("1k", 1024), ("100M", 104_857_600), ("10GiB", 10_737_418_240)]
        {
            assert_eq!(parse_bytes(text).unwrap(), right, "{text}");
        }
        for text in ["", "G", "1X", "-1", "1.5G", "99999999T", "1KK"] {
            assert_eq!(parse_bytes(text).unwrap_err().code(), "bad_size", "{text}");
        }
    }

    #[test]
    fn every_class_is_understood() {
        let keyed = |window_seconds| Effect::Keyed { window_seconds };
        let observable = |settle_seconds| Effect::Observable { settle_seconds };
        for (text, right) in [
            ("idempotent", Effect::Idempotent),
            ("keyed", keyed(None)),
            ("keyed:24h", keyed(Some(86_400))),
            ("keyed:0", keyed(Some(0))),
            ("contained", Effect::Contained { within: vec![] }),
            ("observable", observable(None)),
            ("observable:30s", observable(Some(30))),
            ("opaque", Effect::Opaque),
        ] {
            assert_eq!(parse_effect(text, &[]).unwrap(), right, "{text}");
        }
        for (text, code) in [
            ("", "bad_effect"),
            ("Idempotent", "bad_effect"),
            ("idempotent:5", "bad_effect"),
            ("opaque:", "bad_effect"),
            ("contained:src", "bad_effect"),
            ("keyed:", "bad_duration"),
            ("keyed:soon", "bad_duration"),
        ] {
            assert_eq!(parse_effect(text, &[]).unwrap_err().code(), code, "{text}");
        }
    }

    #[test]
    fn paths_stay_inside_the_workspace() {
        let within =
            |paths: &[&str]| parse_effect("contained", &paths.iter().map(ToString::to_string).collect::<Vec<_>>());
        let right = Effect::Contained { within: vec!["src/a b".to_owned(), "x".to_owned()] };
        assert_eq!(within(&["./src//a b/", "x"]).unwrap(), right);
        assert_eq!(within(&["x", "./"]).unwrap(), Effect::Contained { within: vec![] });
        for path in ["/etc", "../other", "src/../../other", "", "a\0b"] {
            assert_eq!(within(&[path]).unwrap_err().code(), "bad_path", "{path:?}");
        }
        assert_eq!(parse_effect("opaque", &["src".to_owned()]).unwrap_err().code(), "bad_effect");
    }

    #[test]
    fn times_have_units() {
        for (text, right) in [("0", 0), ("90", 90), ("90s", 90), ("15m", 900), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(parse_seconds(text).unwrap(), right, "{text}");
        }
        for text in
            ["", "s", "-1", "+1", "1.5h", "1w", "1 h", "1ms", "99999999999999999999", "999999999999999999d", "٣"]
        {
            assert_eq!(parse_seconds(text).unwrap_err().code(), "bad_duration", "{text}");
        }
    }
}
