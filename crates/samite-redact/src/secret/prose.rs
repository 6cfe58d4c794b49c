//! Passwords that people tell each other in sentences, in some languages: `the password for root is …`, `das Passwort lautet …`.

use super::assign::{quoted, unquoted_end};
use super::judge::{Written, is_secret};
use super::name::Strength;
use crate::alphabet::{ALNUM, Alphabet, BLANK, before, byte, follows, follows_any_case, is_escaped, slice};
use crate::placeholder;
use std::ops::Range;

/// What a password is called, and what joins it and its value; a colon does as well, and after what is no ASCII an equals sign.
/// Capitals that are no ASCII stand here as well.
const LANGUAGES: &[(&[&str], &[&str])] = &[
    // Italians call it what the English do.
    (&["password", "passphrase", "passcode"], &["is", "was", "remains", "equals", "è", "e'", "era", "ist", "lautet"]),
    (&["passwort", "kennwort"], &["lautet", "ist", "war", "heißt", "="]),
    (&["mot de passe"], &["est", "était", "sera", "="]),
    (&["contraseña", "contrasena", "contrasenya"], &["es", "era", "será", "="]),
    (&["senha", "palavra-passe"], &["é", "era", "será", "="]),
    (&["wachtwoord"], &["is", "luidt", "was", "="]),
    (&["hasło", "haslo"], &["to", "brzmi", "jest", "="]),
    (&["lösenord"], &["är", "var", "="]),
    (&["adgangskode", "passord", "kodeord"], &["er", "var", "="]),
    (&["salasana"], &["on", "="]),
    (&["heslo"], &["je", "zní", "="]),
    (&["parola"], &["este", "è", "="]),
    (&["şifre", "Şifre"], &["="]),
    (&["пароль", "Пароль"], &["это", "це", "—", "–", "-", "="]),
    (&["密码", "密碼", "パスワード", "비밀번호"], &["="]),
];

/// What else opens something; only what looks drawn by lot is one.
const KEYS: &[&str] = &["api key", "api token", "access token", "access key", "secret key", "token", "secret"];

/// What the words are called that a wallet is made again from.
pub(crate) const PHRASES: &[&str] = &["mnemonic", "seed phrase", "recovery phrase", "secret phrase", "seed words"];

/// What a password, or another thing that opens something, is called in any of them.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().flat_map(|(words, _)| words.iter().copied()).chain(KEYS.iter().copied())
}

/// The same where words have no blanks between them.
const TIGHT: &[&str] = &["是", "为", "為", "は", "는", "은", "：", "："];
/// What may stand between a joint and the value.
const FILLERS: &[&str] =
    &["set to ", "now ", "still ", "currently ", "jetzt ", "nun ", "maintenant ", "ahora ", "agora ", "ora "];
/// Quotes as printers have them.
const OPENING: &[&str] = &["„", "“", "”", "«", "»", "‹", "›", "‘", "’", "‚", "「", "『", "《"];
const CLOSING: &[&str] = &["“", "”", "«", "»", "‹", "›", "‘", "’", "」", "』", "》"];

/// How many words, and bytes, may say whose password it is.
const SAYING: usize = 6;
const LONGEST: usize = 80;
/// What a value begins with that says how passwords are kept.
const KEPT: &[&str] = &[
    "base64", "sha1", "sha2", "sha5", "md5", "bcrypt", "argon2", "scrypt", "pbkdf2", "aes1", "aes2", "utf8", "utf-8",
    "2fa", "oauth2",
];

/// Whether a name is a password's in a language that has more than ASCII; `name` knows the others.
pub(crate) fn is_word(name: &[u8]) -> bool {
    !name.is_ascii() && name.len() <= 24 && words().any(|word| !word.is_ascii() && word.as_bytes() == name)
}

/// The password that a sentence tells, whose word for it stands at a place.
pub(crate) fn secret(text: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let called = slice(text, word.start, word.end);
    let is_called = |words: &[&str]| words.iter().any(|word| called.eq_ignore_ascii_case(word.as_bytes()));
    let (joints, strength) = if is_called(KEYS) {
        (&["is", "was"][..], Strength::Medium)
    } else {
        let (_, joints) = LANGUAGES.iter().find(|(words, _)| is_called(words))?;
        (*joints, Strength::Password)
    };
    let last = before(text, word.start);
    // `root-Passwort` is a word, `--password` an option.
    let jointed = last == b'-' && ALNUM.has(before(text, word.start - 1));
    let within = ALNUM.has(last) || matches!(last, b'_' | b'-' | b'.' | b'$' | b'/' | b'@') && !jointed;
    if within && !(is_escaped(text, word.start - 1) && matches!(last, b'n' | b't' | b'r')) {
        return None;
    }
    // Endings of words, and marks around it.
    let ending = Alphabet::of(b"a-z").run(text, word.end, 3);
    let start = word.end + ending;
    let start = start + Alphabet::of(b"\"'`*").run(text, start, 3);
    let joint = tight(text, word.end).or_else(|| joint(text, word, start, joints))?;
    let at = joint + BLANK.run(text, joint, 8);
    let at = at + usize::from(byte(text, at) == b':' && BLANK.has(byte(text, at + 1)));
    let at = at + BLANK.run(text, at, 8);
    let filler = FILLERS.iter().find(|filler| follows(text, at, filler.as_bytes())).map_or(0, |filler| filler.len());
    let at = at + filler;
    let at = at + Alphabet::of(b"*").run(text, at, 2);
    let (range, written) = value(text, at)?;
    let value = slice(text, range.start, range.end);
    let kept = KEPT.iter().any(|kept| follows_any_case(value, 0, kept.as_bytes()));
    let is_new = placeholder::end_at(text, range.start).is_none();
    (is_new && !kept && value.len() >= 6 && is_secret(value, strength, written)).then_some(range)
}

