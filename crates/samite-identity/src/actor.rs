//! The chain of actors of a token (RFC 8693): who acts now, and for which agents before it.

use crate::config::Issuer;
use samite_model::{Error, Result};
use serde_json::{Map, Value};

/// So many actors stand in a chain at most.
const LONGEST: usize = 8;

/// The agent that acts, and those that it works for, the outermost first; none where the token names no actor.
///
/// # Errors
/// `denied` (`bad_actor`) for a chain that is none, or too long.
pub(crate) fn actors(claims: &Map<String, Value>, issuer: &Issuer) -> Result<Option<(String, Vec<String>)>> {
    let mut chain = Vec::new();
    let mut next = claims.get("act");
    while let Some(act) = next {
        let act = act.as_object().ok_or_else(bad)?;
        let subject = act.get("sub").and_then(Value::as_str).filter(|subject| !subject.is_empty()).ok_or_else(bad)?;
        let of = act.get("iss").map(|of| of.as_str().ok_or_else(bad)).transpose()?;
        chain.push(issuer.agent(subject, of)?);
        if chain.len() > LONGEST {
            return Err(bad());
        }
        next = act.get("act");
    }
    if chain.is_empty() {
        return Ok(None);
    }
    // The outermost claim is the one that acts; what it holds acted before.
    let agent = chain.remove(0);
    chain.reverse();
    Ok(Some((agent, chain)))
}

fn bad() -> Error {
    Error::denied("bad_actor", "the token's chain of actors is none")
        .hint("`act` is an object with `sub`, at most 8 deep")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_outermost_acts_for_those_within() {
        let text = "[[issuer]]\nname = \"i\"\naudience = [\"a\"]\nkeys = \"k\"\n";
        let config = crate::config::Config::parse(text, std::path::Path::new("/")).unwrap();
        let read = |claims: Value| actors(claims.as_object().unwrap(), &config.issuers[0]);
        assert_eq!(read(json!({"sub": "ada"})).unwrap(), None);
        assert_eq!(read(json!({"act": {"sub": "a"}})).unwrap(), Some(("a".to_owned(), vec![])));
        let three = json!({"act": {"sub": "c", "iss": "i", "act": {"sub": "b", "iss": "j", "act": {"sub": "a"}}}});
        assert_eq!(read(three).unwrap(), Some(("c".to_owned(), vec!["a".to_owned(), "j|b".to_owned()])));
        let mut deep = json!({"sub": "x"});
        for _ in 0..8 {
            deep = json!({"sub": "x", "act": deep});
        }
        for wrong in
            [json!("a"), json!({}), json!({"sub": ""}), json!({"sub": 1}), json!({"sub": "a", "act": "b"}), deep]
        {
            assert_eq!(read(json!({"act": wrong.clone()})).unwrap_err().code(), "bad_actor", "{wrong}");
        }
    }
}
