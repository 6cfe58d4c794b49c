//! Passwords that commands are given in options of their own: `redis-cli -a …`, `docker login -p …`, `echo … | sudo -S`.

use super::judge::{Written, is_secret};
use super::name::Strength;
use crate::alphabet::{Alphabet, before, begins_word, byte, follows, slice};
use crate::placeholder;
use std::ops::Range;

/// A client, in small letters, and the option with its password; a blank at its end parts them.
const CLIENTS: &[(&str, &str)] = &[
    ("redis-cli", " -a "),
    ("ldapsearch", " -w "),
    ("ldapmodify", " -w "),
    ("ldapadd", " -w "),
    ("docker login", " -p "),
    ("podman login", " -p "),
    ("helm registry login", " -p "),
    ("unzip ", " -P "),
    ("7z ", " -p"),
    ("mongosh", " -p "),
    ("mongodump", " -p "),
    ("mongorestore", " -p "),
    ("az login", " -p "),
    ("mosquitto_pub", " -P "),
    ("mosquitto_sub", " -P "),
    ("sqlcmd", " -P "),
    ("ipmitool", " -P "),
    ("cqlsh", " -p "),
    ("openssl ", " pass:"),
];

/// The names that [`option`] is asked about.
pub(crate) fn clients() -> impl Iterator<Item = &'static str> {
    CLIENTS.iter().map(|(client, _)| *client)
}

/// How much of a command is looked at.
const LONGEST: usize = 300;

/// The rest of a command, from a place on.
fn rest(text: &[u8], at: usize) -> &[u8] {
    let line = slice(text, at, at + LONGEST);
    slice(line, 0, line.iter().position(|byte| matches!(byte, b'\n' | b'|' | b';')).unwrap_or(line.len()))
}

/// The word at a place, within its quotes if it has any, when it is a password.
fn word(text: &[u8], at: usize) -> Option<Range<usize>> {
    let quote = byte(text, at);
    let quoted = matches!(quote, b'"' | b'\'');
    let start = at + usize::from(quoted);
    let stop = |byte: &u8| {
        if quoted {
            *byte == quote || *byte == b'\n'
        } else {
            byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\' | b'|')
        }
    };
    let value = slice(text, start, start + LONGEST);
    let end = start + value.iter().position(stop).unwrap_or(value.len());
    let is_new = placeholder::end_at(text, start).is_none();
    let written = if quoted { Written::Quoted } else { Written::Tight };
    (is_new && !value.starts_with(b"-") && is_secret(slice(text, start, end), Strength::Password, written))
        .then_some(start..end)
}

/// The password in the option of the client that stands at a place.
pub(crate) fn option(text: &[u8], client: &Range<usize>) -> Option<Range<usize>> {
    if !begins_word(text, client.start) {
        return None;
    }
    let name = slice(text, client.start, client.end).to_ascii_lowercase();
    let (_, option) = CLIENTS.iter().find(|(client, _)| client.as_bytes() == name)?;
    // The blank that ends a name may be the one that begins its option.
    let from = client.end - usize::from(name.ends_with(b" "));
    let found = memchr::memmem::find(rest(text, from), option.as_bytes())?;
    word(text, from + found + option.len())
}

/// The password in `IDENTIFIED BY '…'` of SQL, whose words stand at a place.
pub(crate) fn identified(text: &[u8], words: &Range<usize>) -> Option<Range<usize>> {
    let at = words.end + Alphabet::of(b" \t").run(text, words.end, 4);
    let quoted = at > words.end && matches!(byte(text, at), b'"' | b'\'');
    if quoted { word(text, at) } else { None }
}

/// The line before a place, without what is before the command in it.
fn line_before(text: &[u8], at: usize) -> Range<usize> {
    let from = at.saturating_sub(LONGEST);
    let line = slice(text, from, at);
    from + memchr::memrchr2(b'\n', b';', line).map_or(0, |end| end + 1)..at
}

/// The password that is piped into the `sudo -S` at a place.
pub(crate) fn piped(text: &[u8], sudo: &Range<usize>) -> Option<Range<usize>> {
    if byte(text, sudo.end - 1) != b'S' {
        return None;
    }
    let line = line_before(text, sudo.start);
    let command = slice(text, line.start, line.end);
    let said = memchr::memmem::rfind(command, b"echo ")?;
    let pipes = memchr::memchr_iter(b'|', slice(command, said, command.len())).count();
    let mut at = line.start + said + 5;
    at += if follows(text, at, b"-n ") { 3 } else { 0 };
    if pipes == 1 { word(text, at) } else { None }
}

