//! The statements that steps are made of. A transaction takes each from the connection's cache once, however many
//! entries it has: finding a statement there costs about a third of what running it does.

use rusqlite::{CachedStatement, Connection};

/// The statements that a transaction has taken.
pub(super) struct Statements<'c> {
    database: &'c Connection,
    insert_entry: Option<CachedStatement<'c>>,
    insert_row: Option<CachedStatement<'c>>,
    set_register: Option<CachedStatement<'c>>,
    clear_register: Option<CachedStatement<'c>>,
    journal: Option<CachedStatement<'c>>,
    update_journal: Option<CachedStatement<'c>>,
    find_row: Option<CachedStatement<'c>>,
    find_destroyed_key: Option<CachedStatement<'c>>,
    insert_leaf: Option<CachedStatement<'c>>,
}

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident $sql:expr;)*) => {
        impl<'c> Statements<'c> {
            $(
                $(#[$doc])*
                pub(super) fn $name(&mut self) -> rusqlite::Result<&mut CachedStatement<'c>> {
                    match &mut self.$name {
                        Some(taken) => Ok(taken),
                        none => Ok(none.insert(self.database.prepare_cached($sql)?)),
                    }
                }
            )*
        }
    };
}

statements! {
    /// journal, seq, owner, header, link, payload.
    insert_entry "INSERT INTO entry(journal, seq, owner, header, link, payload) VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
    /// journal, kind, hash, seq, place, owner, value.
    insert_row "INSERT INTO view_row(journal, kind, hash, seq, place, owner, value) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    /// journal, kind, hash, seq, owner, value.
    set_register
        "INSERT INTO register(journal, kind, hash, seq, owner, value) VALUES(?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT DO UPDATE SET seq = excluded.seq, owner = excluded.owner, value = excluded.value";
    /// journal, kind, hash.
    clear_register "DELETE FROM register WHERE journal = ?1 AND kind = ?2 AND hash = ?3";
    /// What can change of a journal: row, id.
    journal "SELECT head_seq, head_link, epoch, registers, status FROM journal WHERE row = ?1 AND id = ?2";
    /// row, and what can change of it.
    update_journal
        "UPDATE journal SET head_seq = ?2, head_link = ?3, epoch = ?4, registers = ?5, status = ?6 WHERE row = ?1";
    /// The seq of the last row: journal, kind, hash, the last seq that counts.
    find_row
        "SELECT seq FROM view_row WHERE journal = ?1 AND kind = ?2 AND hash = ?3 AND seq <= ?4 \
         ORDER BY seq DESC LIMIT 1";
    /// id.
    find_destroyed_key "SELECT 1 FROM destroyed_key WHERE id = ?1";
    /// id, owner, bytes.
    insert_leaf "INSERT INTO leaf(id, owner, bytes) VALUES(?1, ?2, ?3)";
}

impl<'c> Statements<'c> {
    /// None is taken yet.
    pub(super) fn new(database: &'c Connection) -> Self {
        Self {
            database,
            insert_entry: None,
            insert_row: None,
            set_register: None,
            clear_register: None,
            journal: None,
            update_journal: None,
            find_row: None,
            find_destroyed_key: None,
            insert_leaf: None,
        }
    }
}
