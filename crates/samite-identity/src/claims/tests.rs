use super::*;
use serde_json::json;

const NOW: i64 = 1_700_000_000;

fn issuer() -> Issuer {
    Issuer {
        name: "https://issuer.example".to_owned(),
        audience: vec!["samite".to_owned(), "other-samite".to_owned()],
        keys: "https://issuer.example/keys".to_owned(),
        tenants: None,
        users: Users::IssuerAndSubject,
        agents: crate::config::Agents::Name,
        claims: crate::config::Claims::default(),
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example",
        "sub": "ada",
        "aud": "samite",
        "exp": NOW + 300,
        "iat": NOW,
        "nbf": NOW,
        "tenant": "acme",
        "azp": "editor",
        "workload": "pod-7",
        "scope": "openid samite:read",
    })
}

/// The code that these claims are refused with; nothing when they are not.
fn code(claims: &Value) -> &'static str {
    principal(claims.as_object().unwrap(), &issuer(), NOW).map_or_else(
        |error| {
            assert_eq!(error.kind(), samite_model::ErrorKind::Denied, "{error}");
            error.code()
        },
        |_| "",
    )
}

#[test]
fn a_right_token_is_its_principal() {
    let found = principal(claims().as_object().unwrap(), &issuer(), NOW).unwrap();
    assert_eq!(found.tenant.as_str(), "acme");
    assert_eq!(found.user, "https://issuer.example|ada");
    assert_eq!((found.agent.as_str(), found.workload.as_str()), ("editor", "pod-7"));
    assert_eq!(found.scopes, ["openid", "samite:read"]);
    assert!(found.parents.is_empty());
    let mut other = claims();
    other["act"] = json!({"sub": "helper", "act": {"sub": "planner"}});
    other["spiffe_id"] = json!("spiffe://acme.example/ns/a/sa/b");
    other["aud"] = json!(["x", "other-samite"]);
    let by_subject = Issuer { users: Users::Subject, ..issuer() };
    let found = principal(other.as_object().unwrap(), &by_subject, NOW).unwrap();
    assert_eq!((found.user.as_str(), found.agent.as_str()), ("ada", "helper"));
    assert_eq!(found.parents, ["planner"]);
    assert_eq!(found.workload, "spiffe://acme.example/ns/a/sa/b");
}

#[test]
fn an_issuer_speaks_for_its_tenants_alone() {
    let of = |tenants: &[&str]| {
        let tenants = tenants.iter().map(|tenant| Tenant::new(*tenant).unwrap()).collect();
        let bound = Issuer { tenants: Some(tenants), agents: crate::config::Agents::IssuerAndName, ..issuer() };
        principal(claims().as_object().unwrap(), &bound, NOW)
    };
    assert_eq!(of(&["other"]).unwrap_err().code(), "issuers_tenant");
    let found = of(&["other", "acme"]).unwrap();
    assert_eq!((found.tenant.as_str(), found.agent.as_str()), ("acme", "https://issuer.example|editor"));
}

#[test]
fn claims_stand_where_the_configuration_says() {
    let mut nested = issuer();
    nested.claims.tenant = "/realm/tenant".to_owned();
    nested.claims.agent = vec!["https://acme.example/agent".to_owned()];
    nested.claims.scopes = "scp".to_owned();
    let mut said = claims();
    said["realm"] = json!({"tenant": "inner"});
    said["https://acme.example/agent"] = json!("a");
    said["scp"] = json!(["samite:all"]);
    let found = principal(said.as_object().unwrap(), &nested, NOW).unwrap();
    assert_eq!((found.tenant.as_str(), found.agent.as_str()), ("inner", "a"));
    assert_eq!(found.scopes, ["samite:all"]);
    // What the defaults name counts no more.
    said["realm"] = json!("flat");
    assert_eq!(principal(said.as_object().unwrap(), &nested, NOW).unwrap_err().code(), "missing_tenant");
}

