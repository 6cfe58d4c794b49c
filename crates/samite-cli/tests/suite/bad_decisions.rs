//! Wrong names, others' ids, files that are not there and values that are none, given to the commands that decide about data,
//! prove and erase: each ends with its code, says what to do, and changes nothing.

use crate::support::{Place, text};
use samite::embedded::{Embedded, EmbeddedOptions, FileMaster};
use samite_host::SystemRandomness;
use samite_ledger::{JournalFilter, Ledger};
use samite_model::Tenant;
use std::fs;
use std::sync::Arc;

/// Status, code and what is called. Words in capitals stand for what [`Words`] has, `~` for a space.
const CASES: &[(i32, &str, &str)] = &[
    (2, "usage", "policy redaction --secrets nonsense"),
    (2, "usage", "policy redaction --pattern noequals"),
    (2, "bad_expression", "policy redaction --pattern x=("),
    (2, "bad_redaction_name", "policy redaction --pattern Big~Name=a"),
    (2, "bad_redaction_name", "policy redaction --pattern ESC=a"),
    (2, "bad_expression", "policy redaction --pattern a=LONG"),
    (2, "bad_expression", "policy redaction --pattern a="),
    (2, "bad_redaction_name", "policy redaction --pattern LONG=a"),
    (3, "no_pattern", "policy redaction --no-pattern nothing"),
    (3, "no_pattern", "policy redaction --no-pattern ESC"),
    (3, "no_file", "secrets register db --file missing"),
    (2, "wrong_file_type", "secrets register db --file full"),
    (2, "input_too_large", "secrets register db --file huge"),
    (2, "secret_too_short", "secrets register db --file short"),
    (2, "secret_too_short", "secrets register db --file empty"),
    (2, "input_too_large", "secrets register db --file /dev/zero"),
    (2, "bad_redaction_name", "secrets register Bad~Name --file out"),
    (2, "bad_redaction_name", "secrets register ESC --file garbage"),
    (2, "bad_redaction_name", "secrets register EMPTY --file garbage"),
    (2, "bad_redaction_name", "secrets register LONG --file garbage"),
    (2, "bad_redaction_name", "secrets register ../x --file garbage"),
    (3, "no_secret", "secrets forget nothing"),
    (3, "no_secret", "secrets forget ESC"),
    (3, "no_secret", "secrets forget LONG"),
    (2, "usage", "consent set maybe --session SESSION --basis form"),
    (2, "usage", "consent set yes --basis form"),
    (2, "usage", "consent set yes --session SESSION"),
    (2, "empty_name", "consent set yes --session SESSION --basis EMPTY"),
    (2, "name_too_long", "consent set yes --session SESSION --basis LONG"),
    (2, "bad_name", "consent set yes --session SESSION --basis ESC"),
    (2, "name_too_long", "consent set yes --session SESSION --basis form --reason LONG"),
    (2, "bad_name", "consent set yes --session SESSION --basis form --reason ESC"),
    (3, "no_session", "consent set yes --session OTHERS --basis form"),
    (3, "no_session", "consent set yes --session ffff --basis form"),
    (2, "usage", "consent set yes --session ../x --basis form"),
    (2, "no_position_meant", "consent set yes --session SESSION@1 --basis form"),
    (2, "usage", "consent set yes --session ESC --basis form"),
    (2, "empty_name", "consent set yes --user EMPTY --basis form"),
    (2, "bad_name", "consent set yes --user ESC --basis form"),
    (2, "name_too_long", "consent set yes --user LONG --basis form"),
    (3, "no_session", "consent show --session OTHERS"),
    (2, "empty_name", "consent show --user EMPTY"),
    (2, "empty_name", "processor register EMPTY --region eu --purpose p --agreement a --receives memory"),
    (2, "bad_name", "processor register ESC --region eu --purpose p --agreement a --receives memory"),
    (2, "name_too_long", "processor register LONG --region eu --purpose p --agreement a --receives memory"),
    (2, "usage", "processor register v --region EU! --purpose p --agreement a --receives memory"),
    (2, "usage", "processor register v --region ../x --purpose p --agreement a --receives memory"),
    (2, "name_too_long", "processor register v --region eu --purpose LONG --agreement a --receives memory"),
    (2, "bad_name", "processor register v --region eu --purpose ESC --agreement a --receives memory"),
    (2, "empty_name", "processor register v --region eu --purpose EMPTY --agreement a --receives memory"),
    (2, "empty_name", "processor register v --region eu --purpose p --agreement EMPTY --receives memory"),
    (2, "bad_name", "processor register v --region eu --purpose p --agreement ESC --receives memory"),
    (2, "bad_receives", "processor register v --region eu --purpose p --agreement a --receives nonsense"),
    (2, "bad_receives", "processor register v --region eu --purpose p --agreement a --receives EMPTY"),
    (2, "usage", "processor register v --region eu"),
    (3, "no_processor", "processor remove nothing"),
    (3, "no_processor", "processor remove ESC"),
    (2, "bad_retention", "retain set session 7"),
    (2, "bad_retention", "retain set session EMPTY"),
    (2, "usage", "retain set session -1d"),
    (2, "bad_retention", "retain set session 99999999999999999999d"),
    (2, "bad_retention", "retain set session 4294967296d"),
    (2, "bad_retention", "retain set session ESC"),
    (2, "usage", "retain set nonsense 7d"),
    (2, "below_floor", "retain set audit 182d"),
    (2, "usage", "region set EU!"),
    (2, "usage", "region set EMPTY"),
    (2, "usage", "region set LONG"),
    (2, "usage", "region set ../x"),
    (6, "other_region", "region set eu"),
    (2, "usage", "region transfer EU! --basis b"),
    (2, "empty_name", "region transfer us --basis EMPTY"),
    (2, "name_too_long", "region transfer us --basis LONG"),
    (2, "bad_name", "region transfer us --basis ESC"),
    (3, "no_transfer", "region transfer us --withdraw --basis b"),
    (2, "usage", "region transfer us"),
    (2, "usage", "capture set nonsense"),
    (2, "bad_kind", "capture set full --kind session_created"),
    (2, "bad_kind", "capture set full --kind nonsense"),
    (2, "bad_kind", "capture set full --kind ESC"),
    (2, "bad_grantee", "share SESSION --with user: --read"),
    (2, "bad_grantee", "share SESSION --with user:ESC --read"),
    (2, "bad_grantee", "share SESSION --with user:LONG --read"),
    (2, "bad_grantee", "share SESSION --with group:x --read"),
    (2, "shared_with_owner", "share SESSION --with user:local --read"),
    (2, "usage", "share SESSION --with user:bob"),
    (2, "usage", "share SESSION --with user:bob --read --days 0"),
    (2, "usage", "share SESSION --with user:bob --read --days 99999999999"),
    (2, "usage", "share SESSION --with user:bob --read --days 9999999"),
    (2, "usage", "share SESSION --with user:bob --read --until soon"),
    (2, "bad_until", "share SESSION --with user:bob --read --until 2020-01-01"),
    (2, "usage", "share SESSION --with user:bob --read --until 99999-01-01"),
    (3, "no_session", "share OTHERS --with user:bob --read"),
    (2, "usage", "share ../x --with user:bob --read"),
    (2, "no_position_meant", "share SESSION@1 --with user:bob --read"),
    (3, "no_artifact", "share --artifact OTHERART --with user:bob --read"),
    (3, "no_artifact", "share --artifact ../x --with user:bob --read"),
    (3, "no_artifact", "share --artifact EMPTY --with user:bob --read"),
    (3, "no_grant", "unshare SESSION --all"),
    (3, "no_grant", "unshare SESSION --with user:bob"),
    (3, "no_session", "unshare OTHERS --all"),
    (3, "no_artifact", "unshare --artifact OTHERART --all"),
    (3, "no_session", "grants OTHERS"),
    (3, "no_artifact", "grants --artifact OTHERART"),
    (3, "no_session", "hold set --session OTHERS --reason r"),
    (2, "empty_name", "hold set --session SESSION --reason EMPTY"),
    (2, "name_too_long", "hold set --session SESSION --reason LONG"),
    (2, "bad_name", "hold set --session SESSION --reason ESC"),
    (2, "empty_name", "hold set --user EMPTY --reason r"),
    (2, "bad_name", "hold set --user ESC --reason r"),
    (2, "usage", "hold set --reason r"),
    (2, "usage", "hold set --session SESSION"),
    (3, "no_hold", "hold lift --session SESSION --reason r"),
    (3, "no_hold", "hold lift --user nobody --reason r"),
    (3, "no_session", "hold lift --session OTHERS --reason r"),
    (2, "usage", "export --for-training --to-region EU! --basis b --all x"),
    (2, "empty_name", "export --for-training --to-region eu --basis EMPTY --all x"),
    (2, "name_too_long", "export --for-training --to-region eu --basis LONG --all x"),
    (2, "bad_name", "export --for-training --to-region eu --basis ESC --all x"),
    (6, "no_consent", "export --for-training --to-region eu --basis b --all x"),
    (3, "no_session", "export --for-training --to-region eu --basis b --session OTHERS x"),
    (4, "not_empty", "export --for-training --to-region eu --basis b --all full"),
    (2, "wrong_file_type", "export --for-training --to-region eu --basis b --all out"),
    (2, "inside_store", "export --for-training --to-region eu --basis b --all store/x"),
    (2, "inside_store", "export --for-training --to-region eu --basis b --all full/../store/x"),
    (2, "usage", "export --for-training --to-region eu --basis b --all EMPTY"),
    (2, "usage", "export --to-region eu --basis b --all x"),
    (3, "no_subject", "subject export --user nobody --to x"),
    (2, "empty_name", "subject export --user EMPTY --to x"),
    (2, "bad_name", "subject export --user ESC --to x"),
    (2, "name_too_long", "subject export --user LONG --to x"),
    (4, "not_empty", "subject export --user local --to full"),
    (2, "wrong_file_type", "subject export --user local --to out"),
    (2, "inside_store", "subject export --user local --to store/x"),
    (2, "inside_store", "subject export --user local --to full/../store/x"),
    (2, "usage", "subject export --user local --to EMPTY"),
    (3, "no_session", "audit log --session OTHERS"),
    (3, "no_leaf", "audit show 99"),
    (2, "usage", "audit show nonsense"),
    (2, "usage", "audit show ERASURE"),
    (2, "usage", "audit verify --folder missing"),
    (2, "usage", "audit verify --folder log --key nonsense"),
    (3, "no_file", "audit verify-proof missing --key KEY"),
    (8, "bad_proof", "audit verify-proof garbage --key KEY"),
    (8, "bad_proof", "audit verify-proof empty --key KEY"),
    (2, "wrong_file_type", "audit verify-proof full --key KEY"),
    (8, "bad_proof", "audit verify-proof huge --key KEY"),
    (2, "input_too_large", "audit verify-proof /dev/zero --key KEY"),
    (2, "bad_leaf_range", "audit consistency 5 2"),
    (2, "bad_leaf_range", "audit consistency 0 99"),
    (2, "usage", "audit consistency nonsense 2"),
    (4, "not_empty", "audit export full"),
    (2, "wrong_file_type", "audit export out"),
    (2, "inside_store", "audit export store/x"),
    (2, "usage", "audit export EMPTY"),
    (3, "no_audit_log", "audit export log --log 9"),
    (3, "no_file", "audit archive missing cold --key KEY --before 1"),
    (3, "no_file", "audit archive full cold --key KEY --before 1"),
    (8, "not_signed", "audit archive log cold --key OTHER_KEY --before 1"),
    (2, "usage", "audit archive log cold --key nonsense --before 1"),
    (2, "bad_leaf_range", "audit archive log cold --key KEY --before 99"),
    (2, "archive_in_log", "audit archive log log --key KEY --before 1"),
    (4, "not_empty", "audit archive log full --key KEY --before 1"),
    (2, "wrong_file_type", "audit archive log out --key KEY --before 1"),
    (2, "usage", "audit archive log cold --key KEY"),
    (2, "bad_witness_address", "audit witness nonsense --key KEY"),
    (2, "bad_witness_address", "audit witness file:///etc/passwd --key KEY"),
    (2, "usage", "audit witness http://127.0.0.1:9 --key nonsense"),
    (3, "no_leaf", "audit prove 99"),
    (3, "no_session", "audit prove nonsense"),
    (3, "no_session", "audit prove OTHERS@1"),
    (3, "no_position", "audit prove SESSION@99"),
    (4, "file_exists", "audit prove 0 --to out"),
    (4, "file_exists", "audit prove 0 --to full"),
    (3, "no_file", "audit prove 0 --to missing/x"),
    (3, "no_file", "audit prove 0 --reveal --to missing/x"),
    (3, "no_audit_log", "audit prove 0 --log 9"),
    (3, "no_session", "erase --session OTHERS --reason r --yes"),
    (3, "no_artifact", "erase --artifact OTHERART --reason r --yes"),
    (3, "no_artifact", "erase --artifact EMPTY --reason r --yes"),
    (3, "no_subject", "erase --user nobody --reason r --yes"),
    (2, "empty_name", "erase --user EMPTY --reason r --yes"),
    (2, "bad_name", "erase --user ESC --reason r --yes"),
    (2, "bad_range", "erase --entries SESSION@7..3 --reason r --yes"),
    (2, "bad_range", "erase --entries SESSION@0..1 --reason r --yes"),
    (3, "no_position", "erase --entries SESSION@1..99 --reason r --yes"),
    (2, "bad_range", "erase --entries SESSION@1..99999999999999999999 --reason r --yes"),
    (3, "no_session", "erase --entries OTHERS@1..2 --reason r --yes"),
    (2, "bad_range", "erase --entries nonsense --reason r --yes"),
    (2, "empty_name", "erase --session SESSION --reason EMPTY --yes"),
    (2, "name_too_long", "erase --session SESSION --reason LONG --yes"),
    (2, "bad_name", "erase --session SESSION --reason ESC --yes"),
    (2, "usage", "erase --session SESSION --yes"),
    (2, "not_confirmed", "erase --session SESSION --reason r"),
    (2, "usage", "erase --reason r --yes"),
    (3, "no_erasure", "erase show OTHERERASURE"),
    (3, "no_erasure", "erase show ../x"),
    (3, "no_erasure", "erase show EMPTY"),
    (3, "no_erasure", "erase prove OTHERERASURE --to x"),
    (4, "file_exists", "erase prove ERASURE --to out"),
    (4, "file_exists", "erase prove ERASURE --to full"),
    (3, "no_file", "erase prove ERASURE --to missing/x"),
    (3, "no_file", "erase sweep --canaries missing"),
    (2, "bad_canary", "erase sweep --canaries garbage"),
    (3, "no_file", "identity check --config missing"),
    (2, "bad_identity_config", "identity check --config garbage"),
];

