//! Passwords in the addresses of services: `postgres://user:password@host/database`.

use super::harmless::{is_placeholder, is_reference};
use crate::alphabet::{ALNUM, Alphabet, before, byte, past_escape, slice};
use crate::shape::Shape;
use std::ops::Range;

const SCHEME: Alphabet = Alphabet::of(b"a-zA-Z0-9+.-");

/// The secret in the address whose `://` begins at a place: of a service's address all of it, since all of it is what opens
/// the service; of a page's the password, or the token that stands for a user.
pub(crate) fn secret(text: &[u8], at: usize) -> Option<(Range<usize>, &'static str)> {
    let found = password(text, at)?;
    let start = past_escape(text, SCHEME.run_back(text, at, 24));
    let scheme = slice(text, start, at).to_ascii_lowercase();
    let page = [&b"http"[..], b"https", b"ws", b"wss", b"ftp", b"sftp", b"ssh", b"git"]
        .iter()
        .any(|page| scheme.ends_with(page));
    if page {
        return Some((found, "credential"));
    }
    let address = Alphabet::of(b"a-zA-Z0-9%._~!$&*+,;=:@/?#-");
    let end = found.end + address.run(text, found.end, 1024);
    let trimmed = slice(text, found.end, end)
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':' | b'!' | b'?'))
        .count();
    Some((start..end - trimmed, "connection-url"))
}

/// The password in the address whose `://` begins at a place.
fn password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = past_escape(text, SCHEME.run_back(text, at, 24));
    if start == at {
        return None;
    }
    let host = at + 3;
    let mut colon = None;
    let mut last_at = None;
    let mut end = host;
    while let Some(&next) = text.get(end) {
        match next {
            b':' if colon.is_none() => colon = Some(end),
            b'@' => last_at = Some(end),
            b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|' => break,
            // A slash ends the authority, unless a password holds one and the `@` is still to come.
            b'/' | b'?' | b'#' if last_at.is_some() || colon.is_none() => break,
            _ if end - host > 512 => break,
            _ => {}
        }
        end += 1;
    }
    let sign = last_at?;
    // What follows must be a host.
    if !ALNUM.has(byte(text, sign + 1)) && !matches!(byte(text, sign + 1), b'[' | b'$' | b'{' | b'%') {
        return None;
    }
    let Some(colon) = colon.filter(|colon| *colon < sign) else {
        // A token alone: `https://TOKEN@host`.
        let user = host..sign;
        return Shape::of(slice(text, user.start, user.end)).is_random().then_some(user);
    };
    let password = colon + 1..sign;
    // A port and a path with an `@` in it: `http://host:8080/@scope`.
    let value = slice(text, password.start, password.end);
    let ported = value.iter().position(|byte| !byte.is_ascii_digit());
    if ported.is_some_and(|at| at > 0 && byte(value, at) == b'/') {
        return None;
    }
    if value.contains(&b'/') && !Shape::of(value).is_random() {
        return None;
    }
    is_real(value).then_some(password)
}

fn is_real(value: &[u8]) -> bool {
    let common: &[&[u8]] = &[
        b"password",
        b"passwd",
        b"pass",
        b"pwd",
        b"secret",
        b"postgres",
        b"user",
        b"root",
        b"admin",
        b"guest",
        b"mysql",
        b"token",
        b"pw",
        b"p",
        b"test",
        b"example",
        b"x-oauth-basic",
    ];
    value.len() >= 3
        && !common.iter().any(|word| value.eq_ignore_ascii_case(word))
        && !is_placeholder(value)
        && !is_reference(value)
        && !value.starts_with(b"$")
        && !value.starts_with(b"%s")
        && !(value.starts_with(b"{") || value.ends_with(b"}"))
}

/// The password that a client is given in its `-p` option, with or, for `sshpass`, also without a blank: the client's name ends
/// before a place.
pub(crate) fn client_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let line = slice(text, at, at + 200);
    let line = slice(line, 0, line.iter().position(|byte| matches!(byte, b'\n' | b'|' | b';')).unwrap_or(line.len()));
    let option = memchr::memmem::find(line, b" -p")?;
    let mut start = at + option + 3;
    if slice(text, at - 4, at) == b"pass" {
        start += usize::from(byte(text, start) == b' ');
    }
    let quote = byte(text, start);
    let quoted = matches!(quote, b'"' | b'\'');
    start += usize::from(quoted);
    let stop = |byte: &u8| {
        if quoted { *byte == quote } else { byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\') }
    };
    let rest = slice(text, start, at + line.len());
    let end = start + rest.iter().position(stop).unwrap_or(rest.len());
    let password = slice(text, start, end);
    (password.len() >= 5 && !password.starts_with(b"assword") && !password.starts_with(b"-") && is_real(password))
        .then_some(start..end)
}

