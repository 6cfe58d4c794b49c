//! Chats of Gemini CLI.

use super::*;

fn header() -> Value {
    json!({"sessionId": "old", "projectHash": "abc", "startTime": "t", "lastUpdated": "t", "kind": "main"})
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "t", "type": "user", "content": [{"text": text}]})
}

fn result(id: &str, output: &str) -> Value {
    json!({"functionResponse": {"id": id, "name": "shell", "response": {"output": output}}})
}

fn call(id: &str, command: &str, output: Option<&str>) -> Value {
    let mut call = json!({"id": id, "name": "shell", "args": {"command": command}});
    if let Some(output) = output {
        call["result"] = json!([result(id, output)]);
        call["status"] = json!("success");
    }
    call
}

fn model(id: &str, text: &str, calls: &[Value]) -> Value {
    json!({"id": id, "timestamp": "t", "type": "gemini", "content": text, "thoughts": [], "toolCalls": calls})
}

fn answers(id: &str, parts: &[Value]) -> Value {
    json!({"id": id, "timestamp": "t", "type": "user", "content": parts})
}

fn set(messages: &[Value]) -> Value {
    json!({"$set": {"messages": messages, "lastUpdated": "t"}})
}

/// Two turns: one call, then two calls at once; the same words twice.
fn chat() -> Vec<Value> {
    vec![
        header(),
        set(&[user("c", "<session_context>\nThis is the Gemini CLI.")]),
        user("p1", "go on"),
        model("m1", "", &[call("x1", "ls", None)]),
        model("m1", "", &[call("x1", "ls", Some("calc.py"))]),
        answers("r1", &[result("x1", "calc.py")]),
        model("m2", "Done.", &[]),
        user("p2", "go on"),
        model("m3", "Both:", &[call("x2", "git push", Some("pushed")), call("x3", "ls", Some("calc.py"))]),
        answers("r2", &[result("x2", "pushed"), result("x3", "calc.py")]),
        model("m4", "Done twice.", &[]),
    ]
}

fn history() -> Vec<Happened> {
    let shell = |command: &str| json!({"command": command});
    let output = |text: &str| json!({"llmContent": text, "returnDisplay": text});
    vec![
        prompt("go on"),
        called("1", "shell", shell("ls")),
        returned("1", output("calc.py")),
        ended("Done."),
        prompt("go on"),
        called("2", "shell", shell("git push")),
        called("3", "shell", shell("ls")),
        returned("3", output("calc.py")),
        returned("2", output("pushed")),
        ended("Done twice."),
    ]
}

fn at(original: &[Value], taken: usize) -> Written {
    write(Harness::GeminiCli, Some(&file(original)), &history()[..taken], &target())
}

/// What a written chat has: per message its id, its text, and each call with its result.
fn outline(written: &Written) -> Vec<String> {
    let records = read(written);
    assert_eq!(records[0]["sessionId"], SESSION);
    assert_eq!(records[0]["lastUpdated"], "2026-11-29T17:53:41.372Z");
    records[1..]
        .iter()
        .map(|message| {
            let content = &message["content"];
            let text = content.as_str().or(content[0]["text"].as_str()).unwrap_or_default();
            let mut line = format!("{} {text}", message["id"].as_str().unwrap().trim_start_matches(SESSION));
            for part in content.as_array().into_iter().flatten() {
                if let Some(id) = part["functionResponse"]["id"].as_str() {
                    line = [&line, "<", id].concat();
                }
            }
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                let response = &call["result"][0]["functionResponse"]["response"];
                let end = response["output"].as_str().or(response["error"].as_str()).unwrap_or("-");
                line = [&line, call["id"].as_str().unwrap(), "=", end].concat();
            }
            line
        })
        .collect()
}

#[test]
fn a_chat_is_cut_where_the_branch_was_cut() {
    let chat = chat();
    let context = "c <session_context>\nThis is the Gemini CLI.";
    assert_eq!(outline(&at(&chat, 1)), [context, "p1 go on"]);
    let unknown = format!("m1 x1={UNKNOWN_END}");
    assert_eq!(outline(&at(&chat, 2)), [context, "p1 go on", &unknown]);
    let first = [context, "p1 go on", "m1 x1=calc.py", "r1 <x1"];
    assert_eq!(outline(&at(&chat, 3)), first);
    assert_eq!(outline(&at(&chat, 4)), [first[0], first[1], first[2], first[3], "m2 Done."]);
    assert_eq!(outline(&at(&chat, 10)).len(), 9);
    assert_eq!(counts(&at(&chat, 10)), (9, 0, 0, vec![]));
}