#[test]
fn each_thing_that_is_missing_or_wrong_has_its_code() {
    let long = "x".repeat(600);
    let rows: Vec<(&str, Option<Value>, &str)> = vec![
        // Without it.
        ("sub", None, "missing_subject"),
        ("aud", None, "missing_audience"),
        ("exp", None, "missing_expiry"),
        ("tenant", None, "missing_tenant"),
        ("azp", None, "missing_agent"),
        ("workload", None, "missing_workload"),
        ("nbf", None, ""),
        ("iat", None, ""),
        ("scope", None, ""),
        // Empty, or of another type: as if it were missing.
        ("sub", Some(json!("")), "missing_subject"),
        ("sub", Some(json!(7)), "missing_subject"),
        ("aud", Some(json!("")), "missing_audience"),
        ("aud", Some(json!([])), "missing_audience"),
        ("aud", Some(json!({"samite": true})), "missing_audience"),
        ("tenant", Some(json!(["acme"])), "missing_tenant"),
        ("tenant", Some(json!("")), "missing_tenant"),
        ("azp", Some(json!("")), "missing_agent"),
        ("workload", Some(json!(null)), "missing_workload"),
        // Meant for somebody else.
        ("aud", Some(json!("samite-too")), "wrong_audience"),
        ("aud", Some(json!(["a", "b"])), "wrong_audience"),
        ("aud", Some(json!(["a", "samite"])), ""),
        // Times are numbers, with 60 s of leeway.
        ("exp", Some(json!((NOW + 300).to_string())), "bad_time"),
        ("nbf", Some(json!(NOW.to_string())), "bad_time"),
        ("iat", Some(json!(NOW.to_string())), "bad_time"),
        ("exp", Some(json!(true)), "bad_time"),
        ("exp", Some(json!(1e300)), "bad_time"),
        ("exp", Some(json!(NOW)), ""),
        ("exp", Some(json!(NOW - 59)), ""),
        ("exp", Some(json!(NOW - 60)), "token_expired"),
        ("exp", Some(json!(0)), "token_expired"),
        ("exp", Some(json!(-1)), "token_expired"),
        ("exp", Some(json!(i64::MAX)), ""),
        ("iat", Some(json!(NOW + 1)), ""),
        ("iat", Some(json!(NOW + 60)), ""),
        ("iat", Some(json!(NOW + 61)), "token_from_future"),
        ("nbf", Some(json!(NOW + 60)), ""),
        ("nbf", Some(json!(NOW + 61)), "token_not_yet_valid"),
        ("exp", Some(json!(1_700_000_000.9)), ""),
        // Names that nothing can be called by.
        ("tenant", Some(json!("../other")), "wrong_tenant"),
        ("tenant", Some(json!("Acme")), "wrong_tenant"),
        ("sub", Some(json!(long)), "bad_claim"),
        ("azp", Some(json!("a\nb")), "bad_claim"),
        ("act", Some(json!({"sub": "a\u{0}"})), "bad_claim"),
        ("act", Some(json!("a")), "bad_actor"),
        ("act", Some(json!(null)), "bad_actor"),
        ("spiffe_id", Some(json!("spiffe://")), "bad_workload"),
        ("spiffe_id", Some(json!("spiffe://Acme/x")), "bad_workload"),
        ("spiffe_id", Some(json!("spiffe://acme/../x")), "bad_workload"),
        ("spiffe_id", Some(json!("spiffe://acme/a?b")), "bad_workload"),
        ("spiffe_id", Some(json!("spiffe:acme")), "bad_workload"),
        ("scope", Some(json!(7)), "bad_scopes"),
        ("scope", Some(json!(["a", 7])), "bad_scopes"),
    ];
    for (name, value, expected) in rows {
        let mut said = claims();
        match &value {
            None => drop(said.as_object_mut().unwrap().remove(name)),
            Some(value) => said[name] = value.clone(),
        }
        assert_eq!(code(&said), expected, "{name} = {value:?}");
    }
}

#[test]
fn no_token_stands_for_the_command_lines_own_user() {
    let by_subject = Issuer { users: Users::Subject, ..issuer() };
    let mut said = claims();
    said["sub"] = json!("local");
    assert_eq!(principal(said.as_object().unwrap(), &by_subject, NOW).unwrap_err().code(), "reserved_user");
    // Another issuer's subject of that name is another user.
    assert_eq!(code(&said), "");
}