/// The password of `user:password` beside the `chpasswd` at a place.
pub(crate) fn changed(text: &[u8], command: &Range<usize>) -> Option<Range<usize>> {
    let user = Alphabet::of(b"a-zA-Z0-9._-");
    let line = line_before(text, command.start).start..command.end + rest(text, command.end).len();
    memchr::memchr_iter(b':', slice(text, line.start, line.end)).find_map(|colon| {
        let colon = line.start + colon;
        let start = user.run_back(text, colon, 32);
        let quote = before(text, start);
        if start == colon || !matches!(quote, b'"' | b'\'' | b' ') {
            return None;
        }
        let value = slice(text, colon + 1, line.end);
        let stop = |byte: &u8| *byte == quote || byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'|');
        let end = colon + 1 + value.iter().position(stop).unwrap_or(value.len());
        let is_new = placeholder::end_at(text, colon + 1).is_none();
        (is_new && is_secret(slice(text, colon + 1, end), Strength::Password, Written::Tight)).then_some(colon + 1..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Find = fn(&[u8], &Range<usize>) -> Option<Range<usize>>;

    fn assert_found(find: Find, text: &str, mark: &str, expected: &str) {
        let at = text.to_ascii_lowercase().find(mark).unwrap();
        let found = find(text.as_bytes(), &(at..at + mark.len())).map(|range| &text[range]);
        assert_eq!(found.unwrap_or_default(), expected, "{text}");
    }

    #[test]
    fn options_of_clients_are_read() {
        for (text, client, expected) in [
            ("redis-cli -h cache -a kR9wPq!2LmX ping", "redis-cli", "kR9wPq!2LmX"),
            ("redis-cli -a 'kR9wPq 2LmX!' ping", "redis-cli", ""),
            ("docker login -u ada -p kR9wPq!2LmX ghcr.io", "docker login", "kR9wPq!2LmX"),
            ("echo $T | docker login -u ada --password-stdin", "docker login", ""),
            ("docker login -u ada -p $TOKEN", "docker login", ""),
            ("docker login -u ada\ndocker run -p 8080:80 x", "docker login", ""),
            ("unzip -P kR9wPq!2LmX a.zip", "unzip ", "kR9wPq!2LmX"),
            ("7z x -pkR9wPq!2LmX a.7z", "7z ", "kR9wPq!2LmX"),
            ("openssl rsa -in k -passin pass:kR9wPq!2LmX", "openssl ", "kR9wPq!2LmX"),
            ("openssl rsa -in k -passin pass:$PASS", "openssl ", ""),
            ("ldapsearch -x -w kR9wPq!2LmX -b dc=x", "ldapsearch", "kR9wPq!2LmX"),
        ] {
            assert_found(option, text, client, expected);
        }
    }

    #[test]
    fn what_is_piped_and_said_in_sql_is_read() {
        for (text, expected) in [
            ("ALTER USER ada IDENTIFIED BY 'kR9wPq!2LmX';", "kR9wPq!2LmX"),
            ("IDENTIFIED BY \"kR9wPq!2LmX\"", "kR9wPq!2LmX"),
            ("IDENTIFIED BY '${PASSWORD}'", ""),
            ("rows are identified by their id1", ""),
        ] {
            assert_found(identified, text, "identified by", expected);
        }
        for (text, expected) in [
            ("echo \"kR9wPq!2LmX\" | sudo -S ls", "kR9wPq!2LmX"),
            ("make && echo kR9wPq!2LmX | sudo -S ls", "kR9wPq!2LmX"),
            ("echo $PASS | sudo -S ls", ""),
            ("echo done2now; sudo -S ls", ""),
            ("echo kR9wPq!2LmX | sudo -s", ""),
        ] {
            assert_found(piped, text, "sudo -s", expected);
        }
        for (text, expected) in [
            ("echo 'ada:kR9wPq!2LmX' | chpasswd", "kR9wPq!2LmX"),
            ("chpasswd <<< \"ada:kR9wPq!2LmX\"", "kR9wPq!2LmX"),
            ("echo \"ada:$PASS\" | chpasswd", ""),
            ("chpasswd: no such user", ""),
        ] {
            assert_found(changed, text, "chpasswd", expected);
        }
    }
}
