use super::*;
use samite_model::{Owner, Tenant};

const PERMIT: &str = "permit(principal, action, resource);";

fn principal(user: &str, agent: &str, parents: &[&str], scopes: &[&str]) -> Principal {
    let all = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Principal {
        tenant: Tenant::new("acme").unwrap(),
        user: user.to_owned(),
        agent: agent.to_owned(),
        workload: "pod".to_owned(),
        scopes: all(scopes),
        parents: all(parents),
    }
}

fn say(engine: &Engine, principal: &Principal, right: Right, kind: ResourceKind, owner: Option<&str>) -> Policy {
    let owner = owner.map(|owner| Owner::new(format!("user:{owner}")).unwrap());
    let tenant = Tenant::new("acme").unwrap();
    let id = (kind != ResourceKind::Tenant).then_some([0xab; 16]);
    engine.say(principal, right, &Target { kind, id, owner: owner.as_ref(), tenant: &tenant })
}

/// Each principal that there is a difference between.
fn principals() -> Vec<Principal> {
    let mut all = Vec::new();
    for user in ["ada", "bob"] {
        for (agent, parents) in
            [("coder", &[][..]), ("writer", &[]), ("helper", &["coder"]), ("helper", &["lead", "coder"])]
        {
            for scopes in [&[][..], &["samite:all"], &["samite:read"], &["openid", "samite:operate"]] {
                all.push(principal(user, agent, parents, scopes));
            }
        }
    }
    let mut other = principal("ada", "coder", &[], &["samite:all"]);
    other.workload = "laptop".to_owned();
    all.push(other);
    all
}

