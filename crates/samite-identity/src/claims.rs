//! What a verified token says: pure, with the time passed in.

use crate::LEEWAY;
use crate::actor::actors;
use crate::config::{Issuer, SEPARATOR, Users};
use samite_model::{Error, Principal, Result, Tenant, limits};
use serde_json::{Map, Value};

/// The user that the command line acts for. No token stands for it.
const RESERVED: &str = "local";

/// The principal of a token whose signature holds, at `now` (seconds since 1970).
///
/// # Errors
/// `denied`, with a code for each thing that is wrong or missing.
pub(crate) fn principal(claims: &Map<String, Value>, issuer: &Issuer, now: i64) -> Result<Principal> {
    times(claims, now)?;
    audience(claims, issuer)?;
    let Some(subject) = text(claims, "sub") else {
        return Err(
            Error::denied("missing_subject", "the token names no subject").hint("`sub` says which user it is for")
        );
    };
    let user = match issuer.users {
        Users::IssuerAndSubject => format!("{}{SEPARATOR}{subject}", issuer.name),
        Users::Subject => subject.to_owned(),
    };
    if user == RESERVED {
        return Err(Error::denied("reserved_user", "the token is for the user that the command line acts for")
            .hint("name users by issuer and subject, or give this one another subject"));
    }
    let Some(tenant) = text(claims, &issuer.claims.tenant) else {
        return Err(Error::denied("missing_tenant", format!("the token has no claim {:?}", issuer.claims.tenant))
            .hint(
                "the tenant comes from the token alone: have the issuer put it there, or name the claim that it is in",
            ));
    };
    let tenant = Tenant::new(tenant).map_err(|_| {
        Error::denied("wrong_tenant", format!("what the claim {:?} says is no tenant's name", issuer.claims.tenant))
            .hint("1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
    })?;
    if !issuer.speaks_for(&tenant) {
        return Err(Error::denied("issuers_tenant", "the issuer does not speak for the tenant that the token names")
            .hint("`tenants` of the issuer in the configuration says whose it may name"));
    }
    let (agent, parents) = match actors(claims, issuer)? {
        Some(chain) => chain,
        None => match first(claims, &issuer.claims.agent) {
            Some(agent) => (issuer.agent(agent, None)?, Vec::new()),
            None => {
                return Err(Error::denied("missing_agent", "the token names no agent")
                    .hint("`act`, or the id of a client, says which agent acts"));
            }
        },
    };
    let Some(workload) = first(claims, &issuer.claims.workload) else {
        return Err(Error::denied("missing_workload", "the token names no workload")
            .hint("a SPIFFE id, or the claim that the configuration names, says which process the agent runs in"));
    };
    if workload.starts_with("spiffe:") && !is_spiffe(workload) {
        return Err(Error::denied("bad_workload", "the token's SPIFFE id is none").hint("spiffe://TRUST-DOMAIN/PATH"));
    }
    let principal =
        Principal { tenant, user, agent, workload: workload.to_owned(), scopes: scopes(claims, issuer)?, parents };
    let names = [&principal.user, &principal.agent, &principal.workload];
    for name in names.into_iter().chain(&principal.parents).chain(&principal.scopes) {
        limits::check_name("a part of the principal", name).map_err(|error| {
            Error::denied("bad_claim", format!("a name in the token cannot be used: {}", error.message()))
                .hint("names are short and hold no control characters")
        })?;
    }
    Ok(principal)
}

/// Refuses a token that is not valid now.
fn times(claims: &Map<String, Value>, now: i64) -> Result<()> {
    let Some(expires) = time(claims, "exp")? else {
        return Err(Error::denied("missing_expiry", "the token never expires").hint("`exp` says until when it holds"));
    };
    if now >= expires.saturating_add(LEEWAY) {
        return Err(Error::denied("token_expired", "the token has expired").hint("get a new one"));
    }
    if time(claims, "nbf")?.is_some_and(|from| from > now.saturating_add(LEEWAY)) {
        return Err(
            Error::denied("token_not_yet_valid", "the token is not valid yet").hint("see that the clocks agree")
        );
    }
    if time(claims, "iat")?.is_some_and(|issued| issued > now.saturating_add(LEEWAY)) {
        return Err(
            Error::denied("token_from_future", "the token was issued in the future").hint("see that the clocks agree")
        );
    }
    Ok(())
}

/// A time in seconds. It is a number: a string is refused, whatever it says.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<i64>> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            #[expect(clippy::cast_possible_truncation, reason = "within what a double has exactly")]
            number.as_f64().filter(|seconds| seconds.abs() < 9e15).map(|seconds| seconds.floor() as i64)
        }),
        _ => None,
    };
    seconds.map(Some).ok_or_else(|| {
        Error::denied("bad_time", format!("{name} is no number of seconds"))
            .hint("a time is a JSON number, not a string")
    })
}

fn audience(claims: &Map<String, Value>, issuer: &Issuer) -> Result<()> {
    let meant: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if meant.iter().all(|one| one.is_empty()) {
        return Err(Error::denied("missing_audience", "the token does not say whom it is meant for")
            .hint("`aud` has the audience of the configuration"));
    }
    if !meant.iter().any(|one| issuer.audience.iter().any(|own| own == one)) {
        return Err(Error::denied("wrong_audience", "the token is meant for somebody else")
            .hint("ask the issuer for one for the audience of the configuration"));
    }
    Ok(())
}

fn scopes(claims: &Map<String, Value>, issuer: &Issuer) -> Result<Vec<String>> {
    let bad = || {
        Error::denied("bad_scopes", format!("what the claim {:?} says are no scopes", issuer.claims.scopes))
            .hint("words in a string, or a list of strings")
    };
    match find(claims, &issuer.claims.scopes) {
        None => Ok(Vec::new()),
        Some(Value::String(words)) => Ok(words.split_ascii_whitespace().map(str::to_owned).collect()),
        Some(Value::Array(list)) => list.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(bad)).collect(),
        Some(_) => Err(bad()),
    }
}

fn find<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    match name.strip_prefix('/') {
        None => claims.get(name),
        Some(path) => {
            let mut names = path.split('/');
            let first = claims.get(names.next()?)?;
            names.try_fold(first, |value, name| value.as_object()?.get(name))
        }
    }
}

/// A claim that is a string with something in it.
fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    find(claims, name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn first<'a>(claims: &'a Map<String, Value>, names: &[String]) -> Option<&'a str> {
    names.iter().find_map(|name| text(claims, name))
}

fn is_spiffe(id: &str) -> bool {
    let Some((domain, path)) = id.strip_prefix("spiffe://").and_then(|rest| rest.split_once('/')) else { return false };
    let of = |text: &str, more: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.as_bytes().contains(&byte))
    };
    of(domain, ".-_")
        && domain.bytes().all(|byte| !byte.is_ascii_uppercase())
        && path.split('/').all(|segment| of(segment, ".-_") && segment != "." && segment != "..")
}

#[cfg(test)]
mod tests;
