//! What real transcripts take on the disk.

use crate::Bench;
use crate::store::{Scratch, bytes_below};
use crate::table::{Row, Table, Target};
use crate::turns::count;
use futures_lite::future::block_on;
use samite::import::{Importer, claude_code};
use samite_host::files;
use samite_model::Result;

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let directory = bench.shared("data/claude-code")?;
    let ours = Scratch::new(bench)?;
    let store = ours.path();
    let mut text = 0;
    let mut importer = Importer::new(&ours.client);
    for file in claude_code::arrange(files::files_below(&directory)?.files) {
        text += file.path.metadata().map_err(|error| files::io_error("look at", &file.path, error))?.len();
        let (head, body) = (files::open_reader(&file.path)?, files::open_reader(&file.path)?);
        block_on(importer.transcript(&file.path, head, body, &mut |_| {}))?;
    }
    let _kept = ours.close();
    let stored = bytes_below(&store)?;
    table.row(&Row {
        name: "store of claude-code transcripts / their bytes",
        ours: count(stored) / 1e6,
        other: count(text) / 1e6,
        unit: "MB",
        ratio: count(stored) / count(text),
        target: Target::AtMost(0.6),
    });
    Ok(())
}