/// The words that a wallet is made again from, beside what they are called at a place.
pub(crate) fn phrase(text: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let joint = Alphabet::of(b" \t\"'`*:=").run(text, word.end, 6);
    let at = word.end + joint;
    let at = if follows(text, at, b"is") { at + 2 + Alphabet::of(b" \t:\"'`").run(text, at + 2, 4) } else { at };
    let mut end = at;
    let mut count = 0;
    loop {
        let letters = Alphabet::of(b"a-z").run(text, end, 9);
        if !(3..=8).contains(&letters) {
            return None;
        }
        end += letters;
        count += 1;
        if byte(text, end) != b' ' || count == 24 {
            break;
        }
        end += 1;
    }
    let ends = matches!(byte(text, end), 0 | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'.' | b'\\' | b'<');
    (joint > 0 && ends && matches!(count, 12 | 15 | 18 | 21 | 24)).then_some(at..end)
}

/// Where a joint ends that needs no blanks.
fn tight(text: &[u8], at: usize) -> Option<usize> {
    let at = at + BLANK.run(text, at, 2);
    TIGHT.iter().find(|joint| follows(text, at, joint.as_bytes())).map(|joint| at + joint.len())
}

/// Where the joint ends that follows a word, and what says whose it is.
fn joint(text: &[u8], word: &Range<usize>, from: usize, joints: &[&str]) -> Option<usize> {
    let mut at = from;
    let unnamed = !slice(text, word.start, word.end).is_ascii() || slice(text, word.start, word.end).contains(&b' ');
    for _ in 0..=SAYING {
        let blank = BLANK.run(text, at, 3);
        if byte(text, at + blank) == b':' {
            // `password:` alone is a setting, and looked at as one.
            return (at + blank > from || unnamed).then_some(at + blank + 1);
        }
        if blank == 0 || at - from > LONGEST {
            return None;
        }
        at += blank;
        let end = at + slice(text, at, at + 40).iter().take_while(|byte| is_word_byte(**byte)).count();
        let word = slice(text, at, end);
        if joints.iter().any(|joint| joint.as_bytes() == word) {
            return Some(end);
        }
        if word.is_empty() {
            return None;
        }
        at = end;
    }
    None
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'\'' | b'=' | b'/')
}

