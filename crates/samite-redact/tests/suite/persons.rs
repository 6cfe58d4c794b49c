//! Made-up personal data of each kind in sentences, and numbers that are none.

use crate::lot::{DIGITS, Lot, UPPER};
use crate::score::{Snippet, assert_floors, redactor, score};
use samite_redact::Mode;

fn luhn(mut digits: String) -> String {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let doubled = u32::from(digit - b'0') << ((at + 1) % 2);
            if doubled > 9 { doubled - 9 } else { doubled }
        })
        .sum();
    digits.push(char::from(b'0' + u8::try_from((10 - sum % 10) % 10).unwrap()));
    digits
}

fn iban(country: &str, account: &str) -> String {
    let turned = format!("{account}{country}00");
    let rest = turned.chars().fold(0_u32, |rest, character| {
        let value = character.to_digit(36).unwrap();
        if value > 9 { (rest * 100 + value) % 97 } else { (rest * 10 + value) % 97 }
    });
    format!("{country}{:02}{account}", 98 - rest)
}

fn groups(text: &str, length: usize, sign: &str) -> String {
    text.as_bytes().chunks(length).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect::<Vec<_>>().join(sign)
}

/// A kind, sentences for it, and one of it.
type Kind = (&'static str, &'static [&'static str], fn(&mut Lot) -> String);

const KINDS: &[Kind] = &[
    ("email", &["Write to {} today", "from: {}, subject", "{\"user\":\"{}\"}", "<{}>"], |lot| {
        format!(
            "{}.{}@{}.{}",
            lot.of("abcdefghij", 5),
            lot.of("klmnopqrst", 7),
            lot.of("uvwxyzabc", 6),
            lot.pick(&["com", "de", "co.uk", "example"])
        )
    }),
    ("phone", &["Call me at {} please", "Phone: {}", "{\"mobile\":\"{}\"}", "tel. {} (office)"], |lot| {
        match lot.below(5) {
            0 => format!("+1 ({}) 555-{}", lot.of("23456789", 3), lot.of(DIGITS, 4)),
            1 => format!("+49 {} {}", lot.of("123456789", 3), lot.of(DIGITS, 7)),
            2 => format!("{}-{}-{}", lot.of("23456789", 3), lot.of("23456789", 3), lot.of(DIGITS, 4)),
            3 => format!("020 {} {}", lot.of("123456789", 4), lot.of(DIGITS, 4)),
            _ => format!(
                "0{} {} {} {} {}",
                lot.of("123456789", 1),
                lot.of(DIGITS, 2),
                lot.of(DIGITS, 2),
                lot.of(DIGITS, 2),
                lot.of(DIGITS, 2)
            ),
        }
    }),
    ("card", &["charge {} now", "card no. {}", "{\"pan\":\"{}\"}"], |lot| {
        let number = luhn(format!("4{}", lot.of(DIGITS, 14)));
        if lot.below(2) == 0 { number } else { groups(&number, 4, " ") }
    }),
    ("iban", &["pay to {} until", "IBAN: {}", "{\"account\":\"{}\"}"], |lot| {
        let number = if lot.below(2) == 0 {
            iban("DE", &lot.of(DIGITS, 18))
        } else {
            iban("GB", &format!("{}{}", lot.of("ABCDEFGH", 4), lot.of(DIGITS, 14)))
        };
        if lot.below(2) == 0 { number } else { groups(&number, 4, " ") }
    }),
    ("ip", &["login from {} failed", "client {} connected", "{\"remote_ip\":\"{}\"}"], |lot| {
        format!("{}.{}.{}.{}", 40 + lot.below(80), lot.below(256), lot.below(256), 1 + lot.below(254))
    }),
    ("us-ssn", &["SSN {} on file", "her number is {}.", "{\"ssn\":\"{}\"}"], |lot| {
        format!("{}-{}-{}", 100 + lot.below(500), 10 + lot.below(89), 1000 + lot.below(8999))
    }),
    ("se-personnummer", &["personnummer {}", "id {} was seen"], |lot| {
        let nine =
            format!("{:02}{:02}{:02}{}", lot.below(100), 1 + lot.below(12), 1 + lot.below(28), lot.of(DIGITS, 3));
        let all = luhn(nine);
        format!("{}-{}", &all[..6], &all[6..])
    }),
    ("es-dni", &["DNI {}", "con {} y"], |lot| {
        let number = 10_000_000 + lot.below(89_999_999);
        format!("{number}{}", char::from(b"TRWAGMYFPDXBNJZSQVHLCKE"[number % 23]))
    }),
    ("pl-pesel", &["PESEL: {}", "nr {} jest"], |lot| {
        let ten = format!("{:02}{:02}{:02}{}", lot.below(100), 1 + lot.below(12), 1 + lot.below(28), lot.of(DIGITS, 4));
        let sum: u32 = ten
            .bytes()
            .zip([1, 3, 7, 9, 1, 3, 7, 9, 1, 3])
            .map(|(digit, weight)| u32::from(digit - b'0') * weight)
            .sum();
        format!("{ten}{}", (10 - sum % 10) % 10)
    }),
    ("br-cpf", &["CPF {}", "documento {} ok"], |lot| {
        let mut digits: Vec<u32> = (0..9).map(|_| u32::try_from(lot.below(10)).unwrap()).collect();
        for length in 9..11_u32 {
            let sum: u32 = digits.iter().zip((2..=length + 1).rev()).map(|(digit, weight)| digit * weight).sum();
            digits.push(sum * 10 % 11 % 10);
        }
        let text: String = digits.iter().map(|digit| char::from_digit(*digit, 10).unwrap()).collect();
        format!("{}.{}.{}-{}", &text[..3], &text[3..6], &text[6..9], &text[9..])
    }),
    ("uk-nino", &["NI number {}", "{} (payroll)"], |lot| {
        format!("{}{}{}", lot.pick(&["AB", "CE", "JK", "SL"]), lot.of(DIGITS, 6), lot.of("ABCD", 1))
    }),
];

/// A kind of text, and one of it.
type Other = (&'static str, fn(&mut Lot) -> String);

const NONE: &[Other] = &[
    ("time", |lot| {
        format!(
            "2026-0{}-1{}T0{}:12:45.123Z took {} ms",
            1 + lot.below(9),
            lot.below(10),
            lot.below(10),
            lot.of(DIGITS, 4)
        )
    }),
    ("epoch", |lot| format!("\"ts\": \"17{}\", \"ns\": \"17{}\"", lot.of(DIGITS, 11), lot.of(DIGITS, 17))),
    ("version", |lot| {
        format!("version {}.{}.{}.{} of the driver", lot.below(20), lot.below(20), lot.below(20), lot.below(20))
    }),
    ("order", |lot| format!("order 10{} has {} items for {}.99", lot.of(DIGITS, 7), lot.below(100), lot.below(1000))),
    ("lines", |lot| {
        format!(
            "src/main.rs:{}:{} warning, lines {}-{}",
            lot.below(999),
            lot.below(80),
            lot.below(500),
            500 + lot.below(400)
        )
    }),
    ("uuid", |lot| lot.uuid()),
    ("hash", |lot| format!("sha256:{}", lot.of("0123456789abcdef", 64))),
    ("sizes", |lot| {
        format!(
            "{} bytes, {}x{} px, 0x{}",
            lot.of("123456789", 9),
            lot.below(4000),
            lot.below(4000),
            lot.of("0123456789abcdef", 8)
        )
    }),
    ("packages", |lot| {
        format!("react@18.{}.{} @types/node@20.{}.0 icon@2x.png", lot.below(9), lot.below(9), lot.below(20))
    }),
    ("decimal", |lot| {
        format!("loss=0.{} lr=1e-{} {}.{}%", lot.of(DIGITS, 9), lot.below(9), lot.below(100), lot.of(DIGITS, 4))
    }),
    ("git", |_| "git clone git@github.com:owner/repo.git && ssh deploy@build:22".to_owned()),
    ("code", |_| "std::net::Ipv4Addr, a::b::c, @app.route('/x'), 12:30:45, 00:1a:2b:3c:4d:5e".to_owned()),
    ("local", |_| "listening on 127.0.0.1:8080, 0.0.0.0:3000 and [::1]:9000, mask 255.255.255.0".to_owned()),
    ("code-number", |lot| {
        format!("ERR-{}{} at 0x{}", lot.of(UPPER, 3), lot.of(DIGITS, 5), lot.of("0123456789abcdef", 12))
    }),
];

#[test]
fn personal_data_of_each_kind_is_found() {
    let redactor = redactor(Mode::Report, Mode::Off);
    let mut lot = Lot::new(11);
    let mut all = Vec::new();
    for (kind, sentences, make) in KINDS {
        for _ in 0..40 {
            for sentence in *sentences {
                let datum = make(&mut lot);
                all.push(Snippet {
                    kind: (*kind).to_owned(),
                    text: sentence.replace("{}", &datum),
                    secret: Some(datum),
                    written: None,
                });
            }
        }
    }
    for (kind, make) in NONE {
        for _ in 0..60 {
            all.push(Snippet { kind: (*kind).to_owned(), text: make(&mut lot), secret: None, written: None });
        }
    }
    assert_floors(&score(&redactor, &all), 0.97, 0.97);
}
