//! Branches: what makes one, and what never does.

use super::*;

#[test]
fn a_prompt_that_goes_back_starts_a_branch_at_its_parent() {
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &user("u2", "a1")
        + &assistant("a2", "u2", "m2")
        + &user("u3", "a1")
        + &assistant("a3", "u3", "m3")
        + &user("u4", "a1");
    let plan = plan(&text);
    assert_eq!(plan.forks(), [(0, 1, 2, 5), (0, 2, 2, 7)]);
    assert_eq!(plan.branches(), [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, 2)]);
    assert_eq!(plan.finished.current, [BranchRef(2)]);
    assert_eq!(plan.context(1), [1, 2, 5, 6]);
    assert_eq!(plan.context(2), [1, 2, 7]);
    assert_eq!(plan.context(0), [1, 2, 3, 4]);
}

#[test]
fn a_prompt_that_goes_back_to_the_very_first_one_starts_a_branch_at_the_root_record() {
    let text = progress("h1", "-")
        + &progress("h2", "h1")
        + &user("u1", "h2")
        + &assistant("a1", "u1", "m1")
        + &user("u2", "h2");
    let plan = plan(&text);
    assert_eq!(plan.forks(), [(0, 1, 2, 5)]);
    assert_eq!(plan.context(1), [5]);
}

#[test]
fn a_fork_of_a_fork_names_the_branch_that_holds_its_point() {
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &user("u2", "a1")
        + &assistant("a2", "u2", "m2")
        + &user("u3", "a1")
        + &assistant("a3", "u3", "m3")
        + &user("u4", "a3")
        + &user("u5", "a3")
        + &user("u6", "a2")
        + &user("u7", "a2");
    let plan = plan(&text);
    assert_eq!(plan.forks(), [(0, 1, 2, 5), (1, 2, 6, 8), (0, 3, 4, 10)]);
    assert_eq!(plan.branches()[8], (9, 0), "an old branch goes on where it ended");
    assert_eq!(plan.context(2), [1, 2, 5, 6, 8]);
}

#[test]
fn a_response_given_anew_is_a_branch_and_its_records_stay_together() {
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &call("b1", "u1", "m2", "t1")
        + &call("b2", "u1", "m2", "t2")
        + &call("b3", "b2", "m2", "t3");
    let plan = plan(&text);
    assert_eq!(plan.forks(), [(0, 1, 1, 3)]);
    assert_eq!(plan.branches(), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]);
}

#[test]
fn parallel_calls_and_their_results_are_one_line() {
    let text = user("u1", "-")
        + &call("a1", "u1", "m1", "t1")
        + &progress("p1", "a1")
        + &call("a2", "a1", "m1", "t2")
        + &result("r1", "a1", "t1", false)
        + &progress("p2", "a1")
        + &result("r2", "a2", "t2", true)
        + &assistant("a3", "r1", "m2")
        + &user("u2", "a3");
    let plan = plan(&text);
    assert_eq!(plan.forks(), []);
    assert_eq!(plan.ended(), (2, 1));
    assert_eq!(plan.codes(), []);
    assert_eq!(plan.context(0), [1, 2, 4, 5, 7, 8, 9]);
}

#[test]
fn side_records_make_no_branches_and_capture_nothing() {
    // A hook's record hangs off a1 after the conversation went on, and the next prompt hangs off the hook's.
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &user("u2", "a1")
        + &assistant("a2", "u2", "m2")
        + &progress("p1", "a1")
        + &record("system", "y1", "p1", ",\"subtype\":\"stop_hook_summary\"")
        + &user("u3", "y1")
        + &assistant("a3", "u3", "m3");
    let plan = plan(&text);
    assert_eq!(plan.forks(), []);
    assert_eq!(plan.context(0), [1, 2, 3, 4, 7, 8]);
}

#[test]
fn a_prompt_off_a_side_record_that_was_there_before_is_a_branch() {
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &progress("p1", "a1")
        + &user("u2", "p1")
        + &assistant("a2", "u2", "m2")
        + &user("u3", "p1");
    let plan = plan(&text);
    assert_eq!(plan.forks(), [(0, 1, 3, 6)]);
}

#[test]
fn injected_text_and_errors_of_the_provider_make_no_branches() {
    let meta = |uuid: &str| record("user", uuid, "a1", ",\"isMeta\":true,\"message\":{\"content\":\"x\"}");
    let error =
        record("assistant", "e1", "u2", ",\"isApiErrorMessage\":true,\"message\":{\"id\":\"me\",\"content\":[]}");
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &meta("i1")
        + &meta("i2")
        + &user("u2", "a1")
        + &meta("i3")
        + &error
        + &assistant("a2", "u2", "m2");
    let plan = plan(&text);
    assert_eq!(plan.forks(), []);
    assert_eq!(plan.context(0), [1, 2, 3, 4, 5, 6, 8]);
}