/// Ids and files, this store's and another's.
struct Words(Vec<(&'static str, String)>);

impl Words {
    fn new(place: &Place, other: &Place) -> Self {
        let made = |place: &Place| {
            let id = place.session();
            place.say(&id, "first");
            place.say(&id, "second");
            fs::write(place.path().join("out"), "bytes").unwrap();
            let artifact = text(&place.json(&["artifact", "put", &id, "out"]).json(), "/id");
            let gone = place.session();
            place.say(&gone, "gone");
            let erased = place.json(&["erase", "--session", &gone, "--reason", "asked", "--yes"]).json();
            let key = text(&place.json(&["audit", "key"]).json(), "/keys/0/key");
            [id, artifact, text(&erased, "/erased/id"), key]
        };
        let ([id, artifact, erasure, key], [others, its, erased, its_key]) = (made(place), made(other));
        Self(vec![
            ("OTHERERASURE", erased),
            ("OTHERART", its),
            ("OTHERS", others),
            ("OTHER_KEY", its_key),
            ("ARTIFACT", artifact),
            ("ERASURE", erasure),
            ("SESSION", id),
            ("EMPTY", String::new()),
            ("LONG", "x".repeat(70_000)),
            ("ESC", "a\u{1b}[31mb".to_owned()),
            ("KEY", key),
            ("~", " ".to_owned()),
        ])
    }

    fn of(&self, line: &str) -> Vec<String> {
        let word = |word: &str| self.0.iter().fold(word.to_owned(), |word, (name, with)| word.replace(name, with));
        line.split(' ').map(word).collect()
    }
}

/// Where every journal of the store ends, and the link there.
fn heads(place: &Place) -> Vec<String> {
    let options = EmbeddedOptions {
        directory: place.store(),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(place.path().join("master.key"), Arc::new(SystemRandomness::new()))),
        create: false,
        read_only: true,
        accept_behind: false,
    };
    let store = Embedded::open(options).unwrap();
    let states = futures_lite::future::block_on(store.ledger().journals(JournalFilter::default())).unwrap();
    let mut heads: Vec<String> =
        states.iter().map(|state| format!("{} {} {:?}", state.id, state.head, state.head_link)).collect();
    heads.sort();
    futures_lite::future::block_on(store.close());
    heads
}

/// What lies beside the store.
fn names(place: &Place) -> Vec<String> {
    let mut names: Vec<String> = ["", "full", "log"]
        .iter()
        .flat_map(|below| fs::read_dir(place.path().join(below)).unwrap())
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_wrong_is_refused_with_its_code_and_changes_nothing() {
    let (place, other) = (Place::new(), Place::new());
    let words = Words::new(&place, &other);
    place.json(&["audit", "export", "log"]).json();
    fs::create_dir(place.path().join("full")).unwrap();
    fs::write(place.path().join("full/notes"), "mine").unwrap();
    fs::write(place.path().join("garbage"), b"\xff\xfe\0garbage").unwrap();
    fs::write(place.path().join("empty"), "").unwrap();
    fs::write(place.path().join("short"), "abc").unwrap();
    fs::File::create(place.path().join("huge")).unwrap().set_len(70_000).unwrap();
    let before = (heads(&place), names(&place));
    let mut wrong = Vec::new();
    for (number, (status, code, line)) in CASES.iter().enumerate() {
        let arguments = words.of(line);
        let did = place.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let last: serde_json::Value =
            serde_json::from_str(did.err.lines().last().unwrap_or_default()).unwrap_or_default();
        let has_hints = last["hints"].as_array().is_some_and(|hints| !hints.is_empty());
        if did.status != *status || last["code"] != *code || !has_hints || did.err.contains('\u{1b}') {
            wrong.push(format!("{line}: {} {last}", did.status));
        }
        // After each command's cases, so that what changed something is told by name.
        let command = |line: &str| line.split(' ').next().map(str::to_owned);
        let is_last = CASES.get(number + 1).is_none_or(|next| command(next.2) != command(line));
        if is_last && (heads(&place), names(&place)) != before {
            wrong.push(format!("something changed by {line}, or a case of this command before it"));
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(fs::read_to_string(place.path().join("full/notes")).unwrap(), "mine");
    assert_eq!(place.json(&["verify"]).json()["ok"], true);
    assert_eq!(place.json(&["audit", "verify"]).json()["ok"], true);
}

#[test]
fn a_log_is_not_archived_into_itself_so_that_pruning_takes_nothing() {
    let place = Place::new();
    place.session();
    let key = text(&place.json(&["audit", "key"]).json(), "/keys/0/key");
    place.json(&["audit", "export", "log"]).json();
    fs::create_dir(place.path().join("beside")).unwrap();
    std::os::unix::fs::symlink(place.path().join("log"), place.path().join("link")).unwrap();
    for archive in ["log", "link", "./log/", "beside/../log", "log/cold"] {
        let arguments = ["audit", "archive", "log", archive, "--key", &key, "--before", "2", "--prune"];
        assert_eq!(place.json(&arguments).error(2)["code"], "archive_in_log", "{archive}");
    }
    assert_eq!(place.json(&["audit", "verify", "--folder", "log", "--key", &key]).json()["ok"], true);
}