#[test]
fn calls_at_once_are_kept_as_far_as_the_branch_has_them() {
    let chat = chat();
    let unknown = format!("m3 Both:x2={UNKNOWN_END}");
    assert_eq!(outline(&at(&chat, 6))[5..], ["p2 go on", &unknown]);
    assert_eq!(outline(&at(&chat, 8))[6..], [format!("{unknown}x3=calc.py"), "r2 <x3".to_owned()]);
    assert_eq!(counts(&at(&chat, 8)).3, ["x2"]);
}

#[test]
fn an_end_that_only_the_branch_knows_is_told() {
    // Killed after the hook and before the chat was written.
    let chat = &chat()[..4];
    assert_eq!(outline(&at(chat, 3))[2..], ["m1 x1=calc.py"]);
    assert_eq!(counts(&at(chat, 3)), (3, 0, 0, vec![]));
}

#[test]
fn a_chat_that_is_gone_is_made_from_the_branch() {
    let written = write(Harness::GeminiCli, None, &history()[..6], &target());
    assert_eq!(
        outline(&written),
        [
            "-1 go on".to_owned(),
            "-2 1=calc.py".to_owned(),
            "-3 Done.".to_owned(),
            "-4 go on".to_owned(),
            format!("-5 2={UNKNOWN_END}"),
        ]
    );
    let header = &read(&written)[0];
    // The hash of the directory's path, as Gemini CLI makes it.
    assert_eq!(header["projectHash"], "65d80d2c48b3d23b89fb7644fbb034a40f899515baa72f5ae8d871bd81823e11");
    assert_eq!(header["kind"], "main");
}

#[test]
fn a_position_before_a_compression_has_what_was_there_before_it() {
    let mut chat = chat();
    chat.push(set(&[user("s", "A summary: it was pushed."), model("m4", "Done twice.", &[])]));
    chat.push(user("p3", "and now?"));
    // Before it: all messages as they were.
    assert_eq!(outline(&at(&chat, 4)).last().unwrap(), "m2 Done.");
    assert_eq!(outline(&at(&chat, 10)).len(), 9);
    // After it: the summary, and what came then.
    let mut history = history();
    history.push(prompt("and now?"));
    let written = write(Harness::GeminiCli, Some(&file(&chat)), &history, &target());
    assert_eq!(outline(&written), ["s A summary: it was pushed.", "m4 Done twice.", "p3 and now?"]);
}

#[test]
fn what_a_person_took_back_in_gemini_itself_is_not_in_the_way() {
    let mut chat = chat();
    chat.push(json!({"$rewindTo": "p2"}));
    chat.push(user("p3", "another way"));
    let mut history = history();
    history.truncate(4);
    history.push(prompt("another way"));
    let written = write(Harness::GeminiCli, Some(&file(&chat)), &history, &target());
    assert_eq!(outline(&written)[4..], ["m2 Done.", "p3 another way"]);
    // The line that was taken back is still there to be gone back to.
    assert_eq!(outline(&at(&chat, 10)).last().unwrap(), "m4 Done twice.");
}

#[test]
fn a_chat_that_was_resumed_has_its_calls_in_the_content_too() {
    let part = json!({"functionCall": {"id": "x1", "name": "shell", "args": {"command": "ls"}}});
    let chat = [
        header(),
        set(&[
            user("p1", "go on"),
            json!({"id": "m1", "type": "gemini", "content": [part], "toolCalls": [call("x1", "ls", Some("calc.py"))]}),
            answers("m1_response", &[result("x1", "calc.py")]),
        ]),
    ];
    let cut = outline(&at(&chat, 2));
    assert_eq!(cut, ["p1 go on".to_owned(), format!("m1 x1={UNKNOWN_END}")]);
    assert_eq!(outline(&at(&chat, 3)), ["p1 go on", "m1 x1=calc.py", "m1_response <x1"]);
}

/// Two turns with the same call: in the first one Gemini was killed, so no record has that call.
fn chat_after_a_kill(first: &str, second: &str) -> Vec<Value> {
    vec![
        header(),
        user("p1", first),
        user("p2", second),
        model("m2", "Tests:", &[call("g2", "npm test", Some("ok"))]),
        model("m3", "They pass.", &[]),
    ]
}

fn history_after_a_kill(first: &str, second: &str) -> Vec<Happened> {
    let shell = json!({"command": "npm test"});
    vec![
        prompt(first),
        called("1", "shell", shell.clone()),
        prompt(second),
        called("2", "shell", shell),
        returned("2", json!({"llmContent": "ok"})),
        ended("They pass."),
    ]
}