/// A policy set and, in other words, whether it lets an act be done.
type Case = (&'static str, fn(&Principal, &str, ResourceKind, Option<&str>) -> bool);

const CASES: [Case; 14] = [
    ("permit(principal, action, resource);", |_, _, _, _| true),
    ("forbid(principal, action, resource);", |_, _, _, _| false),
    // What nothing permits is denied.
    ("permit(principal, action == Samite::Action::\"read\", resource);", |_, right, _, _| right == "read"),
    ("permit(principal in Samite::User::\"ada\", action, resource);", |who, _, _, _| who.user == "ada"),
    // An agent is in all that it works for.
    ("permit(principal in Samite::Agent::\"coder\", action, resource);", |who, _, _, _| {
        who.agent == "coder" || who.parents.iter().any(|parent| parent == "coder")
    }),
    ("permit(principal, action, resource) when { principal.agent == Samite::Agent::\"coder\" };", |who, _, _, _| {
        who.agent == "coder"
    }),
    ("permit(principal, action, resource) unless { principal.parents.contains(Samite::Agent::\"lead\") };", |who, _, _, _| {
        !who.parents.iter().any(|parent| parent == "lead")
    }),
    ("permit(principal in Samite::Workload::\"pod\", action, resource);", |who, _, _, _| who.workload == "pod"),
    ("permit(principal, action, resource) when { principal.scopes.contains(\"openid\") };", |who, _, _, _| {
        who.scopes.iter().any(|scope| scope == "openid")
    }),
    (
        "permit(principal, action, resource); forbid(principal, action == Samite::Action::\"erase\", resource is Samite::Session);",
        |_, right, kind, _| !(right == "erase" && kind == ResourceKind::Session),
    ),
    ("permit(principal, action, resource is Samite::Artifact);", |_, _, kind, _| kind == ResourceKind::Artifact),
    ("permit(principal, action, resource in Samite::User::\"bob\");", |_, _, _, owner| owner == Some("bob")),
    ("permit(principal, action, resource in Samite::Tenant::\"acme\");", |_, _, _, _| true),
    (
        "permit(principal, action, resource is Samite::Tenant);
         permit(principal, action in [Samite::Action::\"read\", Samite::Action::\"manage\"], resource is Samite::Artifact)
           when { resource has owner && resource.owner == principal.user };",
        |who, right, kind, owner| match kind {
            ResourceKind::Tenant => true,
            ResourceKind::Artifact => ["read", "manage"].contains(&right) && owner == Some(who.user.as_str()),
            ResourceKind::Session => false,
        },
    ),
];

#[test]
fn every_act_on_every_kind_by_every_principal_is_decided_as_the_policies_say() {
    let (mut looked_at, mut forbidden) = (0, 0);
    for (text, oracle) in CASES {
        let engine = Engine::new(text).unwrap();
        for who in principals() {
            for kind in ResourceKind::ALL {
                for right in Right::ALL {
                    for owner in [None, Some("ada"), Some("bob")] {
                        if kind == ResourceKind::Tenant && owner.is_some() {
                            continue;
                        }
                        // What is no act on such a thing is refused without them.
                        let expected = if !kind.rights().has(right) || oracle(&who, right.name(), kind, owner) {
                            Policy::Silent
                        } else {
                            Policy::Forbid
                        };
                        let said = say(&engine, &who, right, kind, owner);
                        assert_eq!(said, expected, "{text}: {right} on {kind:?} of {owner:?} by {who:?}");
                        looked_at += 1;
                        forbidden += u32::from(expected == Policy::Forbid);
                    }
                }
            }
        }
    }
    // 14 sets, 33 principals, 7 acts, 3 kinds of which two have 3 owners.
    assert_eq!((looked_at, forbidden), (22_638, 6_124));
}

#[test]
fn policies_never_permit_what_nothing_else_allows() {
    let engine = Engine::new(PERMIT).unwrap();
    for who in principals() {
        for kind in ResourceKind::ALL {
            for right in Right::ALL {
                assert_eq!(say(&engine, &who, right, kind, None), Policy::Silent);
            }
        }
    }
}

#[test]
fn an_error_in_the_evaluation_of_any_policy_denies() {
    // An overflow is an error; the other policy permits.
    let text = format!("{PERMIT} forbid(principal, action, resource) when {{ 9223372036854775807 + 1 == 0 }};");
    let engine = Engine::new(&text).unwrap();
    let who = principal("ada", "coder", &[], &["samite:all"]);
    assert_eq!(say(&engine, &who, Right::Read, ResourceKind::Session, Some("ada")), Policy::Failed);
    // An owner that is no user cannot be asked about.
    let (tenant, owner) = (Tenant::new("acme").unwrap(), Owner::new("team:x").unwrap());
    let target = Target { kind: ResourceKind::Session, id: Some([1; 16]), owner: Some(&owner), tenant: &tenant };
    assert_eq!(Engine::new(PERMIT).unwrap().say(&who, Right::Read, &target), Policy::Failed);
    // Nor a session without an id.
    let target = Target { id: None, owner: None, ..target };
    assert_eq!(Engine::new(PERMIT).unwrap().say(&who, Right::Read, &target), Policy::Failed);
}

#[test]
fn names_are_only_names() {
    let engine = Engine::new(
        "forbid(principal in Samite::User::\"a\\\"b\", action, resource); permit(principal, action, resource);",
    )
    .unwrap();
    let odd =
        principal("a\"b", "\u{202e}\n\\", &["Samite::User::\"x\""], &["\"; permit(principal, action, resource);"]);
    assert_eq!(say(&engine, &odd, Right::Read, ResourceKind::Session, Some("\")")), Policy::Forbid);
    let other = principal("ab", "x", &[], &[]);
    assert_eq!(say(&engine, &other, Right::Read, ResourceKind::Session, Some("ab")), Policy::Silent);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let long = format!("// {}\n{PERMIT}", "x".repeat(LONGEST));
    let rows = [
        ("", "there is no policy in it"),
        ("// nothing\n", "there is no policy in it"),
        (
            "permit(principal, action, resource);\n\npermit(principal action, resource);",
            "line 3: unexpected token `action`",
        ),
        ("permit(principal == ?principal, action, resource);", "a template decides nothing"),
        ("permit(principal, action == Samite::Action::\"rewrite\", resource);", "rewrite"),
        ("permit(principal in Samite::Group::\"x\", action, resource);", "Samite::Group"),
        ("permit(principal, action, resource) when { principal.name == \"x\" };", "name"),
        ("permit(principal, action, resource) when { resource.owner == principal.user };", "owner"),
        (long.as_str(), "at most 262144 are read"),
    ];
    for (text, expected) in rows {
        let error = Engine::new(text).unwrap_err();
        assert_eq!((error.code(), error.message().contains(expected)), ("bad_policy", true), "{}", error.message());
    }
    let unused = Engine::new("permit(principal, action, resource); permit(principal, action == Samite::Action::\"append\", resource is Samite::Artifact);").unwrap();
    assert_eq!((unused.count(), unused.warnings().len()), (2, 2), "{:?}", unused.warnings());
}
