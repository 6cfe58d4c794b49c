//! What SQLite's files hold beside their raw bytes: values that are cut up over pages, statistics, words of full-text indexes,
//! and pages that are free.

use super::SweptPlace;
use super::places::is_database;
use super::search::Search;
use crate::embedded::Embedded;
use rusqlite::{Connection, OpenFlags};
use samite_host::files;
use samite_model::{Error, Result};
use std::collections::HashSet;
use std::path::Path;

fn failed(error: rusqlite::Error) -> Error {
    Error::unavailable("sweep_failed", "the ledger's tables cannot be looked through").because(error)
}

impl Embedded {
    /// All databases of the store: their tables, statistics, full-text indexes and free pages.
    pub(super) fn sweep_databases(&self, search: &mut Search) -> Result<Vec<SweptPlace>> {
        let [mut tables, mut statistics, mut words, mut free] =
            ["tables", "statistics", "full_text", "freelist"].map(|name| SweptPlace { name, ..SweptPlace::default() });
        let below = files::files_below(&files::canonical(self.directory())?)?.files;
        for path in below.iter().filter(|path| is_database(path)) {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let database = Connection::open_with_flags(path, flags).map_err(failed)?;
            sweep_schema(&database, search, &mut statistics)?;
            for (name, sql) in names(&database)? {
                let is_virtual = sql.trim_start().to_ascii_uppercase().starts_with("CREATE VIRTUAL TABLE");
                let is_index = sql.to_ascii_lowercase().contains("using fts5");
                match (is_virtual, is_index) {
                    (true, true) => sweep_words(&database, &name, search, &mut words)?,
                    // What it shows stands in tables of its own.
                    (true, false) => {}
                    _ if name.starts_with("sqlite_stat") => sweep_table(&database, &name, search, &mut statistics)?,
                    _ => sweep_table(&database, &name, search, &mut tables)?,
                }
            }
            sweep_free_pages(path, search, &mut free)?;
        }
        Ok(vec![tables, statistics, words, free])
    }
}

/// Names of tables, with the words that made them.
fn names(database: &Connection) -> Result<Vec<(String, String)>> {
    let mut found = database
        .prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .map_err(failed)?;
    let rows = found.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
    rows.collect::<rusqlite::Result<Vec<_>>>().map_err(failed)
}

/// SQLite's own words for tables and indexes.
fn sweep_schema(database: &Connection, search: &mut Search, place: &mut SweptPlace) -> Result<()> {
    let is_first = place.control.is_none();
    if is_first {
        search.expect(Some(b"CREATE TABLE ".to_vec()));
    }
    let mut found = database.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema").map_err(failed)?;
    let mut rows = found.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let (name, sql): (String, String) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        place.units += 1;
        place.bytes += sql.len() as u64;
        search.look(place.name, &|| name.clone(), sql.as_bytes());
    }
    if is_first {
        place.control = search.control();
    }
    Ok(())
}

/// Every value of a table, put together from the pages that it lies on.
fn sweep_table(database: &Connection, name: &str, search: &mut Search, place: &mut SweptPlace) -> Result<()> {
    let quoted = name.replace('"', "\"\"");
    let mut found = database.prepare(&format!("SELECT * FROM \"{quoted}\"")).map_err(failed)?;
    let columns = found.column_count();
    let mut rows = found.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        place.units += 1;
        for column in 0..columns {
            let value = row.get_ref(column).map_err(failed)?;
            let bytes = value.as_bytes().unwrap_or_default();
            // The first value that is long enough must be found by looking for its middle.
            let is_control = place.control.is_none() && bytes.len() >= 32;
            if is_control {
                search.expect(bytes.get(8..24).map(<[u8]>::to_vec));
            }
            place.bytes += bytes.len() as u64;
            search.look(place.name, &|| format!("table {name}"), bytes);
            if is_control {
                place.control = search.control();
            }
        }
    }
    Ok(())
}

/// The words of a full-text index: a text counts as found when all of its words stand there.
fn sweep_words(database: &Connection, name: &str, search: &mut Search, place: &mut SweptPlace) -> Result<()> {
    let quoted = name.replace('\'', "''");
    let made = format!("CREATE VIRTUAL TABLE temp.swept_words USING fts5vocab('main', '{quoted}', 'row')");
    database.execute_batch(&made).map_err(failed)?;
    let mut words: HashSet<String> = HashSet::new();
    {
        let mut found = database.prepare("SELECT term FROM temp.swept_words").map_err(failed)?;
        let mut rows = found.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let word: String = row.get(0).map_err(failed)?;
            place.units += 1;
            place.bytes += word.len() as u64;
            words.insert(word);
        }
    }
    database.execute_batch("DROP TABLE temp.swept_words").map_err(failed)?;
    search.look_for_words(place.name, &format!("index {name}"), &words);
    Ok(())
}

/// The pages that are free: what was deleted may still stand there.
fn sweep_free_pages(path: &Path, search: &mut Search, place: &mut SweptPlace) -> Result<()> {
    let file = files::open_for_good(path)?;
    let read = |at: u64, length: usize| -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let count = file.fill_at(at, &mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    };
    let number = |bytes: &[u8], at: usize| -> u64 {
        let part = bytes.get(at..at + 4).and_then(|part| <[u8; 4]>::try_from(part).ok());
        u64::from(part.map_or(0, u32::from_be_bytes))
    };
    let header = read(0, 100)?;
    let size = match header.get(16..18) {
        Some([0, 1]) => 65536,
        Some([high, low]) => usize::from(u16::from_be_bytes([*high, *low])),
        _ => return Ok(()),
    };
    let page = |number: u64| read(number.saturating_sub(1).saturating_mul(size as u64), size);
    let mut trunk = number(&header, 32);
    let mut seen: HashSet<u64> = HashSet::new();
    while trunk != 0 && seen.insert(trunk) {
        let bytes = page(trunk)?;
        let leaves = usize::try_from(number(&bytes, 4)).unwrap_or(0).min(size / 4);
        let mut pages = vec![trunk];
        pages.extend((0..leaves).map(|leaf| number(&bytes, 8 + 4 * leaf)));
        for free in pages {
            let bytes = page(free)?;
            place.units += 1;
            place.bytes += bytes.len() as u64;
            search.look(place.name, &|| format!("{}, page {free}", path.display()), &bytes);
        }
        trunk = number(&bytes, 0);
    }
    Ok(())
}
