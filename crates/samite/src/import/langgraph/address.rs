//! A PostgreSQL server's address, and the secrets that it must not carry into the arguments of a process.

use samite_model::{Error, Result};

/// Whether a source of checkpoints is the address of a PostgreSQL server.
pub fn is_address(source: &str) -> bool {
    source.starts_with("postgresql://") || source.starts_with("postgres://")
}

/// Parameters that are secrets, and that `psql` takes in no variable.
const SECRETS: [&str; 2] = ["sslpassword", "oauth_client_secret"];

/// An address without its password, and the password: of several the one that `psql` would take.
///
/// # Errors
/// `invalid` (`bad_address`) when it holds another secret.
pub(super) fn without_password(address: &str) -> Result<(String, Option<String>)> {
    let Some((scheme, rest)) = address.split_once("://") else { return Ok((address.to_owned(), None)) };
    let mut found = None;
    // A password may hold a question mark, and then ends at the @ before the path.
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, mut path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (user, mut place) = match authority.find('@') {
        None => (None, authority),
        Some(first) => {
            let (head, tail) = authority.split_at_checked(first).unwrap_or((authority, ""));
            let query = tail.find('?').unwrap_or(tail.len());
            let last = tail.get(..query).and_then(|tail| tail.rfind('@')).unwrap_or_default() + head.len();
            (authority.get(..last), authority.get(last + 1..).unwrap_or_default())
        }
    };
    if let Some((at, query)) = place.find('?').and_then(|at| place.split_at_checked(at)) {
        // A server without a path: all of it is the query.
        path = rest.get(rest.len() - path.len() - query.len()..).unwrap_or_default();
        place = at;
    }
    let mut without = format!("{scheme}://");
    if let Some(user) = user {
        let (name, password) = user.split_once(':').map_or((user, None), |(name, word)| (name, Some(word)));
        found = password.map(percent_decoded);
        without += name;
        without += "@";
    }
    without += place;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    without += path;
    let mut sign = '?';
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let name = percent_decoded(name);
        if name == "password" {
            found = Some(percent_decoded(value));
            continue;
        }
        if SECRETS.contains(&name.as_str()) {
            return Err(Error::invalid("bad_address", format!("the address holds a secret, {name}")).hint(
                "every process could read it: put it into a service file (~/.pg_service.conf), and ?service=NAME here",
            ));
        }
        without.push(sign);
        without += parameter;
        sign = '&';
    }
    Ok((without, found))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let ahead: Vec<u8> = rest.clone().take(2).collect();
        match data_encoding::HEXLOWER_PERMISSIVE.decode(&ahead).as_deref() {
            Ok([code]) if byte == b'%' => {
                bytes.push(*code);
                rest.next();
                rest.next();
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_password_is_no_argument() {
        for (address, without, password) in [
            ("postgresql://a@h/d", "postgresql://a@h/d", None),
            ("postgresql://a:p%40x%@h:1/d?x=y@z", "postgresql://a@h:1/d?x=y@z", Some("p@x%")),
            ("postgres:///d", "postgres:///d", None),
            ("postgresql://h/d?password=p%26w&x=y", "postgresql://h/d?x=y", Some("p&w")),
            ("postgresql://a:b@h/d?x=y&pass%77ord=last", "postgresql://a@h/d?x=y", Some("last")),
            ("postgresql:///?password=p", "postgresql:///", Some("p")),
            ("postgresql://h?password=p&a=b", "postgresql://h?a=b", Some("p")),
            ("postgresql://a:p?w@h/d", "postgresql://a@h/d", Some("p?w")),
            ("postgresql://a:p@w@h/d", "postgresql://a@h/d", Some("p@w")),
            ("postgresql://a:p@h?x=y@z", "postgresql://a@h?x=y@z", Some("p")),
            ("postgresql://a:p@h?password=q/r", "postgresql://a@h", Some("q/r")),
        ] {
            let right = (without.to_owned(), password.map(str::to_owned));
            assert_eq!(without_password(address).unwrap(), right, "{address}");
        }
        for name in ["sslpassword", "ssl%70assword", "oauth_client_secret"] {
            let error = without_password(&format!("postgresql://h/d?{name}=hidden")).unwrap_err();
            assert_eq!(error.code(), "bad_address");
            assert!(!format!("{error:?}").contains("hidden"));
        }
        assert!(is_address("postgres://h/d") && !is_address("checkpoints.db"));
    }

    proptest! {
        #[test]
        fn no_password_stays_in_an_address(
            user in "[a-z]{1,4}", word in "([A-Z0-9?]{1,8}|[A-Z0-9@]{1,8})", other in "[A-Z0-9/?@]{1,8}", path in "(/[a-z]{0,4})?",
        ) {
            let address = format!("postgresql://{user}:{word}@host{path}?x=y&password={other}");
            let (without, password) = without_password(&address).unwrap();
            prop_assert_eq!(without, format!("postgresql://{user}@host{path}?x=y"));
            prop_assert_eq!(password, Some(other));
        }
    }
}
