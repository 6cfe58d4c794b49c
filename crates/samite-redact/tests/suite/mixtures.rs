//! Registered secrets of which each character is escaped or not, in each of the encodings that have escapes.
#![expect(clippy::format_collect, clippy::format_push_string, reason = "texts of tests are short")]

use crate::score::keyed;
use proptest::prelude::*;
use samite_redact::{Mode, Policy, Redactor, Registered, Stream, Units};
use std::sync::Arc;

const SECRET: &str = "abcXYZ12&34é9<9>'q r\"s!😀+\\t";

fn redactor(secret: &str) -> Redactor {
    let registered = [Registered { name: "mine".to_owned(), secret: secret.into() }];
    let policy = Policy { pii: Mode::Off, ..Policy::default() };
    Redactor::new(&policy, &registered, Arc::new(keyed)).unwrap()
}

/// What comes out, as a text, as a file that is looked at, and in a stream that comes byte by byte.
fn is_found(secret: &str, written: &str, before: &str, after: &str) {
    let redactor = redactor(secret);
    let text = format!("{before}{written}{after}");
    let holder = format!("[secret:mine:{}:{}]", hex(&keyed(secret.as_bytes())), secret.len());
    let expected = format!("{before}{holder}{after}");
    let out = redactor.redact(text.as_bytes()).bytes.unwrap_or_else(|| text.clone().into_bytes());
    assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
    let screened = redactor.screen(text.as_bytes());
    assert!(screened.iter().any(|one| one.kind == "mine"), "{text}");
    let (mut out, mut found) = (Vec::new(), Vec::new());
    let mut stream = Stream::new(&redactor, Units::Text);
    for byte in text.as_bytes() {
        stream.push(std::slice::from_ref(byte), &mut out, &mut found);
    }
    stream.finish(&mut out, &mut found);
    assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a character is escaped, and whether with capitals.
type Choice = (bool, bool);

fn json(text: &str, choices: &[Choice]) -> String {
    let mut out = String::new();
    for (character, (escaped, capitals)) in text.chars().zip(choices.iter().cycle()) {
        if *escaped {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&if *capitals { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
            }
        } else {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                other => out.push(other),
            }
        }
    }
    out
}

fn percent(text: &str, form: bool, choices: &[Choice]) -> String {
    let mut out = String::new();
    for (character, (escaped, capitals)) in text.chars().zip(choices.iter().cycle()) {
        if form && character == ' ' {
            out.push('+');
        } else if *escaped || matches!(character, '%' | '+') {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&if *capitals { format!("%{byte:02X}") } else { format!("%{byte:02x}") });
            }
        } else {
            out.push(character);
        }
    }
    out
}

fn html(text: &str, choices: &[Choice]) -> String {
    let mut out = String::new();
    for (character, (escaped, other)) in text.chars().zip(choices.iter().cycle()) {
        match (character, escaped, other) {
            (_, true, true) => out.push_str(&format!("&#x{:X};", u32::from(character))),
            (_, true, false) => out.push_str(&format!("&#{};", u32::from(character))),
            ('&', ..) => out.push_str("&amp;"),
            ('<', ..) => out.push_str("&lt;"),
            _ => out.push(character),
        }
    }
    out
}

fn shell(text: &str, choices: &[Choice]) -> String {
    let mut out = String::new();
    for (character, (escaped, _)) in text.chars().zip(choices.iter().cycle()) {
        if character == '\\' || *escaped && (character.is_ascii_punctuation() || character == ' ') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// What begins with a letter, so that nothing of what is around it goes with it.
fn secret() -> impl Strategy<Value = String> {
    "[a-z][a-zA-Z0-9&<>'\"\\\\ !%+/é日😀]{9,30}[a-z]"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_mixture_of_plain_and_escaped_characters_is_found(
        secret in secret(),
        choices in prop::collection::vec(any::<Choice>(), 32),
        outer in prop::collection::vec(any::<Choice>(), 41),
    ) {
        let once = json(&secret, &choices);
        for written in [
            once.clone(),
            json(&once, &[(false, false)]),
            json(&json(&once, &[(false, false)]), &[(false, false)]),
            percent(&secret, false, &choices),
            percent(&secret, true, &choices),
            html(&secret, &choices),
            shell(&secret, &choices),
            json(&percent(&secret, true, &choices), &outer),
            percent(&once, false, &outer),
            json(&html(&secret, &choices), &outer),
        ] {
            let redactor = redactor(&secret);
            let text = format!("body ({written}) end");
            let found = redactor.redact(text.as_bytes()).findings;
            prop_assert!(found.iter().any(|one| one.kind == "mine" && one.redacted), "{}", text);
            let out = redactor.redact(text.as_bytes()).bytes.unwrap();
            let out = String::from_utf8(out).unwrap();
            prop_assert!(out.starts_with("body ([secret:") && out.ends_with(") end"), "{}: {}", text, out);
        }
    }
}

/// As the usual writers of JSON and of forms write it within a line of a log.
#[test]
fn what_usual_serialisers_write_is_found() {
    for written in [
        // Python; Go; JavaScript; Java (Gson); .NET.
        r#"abcXYZ12&34\u00e99<9>'q r\"s!\ud83d\ude00+\\t"#,
        r#"abcXYZ12\u002634é9\u003c9\u003e'q r\"s!😀+\\t"#,
        r#"abcXYZ12&34é9<9>'q r\"s!😀+\\t"#,
        r#"abcXYZ12\u002634é9\u003c9\u003e\u0027q r\"s!😀+\\t"#,
        r"abcXYZ12\u002634\u00E99\u003C9\u003E\u0027q r\u0022s!\uD83D\uDE00\u002B\\t",
        // JSON in JSON: Python, and Python within Go.
        r#"abcXYZ12&34\\u00e99<9>'q r\\\"s!\\ud83d\\ude00+\\\\t"#,
        r#"abcXYZ12\u002634\\u00e99\u003c9\u003e'q r\\\"s!\\ud83d\\ude00+\\\\t"#,
        // Forms: Python, JavaScript's URLSearchParams, and encodeURIComponent with the blank.
        "abcXYZ12%2634%C3%A99%3C9%3E%27q+r%22s%21%F0%9F%98%80%2B%5Ct",
        "abcXYZ12%2634%C3%A99%3C9%3E'q%20r%22s!%F0%9F%98%80%2B%5Ct",
        "abcXYZ12&amp;34é9&lt;9&gt;&#39;q r&#34;s!😀+\\t",
        "abcXYZ12&#38;34&#233;9&#60;9&#62;&#x27;q r&quot;s!😀+\\t",
    ] {
        is_found(SECRET, written, "body {\"k\":\"", "\"} \n");
    }
    is_found("Zq7!kRt9vLmxy é", "Zq7%21kRt9vLmxy+%C3%A9", "body ", "&next=1\n");
    is_found("Zq7!kRt9vLmxy é", "Zq7!kRt9vLmxy+%C3%A9", "body ", "&next=1\n");
    is_found("abcXYZ12é", r"abcXYZ12\\u00e9", r#"x="\""#, "\\\"\"\n");
}

/// What is escaped otherwise, or is another text, stays.
#[test]
fn what_only_looks_alike_stays() {
    let redactor = redactor(SECRET);
    for text in [
        r"body abcXYZ12\u002534\u00e99",
        r"body abcXYZ12&34\u00e89<9>'q r\u0022s!\ud83d\ude00+\\t",
        "body abcXYZ12%2734",
        r"C:\new\table\u0026 100% of it &amp; more + more",
    ] {
        assert_eq!(redactor.redact(text.as_bytes()).bytes, None, "{text}");
    }
}