/// The password in the argument after an option, where the arguments stand one by one: `"-u", "user:password"`.
pub(crate) fn option_value(option: &[u8], argument: &[u8]) -> Option<Range<usize>> {
    if !matches!(option, b"-u" | b"-U" | b"--user" | b"--proxy-user") {
        return None;
    }
    let line = [b" ", argument].concat();
    user_option(&line, 0).map(|value| value.start - 1..value.end - 1)
}

/// The user and password beside `-u` or `--user` of a command, when the option ends before a place.
pub(crate) fn user_option(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !matches!(byte(text, at), b' ' | b'=') {
        return None;
    }
    let mut start = at + 1;
    let quote = byte(text, start);
    let quoted = matches!(quote, b'"' | b'\'');
    start += usize::from(quoted);
    let stop = |byte: &u8| {
        if quoted {
            *byte == quote || *byte == b'\n'
        } else {
            byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\')
        }
    };
    let end = start
        + slice(text, start, start + 300)
            .iter()
            .position(stop)
            .unwrap_or_else(|| slice(text, start, start + 300).len());
    let colon = start + memchr::memchr(b':', slice(text, start, end))?;
    let value = colon + 1..end;
    let user = slice(text, start, colon);
    let named = user.first().is_none_or(u8::is_ascii_alphanumeric) && Alphabet::of(b"a-zA-Z0-9._@+-").covers(user);
    if !named || before(text, colon) == b':' || byte(text, value.start) == b'/' {
        return None;
    }
    let password = slice(text, value.start, value.end);
    // `docker run -u 1000:1000` is no password.
    (password.len() >= 5
        && !password.iter().all(u8::is_ascii_digit)
        && !Shape::of(password).is_wordy()
        && is_real(password))
    .then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_found() {
        for (text, expected) in [
            ("postgres://svc:kR9wPq2LmXv7@db.internal:5432/app", "kR9wPq2LmXv7"),
            ("redis://:kR9wPq2LmXv7@cache:6379", "kR9wPq2LmXv7"),
            ("mongodb+srv://u:p%40ss9word@c.example/x", "p%40ss9word"),
            ("amqp://u:a@b9c!d@host", "a@b9c!d"),
            ("https://kR9wPq2LmXv7TzBn4YcD@git.example/x", "kR9wPq2LmXv7TzBn4YcD"),
            ("https://host:8080/@scope/name", ""),
            ("https://user@host/x", ""),
            ("postgres://user:password@host/db", ""),
            ("postgres://user:${PASSWORD}@host/db", ""),
            ("postgres://user:<password>@host/db", ""),
            ("postgres://user:****@host/db", ""),
            ("https://example.com/a:b@c", ""),
            ("https://registry.npmjs.org/@types/node", ""),
        ] {
            let at = text.find("://").unwrap();
            let found = password(text.as_bytes(), at).map(|range| &text[range]);
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn clients_have_passwords() {
        for (text, expected) in [
            ("mysql -u root -pkR9wPq2Lm shop", "kR9wPq2Lm"),
            ("mysqldump -h db -u root -p'kR9 wPq2Lm' shop", "kR9 wPq2Lm"),
            ("sshpass -p kR9wPq2Lm ssh host", "kR9wPq2Lm"),
            ("mysql -u root -p shop", ""),
            ("mysql -u root -p\"$PASSWORD\" shop", ""),
            ("mysql is fast; mkdir -pkR9wPq2Lm", ""),
            ("apt install mysql-server", ""),
        ] {
            let at = text.find("mysql").map_or(7, |at| at + 5);
            let found = client_password(text.as_bytes(), at).map(|range| &text[range]);
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }

    #[test]
    fn arguments_one_by_one_are_read() {
        assert_eq!(option_value(b"-u", b"svc:kR9wPq2Lm"), Some(4..13));
        assert_eq!(option_value(b"-u", b"1000:1000"), None);
        assert_eq!(option_value(b"-x", b"svc:kR9wPq2Lm"), None);
    }

    #[test]
    fn users_of_commands_have_passwords() {
        for (text, expected) in [
            ("curl -u svc:kR9wPq2Lm https://x", "kR9wPq2Lm"),
            ("curl -u 'svc:kR9 wPq2Lm' https://x", "kR9 wPq2Lm"),
            ("docker run -u 1000:1000 x", ""),
            ("chown -u root:wheel x", ""),
            ("curl -u $USER:$PASS x", ""),
            ("date -u +%Y-%m-%dT%H:%M:%S.%6NZ", ""),
        ] {
            let at = text.find("-u").unwrap() + 2;
            let found = user_option(text.as_bytes(), at).map(|range| &text[range]);
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }
}
