//! A sweep looks through every kind of place: a text is planted in each, and is found there.

use crate::place::Place;
use crate::support::{attached, run, take};
use rusqlite::Connection;
use samite::embedded::Embedded;
use samite::erasure::{SweepOptions, Swept};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

async fn sweep(store: &Embedded, texts: &[&str]) -> Swept {
    let canaries = texts.iter().map(|text| (*text).to_owned()).collect();
    store.sweep(&SweepOptions { canaries, ..SweepOptions::default() }).await.unwrap()
}

/// In which kinds of places it was found.
fn places(swept: &Swept, text: usize) -> BTreeSet<&'static str> {
    swept.hits.iter().filter(|hit| hit.canary == text).map(|hit| hit.place).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn what_is_planted_in_a_kind_of_place_is_found_there() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let client = store.client().await.unwrap();
        let work = place.directory("work");
        fs::write(work.join("file"), "planted-in-a-block").unwrap();
        let session = attached(&client, &work).await;
        take(&client, session).await;
        // In files that samite keeps, by their kinds.
        let home = place.path("store/tenants/local");
        let kinds = [
            ("packs/half.part", "packs"),
            ("keys/half.part", "keys"),
            ("tlog/tile/0/000", "tiles"),
            ("caches/some", "caches"),
            ("lives/some", "lives"),
            ("refusals.jsonl", "store"),
        ];
        let named: Vec<String> = kinds.iter().map(|(_, kind)| format!("planted-among-{kind}")).collect();
        for ((path, _), text) in kinds.iter().zip(&named) {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("before {text} after")).unwrap();
        }
        let layout = place.path("store/merges/some");
        fs::create_dir_all(&layout).unwrap();
        fs::write(layout.join("both"), "planted-among-merges").unwrap();
        let mut texts: Vec<&str> = named.iter().map(String::as_str).collect();
        texts.extend(["planted-among-merges", "planted-in-a-block", "planted-nowhere"]);
        let swept = sweep(&store, &texts).await;
        for (number, (_, kind)) in kinds.iter().enumerate() {
            assert_eq!(places(&swept, number), BTreeSet::from([*kind]));
        }
        let found = |number: usize| places(&swept, number);
        assert_eq!(found(kinds.len()), BTreeSet::from(["merges"]));
        assert_eq!(found(kinds.len() + 1), BTreeSet::from(["blocks"]));
        assert_eq!(found(kinds.len() + 2), BTreeSet::new());
    });
}

#[test]
fn what_is_planted_in_a_database_is_found_however_it_lies_there() {
    run(async {
        let place = Place::new();
        let store = place.open();
        store.client().await.unwrap();
        let ledger = place.path("store/tenants/local/ledger.db");
        let database = Connection::open(&ledger).unwrap();
        let run = |words: &str| database.execute_batch(words).unwrap();
        run("PRAGMA secure_delete = OFF; PRAGMA wal_autocheckpoint = 0;");
        // A value that lies on several pages, cut where one ends: no raw bytes of the file have it whole.
        let cut = "planted-across-two-pages-of-it";
        run("CREATE TABLE planted (id INTEGER PRIMARY KEY, value BLOB)");
        // So much of a value stays on its first page, as SQLite's format says; the record's own header takes a few bytes.
        let page: u32 = database.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        let page = usize::try_from(page).unwrap();
        let least = (page - 12) * 32 / 255 - 23;
        let first = least + (13_006 - least) % (page - 4);
        let first = if first > page - 35 { least } else { first };
        let mut is_cut = false;
        for before in [first - 20, first - 28, first - 12] {
            let mut value = [vec![b'x'; before], cut.as_bytes().to_vec()].concat();
            value.resize(13_000, b'y');
            database.execute("INSERT OR REPLACE INTO planted VALUES (1, ?1)", [value]).unwrap();
            run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);");
            is_cut = !contains(&fs::read(&ledger).unwrap(), cut);
            if is_cut {
                break;
            }
        }
        assert!(is_cut, "it was never cut");
        // A sample that SQLite keeps of an index.
        run("CREATE TABLE sampled (value TEXT); CREATE INDEX by_value ON sampled (value);");
        for number in 0..50 {
            database.execute("INSERT INTO sampled VALUES (?1)", [format!("planted-as-a-sample {number:03}")]).unwrap();
        }
        run("ANALYZE; DELETE FROM sampled; PRAGMA wal_checkpoint(TRUNCATE); VACUUM;");
        run("PRAGMA wal_checkpoint(TRUNCATE);");
        // Words that an index has, and no text.
        run("CREATE VIRTUAL TABLE words USING fts5 (said, content = '')");
        run("INSERT INTO words (rowid, said) VALUES (1, 'planted as words 7e57ab1e ö')");
        // What is in the log alone, and in no page any more.
        run("PRAGMA wal_checkpoint(TRUNCATE);");
        run("INSERT INTO planted VALUES (2, 'planted-in-the-log'); DELETE FROM planted WHERE id = 2;");
        let texts = [
            cut,
            "planted-nowhere-at-all",
            "planted-as-a-sample 0",
            "Planted: as words, 7e57ab1e!",
            "planted-in-the-log",
        ];
        let swept = sweep(&store, &texts).await;
        let within = |number: usize, kind: &str| {
            let found = places(&swept, number);
            assert!(found.contains(kind), "{}: {found:?}", texts[number]);
        };
        within(0, "tables");
        assert!(!places(&swept, 0).contains("ledger"), "{:?}", places(&swept, 0));
        assert_eq!(places(&swept, 1), BTreeSet::new());
        within(2, "statistics");
        within(3, "full_text");
        assert_eq!(swept.hits.iter().filter(|hit| hit.canary == 3).map(|hit| hit.form).collect::<Vec<_>>(), ["words"]);
        within(4, "log");
        drop(database);
        let control = |name: &str| swept.places.iter().find(|one| one.name == name).unwrap().control;
        assert_eq!((control("tables"), control("statistics"), control("ledger")), (Some(true), Some(true), Some(true)));
        free_page(&store, &ledger).await;
    });
}

/// What was deleted and stands on a free page.
async fn free_page(store: &Embedded, ledger: &Path) {
    let database = Connection::open(ledger).unwrap();
    database.execute_batch("PRAGMA secure_delete = OFF; CREATE TABLE gone (value TEXT)").unwrap();
    let filler = "z".repeat(3000);
    for number in 0..3 {
        let value = format!("planted-and-deleted {number} {filler}");
        database.execute("INSERT INTO gone VALUES (?1)", [value]).unwrap();
    }
    database.execute_batch("DROP TABLE gone; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    let swept = sweep(store, &["planted-and-deleted"]).await;
    let found = places(&swept, 0);
    assert!(found.contains("freelist") && found.contains("ledger"), "{found:?}");
    // An erasure writes the database anew, as here: nothing is left of it.
    database.execute_batch("PRAGMA secure_delete = ON").unwrap();
    store.ledger().compact().await.unwrap();
    drop(database);
    assert_eq!(places(&sweep(store, &["planted-and-deleted"]).await, 0), BTreeSet::new());
}