#[test]
fn two_processes_on_one_session_go_on_with_their_own_branches() {
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &user("x1", "a1")
        + &user("y1", "a1")
        + &assistant("x2", "x1", "m2")
        + &assistant("y2", "y1", "m3")
        + &user("x3", "x2")
        + &progress("p1", "y2");
    let plan = plan(&text);
    assert_eq!(plan.forks(), [(0, 1, 2, 4)]);
    assert_eq!(plan.branches(), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 0), (6, 1), (7, 0), (8, 1)]);
    assert_eq!(plan.finished.current, [BranchRef(0)]);
}

#[test]
fn a_compaction_names_the_lines_of_its_own_branch() {
    let boundary = |uuid: &str, parent: &str| {
        record("system", uuid, "-", &format!(",\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"{parent}\""))
    };
    let summary = |uuid: &str, parent: &str| {
        record("user", uuid, parent, ",\"isCompactSummary\":true,\"message\":{\"content\":\"so far\"}")
    };
    let text = user("u1", "-")
        + &assistant("a1", "u1", "m1")
        + &user("u2", "a1")
        + &user("u3", "a1")
        + &assistant("a3", "u3", "m3")
        + &boundary("c1", "a3")
        + &summary("s1", "c1")
        + &user("u4", "s1")
        + &summary("s2", "u4")
        + &user("u5", "s2")
        + &user("u6", "a3");
    let plan = plan(&text);
    let ranges: Vec<_> = plan.appends().iter().filter_map(|one| Some((one.line, one.kind, one.summarises?))).collect();
    let range = |first, last| LineRange { first, last };
    assert_eq!(
        ranges,
        [
            (6, EntryKind::EVENT, range(1, 5)),
            (7, EntryKind::COMPACTION, range(1, 5)),
            (9, EntryKind::COMPACTION, range(7, 8)),
        ]
    );
    assert_eq!(plan.forks(), [(0, 1, 2, 4), (1, 2, 5, 11)]);
    assert_eq!(plan.context(1), [9, 10]);
    assert_eq!(plan.context(2), [1, 2, 4, 5, 11]);
    assert_eq!(plan.codes(), []);
}

#[test]
fn sidechains_are_child_sessions_of_the_calls_that_started_them() {
    let task = |uuid: &str, parent: &str, tool_use: &str, prompt: &str| {
        let input = format!("{{\"prompt\":\"{prompt}\"}}");
        let block = format!("{{\"type\":\"tool_use\",\"id\":\"{tool_use}\",\"name\":\"Task\",\"input\":{input}}}");
        record("assistant", uuid, parent, &format!(",\"message\":{{\"id\":\"{uuid}\",\"content\":[{block}]}}"))
    };
    let side = |kind: &str, uuid: &str, parent: &str, text: &str| {
        record(
            kind,
            uuid,
            parent,
            &format!(",\"isSidechain\":true,\"message\":{{\"id\":\"{uuid}\",\"content\":\"{text}\"}}"),
        )
    };
    let text = user("u1", "-")
        + &task("a1", "u1", "t1", "look around")
        + &task("a2", "a1", "t2", "count")
        + &side("user", "x1", "-", "count")
        + &side("user", "y1", "-", "look around")
        + &side("assistant", "x2", "x1", "3")
        + &side("assistant", "y2", "y1", "done")
        + &result("r1", "a1", "t1", false)
        + &result("r2", "a2", "t2", false);
    let plan = plan(&text);
    let begins: Vec<_> = plan
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Begin(begin) => {
                Some((begin.session.0, begin.key.as_str(), begin.parent.as_deref(), begin.tool_use.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        begins,
        [
            (0, "claude-code:s1", None, None),
            (1, "claude-code:s1/sidechain-x1", Some("claude-code:s1"), Some("t2")),
            (2, "claude-code:s1/sidechain-y1", Some("claude-code:s1"), Some("t1")),
        ]
    );
    let sessions: Vec<_> = plan.appends().iter().map(|one| one.session.0).collect();
    assert_eq!(sessions, [0, 0, 0, 1, 2, 1, 2, 0, 0]);
    assert_eq!(plan.forks(), []);
    assert_eq!(plan.context(0), [1, 2, 3, 8, 9]);
    assert_eq!(plan.finished.current, [BranchRef(0); 3]);
}
