//! docs/formats.md names every table and column of the database, and no other.

use crate::sqlite_support::create;
use rusqlite::Connection;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../docs/formats.md");

/// The cells of the page's table of columns: table, column, type.
fn documented() -> Vec<(String, String, String)> {
    let section = DOCUMENT.split("\n## Ledger\n").nth(1).unwrap().split("\n## ").next().unwrap();
    section
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| table |") && !line.starts_with("| --- |"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            assert!(cells.len() == 4 && !cells[3].is_empty(), "{line}");
            (cells[0].to_owned(), cells[1].to_owned(), cells[2].to_owned())
        })
        .collect()
}

#[test]
fn the_page_has_the_schema_of_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    futures_lite::future::block_on(create(&path).close());
    let database = Connection::open(&path).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = database.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut real = Vec::new();
    for table in texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage") {
        let mut statement = database.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)").unwrap();
        let columns = statement
            .query_map([&table], |row| {
                let optional: bool = row.get::<_, i64>(2)? == 0 && row.get::<_, i64>(3)? == 0;
                let kind: String = row.get(1)?;
                Ok((table.clone(), row.get(0)?, if optional { kind + "?" } else { kind }))
            })
            .unwrap();
        real.extend(columns.map(Result::unwrap));
    }
    assert_eq!(documented(), real);
    let named: BTreeSet<String> = texts("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
        .into_iter()
        .map(|index| {
            let columns = texts(&format!("SELECT name FROM pragma_index_info('{index}') ORDER BY seqno"));
            format!("`{index}` ({})", columns.join(", "))
        })
        .collect();
    let line = DOCUMENT.lines().find_map(|line| line.strip_prefix("Indexes: ")).unwrap();
    let page = line.trim_end_matches('.').split("), ").map(|one| one.trim_end_matches(')').to_owned() + ")");
    let page: BTreeSet<String> = page.collect();
    assert_eq!(page, named);
    let number = |name: &str| -> i64 { database.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
    let numbers = (number("application_id"), number("user_version"));
    let words = format!("Its `application_id` is {} (`sami`), its `user_version` {}.", numbers.0, numbers.1);
    assert!(DOCUMENT.contains(&words), "{words}");
}
