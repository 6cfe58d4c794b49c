//! Addresses on the internet.

use super::{Context, Number, add, is_word};
use crate::alphabet::{Alphabet, before, byte, slice};
use crate::finding::Hit;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What four groups with dots between them are.
pub(super) fn version4(number: &Number<'_>, groups: usize, context: &Context<'_>) -> Option<&'static str> {
    if groups != 4 || number.groups != 4 && number.sign(4) == b'.' || !number.joined_by(4, b'.') || !number.ends(4) {
        return None;
    }
    let first = number.first();
    let text = std::str::from_utf8(slice(number.text, first, number.end(4))).ok()?;
    let address: Ipv4Addr = text.parse().ok()?;
    let octets = address.octets();
    if address.is_loopback()
        || address.is_unspecified()
        || octets.first().is_some_and(|octet| *octet == 0 || *octet == 255)
    {
        return None;
    }
    // `v1.2.3.4`, `version 1.2.3.4`; small numbers are a version unless something says address.
    let says_version = context.says(&["version", "release", " v", "ver.", "==", ">=", "~="]);
    let says_address = context.says(&[
        "ip",
        "addr",
        "host",
        "server",
        "from",
        "ping",
        "ssh",
        "client",
        "peer",
        "remote",
        "://",
        "route",
        "dns",
        "connect",
        "listen",
        "bind ",
        "bound to",
        "proxy",
        "gateway",
        "subnet",
        "curl ",
        "telnet",
        "nmap",
        "reach",
        "login",
        "logged in",
        "request",
        "network",
        "firewall",
        "resolver",
        "endpoint",
        "node",
        "socket",
        "whois",
    ]) || names_port(number.text, number.end(4))
        || RESOLVERS.contains(&octets);
    let small = octets.iter().all(|octet| *octet < 30);
    (!says_version && (!small || says_address)).then_some("ip-address")
}

/// The public resolvers that are written most.
const RESOLVERS: [[u8; 4]; 5] = [[8, 8, 8, 8], [8, 8, 4, 4], [1, 1, 1, 1], [1, 0, 0, 1], [9, 9, 9, 9]];

/// Whether a port or the length of a prefix comes after: `:8080`, `/24`.
fn names_port(text: &[u8], end: usize) -> bool {
    matches!(byte(text, end), b':' | b'/') && byte(text, end + 1).is_ascii_digit()
}

/// Adds the address of version 6 that begins at a place, and answers with its end.
pub(super) fn version6(text: &[u8], start: usize, hits: &mut Vec<Hit>) -> Option<usize> {
    const PARTS: Alphabet = Alphabet::of(b"0-9a-fA-F:.");
    let mut end = start + PARTS.run(text, start, 46);
    while end > start && (before(text, end) == b'.' || before(text, end) == b':' && before(text, end - 1) != b':') {
        end -= 1;
    }
    let bytes = slice(text, start, end);
    let colons = memchr::memchr_iter(b':', bytes).count();
    if colons < 2 || is_word(byte(text, end)) {
        return None;
    }
    let address: Ipv6Addr = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    // `a::b` is a name in code; an address has more, or digits.
    let telling = colons >= 3 || bytes.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3;
    if !telling || address.is_loopback() || address.is_unspecified() {
        return None;
    }
    add(hits, start..end, "ip-address");
    Some(end)
}
