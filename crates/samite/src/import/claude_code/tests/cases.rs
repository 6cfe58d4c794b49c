//! How transcripts get damaged, kind by kind.

use super::*;

fn conversation() -> String {
    user("u1", "-") + &call("a1", "u1", "m1", "t1") + &result("r1", "a1", "t1", false) + &assistant("a2", "r1", "m2")
}

#[test]
fn a_torn_line_in_the_middle_is_kept_and_the_lines_after_it_count() {
    let whole = conversation();
    let lines: Vec<&str> = whole.lines().collect();
    let text = format!("{}\n{}\n{}\n{}\n", lines[0], &lines[1][..60], lines[2], lines[3]);
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.codes(), [(2, "torn"), (3, "parent_missing"), (3, "result_without_call")]);
    assert_eq!(plan.finished.report.accounting, Accounting { imported: 2, duplicates: 0, reported: 2 });
    let torn = plan.appends()[1];
    assert_eq!((torn.kind, torn.context, torn.flaw), (EntryKind::EVENT, ContextRole::Outside, Some(Flaw::Torn)));
    assert_eq!(plan.context(0), [1, 3, 4]);
}

#[test]
fn every_cut_of_the_tail_keeps_what_is_before_it() {
    let text = conversation();
    let whole = plan(&text);
    for cut in 0..=text.len() {
        let head = &text.as_bytes()[..cut];
        let cut_plan = plan(head);
        cut_plan.assert_accounted(head);
        let torn = cut_plan.appends().last().is_some_and(|last| last.flaw == Some(Flaw::Unfinished));
        let kept = cut_plan.items.len() - usize::from(torn);
        let begin = usize::from(cut_plan.appends().len() == 1 && torn);
        assert_eq!(cut_plan.items[..kept - begin], whole.items[..kept - begin], "cut at {cut}");
    }
}

#[test]
fn a_record_behind_a_torn_head_is_read() {
    let whole = conversation();
    let lines: Vec<&str> = whole.lines().collect();
    let text = format!("{}\n{}{}\n{}\n", lines[0], &lines[3][..50], lines[1], lines[2]);
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.codes(), [(2, "glued")]);
    assert_eq!((plan.calls(), plan.ended()), (1, (1, 0)));
    let glued = plan.appends()[1];
    assert_eq!((glued.kind, &glued.record), (EntryKind::MODEL_RESPONSE, &(50..50 + lines[1].len())));
}

#[test]
fn odd_bytes_are_kept_and_read_where_they_can_be() {
    let mut text = b"\xef\xbb\xbf".to_vec();
    text.extend(user("u1", "-").trim_end().bytes());
    text.extend(b"\r\n\0\0\0");
    text.extend(assistant("a1", "u1", "m1").bytes());
    text.extend(user("u2", "a1").replace("go on", "go \u{1}").bytes());
    let at = text.len() + user("u3", "a1").find("go on").unwrap();
    text.extend(user("u3", "a1").bytes());
    text[at] = 0xff;
    text.extend(b"\0\0\0\0\n\n \t\r\n");
    let plan = plan(&text);
    plan.assert_accounted(&text);
    assert_eq!(plan.codes(), [(2, "nul_bytes"), (3, "torn"), (4, "not_utf8"), (5, "torn"), (6, "blank"), (7, "blank")]);
    assert_eq!(plan.context(0), [1, 2, 4]);
    assert_eq!(plan.finished.report.accounting, Accounting { imported: 1, duplicates: 0, reported: 6 });
    let attributes: Vec<_> = plan.attributes.iter().map(|(line, value)| (*line, value.to_string())).collect();
    let record = user("u1", "-").trim_end().len();
    let behind = assistant("a1", "u1", "m1").trim_end().len();
    assert_eq!(
        attributes,
        [
            (1, format!("{{\"record\":[3,{}]}}", record + 3)),
            (2, format!("{{\"flaw\":\"nul_bytes\",\"record\":[3,{}]}}", behind + 3)),
            (3, "{\"flaw\":\"torn\"}".to_owned()),
            (4, "{\"flaw\":\"not_utf8\"}".to_owned()),
            (5, "{\"flaw\":\"torn\"}".to_owned()),
        ]
    );
    assert_eq!(plan.appends()[0].record, 3..3 + user("u1", "-").trim_end().len());
}

#[test]
fn parents_that_were_never_written_are_named_and_nothing_becomes_unreachable() {
    let text: String = (0..100)
        .map(|at| {
            let parent = if at % 5 == 0 { format!("gone{at}") } else { format!("u{}", at - 1) };
            if at % 2 == 0 {
                user(&format!("u{at}"), &parent)
            } else {
                assistant(&format!("u{at}"), &parent, &format!("m{at}"))
            }
        })
        .collect();
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.forks(), []);
    assert_eq!(plan.context(0), (1..=100).collect::<Vec<u64>>());
    let missing: Vec<u64> = (0..20).map(|at| at * 5 + 1).collect();
    assert_eq!(plan.finished.report.reported_lines(), missing);
    assert_eq!(
        plan.finished.report.findings[0].to_string(),
        "line 1 names the parent gone0, which is in no line before it; kept in line order"
    );
}

#[test]
fn three_calls_two_results_and_a_crash_leave_one_in_doubt() {
    let text = user("u1", "-")
        + &call("a1", "u1", "m1", "t1")
        + &call("a2", "a1", "m1", "t2")
        + &call("a3", "a2", "m1", "t3")
        + &result("r1", "a1", "t1", false)
        + &result("r3", "a3", "t3", false);
    let plan = plan(&text);
    assert_eq!((plan.calls(), plan.ended()), (3, (2, 0)));
    let doubt: Vec<_> =
        plan.finished.in_doubt.iter().map(|call| (call.line, call.tool_use.as_str(), call.tool.as_str())).collect();
    assert_eq!(doubt, [(3, "t2", "Bash")]);
    assert_eq!(plan.codes(), [(3, "in_doubt")]);
    assert_eq!(plan.finished.report.accounting, Accounting { imported: 6, duplicates: 0, reported: 0 });
}