/// The value at a place: in quotes of any kind, or up to a blank.
fn value(text: &[u8], at: usize) -> Option<(Range<usize>, Written)> {
    if let Some(range) = quoted(text, at) {
        return Some((range, Written::Quoted));
    }
    if let Some(open) = OPENING.iter().find(|open| follows(text, at, open.as_bytes())) {
        let start = at + open.len();
        // « as in French, with a blank within ».
        let start = start + usize::from(follows(text, start, "\u{a0}".as_bytes())) * 2;
        let start = start + BLANK.run(text, start, 1);
        let rest = slice(text, start, start + 200);
        let line = slice(rest, 0, memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
        let end = (0..line.len()).find(|end| CLOSING.iter().any(|close| follows(line, *end, close.as_bytes())))?;
        let inside = slice(line, 0, end);
        let inside = inside.strip_suffix("\u{a0}".as_bytes()).unwrap_or(inside).trim_ascii_end();
        return Some((start..start + inside.len(), Written::Quoted));
    }
    let end = unquoted_end(text, at, false);
    // A word of another script, or the mark that ends a sentence in it, is none of it.
    let ascii = slice(text, at, end).iter().take_while(|byte| byte.is_ascii()).count();
    let value = slice(text, at, at + ascii);
    let sign = value.iter().rev().take_while(|byte| matches!(byte, b'.' | b',' | b';' | b')')).count();
    (ascii > sign).then_some((at..at + ascii - sign, Written::Spaced))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Option<&str> {
        words()
            .find_map(|word| {
                let lower = text.to_ascii_lowercase();
                lower.match_indices(word).find_map(|(at, _)| secret(text.as_bytes(), &(at..at + word.len())))
            })
            .map(|range| &text[range])
    }

    #[test]
    fn passwords_in_sentences_are_found() {
        for text in [
            "The root password is X.",
            "the password for the admin user is X, please change it",
            "Password for user svc_app: X",
            "The Wi-Fi password was X before",
            "my password is set to X",
            "The passphrase of that key is now “X”",
            "das Passwort lautet X.",
            "Das root-Passwort ist jetzt X",
            "das Kennwort für den Benutzer app lautet: „X“",
            "le mot de passe est X",
            "Le mot de passe de root est « X ».",
            "Mot de passe : X",
            "la contraseña es X",
            "La contraseña de la base de datos es \"X\"",
            "contraseña: X",
            "la password di root è X",
            "A senha do banco é X",
            "a senha é 'X'",
            "a palavra-passe é X",
            "het wachtwoord is X",
            "het wachtwoord voor de database luidt X",
            "hasło to X",
            "Hasło do bazy jest X",
            "lösenordet är X",
            "passordet er X",
            "adgangskoden er X",
            "salasana on X",
            "heslo je X",
            "parola este X",
            "Şifre: X",
            "пароль: X",
            "Пароль от базы — X",
            "Пароль root это X",
            "密码是X。",
            "数据库密码：X，请修改",
            "密碼為 X",
            "パスワードはXです",
            "root のパスワードは「X」です",
            "비밀번호는 X 입니다",
        ] {
            let text = text.replace('X', "Zk49vWq7");
            assert_eq!(find(&text), Some("Zk49vWq7"), "{text}");
        }
        assert_eq!(find("the password for root is “Tr!cky horse”"), None);
        assert_eq!(find("the password for root is “Tr!cky-horse”"), Some("Tr!cky-horse"));
        assert!(is_word("contraseña".as_bytes()) && is_word("密码".as_bytes()) && !is_word("niña".as_bytes()));
    }

    #[test]
    fn keys_and_phrases_in_sentences_are_found() {
        for text in [
            "The API key for the staging server is X.",
            "my token for it was X, I think",
            "The access token of that user is `X`",
        ] {
            let text = text.replace('X', "kR9wPq2LmXv7TzBn4YcD8sHf");
            assert_eq!(find(&text), Some("kR9wPq2LmXv7TzBn4YcD8sHf"), "{text}");
        }
        for text in [
            "The token for this is invalid",
            "the secret of it is kept in vault-prod-2",
            "The API key is read from OPENAI_API_KEY",
            "the token is a string of 24characters",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        let words = "legal winner thank year wave sausage worth useful legal winner thank yellow";
        let find = |text: &str, mark: &str| {
            let at = text.to_ascii_lowercase().find(mark).unwrap();
            phrase(text.as_bytes(), &(at..at + mark.len())).map(|range| text[range].to_owned())
        };
        for (text, mark) in [
            (format!("My seed phrase is: {words}."), "seed phrase"),
            (format!("mnemonic: {words}\n"), "mnemonic"),
            (format!("MNEMONIC=\"{words}\""), "mnemonic"),
        ] {
            assert_eq!(find(&text, mark).as_deref(), Some(words), "{text}");
        }
        for (text, mark) in [
            (format!("mnemonic: {words} more\n"), "mnemonic"),
            ("a mnemonic is a pattern of letters that helps to remember something".to_owned(), "mnemonic"),
            (format!("mnemonics {words}"), "mnemonic"),
        ] {
            assert_eq!(find(&text, mark), None, "{text}");
        }
    }

    #[test]
    fn sentences_about_passwords_are_not() {
        for text in [
            "The password is required.",
            "the password is at least 8 characters long",
            "the password for user42 is stored in the vault",
            "password is hashed with bcrypt12",
            "the password is base64-encoded, then sha256-hashed",
            "Your password is “required”",
            "the password for root is [secret:credential:3f9a2c1b:8]",
            "Das Passwort ist falsch. Das Passwort lautet anders",
            "das Passwort ist in config/db2.yml",
            "le mot de passe est obligatoire",
            "Le mot de passe doit contenir 8 caractères",
            "la contraseña es incorrecta",
            "la contraseña es de 12 caracteres",
            "La password è errata",
            "a senha é obrigatória",
            "het wachtwoord is onjuist",
            "hasło to podstawa",
            "lösenordet är fel",
            "salasana on väärä",
            "пароль: обязательное поле",
            "Пароль от базы — в хранилище",
            "密码是必填项",
            "密码长度为8位",
            "パスワードは8文字以上です",
            "비밀번호는 필수입니다",
            "if password is None:",
            "assert password is not None, user1",
            "[sudo] password for alice:",
            "password_reset is user1token2",
            "the password on server42x",
            "the password for the user to log1nhere2",
            "la contraseña on server42x",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
