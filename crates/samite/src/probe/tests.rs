//! Probes against real repositories, files, commands and a real HTTP server.
#![expect(clippy::disallowed_methods, reason = "the world that is looked at is made directly")]

use super::*;
use crate::syntax::parse_probe;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(dir)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(dir: &Path, words: &str) -> String {
    git(dir, &["commit", "-q", "--allow-empty", "-m", words]);
    git(dir, &["rev-parse", "HEAD"])
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    dir
}

fn prepared(text: &str, base: &Path) -> Probe {
    prepare(parse_probe(text).unwrap(), &Lookout::new(base)).unwrap()
}

fn verdict(probe: &Probe, base: &Path) -> Verdict {
    let evidence = look(probe, &Lookout::new(base));
    assert!(!evidence.seen.is_empty());
    evidence.verdict
}

#[test]
fn a_local_commit_is_ours_by_its_parent() {
    let dir = repository();
    let base = dir.path();
    let first = prepared("git:.#main", base);
    assert_eq!(verdict(&first, base), Verdict::DidNot);
    commit(base, "one");
    assert_eq!(verdict(&first, base), Verdict::Happened);

    let second = prepared("git:.#main", base);
    assert!(
        matches!(&second, Probe::GitRef { before: Some(_), repository, .. } if Path::new(repository).is_absolute())
    );
    assert_eq!(verdict(&second, base), Verdict::DidNot);
    commit(base, "two");
    assert_eq!(verdict(&second, base), Verdict::Happened);
    // Looked at from another directory, it is the same repository.
    assert_eq!(verdict(&second, Path::new("/")), Verdict::Happened);
    commit(base, "three");
    assert_eq!(verdict(&second, base), Verdict::CannotTell);
    git(base, &["commit", "-q", "--amend", "--allow-empty", "-m", "other"]);
    assert_eq!(verdict(&second, base), Verdict::CannotTell);
    git(base, &["update-ref", "-d", "refs/heads/main"]);
    assert_eq!(verdict(&second, base), Verdict::CannotTell);
}

