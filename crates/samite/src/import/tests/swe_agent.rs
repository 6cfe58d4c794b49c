use super::{Plan, assert_cuts, bytes, elements_of, shared};
use crate::import::swe_agent::{SweAgent, identify};
use samite_host::files;
use samite_model::EntryKind;
use std::path::Path;

fn planned(text: &[u8]) -> Plan {
    elements_of(identify(Path::new("/t/me/run/i/i.traj"), text).unwrap().unwrap(), text)
}

#[test]
fn real_trajectories_become_sessions_with_their_steps() {
    let Some(folder) = shared("swe-agent") else { return };
    let mut found = Vec::new();
    for path in files::files_below(&folder).unwrap().files {
        if path.extension().is_none_or(|extension| extension != "traj") {
            continue;
        }
        let text = bytes(&path);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let make = |text: &[u8]| elements_of(identify(&path, text).unwrap().unwrap(), text);
        let plan = make(&text);
        let length = |name: &str| value[name].as_array().map_or(0, Vec::len);
        let others = value.as_object().unwrap().iter().filter(|(_, value)| !value.is_array()).count();
        let history = length("history");
        assert_eq!(plan.counts(), ((history + length("trajectory") + others) as u64, 0, 0), "{}", path.display());
        assert_eq!(plan.count(EntryKind::MESSAGE) + plan.count(EntryKind::MODEL_RESPONSE), history);
        assert_eq!(plan.context(0).len(), history);
        assert_eq!((plan.codes(), plan.started.len()), (vec![], plan.ended.len()), "{}", path.display());
        found.push((history, plan.started.len()));
        assert_cuts::<SweAgent>(&text, 12, make);
    }
    found.sort_unstable();
    // Messages and actions.
    let expected =
        [(10, 5), (11, 5), (12, 5), (12, 5), (23, 11), (24, 11), (24, 11), (25, 12), (26, 12), (28, 13), (29, 14)];
    assert_eq!(found, expected);
}

fn history(role: &str, action: &str, more: &str) -> String {
    format!("{{\"role\":\"{role}\",\"action\":\"{action}\",\"content\":\"x\"{more}}}")
}

#[test]
fn an_action_that_nothing_tells_the_end_of_is_in_doubt() {
    let steps =
        "{\"action\":\"ls\",\"observation\":\"a\"}, {\"action\":\"ls\",\"observation\":\"b\"}, {\"action\":\"\"}";
    let all = [
        history("system", "", ""),
        history("assistant", "make", ",\"is_demo\":true"),
        history("user", "", ",\"is_demo\":true"),
        history("assistant", "ls", ""),
        history("user", "", ""),
        history("assistant", "ls", ""),
        history("user", "", ""),
        history("assistant", "pwd", ",\"tool_calls\":[{\"id\":\"c1\"}]"),
        history("tool", "", ""),
        history("assistant", "git push", ""),
    ];
    let text = format!("{{\"trajectory\": [{steps}], \"history\": [{}], \"info\": {{}}}}", all.join(","));
    let plan = planned(text.as_bytes());
    let started: Vec<_> = plan.started.iter().map(|(line, id, tool)| (*line, id.as_str(), tool.as_str())).collect();
    let expected = [(1, "trajectory-1", "ls"), (2, "trajectory-2", "ls"), (11, "c1", "pwd"), (13, "history-3", "git")];
    assert_eq!(started, expected);
    assert_eq!((plan.codes(), plan.ended.len()), (vec![(13, "in_doubt")], 3));
    assert_cuts::<SweAgent>(text.as_bytes(), text.len() - 80, planned);
}

#[test]
fn a_history_before_its_trajectory_makes_the_same_steps() {
    let all = [history("assistant", "ls", ""), history("user", "", ""), history("assistant", "submit", "")];
    let steps = "{\"action\":\"ls\",\"observation\":\"a\"}, {\"action\":\"submit\",\"observation\":\"b\"}";
    let text = format!("{{\"history\": [{}], \"trajectory\": [{steps}]}}", all.join(","));
    let plan = planned(text.as_bytes());
    assert_eq!((plan.started.len(), plan.ended.len(), plan.codes()), (2, 2, vec![]));
}

#[test]
fn it_is_known_by_the_end_of_its_path_and_what_is_none_is_refused() {
    let text = format!("{{\"environment\":\"e\",\"history\":[{}]}}", history("system", "", ""));
    assert_eq!(planned(text.as_bytes()).key, "swe-agent:run/i/i.traj");
    for text in ["", "{}", "{\"history\":[]}", "{\"info\":{\"role\":\"x\"}}", "words"] {
        assert!(identify(Path::new("x.traj"), text.as_bytes()).unwrap().is_none(), "{text}");
    }
}
