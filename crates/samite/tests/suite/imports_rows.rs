//! Rows of checkpoint databases that are not as a saver writes them, and threads that share a name.

use crate::imports::{assert_sound, holds, threads};
use crate::support::{World, run};
use samite::ReadOptions;
use samite::import::{Checkpoints, Imported};
use samite_model::{EntryKind, SessionId};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A message as older savers wrote it.
pub(crate) fn message(class: &str, fields: &Value, id: Option<&str>) -> Value {
    let mut fields = fields.clone();
    fields["id"] = json!(id);
    json!({ "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": fields })
}

/// A database with the columns of a SQLite saver's, and without its keys.
pub(crate) struct Database {
    path: PathBuf,
    connection: rusqlite::Connection,
}

impl Database {
    pub(crate) fn new(path: &Path) -> Self {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT,
                     parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB);
                 CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER,
                     channel TEXT, type TEXT, value BLOB);",
            )
            .unwrap();
        Self { path: path.to_owned(), connection }
    }

    pub(crate) fn checkpoint(&self, thread: &str, id: &str, parent: Option<&str>, messages: &Value) {
        let value = json!({ "v": 1, "id": id, "channel_values": { "messages": messages } }).to_string();
        let sql = "INSERT INTO checkpoints VALUES (?, '', ?, ?, 'json', CAST(? AS BLOB), '{}')";
        self.connection.execute(sql, (thread, id, parent, value)).unwrap();
    }

    pub(crate) fn write(&self, thread: &str, id: &str, index: i64, value: &Value) {
        let sql = "INSERT INTO writes VALUES (?, '', ?, 'task', ?, 'messages', 'json', CAST(? AS BLOB))";
        self.connection.execute(sql, (thread, id, index, value.to_string())).unwrap();
    }

    fn checkpoints(&self) -> Checkpoints {
        Checkpoints::open(&self.path).unwrap()
    }

    async fn imported(&self, world: &World) -> Imported {
        threads(world, &self.checkpoints()).await.pop().unwrap().1
    }

    /// Imports its only thread, and says what the session holds.
    pub(crate) async fn counts(&self, world: &World) -> Vec<usize> {
        let session = self.imported(world).await.session;
        assert_sound(world).await;
        holds(world, session).await.into_iter().map(|(_, count)| count).collect()
    }
}

fn greeting(id: &str) -> Value {
    json!([message("HumanMessage", &json!({ "content": "Hello" }), Some(id))])
}

#[test]
fn threads_of_two_databases_with_one_name_are_two_sessions() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a.db", "b.db"].map(|name| Database::new(&place.path().join(name)));
    a.checkpoint("1", "a1", None, &greeting("ha"));
    b.checkpoint("1", "b1", None, &greeting("hb"));
    let inner = "INSERT INTO checkpoints VALUES ('1', 'node:1', ?, NULL, 'json', '{}', '{}')";
    a.connection.execute(inner, ["na1"]).unwrap();
    b.connection.execute(inner, ["nb1"]).unwrap();
    run(async {
        let (one, two) = (a.imported(&world).await, b.imported(&world).await);
        assert_ne!(one.session, two.session);
        assert_ne!(one.sidechains, two.sidechains);
        for (database, first, root) in [(&a, &one, "a1"), (&b, &two, "b1")] {
            assert_eq!(database.imported(&world).await.session, first.session);
            // It grows, and what was there before is deleted.
            for (id, parent) in [("2", root), ("3", "2")] {
                let id = format!("{root}-{id}");
                let parent = if parent == root { root.to_owned() } else { format!("{root}-{parent}") };
                database.checkpoint("1", &id, Some(&parent), &greeting("h2"));
                database.connection.execute("DELETE FROM checkpoints WHERE checkpoint_id <> ?", [id]).unwrap();
                let again = database.imported(&world).await;
                assert_eq!((again.session, again.report.accounting.reported), (first.session, 1));
                assert_eq!(again.report.findings[0].kind.code(), "parent_missing");
            }
        }
        let held = |session: SessionId| holds(&world, session);
        assert_eq!((held(one.session).await[0].1, held(two.session).await[0].1), (2, 2));
        assert_eq!(world.client.sessions().await.unwrap().len(), 4);
        assert_sound(&world).await;
    });
}