#[test]
fn the_first_result_counts_and_the_second_is_kept() {
    let text = conversation() + &result("r9", "a1", "t1", true) + &call("a9", "a2", "m9", "t1");
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!((plan.calls(), plan.ended()), (1, (1, 0)));
    assert_eq!(plan.codes(), [(5, "result_repeated"), (6, "call_repeated")]);
}

#[test]
fn cycles_of_parents_are_named_and_kept() {
    let text = user("u1", "u3") + &user("u2", "u1") + &user("u3", "u2") + &user("u4", "u4") + &user("u5", "u3");
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.codes(), [(1, "parent_missing"), (3, "parent_cycle"), (4, "parent_cycle")]);
    assert_eq!(plan.forks(), []);
    assert_eq!(plan.context(0), [1, 2, 3, 4, 5]);
}

#[test]
fn a_record_of_twelve_megabytes_is_one_entry() {
    let image = "A".repeat(12_800_000);
    let text = user("u1", "-").replace("go on", &image) + &assistant("a1", "u1", "m1");
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.finished.report.accounting.imported, 2);
}

#[test]
fn unknown_types_fields_and_shapes_are_kept() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let text = record("hologram", "h1", "-", ",\"more\":{\"a\":[1]}")
        + &user("u1", "h1").replace("\"uuid\"", &format!("\"unknown\":{deep},\"uuid\""))
        + &format!("{{\"type\":7,\"uuid\":[1],\"deep\":{deep}}}\n")
        + &call("a1", "u1", "m1", "t1").replace("\"ls\"", &deep)
        + &call("a2", "a1", "m1", "t2").replace("ls", "\\ud83d")
        + "42\n"
        + &record("user", "u2", "a2", ",\"message\":\"error\"")
        + &call("a3", "u2", "m3", "")
        + &record("user", "u4", "a3", ",\"message\":{\"content\":[\"x\",1,null,{}]}");
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(
        plan.codes(),
        [
            (4, "input_unreadable"),
            (4, "in_doubt"),
            (5, "input_unreadable"),
            (5, "in_doubt"),
            (6, "not_a_record"),
            (7, "no_message"),
            (8, "call_without_id"),
        ]
    );
    assert_eq!(plan.calls(), 2);
}

#[test]
fn equal_lines_and_equal_ids_are_told_apart() {
    let snapshot = "{\"type\":\"file-history-snapshot\",\"messageId\":\"u1\"}\n";
    let changed = user("u1", "-").replace("go on", "go back");
    let text =
        snapshot.to_owned() + &user("u1", "-") + snapshot + &user("u1", "-") + &changed + &changed + &user("u2", "u1");
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.codes(), [(4, "repeated"), (5, "same_id_other_bytes"), (6, "repeated")]);
    assert_eq!(plan.finished.report.accounting, Accounting { imported: 4, duplicates: 2, reported: 1 });
    let ids: Vec<_> = plan.appends().iter().map(|one| one.dedupe.as_str().to_owned()).collect();
    assert_eq!(ids[1], "uuid:u1");
    assert!(ids[0].ends_with(":0") && ids[2].ends_with(":1"), "{ids:?}");
    assert_eq!(plan.context(0), [2, 5, 7]);
}

#[test]
fn megabyte_records_of_two_processes_that_interleave_lose_no_byte() {
    let long = |uuid: &str| user(uuid, "u1").replace("go on", &"x".repeat(1 << 20));
    let (one, two) = (long("x1"), long("y1"));
    let (a, b) = one.split_at(4096);
    let text = user("u1", "-") + a + &two + b + &user("u2", "u1");
    let plan = plan(&text);
    plan.assert_accounted(text.as_bytes());
    assert_eq!(plan.codes(), [(2, "glued"), (3, "torn")]);
}

#[test]
fn sub_agents_hang_off_their_parents_records_and_calls() {
    let agent = ",\"data\":{\"type\":\"agent_progress\",\"agentId\":\"a7\"},\"parentToolUseID\":\"t1\"";
    let text = conversation() + &record("progress", "p1", "a1", agent) + &record("progress", "p2", "a1", agent);
    let parent = plan(&text);
    let links: Vec<_> = parent.items.iter().filter(|item| matches!(item, Item::AgentLinked { .. })).collect();
    let expected = Item::AgentLinked { session: SessionRef(0), line: 5, agent: "a7".into(), tool_use: "t1".into() };
    assert_eq!(links, [&expected]);
    let identity = Identity {
        session_id: "s1".into(),
        agent: Some(AgentIdentity { id: "a7".into(), tool_use: Some("t1".into()) }),
        ..Identity::default()
    };
    let text = record("user", "x1", "a1", ",\"isSidechain\":true,\"agentId\":\"a7\",\"message\":{\"content\":\"go\"}");
    let child = plan_with(Planner::new(identity.clone()).below(parent.finished.known), text.as_bytes());
    assert_eq!(child.codes(), []);
    let Item::Begin(begin) = &child.items[0] else { panic!("{:?}", child.items) };
    assert_eq!((begin.key.as_str(), begin.parent.as_deref()), ("claude-code:s1/agent-a7", Some("claude-code:s1")));
    assert_eq!((begin.agent.as_deref(), begin.tool_use.as_deref()), (Some("a7"), Some("t1")));
    let alone = plan_with(Planner::new(identity), text.as_bytes());
    assert_eq!(alone.codes(), [(1, "parent_missing")]);
}
