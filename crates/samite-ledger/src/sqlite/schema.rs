//! The tables. Every one has an owner column, which holds the small integer that the owner's pseudonym has here.

/// What `PRAGMA application_id` says: "sami".
pub(super) const APPLICATION: i64 = 0x7361_6d69;
/// What `PRAGMA user_version` says.
pub(super) const VERSION: i64 = 2;
/// The oldest version that can be read; opened for writing, it becomes the newest.
pub(super) const OLDEST: i64 = 1;
/// How many bits of a leaf's id are its index; those above are the number of its log.
pub(super) const LEAF_BITS: u32 = 40;
/// The owner of rows that belong to no one person: the tenant itself, whose pseudonym here is all zeroes.
pub(super) const TENANT: i64 = 1;

/// A live pack.
pub(super) const LIVE: i64 = 0;
/// A pack whose blocks are no longer found.
pub(super) const DYING: i64 = 1;
/// A pack that goes within the running transaction.
pub(super) const FORGOTTEN: i64 = 2;

/// Entries and blocks have integer keys of their own, so that large rows lie in a table and not in an index; rows and
/// registers are small and lie where they are looked up.
pub(super) const SCHEMA: &str = "
CREATE TABLE owner(owner INTEGER PRIMARY KEY, pseudonym BLOB NOT NULL UNIQUE) STRICT;
INSERT INTO owner VALUES(1, zeroblob(16));
CREATE TABLE state(id INTEGER PRIMARY KEY CHECK(id = 1), owner INTEGER NOT NULL, changes INTEGER NOT NULL) STRICT;
INSERT INTO state VALUES(1, 1, 0);
CREATE TABLE journal(
    row INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    family BLOB NOT NULL,
    kind INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    parent INTEGER,
    fork_seq INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_link BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    registers INTEGER NOT NULL,
    status INTEGER NOT NULL
) STRICT;
CREATE INDEX journal_family ON journal(family, kind);
CREATE INDEX journal_parent ON journal(parent) WHERE parent IS NOT NULL;
CREATE TABLE entry(
    id INTEGER PRIMARY KEY,
    journal INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    header BLOB NOT NULL,
    link BLOB NOT NULL,
    payload BLOB
) STRICT;
CREATE UNIQUE INDEX entry_place ON entry(journal, seq);
CREATE TABLE view_row(
    journal INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    hash BLOB NOT NULL,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY(journal, kind, hash, seq, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE register(
    journal INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    hash BLOB NOT NULL,
    seq INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY(journal, kind, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE lease(
    journal INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    writer BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    released INTEGER NOT NULL,
    process BLOB NOT NULL
) STRICT;
CREATE TABLE destroyed_key(id BLOB PRIMARY KEY, owner INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE pack(
    row INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner INTEGER NOT NULL,
    size INTEGER NOT NULL,
    state INTEGER NOT NULL
) STRICT;
CREATE TABLE block(
    id BLOB PRIMARY KEY,
    owner INTEGER NOT NULL,
    pack INTEGER,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE inline_block(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE TABLE pin(
    id BLOB PRIMARY KEY,
    owner INTEGER NOT NULL,
    base BLOB,
    expires INTEGER NOT NULL,
    packs BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

/// What version 2 has beside version 1: the audit log.
pub(super) const SINCE_2: &str = "
CREATE TABLE audit_log(log INTEGER PRIMARY KEY, owner INTEGER NOT NULL, size INTEGER NOT NULL, state BLOB NOT NULL) STRICT;
CREATE TABLE leaf(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
";

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn every_table_has_an_owner() {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(SCHEMA).unwrap();
        database.execute_batch(SINCE_2).unwrap();
        let mut statement =
            database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(tables.len(), 14);
        for table in tables {
            let owners: i64 = database
                .query_row("SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'owner'", [&table], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(owners, 1, "{table} has no owner");
        }
    }
}