#[test]
fn a_merge_is_ours_by_its_first_parent_and_an_expected_commit_by_name() {
    let dir = repository();
    let base = dir.path();
    commit(base, "one");
    git(base, &["checkout", "-q", "-b", "side"]);
    let side = commit(base, "side");
    git(base, &["checkout", "-q", "main"]);
    let merge = prepared("git:.#main", base);
    let forward = prepared("git:.#main=side", base);
    assert!(matches!(&forward, Probe::GitRef { expected: Some(expected), .. } if *expected == side));
    git(base, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    assert_eq!(verdict(&merge, base), Verdict::Happened);
    // What the step meant to bring there is in the history of the merge.
    assert_eq!(verdict(&forward, base), Verdict::Happened);
    git(base, &["reset", "-q", "--hard", "side"]);
    assert_eq!(verdict(&forward, base), Verdict::Happened);
    git(base, &["checkout", "-q", "-B", "main", "side~1"]);
    commit(base, "another's");
    assert_eq!(verdict(&forward, base), Verdict::CannotTell);
    let bad = prepare(parse_probe("git:.#main=nonsense").unwrap(), &Lookout::new(base)).unwrap_err();
    assert_eq!(bad.code(), "bad_probe");
}

#[test]
fn a_push_is_ours_by_its_commit() {
    let (dir, shared, other) = (repository(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let base = dir.path();
    git(shared.path(), &["init", "-q", "--bare", "-b", "main"]);
    git(base, &["remote", "add", "origin", shared.path().to_str().unwrap()]);
    let one = commit(base, "one");

    let first = prepared("git:.@origin#main", base);
    assert!(matches!(&first, Probe::GitRef { before: None, expected: Some(expected), .. } if *expected == one));
    assert!(first.is_remote());
    assert_eq!(verdict(&first, base), Verdict::DidNot);
    git(base, &["push", "-q", "origin", "main"]);
    assert_eq!(verdict(&first, base), Verdict::Happened);

    // A commit and its push in one step: nothing to expect yet, then a commit on top of what was there.
    let both = prepared("git:.@origin#main", base);
    assert!(matches!(&both, Probe::GitRef { before: Some(_), expected: None, .. }));
    commit(base, "two");
    assert_eq!(verdict(&both, base), Verdict::DidNot);
    git(base, &["push", "-q", "origin", "main"]);
    assert_eq!(verdict(&both, base), Verdict::Happened);

    // Another's push on top of ours, not fetched here: the commit is not known, so nobody can tell.
    let before_ours = prepared("git:.@origin#main", base);
    let ours = commit(base, "three");
    let mine = prepared("git:.@origin#main", base);
    git(base, &["push", "-q", "origin", "main"]);
    git(other.path(), &["clone", "-q", shared.path().to_str().unwrap(), "."]);
    commit(other.path(), "another's");
    git(other.path(), &["push", "-q", "origin", "main"]);
    assert_eq!(verdict(&mine, base), Verdict::CannotTell);
    git(base, &["fetch", "-q"]);
    let evidence = look(&mine, &Lookout::new(base));
    assert_eq!(evidence.verdict, Verdict::Happened, "{}", evidence.seen);
    assert!(evidence.seen.contains(&ours));
    assert_eq!(verdict(&before_ours, base), Verdict::CannotTell);

    // Another's commit on top of what was there, fetched but not ours.
    let theirs = prepared("git:.@origin#main", other.path());
    let probe = match theirs {
        Probe::GitRef { remote, reference, before, expected, .. } => {
            Probe::GitRef { repository: base.to_string_lossy().into_owned(), remote, reference, before, expected }
        }
        other => other,
    };
    commit(other.path(), "one more of another's");
    git(other.path(), &["push", "-q", "origin", "main"]);
    git(base, &["fetch", "-q"]);
    assert_eq!(verdict(&probe, base), Verdict::CannotTell);
}

#[test]
fn a_repository_or_remote_that_cannot_be_read_tells_nothing_and_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["git:.#main", "git:missing#main", "git:.@https://user:hunter2@127.0.0.1:1/x.git#main"] {
        let probe = parse_probe(text).unwrap();
        let evidence = look(&probe, &Lookout::new(dir.path()));
        assert_eq!(evidence.verdict, Verdict::CannotTell, "{text}: {}", evidence.seen);
        assert!(!evidence.seen.contains("hunter2"), "{}", evidence.seen);
        let error = prepare(probe, &Lookout::new(dir.path())).unwrap_err();
        assert_eq!(error.code(), "probe_blind");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
}

#[test]
fn a_remote_that_does_not_answer_is_given_up() {
    let dir = repository();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let probe = parse_probe(&format!("git:.@http://127.0.0.1:{port}/x.git#main")).unwrap();
    let from = Lookout { time_limit: Duration::from_millis(300), ..Lookout::new(dir.path()) };
    let evidence = look(&probe, &from);
    assert_eq!(evidence.verdict, Verdict::CannotTell);
    assert!(evidence.seen.contains("did not answer within 0.3 s"), "{}", evidence.seen);
}

#[test]
fn files() {
    let dir = tempfile::tempdir().unwrap();
    let (base, path) = (dir.path(), dir.path().join("out"));
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let (exists, content) = (prepared("file:out", base), prepared(&format!("file:out={abc}"), base));
    assert_eq!((verdict(&exists, base), verdict(&content, base)), (Verdict::DidNot, Verdict::DidNot));
    fs::write(&path, "ab").unwrap();
    assert_eq!((verdict(&exists, base), verdict(&content, base)), (Verdict::Happened, Verdict::CannotTell));
    fs::write(&path, "abc").unwrap();
    assert_eq!((verdict(&exists, base), verdict(&content, base)), (Verdict::Happened, Verdict::Happened));

    let (appended, same) = (prepared("file:out", base), prepared(&format!("file:out={abc}"), base));
    assert_eq!(verdict(&appended, base), Verdict::DidNot);
    assert_eq!(verdict(&same, base), Verdict::CannotTell);
    fs::write(&path, "abcd").unwrap();
    assert_eq!((verdict(&appended, base), verdict(&same, base)), (Verdict::CannotTell, Verdict::CannotTell));
    fs::remove_file(&path).unwrap();
    assert_eq!(verdict(&appended, base), Verdict::CannotTell);
    let directory = prepared("file:made", base);
    fs::create_dir(base.join("made")).unwrap();
    assert_eq!(verdict(&directory, base), Verdict::Happened);
    assert_eq!(verdict(&prepared("file:made", base), base), Verdict::DidNot);
}

#[test]
fn commands() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path();
    let probe = prepared("command:test -e done", base);
    assert!(matches!(probe, Probe::Command { before: Some(Verdict::DidNot), .. }));
    assert_eq!(verdict(&probe, base), Verdict::DidNot);
    fs::write(base.join("done"), "").unwrap();
    assert_eq!(verdict(&probe, base), Verdict::Happened);
    // Looked at from elsewhere, it still runs where the step ran.
    assert_eq!(verdict(&probe, Path::new("/")), Verdict::Happened);
    // What was so before the step is no sign of it.
    let late = prepared("command:test -e done", base);
    assert_eq!(verdict(&late, base), Verdict::CannotTell);
    fs::remove_file(base.join("done")).unwrap();
    assert_eq!(verdict(&late, base), Verdict::CannotTell);
    for text in ["command:sh -c 'exit 2'", "command:sh -c 'kill -9 $$'", "command:no-such-program"] {
        let probe = parse_probe(text).unwrap();
        assert_eq!(verdict(&probe, base), Verdict::CannotTell, "{text}");
    }
    let slow = parse_probe("command:sleep 600").unwrap();
    let from = Lookout { time_limit: Duration::from_millis(50), ..Lookout::new(base) };
    assert_eq!(look(&slow, &from).seen, "sleep did not end within 0.05 s");
    let loud = parse_probe("command:sh -c 'yes words | head -c 1000000'").unwrap();
    let evidence = look(&loud, &Lookout::new(base));
    assert_eq!(evidence.verdict, Verdict::Happened);
    assert!(evidence.seen.len() < 300);
    let gone = parse_probe("command:true").unwrap();
    assert_eq!(look(&gone, &Lookout::new(&base.join("missing"))).verdict, Verdict::CannotTell);
}

#[test]
fn the_workspace() {
    let base = Path::new("/");
    let unchanged = || Ok(Vec::new());
    let changed = || Ok(vec!["a".to_owned(), "b".to_owned()]);
    let failing = || Err(Error::not_found("no_tree", "the tree is gone"));
    let with = |changed| look(&Probe::Workspace, &Lookout { changed, ..Lookout::new(base) });
    assert_eq!(with(Some(&unchanged)).verdict, Verdict::DidNot);
    let evidence = with(Some(&changed));
    assert_eq!((evidence.verdict, evidence.paths), (Verdict::CannotTell, vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(with(Some(&failing)).verdict, Verdict::CannotTell);
    assert_eq!(with(None).verdict, Verdict::CannotTell);
}

/// Answers each GET by its path; serves until the test's process ends.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let own = address.clone();
    std::thread::spawn(move || {
        let mut made = false;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let path = request.split(' ').nth(1).unwrap();
            let (status, extra, body) = match path {
                "/item" if made => ("200 OK", String::new(), "an item".to_owned()),
                "/make" => {
                    made = true;
                    ("200 OK", String::new(), String::new())
                }
                "/gone" => ("410 Gone", String::new(), String::new()),
                "/moved" => ("302 Found", "location: item\r\n".to_owned(), String::new()),
                "/absolute" => ("301 Moved", format!("location: {own}/item\r\n"), String::new()),
                "/away" => ("302 Found", "location: http://127.0.0.2:1/item\r\n".to_owned(), String::new()),
                "/loop" => ("302 Found", "location: /loop\r\n".to_owned(), String::new()),
                "/nowhere" => ("302 Found", String::new(), String::new()),
                "/broken" => ("500 Internal Server Error", String::new(), String::new()),
                "/private" => ("401 Unauthorized", String::new(), String::new()),
                "/large" => ("200 OK", String::new(), "x".repeat(3 << 20)),
                "/silent" => {
                    // Held open without an answer for as long as the client likes.
                    std::mem::forget(stream);
                    continue;
                }
                _ => ("404 Not Found", String::new(), String::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\n{extra}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).ok();
        }
    });
    address
}

#[test]
fn http() {
    let (base, server) = (Path::new("/"), server());
    let probe = |path: &str| parse_probe(&format!("{server}{path}")).unwrap();
    let item = prepared(&format!("{server}/item?token=hunter2"), base);
    assert!(matches!(item, Probe::HttpGet { before: Some(Verdict::DidNot), .. }));
    let item = prepared(&format!("{server}/item"), base);
    for (path, right) in [
        ("/gone", Verdict::DidNot),
        ("/moved", Verdict::DidNot),
        ("/away", Verdict::CannotTell),
        ("/loop", Verdict::CannotTell),
        ("/nowhere", Verdict::CannotTell),
        ("/broken", Verdict::CannotTell),
        ("/private", Verdict::CannotTell),
        ("/large", Verdict::Happened),
        ("/large#contains=x", Verdict::Happened),
        ("/large#contains=y", Verdict::CannotTell),
        ("/make", Verdict::Happened),
        ("/item", Verdict::Happened),
        ("/moved", Verdict::Happened),
        ("/absolute", Verdict::Happened),
        ("/item#contains=an%20item", Verdict::Happened),
        ("/item#contains=another", Verdict::DidNot),
    ] {
        assert_eq!(verdict(&probe(path), base), right, "{path}");
    }
    assert_eq!(verdict(&item, base), Verdict::Happened);
    // An item that was there before the step is no sign of it.
    assert_eq!(verdict(&prepared(&format!("{server}/item"), base), base), Verdict::CannotTell);
    let from = Lookout { time_limit: Duration::from_millis(100), ..Lookout::new(base) };
    assert_eq!(look(&probe("/silent"), &from).verdict, Verdict::CannotTell);
    let refused = look(&parse_probe("http://127.0.0.1:1/x?token=hunter2").unwrap(), &Lookout::new(base));
    assert_eq!(refused.verdict, Verdict::CannotTell);
    assert!(!refused.seen.contains("hunter2"), "{}", refused.seen);
}
