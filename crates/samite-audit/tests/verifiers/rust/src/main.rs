//! Verifies a log in a folder with the crates `signed_note` and `tlog_tiles` alone: the signed tree head, every tile, and every entry.
//! Usage: crates-verify [-from INDEX] FOLDER VERIFIER-KEY; of a log that was pruned, from this multiple of 256 on

use signed_note::{Note, StandardVerifier, VerifierList};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, process};
use tlog_tiles::{Checkpoint, HashReader as _, Tile, TileHashReader, TileReader, record_hash, stored_hash_index};

/// The tiles of a folder. What the crate calls `tile/8/L` and `data`, the folder calls `tile/L` and `entries`.
struct Tiles(PathBuf);

impl Tiles {
    fn path(&self, tile: &Tile) -> PathBuf {
        self.0.join(tile.path().replacen("tile/8/", "tile/", 1).replacen("tile/data/", "tile/entries/", 1))
    }
}

impl TileReader for Tiles {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        tiles
            .iter()
            .map(|tile| fs::read(self.path(tile)).map_err(|error| tlog_tiles::Error::InvalidInput(error.to_string())))
            .collect()
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

fn verify(folder: &Path, key: &str, minimum: u64) -> Result<u64, Box<dyn Error>> {
    let verifier = StandardVerifier::new(key).map_err(|error| format!("{error:?}"))?;
    let note = Note::from_bytes(&fs::read(folder.join("checkpoint"))?).map_err(|error| format!("{error:?}"))?;
    note.verify(&VerifierList::new(vec![Box::new(verifier)])).map_err(|error| format!("{error:?}"))?;
    let head = Checkpoint::from_bytes(note.text()).map_err(|error| error.to_string())?;
    if Some(head.origin()) != key.split('+').next() {
        return Err(format!("the tree head is that of {:?}", head.origin()).into());
    }
    let source = Tiles(folder.to_owned());
    if minimum > head.size() || minimum % 256 != 0 {
        return Err(format!("the log cannot begin at {minimum}").into());
    }
    let indexes: Vec<u64> = (minimum..head.size()).map(|index| stored_hash_index(0, index)).collect();
    // This authenticates every tile that it reads against the tree head: all of them that have these.
    let reader = TileHashReader::new(head.size(), *head.hash(), &source);
    let hashes = reader.read_hashes(&indexes).map_err(|error| format!("{error:?}"))?;
    for first in (minimum..head.size()).step_by(256) {
        let width = u32::try_from((head.size() - first).min(256))?;
        let path = source.path(&Tile::new(8, 0, first / 256, width, true));
        let bundle = fs::read(&path)?;
        let mut rest = bundle.as_slice();
        for index in first..first + u64::from(width) {
            let cut = || format!("{} is cut off", path.display());
            let (length, after) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
            let (entry, after) = after.split_at_checked(u16::from_be_bytes(*length).into()).ok_or_else(cut)?;
            if record_hash(entry) != hashes[usize::try_from(index - minimum)?] {
                return Err(format!("entry {index} was changed").into());
            }
            rest = after;
        }
        if !rest.is_empty() {
            return Err(format!("{} is too long", path.display()).into());
        }
    }
    Ok(head.size())
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let (minimum, folder, key) = match words.as_slice() {
        [folder, key] => (Some(0), folder, key),
        ["-from", minimum, folder, key] => (minimum.parse().ok(), folder, key),
        _ => (None, &"", &""),
    };
    let Some(minimum) = minimum else {
        eprintln!("usage: crates-verify [-from INDEX] FOLDER VERIFIER-KEY");
        process::exit(2);
    };
    match verify(Path::new(folder), key, minimum) {
        Ok(size) => println!("{size}"),
        Err(error) => {
            eprintln!("{error}");
            process::exit(1);
        }
    }
}