#[test]
fn a_call_that_was_cut_off_is_not_the_same_one_of_a_later_turn() {
    for (first, second) in [("test it", "DISCARDED"), ("go on", "go on")] {
        let chat = chat_after_a_kill(first, second);
        let history = history_after_a_kill(first, second);
        let at = |taken: usize| write(Harness::GeminiCli, Some(&file(&chat)), &history[..taken], &target());
        let unknown = format!("-1 1={UNKNOWN_END}");
        assert_eq!(outline(&at(2)), [format!("p1 {first}"), unknown], "{second}");
        assert_eq!(counts(&at(2)), (1, 3, 1, vec!["1"]), "{second}");
        assert_eq!(outline(&at(3))[1..], [format!("p2 {second}")]);
        let open = format!("m2 Tests:g2={UNKNOWN_END}");
        assert_eq!(outline(&at(4))[1..], [format!("p2 {second}"), open]);
        assert_eq!(counts(&at(6)), (4, 0, 0, vec![]), "{second}");
    }
}

#[test]
fn a_prompt_without_a_record_is_not_the_same_one_of_a_later_turn() {
    let turn = |number: usize, words: &str| {
        [user(&format!("p{number}"), words), model(&format!("m{number}"), &format!("Did {words}."), &[])]
    };
    // The second prompt was cut off before Gemini wrote it, and said again after another one.
    let chat = [vec![header()], turn(1, "begin").to_vec(), turn(2, "DISCARDED").to_vec(), turn(3, "go on").to_vec()];
    let chat = file(&chat.concat());
    let mut history = vec![prompt("begin"), ended("Did begin."), prompt("go on")];
    let at = |history: &[Happened]| outline(&write(Harness::GeminiCli, Some(&chat), history, &target()));
    assert_eq!(at(&history), ["p1 begin", "m1 Did begin.", "-1 go on"]);
    // Nor with calls, of which the later turn has such ones.
    history.push(called("1", "shell", json!({"command": "ls"})));
    assert_eq!(at(&history)[2..], ["-1 go on".to_owned(), format!("-2 1={UNKNOWN_END}")]);
    // A turn that ended with the same words is the same, and what stands before it is history that the hooks missed.
    history.pop();
    history.push(ended("Did go on."));
    assert_eq!(at(&history).last().unwrap(), "m3 Did go on.");
    assert_eq!(at(&history).len(), 6);
    // Words that nobody told are no end of a turn that is not there.
    let silent = [prompt("begin"), ended("Did begin."), prompt("gone"), Happened::Ended { said: None }];
    assert_eq!(at(&silent), ["p1 begin", "m1 Did begin.", "-1 gone"]);
}

#[test]
fn a_prompt_is_no_longer_one_that_begins_alike() {
    let files = "go on @a.txt\n--- Content from referenced files ---\nA";
    let chat = [header(), user("p1", "go on with it"), user("p2", files)];
    let written = |words: &str| outline(&write(Harness::GeminiCli, Some(&file(&chat)), &[prompt(words)], &target()));
    assert_eq!(written("go on"), ["-1 go on"]);
    assert_eq!(written("go on @a.txt "), ["p1 go on with it".to_owned(), format!("p2 {files}")]);
}

#[test]
fn what_was_replaced_as_it_was_recorded_is_found_by_what_stands_around_it() {
    let chat = [
        header(),
        user("p1", "log in with hunter2!\n--- Content from referenced files ---\nA"),
        model("m1", "", &[call("c1", "login --password hunter2!", Some("ok"))]),
        model("m2", "In with hunter2!.", &[]),
        user("p2", "and now"),
    ];
    let history = |before: &str, secret: &str| {
        [
            prompt(&format!("{before} with {secret}")),
            called("1", "shell", json!({"command": format!("login --password {secret}")})),
            returned("1", json!({"llmContent": "ok"})),
            ended(&format!("In with {secret}.")),
        ]
    };
    let written =
        |before: &str, secret: &str| write(Harness::GeminiCli, Some(&file(&chat)), &history(before, secret), &target());
    let (whole, holder) = (written("log in", "hunter2!"), "[secret:password:00112233:8]");
    assert_eq!((whole.kept, whole.made), (3, 0));
    assert_eq!(written("log in", holder), whole);
    assert_eq!(written("log out", holder).kept, 0);
}

#[test]
fn a_chat_that_was_gone_back_in_thousands_of_times_is_held_once() {
    let rounds = 3000;
    let mut chat = vec![header(), user("u", "q")];
    for round in 0..rounds {
        chat.extend([user(&format!("u{round}"), "q"), model(&format!("m{round}"), "a", &[])]);
        chat.push(json!({"$rewindTo": format!("m{round}")}));
    }
    chat.push(model("last", "Done.", &[]));
    let history = [prompt("q"), ended("Done.")];
    let written = write(Harness::GeminiCli, Some(&file(&chat)), &history, &target());
    assert_eq!(counts(&written), (1, rounds + 1, 1, vec![]));
    let all: Vec<Happened> = (0..=rounds).map(|_| prompt("q")).chain([ended("Done.")]).collect();
    let written = write(Harness::GeminiCli, Some(&file(&chat)), &all, &target());
    assert_eq!(counts(&written), (rounds + 2, 0, 0, vec![]));
}