#[test]
fn every_row_is_kept_whatever_its_ids_are() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let database = Database::new(&place.path().join("odd.db"));
    let rows = [
        "NULL, '', 'c1'",
        "CAST(x'ff' AS TEXT), '', 'c1'",
        "CAST(x'fe' AS TEXT), '', 'c1'",
        "'', '', 'c1'",
        "'t', '', 'c1'",
        "'t', '', 'c1'",
        "'t', NULL, 'c1'",
        "'t', NULL, NULL",
        "'t', x'ff', 'c1'",
        "'t', 7, 8",
    ];
    let mut payloads = Vec::new();
    for (at, ids) in rows.iter().enumerate() {
        for table in ["checkpoints", "writes"] {
            let payload = json!({ "row": format!("{table}-{at}") }).to_string();
            let rest = if table == "writes" { "'task', NULL, 'x'" } else { "NULL" };
            let last = if table == "writes" { "" } else { ", '{}'" };
            let sql = format!("INSERT INTO {table} VALUES ({ids}, {rest}, 'json', CAST(? AS BLOB){last})");
            database.connection.execute(&sql, [&payload]).unwrap();
            payloads.push(payload);
        }
    }
    run(async {
        for round in 0..2 {
            let found = threads(&world, &database.checkpoints()).await;
            let mut lines = 0;
            let mut sessions = Vec::new();
            for (_, imported) in &found {
                let accounting = imported.report.accounting;
                lines += accounting.lines();
                assert_eq!((accounting.imported > 0, accounting.duplicates > 0), (round == 0, round == 1));
                sessions.push(imported.session);
                sessions.extend(&imported.sidechains);
            }
            assert_eq!((found.len(), lines), (5, 20));
            let mut kept = Vec::new();
            for session in sessions {
                let all = world.client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
                let events = all.iter().filter(|entry| entry.header.kind == EntryKind::EVENT);
                kept.extend(events.map(|entry| String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap()));
            }
            kept.sort();
            payloads.sort();
            assert_eq!(kept, payloads);
            let codes: Vec<_> = found[1].1.report.findings.iter().map(|one| (one.line, one.kind.code())).collect();
            // 't': c1 three times with its writes, the one without an id, and two namespaces.
            let again = codes.iter().filter(|(_, code)| *code == "same_id_other_bytes").count();
            assert_eq!((found[1].0.as_str(), again), ("t", 4), "{codes:?}");
        }
        assert_sound(&world).await;
    });
}

#[test]
fn a_view_or_a_table_without_rows_of_its_own_is_no_table_of_checkpoints() {
    let place = tempfile::tempdir().unwrap();
    for (at, sql) in [
        "DROP TABLE writes; CREATE VIEW writes AS WITH RECURSIVE n(thread_id) AS (SELECT 1 UNION ALL SELECT thread_id + 1
             FROM n) SELECT *, '' AS checkpoint_ns FROM n",
        "DROP TABLE checkpoints; CREATE VIEW checkpoints AS SELECT * FROM writes",
        "DROP TABLE checkpoints; CREATE TABLE checkpoints (thread_id PRIMARY KEY) WITHOUT ROWID",
        "DROP TABLE checkpoints",
    ]
    .into_iter()
    .enumerate()
    {
        let database = Database::new(&place.path().join(format!("{at}.db")));
        database.connection.execute_batch(sql).unwrap();
        assert_eq!(Checkpoints::open(&database.path).unwrap_err().code(), "no_checkpoints", "{sql}");
    }
    let database = Database::new(&place.path().join("older.db"));
    database.connection.execute_batch("DROP TABLE writes").unwrap();
    database.checkpoint("t", "1", None, &greeting("h"));
    assert_eq!(database.checkpoints().rows().unwrap(), 1);
}
