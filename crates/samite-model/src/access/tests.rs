use super::*;
use crate::principal::{Owner, Tenant};
use proptest::prelude::*;

const NOW: i64 = 1_000;

fn principal(user: &str, agent: &str, scopes: &[&str]) -> Principal {
    Principal {
        tenant: Tenant::new("acme").unwrap(),
        user: user.to_owned(),
        agent: agent.to_owned(),
        workload: "pod".to_owned(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        parents: Vec::new(),
    }
}

fn grant(user: Option<&str>, agent: Option<&str>, rights: Rights, until: Option<i64>) -> Grant {
    let to = Grantee { user: user.map(str::to_owned), agent: agent.map(str::to_owned) };
    Grant { to, rights, until, by: principal("owner", "cli", &["samite:all"]), by_policy: false }
}

fn owner(user: &str) -> Owner {
    Owner::new(format!("user:{user}")).unwrap()
}

/// Decides about a session of `user:owner`.
fn on_session(principal: &Principal, right: Right, grants: &[Grant], policy: Policy) -> Decision {
    let tenant = Tenant::new("acme").unwrap();
    let owner = owner("owner");
    let resource = Resource { tenant: &tenant, owner: Some(&owner), kind: ResourceKind::Session, grants };
    decide(principal, right, &resource, policy, NOW)
}

#[test]
fn decisions_written_down() {
    use Decision::{Allow, Deny};
    use Right::{Append, Erase, Fork, Manage, Operate, Publish, Read};
    let read = Rights::only(Read);
    let all = Rights::ALL;
    let ada = principal("ada", "coder", &[]);
    let owner = principal("owner", "coder", &[]);
    let keeper = principal("owner", "coder", &["samite:read", "samite:manage"]);
    let mut helper = principal("ada", "helper", &[]);
    helper.parents = vec!["coder".to_owned()];
    let to_ada = grant(Some("ada"), None, read, None);
    let rows: Vec<(Principal, Right, Vec<Grant>, Policy, Decision)> = vec![
        // What is one's own needs no grant; what changes owner, grants or retention, or erases, needs a scope.
        (owner.clone(), Read, vec![], Policy::Silent, Allow(Why::Owner)),
        (owner.clone(), Append, vec![], Policy::Silent, Allow(Why::Owner)),
        (owner.clone(), Fork, vec![], Policy::Silent, Allow(Why::Owner)),
        (owner.clone(), Publish, vec![], Policy::Silent, Allow(Why::Owner)),
        (owner.clone(), Manage, vec![], Policy::Silent, Deny(Reason::Scope)),
        (owner.clone(), Erase, vec![], Policy::Silent, Deny(Reason::Scope)),
        (keeper.clone(), Manage, vec![], Policy::Silent, Allow(Why::Owner)),
        (keeper.clone(), Append, vec![], Policy::Silent, Deny(Reason::Scope)),
        // Another's needs one, for this act, that has not expired.
        (ada.clone(), Read, vec![], Policy::Silent, Deny(Reason::NotGranted)),
        (ada.clone(), Read, vec![to_ada.clone()], Policy::Silent, Allow(Why::Grant(0))),
        (ada.clone(), Append, vec![to_ada.clone()], Policy::Silent, Deny(Reason::NotGranted)),
        (ada.clone(), Read, vec![grant(Some("ada"), None, read, Some(NOW))], Policy::Silent, Deny(Reason::NotGranted)),
        (ada.clone(), Read, vec![grant(Some("ada"), None, read, Some(NOW + 1))], Policy::Silent, Allow(Why::Grant(0))),
        (ada.clone(), Read, vec![grant(Some("bob"), None, read, None)], Policy::Silent, Deny(Reason::NotGranted)),
        (ada.clone(), Read, vec![grant(None, Some("coder"), read, None)], Policy::Silent, Allow(Why::Grant(0))),
        (
            ada.clone(),
            Read,
            vec![grant(Some("ada"), Some("other"), read, None)],
            Policy::Silent,
            Deny(Reason::NotGranted),
        ),
        (ada.clone(), Read, vec![grant(None, None, all, None)], Policy::Silent, Deny(Reason::NotGranted)),
        (
            ada.clone(),
            Read,
            vec![grant(Some("bob"), None, all, None), to_ada.clone()],
            Policy::Silent,
            Allow(Why::Grant(1)),
        ),
        // Erasing and looking after the tenant are not granted, whatever a grant says.
        (
            principal("ada", "x", &["samite:all"]),
            Erase,
            vec![grant(Some("ada"), None, all, None)],
            Policy::Silent,
            Deny(Reason::NotGranted),
        ),
        (
            principal("ada", "x", &["samite:all"]),
            Operate,
            vec![grant(Some("ada"), None, all, None)],
            Policy::Silent,
            Deny(Reason::NotGranted),
        ),
        (
            principal("ada", "x", &["samite:all"]),
            Manage,
            vec![grant(Some("ada"), None, all, None)],
            Policy::Silent,
            Allow(Why::Grant(0)),
        ),
        // An agent that was granted to manage needs the scope all the same.
        (ada.clone(), Manage, vec![grant(Some("ada"), None, all, None)], Policy::Silent, Deny(Reason::Scope)),
        // What works for an agent has its grants, and none of its own.
        (helper.clone(), Read, vec![grant(None, Some("coder"), read, None)], Policy::Silent, Allow(Why::Grant(0))),
        (helper.clone(), Read, vec![grant(None, Some("helper"), read, None)], Policy::Silent, Deny(Reason::NotGranted)),
        // What an organisation forbids, or what cannot be evaluated, beats all; what it permits stands in for a grant.
        (owner.clone(), Read, vec![], Policy::Forbid, Deny(Reason::Forbidden)),
        (ada.clone(), Read, vec![to_ada.clone()], Policy::Failed, Deny(Reason::Forbidden)),
        (ada.clone(), Read, vec![], Policy::Permit, Allow(Why::Policy)),
        (principal("ada", "x", &["samite:all"]), Erase, vec![], Policy::Permit, Deny(Reason::NotGranted)),
        // A scope that is not known allows nothing, and takes the usual rights away.
        (principal("owner", "x", &["samite:future"]), Read, vec![], Policy::Silent, Deny(Reason::Scope)),
        (principal("owner", "x", &["openid", "profile"]), Read, vec![], Policy::Silent, Allow(Why::Owner)),
        (principal("owner", "", &[]), Read, vec![], Policy::Silent, Deny(Reason::Incomplete)),
    ];
    for (place, (principal, right, grants, policy, expected)) in rows.iter().enumerate() {
        assert_eq!(on_session(principal, *right, grants, *policy), *expected, "row {place}: {right} by {principal:?}");
    }
}

/// The rules in other words, over names instead of bits: each line is a way to be refused.
#[expect(clippy::too_many_arguments, reason = "these are the dimensions")]
fn oracle(
    parts: bool,
    same_tenant: bool,
    scopes: &[&str],
    is_owner: Option<bool>,
    kind: ResourceKind,
    right: &str,
    granted: &[&str],
    policy: Policy,
) -> bool {
    let ours: Vec<&str> = scopes.iter().copied().filter(|scope| scope.starts_with("samite:")).collect();
    let by_scope = match ours.as_slice() {
        [] => ["read", "append", "fork", "publish"].contains(&right),
        ours => ours.contains(&"samite:all") || ours.contains(&format!("samite:{right}").as_str()),
    };
    let on_kind = match kind {
        ResourceKind::Session => right != "operate",
        ResourceKind::Artifact => ["read", "manage", "erase"].contains(&right),
        ResourceKind::Tenant => right == "operate",
    };
    let kept_by_owner = right == "erase";
    let entitled = kind == ResourceKind::Tenant
        || match is_owner {
            None => false,
            Some(true) => true,
            Some(false) => !kept_by_owner && (granted.contains(&right) || policy == Policy::Permit),
        };
    let refused = !parts
        || !same_tenant
        || policy == Policy::Forbid
        || policy == Policy::Failed
        || !by_scope
        || !on_kind
        || !entitled;
    !refused
}

#[test]
fn every_combination_is_decided_as_the_rules_say() {
    let named = |rights: Rights| rights.iter().map(Right::name).collect::<Vec<&'static str>>();
    let some = Rights::of([Right::Read, Right::Append]);
    // Each list of grants with the rights that it gives to ada's agent `coder` now.
    let lists: Vec<(Vec<Grant>, Rights)> = vec![
        (vec![], Rights::NONE),
        (vec![grant(Some("ada"), None, some, None)], some),
        (vec![grant(Some("ada"), Some("coder"), Rights::ALL, Some(NOW + 5))], Rights::ALL),
        (vec![grant(Some("ada"), Some("writer"), Rights::ALL, None)], Rights::NONE),
        (vec![grant(Some("bob"), None, Rights::ALL, None)], Rights::NONE),
        (vec![grant(Some("ada"), None, Rights::ALL, Some(NOW - 5))], Rights::NONE),
        (vec![grant(None, None, Rights::ALL, None)], Rights::NONE),
        (
            vec![grant(None, Some("coder"), Rights::only(Right::Fork), None), grant(Some("ada"), None, some, None)],
            some.or(Rights::only(Right::Fork)),
        ),
    ];
    let scope_sets: [&[&str]; 7] = [
        &[],
        &["samite:all"],
        &["samite:read"],
        &["samite:read", "samite:manage", "openid"],
        &["samite:none"],
        &["openid"],
        &["samite:operate", "samite:erase"],
    ];
    let mut looked_at = 0;
    let mut allowed = 0;
    for (user, agent, workload) in
        [("ada", "coder", "pod"), ("", "coder", "pod"), ("ada", "", "pod"), ("ada", "coder", "")]
    {
        for tenant in ["acme", "other"] {
            for scopes in scope_sets {
                for whose in [None, Some("ada"), Some("owner")] {
                    for kind in ResourceKind::ALL {
                        for right in Right::ALL {
                            for (grants, given) in &lists {
                                for policy in [Policy::Silent, Policy::Permit, Policy::Forbid, Policy::Failed] {
                                    let mut who = principal(user, agent, scopes);
                                    workload.clone_into(&mut who.workload);
                                    let tenant_of = Tenant::new(tenant).unwrap();
                                    let owner = whose.map(owner);
                                    let resource = Resource { tenant: &tenant_of, owner: owner.as_ref(), kind, grants };
                                    let decision = decide(&who, right, &resource, policy, NOW);
                                    let expected = oracle(
                                        !user.is_empty() && !agent.is_empty() && !workload.is_empty(),
                                        tenant == "acme",
                                        scopes,
                                        whose.map(|whose| whose == "ada"),
                                        kind,
                                        right.name(),
                                        &named(*given),
                                        policy,
                                    );
                                    assert_eq!(
                                        decision.is_allowed(),
                                        expected,
                                        "{right} on {kind:?} of {whose:?} in {tenant} by {who:?}, {grants:?}, {policy:?}"
                                    );
                                    looked_at += 1;
                                    allowed += u32::from(expected);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(looked_at, 4 * 2 * 7 * 3 * 3 * 7 * 8 * 4);
    // Counted from the rules, apart from this code.
    assert_eq!(allowed, ALLOWED);
}

const ALLOWED: u32 = 764;

#[test]
fn names_scopes_and_stored_sets_are_one_to_one() {
    for right in Right::ALL {
        assert_eq!(Right::from_name(right.name()), Some(right));
        assert_eq!(Rights::of_scopes(&Rights::only(right).scopes()), Rights::only(right));
    }
    assert_eq!(Rights::ALL, Rights::of(Right::ALL));
    assert_eq!(Rights::of_scopes(&Rights::NONE.scopes()), Rights::NONE);
    let set = Rights::of([Right::Read, Right::Manage]);
    assert_eq!(serde_json::to_string(&set).unwrap(), r#"["read","manage"]"#);
    assert_eq!(serde_json::from_str::<Rights>(r#"["manage","newer","read"]"#).unwrap(), set);
    let stored = grant(Some("ada"), None, set, Some(7));
    let text = r#"{"to":{"user":"ada"},"rights":["read","manage"],"until":7,"by":{"tenant":"acme","user":"owner","agent":"cli","workload":"pod","scopes":["samite:all"]}}"#;
    assert_eq!(serde_json::to_string(&stored).unwrap(), text);
    assert_eq!(serde_json::from_str::<Grant>(text).unwrap(), stored);
}

#[test]
fn a_grantee_is_what_was_written() {
    let both = Grantee::parse(&["agent:coder", "user:ada"]).unwrap();
    assert_eq!(both.to_string(), "user:ada agent:coder");
    let url = Grantee::parse(&["user:https://issuer.example|7:x"]).unwrap();
    assert_eq!(url.user.as_deref(), Some("https://issuer.example|7:x"));
    assert_eq!(Grantee::parse(&["ada"]).unwrap(), Grantee::parse(&["user:ada"]).unwrap());
    for wrong in [
        vec![],
        vec![""],
        vec!["ada", "user:ada"],
        vec!["user:"],
        vec!["user:a", "user:b"],
        vec!["group:a"],
        vec!["user:a\nb"],
    ] {
        assert_eq!(Grantee::parse(&wrong).unwrap_err().code(), "bad_grantee", "{wrong:?}");
    }
    assert_eq!(Rights::NONE.to_grant().unwrap_err().code(), "no_rights");
    for right in [Right::Erase, Right::Operate] {
        assert_eq!(Rights::only(right).to_grant().unwrap_err().code(), "not_grantable");
    }
    // Whoever may add to something may see it.
    assert_eq!(Rights::only(Right::Append).to_grant().unwrap(), Rights::of([Right::Read, Right::Append]));
}

/// A grant of these rights that somebody gave to a user: `bob>eve rm 9`.
fn given(line: &str) -> Grant {
    let mut words = line.split(' ');
    let (by, to) = words.next().unwrap().split_once('>').unwrap();
    let letters = words.next().unwrap();
    let right = |letter| match letter {
        'r' => Right::Read,
        'a' => Right::Append,
        'm' => Right::Manage,
        other => panic!("{other}"),
    };
    let rights = Rights::of(letters.chars().map(right));
    let until = words.next().map(|until| until.parse().unwrap());
    let (agent, to) = to.split_once(':').map_or((None, to), |(to, agent)| (Some(agent), to));
    let to = Some(to).filter(|to| !to.is_empty());
    Grant { by: principal(by, "coder", &["samite:all"]), ..grant(to, agent, rights, until) }
}

/// What each of these may do, and until when, by grants that rest on others.
#[test]
fn a_grant_stands_on_what_let_its_giver_give_it() {
    // The grants, who asks for which right, until when that holds, and which grants end.
    type Row<'a> = (&'a [&'a str], &'a str, Right, Option<i64>, &'a [usize]);
    const EVER: Option<i64> = Some(i64::MAX);
    let at = NOW;
    let later = |after: i64| Some(at + after);
    let rows: Vec<Row<'_>> = vec![
        // The owner's own rests on nothing.
        (&["owner>bob rm"], "bob", Right::Manage, EVER, &[]),
        (&["owner>bob rm 1007"], "bob", Right::Manage, later(7), &[]),
        // A manager gives what he has, as long as he has it.
        (&["owner>bob rm", "bob>eve r"], "eve", Right::Read, EVER, &[]),
        (&["owner>bob rm 1007", "bob>eve r 1005"], "eve", Right::Read, later(5), &[]),
        (&["owner>bob rm 1007", "bob>eve r 1009"], "eve", Right::Read, later(7), &[1]),
        (&["owner>bob rm 1007", "bob>eve r"], "eve", Right::Read, later(7), &[1]),
        (&["owner>bob rm 1000", "bob>eve r"], "eve", Right::Read, None, &[1]),
        // Each right by itself, and managing, by which all are given.
        (&["owner>bob rm", "owner>bob ra 1003", "bob>eve ra"], "eve", Right::Append, later(3), &[2]),
        (&["owner>bob rm", "owner>bob ra 1003", "bob>eve ra"], "eve", Right::Read, EVER, &[2]),
        (&["owner>bob rm 1003", "owner>bob ra", "bob>eve a"], "eve", Right::Append, later(3), &[2]),
        (&["owner>:coder rm", "owner>bob ra 1003", "bob>eve ra 1003"], "eve", Right::Append, later(3), &[]),
        // What he has not, or has no more, he gave nobody.
        (&["owner>bob rm", "bob>eve ra"], "eve", Right::Append, None, &[1]),
        (&["owner>bob ra", "bob>eve r"], "eve", Right::Read, None, &[1]),
        (&["bob>eve r"], "eve", Right::Read, None, &[0]),
        // Along a chain, in whichever order they stand.
        (&["owner>bob rm", "bob>eve rm", "eve>dan r"], "dan", Right::Read, EVER, &[]),
        (&["eve>dan r", "bob>eve rm", "owner>bob rm"], "dan", Right::Read, EVER, &[]),
        (&["owner>bob rm 1009", "bob>eve rm 1006", "eve>dan r 1003"], "dan", Right::Read, later(3), &[]),
        (&["owner>bob rm 1004", "bob>eve rm", "eve>dan r"], "dan", Right::Read, later(4), &[1, 2]),
        (&["bob>eve rm", "eve>dan r"], "dan", Right::Read, None, &[0, 1]),
        // What one lost in part ends whole, and with it what rested on it.
        (&["owner>bob rm", "bob>eve ram", "eve>dan r"], "dan", Right::Read, EVER, &[1, 2]),
        // By two ways it holds as long as the longer one.
        (&["owner>bob rm 1004", "owner>bob:coder rm 1008", "bob>eve r 1008"], "eve", Right::Read, later(8), &[]),
        // Nobody lets himself in, alone or in a ring.
        (&["bob>bob rm"], "bob", Right::Manage, None, &[0]),
        (&["bob>eve rm", "eve>bob rm"], "bob", Right::Manage, None, &[0, 1]),
        (&["owner>bob r", "bob>eve rm", "eve>bob rm"], "bob", Right::Manage, None, &[1, 2]),
        (&["owner>bob rm 1004", "bob>eve rm 1004", "eve>bob rm"], "bob", Right::Manage, later(4), &[2]),
    ];
    for (lines, who, right, until, fallen) in rows {
        let grants: Vec<Grant> = lines.iter().map(|line| given(line)).collect();
        let whose = owner("owner");
        let standing = Standing::of(&whose, &grants);
        let who = principal(who, "coder", &["samite:all"]);
        assert_eq!(standing.until(&who, right, NOW), until, "{lines:?}");
        assert_eq!(super::fallen(&whose, &grants), fallen, "{lines:?}");
        let decision = on_session(&who, right, &grants, Policy::Silent);
        assert_eq!(decision.is_allowed(), until.is_some(), "{lines:?}: {decision:?}");
    }
    // Whom a policy let give it needs no grant.
    let by_policy = Grant { by_policy: true, ..given("bob>eve r") };
    let eve = principal("eve", "coder", &[]);
    assert!(on_session(&eve, Right::Read, std::slice::from_ref(&by_policy), Policy::Silent).is_allowed());
    assert_eq!(fallen(&owner("owner"), &[by_policy]), [] as [usize; 0]);
}

fn rights() -> impl Strategy<Value = Rights> {
    prop::sample::subsequence(Right::ALL.to_vec(), 0..=7).prop_map(Rights::of)
}

fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

prop_compose! {
    fn grants()(
        user in prop::option::of(names()),
        agent in prop::option::of(names()),
        rights in rights(),
        until in prop::option::of(NOW - 2..NOW + 2),
        by in (prop::sample::select(vec!["a", "b", "c", "owner"]), names()),
        by_policy in prop::bool::weighted(0.1),
    ) -> Grant {
        let by = principal(by.0, &by.1, &["samite:all"]);
        Grant { by, by_policy, ..grant(user.as_deref(), agent.as_deref(), rights, until) }
    }
}

#[test]
fn a_chain_is_forbidden_what_one_of_it_is_and_permitted_what_its_outermost_is() {
    use Policy::{Failed, Forbid, Permit, Silent};
    let mut who = principal("ada", "helper", &["samite:read"]);
    who.parents = vec!["coder".to_owned(), "planner".to_owned()];
    let all = chain(&who);
    let named: Vec<(&str, usize)> = all.iter().map(|one| (one.agent.as_str(), one.parents.len())).collect();
    assert_eq!(named, [("coder", 0), ("planner", 1), ("helper", 2)]);
    assert_eq!(all[2], who);
    for (said, whole) in [
        (vec![Silent, Silent], Silent),
        (vec![Forbid, Permit], Forbid),
        (vec![Permit, Failed], Failed),
        (vec![Silent, Permit], Silent),
        (vec![Permit, Silent], Permit),
        (vec![], Silent),
    ] {
        assert_eq!(Policy::of_chain(said.clone()), whole, "{said:?}");
    }
}

proptest! {
    /// However grants rest on each other: nobody is allowed what no grant to them says, nor longer; whoever may do something by
    /// somebody who is not the owner rests on one who may manage it and do the same; and taking a grant away gives nobody more.
    #[test]
    fn nothing_stands_on_nothing(
        all in prop::collection::vec(grants(), 0..7),
        gone in 0..7_usize,
        who in (names(), names()),
    ) {
        let whose = owner("owner");
        let standing = Standing::of(&whose, &all);
        for (place, grant) in all.iter().enumerate() {
            for right in Rights::GRANTABLE.iter().filter(|right| standing.gives(place, *right, NOW)) {
                prop_assert!(grant.rights.has(right) && grant.until.is_none_or(|until| NOW < until));
                prop_assert!(
                    grant.rests_on_none(&whose)
                        || [Right::Manage, right].iter().all(|one| standing.until(&grant.by, *one, NOW).is_some())
                );
            }
        }
        let mut fewer = all.clone();
        if gone < fewer.len() {
            fewer.remove(gone);
        }
        let after = Standing::of(&whose, &fewer);
        let who = principal(&who.0, &who.1, &["samite:all"]);
        for right in Rights::GRANTABLE.iter() {
            prop_assert!(after.until(&who, right, NOW) <= standing.until(&who, right, NOW));
        }
        // Without those that have fallen, all others hold as long as they were to.
        let gone = fallen(&whose, &all);
        let rest: Vec<Grant> =
            all.iter().enumerate().filter(|(place, _)| !gone.contains(place)).map(|(_, one)| one.clone()).collect();
        prop_assert_eq!(fallen(&whose, &rest), Vec::<usize>::new());
        for one in &rest {
            for right in one.rights.and(Rights::GRANTABLE).iter().filter(|_| one.until.is_none_or(|until| NOW < until)) {
                let named = principal(
                    one.to.user.as_deref().unwrap_or("a"),
                    one.to.agent.as_deref().unwrap_or("a"),
                    &["samite:all"],
                );
                let is_named = one.to.names(&named);
                prop_assert!(!is_named || on_session(&named, right, &rest, Policy::Silent).is_allowed());
            }
        }
    }

    /// Whatever is asked for, granted or permitted: a sub-agent may nothing that its parent may not, and what it asked not
    /// for neither; nor may its own sub-agents.
    #[test]
    fn a_sub_agent_has_never_more_than_its_parent(
        user in names(),
        agents in prop::collection::vec(names(), 3),
        scopes in prop::option::of(rights()),
        requested in prop::collection::vec(rights(), 2),
        whose in names(),
        grants in prop::collection::vec(grants(), 0..4),
        policies in prop::collection::vec(
            prop::sample::select(vec![Policy::Silent, Policy::Permit, Policy::Forbid, Policy::Failed]),
            3,
        ),
    ) {
        // Each name has a policy of its own, whoever works for whom.
        let of = |name: &str| policies[usize::from(name.as_bytes()[0] - b'a')];
        let said = |who: &Principal| Policy::of_chain(chain(who).iter().map(|one| of(&one.agent)));
        let mut parent = principal(&user, &agents[0], &[]);
        parent.scopes = scopes.map_or_else(Vec::new, Rights::scopes);
        let child = attenuate(&parent, &agents[1], requested[0]);
        let grandchild = attenuate(&child, &agents[2], requested[1]);
        prop_assert_eq!(&grandchild.parents, &agents[..2]);
        let tenant = Tenant::new("acme").unwrap();
        let owner = owner(&whose);
        for kind in ResourceKind::ALL {
            let resource = Resource { tenant: &tenant, owner: Some(&owner), kind, grants: &grants };
            for right in Right::ALL {
                let may = |who: &Principal| decide(who, right, &resource, said(who), NOW).is_allowed();
                prop_assert!(!may(&child) || (may(&parent) && requested[0].has(right)));
                prop_assert!(!may(&grandchild) || (may(&child) && requested[1].has(right)));
            }
        }
    }
}
