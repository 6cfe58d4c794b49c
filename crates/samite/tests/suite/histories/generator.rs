//! Random histories, each from a seed of its own: the same seed makes the same history.

use super::disk::{Edit, LINES, Place};

/// Numbers from a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// When a person edits while something is put back.
#[derive(Clone, Debug, Default)]
pub(super) struct Meanwhile {
    /// After it was previewed, before it is done.
    pub(super) after_plan: Vec<Edit>,
    /// While it is done: when it has told so often how far it is.
    pub(super) during: Option<(usize, Vec<Edit>)>,
}

/// What happens next. Numbers choose among what is there when it happens, counted round.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Somebody edits in a directory.
    Edit { directory: usize, edits: Vec<Edit> },
    /// A branch's workspace is checkpointed.
    Checkpoint { line: usize },
    /// A step changes files: its trees are recorded when it begins and with its outcome.
    Step { line: usize, edits: Vec<Edit> },
    /// A workspace is put back to a checkpoint.
    Restore { line: usize, to: usize, force: bool, within: Option<usize>, meanwhile: Meanwhile },
    /// A session goes back to a checkpoint of any of its branches.
    Rewind { session: usize, to: usize, meanwhile: Meanwhile },
    /// A fork at a checkpoint gets a directory of its own.
    Fork { session: usize, at: usize },
    /// Another branch becomes current again, and its last tree is put back.
    Use { line: usize, restore: bool },
    /// A restore begins and is cut off when so much of it (percent) was done; somebody edits, and it is recovered.
    HalfRestore { line: usize, to: usize, done: usize, edits: Vec<Edit> },
    /// Two branches are brought together: proposals are taken or not, and what is left is decided by these choices.
    Merge { line: usize, other: usize, automatic: bool, choices: usize },
    /// A branch that is not current is deleted, and perhaps what only it needed is collected.
    DeleteBranch { line: usize, collect: bool },
    /// What nothing needs is collected.
    Collect,
}

/// A history: what happened, in its order.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) seed: u64,
    /// Whether a second session works in the first directory.
    pub(super) shared: bool,
    pub(super) acts: Vec<Act>,
}

const NAMES: [&str; 9] = ["a", "b", "c.txt", "d", "e f", "d.d", "ü\n", "x.log", "-z"];
const WORDS: [&str; 6] = ["one", "two", "six", "seven", "", "a much longer line"];

fn name(random: &mut Random) -> String {
    let depth = *random.of(&[1, 1, 1, 2, 2, 3]);
    let names: Vec<&str> = (0..depth).map(|_| *random.of(&NAMES)).collect();
    names.join("/")
}

fn place(random: &mut Random) -> Place {
    if random.percent(60) { Place::There(random.below(64)) } else { Place::Named(name(random)) }
}

fn bytes(random: &mut Random) -> Vec<u8> {
    match random.below(60) {
        0 => crate::support::noise(random.next(), 300 << 10),
        1..5 => Vec::new(),
        5..10 => vec![0, 1, 2, u8::try_from(random.below(200)).unwrap()],
        // Often of one size: only times and inodes tell that something changed.
        _ => format!("{:04}\n", random.below(40)).into_bytes(),
    }
}

fn edit(random: &mut Random) -> Edit {
    let at = place(random);
    match random.below(100) {
        0..25 => Edit::Write { at, bytes: bytes(random), by_rename: random.percent(50) },
        25..45 => Edit::Line { at, line: random.below(LINES), word: (*random.of(&WORDS)).to_owned() },
        45..50 => Edit::Append { at, bytes: bytes(random) },
        50..57 => Edit::Mode { at, executable: random.percent(60) },
        57..69 => Edit::Rename { at, to: place(random) },
        69..82 => Edit::Delete { at },
        82..87 => Edit::Link { at, to: name(random) },
        87..91 => Edit::Name { at, to: place(random) },
        91..93 => Edit::Directory { at },
        93..97 => Edit::Commit { at, commit: random.below(8) },
        _ => Edit::Rules(random.percent(65)),
    }
}

fn edits(random: &mut Random, most: usize) -> Vec<Edit> {
    (0..=random.below(most)).map(|_| edit(random)).collect()
}

fn meanwhile(random: &mut Random) -> Meanwhile {
    let after_plan = if random.percent(35) { edits(random, 2) } else { Vec::new() };
    let during = random.percent(25).then(|| (random.below(7), edits(random, 2)));
    Meanwhile { after_plan, during }
}

fn act(random: &mut Random, collects: bool) -> Act {
    let line = random.below(32);
    match random.below(100) {
        0..28 => Act::Edit { directory: random.below(8), edits: edits(random, 4) },
        28..46 => Act::Checkpoint { line },
        46..53 => Act::Step { line, edits: edits(random, 3) },
        53..63 => {
            let (force, within) = (random.percent(20), random.percent(15).then(|| random.below(64)));
            Act::Restore { line, to: random.below(64), force, within, meanwhile: meanwhile(random) }
        }
        63..73 => Act::Rewind { session: random.below(2), to: random.below(64), meanwhile: meanwhile(random) },
        73..79 => Act::Fork { session: random.below(2), at: random.below(64) },
        79..83 => Act::Use { line, restore: random.percent(70) },
        83..86 => {
            let edits = if random.percent(50) { edits(random, 2) } else { Vec::new() };
            Act::HalfRestore { line, to: random.below(64), done: random.below(101), edits }
        }
        86..92 => {
            let (automatic, choices) = (random.percent(60), random.below(1 << 16));
            Act::Merge { line, other: random.below(32), automatic, choices }
        }
        92.. if !collects => Act::Checkpoint { line },
        92..98 => Act::DeleteBranch { line, collect: random.percent(60) },
        _ => Act::Collect,
    }
}

/// The history of a seed.
pub(super) fn history(seed: u64) -> History {
    let mut random = Random::new(seed);
    let shared = random.percent(35);
    let mut acts = vec![
        Act::Edit { directory: 0, edits: edits(&mut random, 8) },
        Act::Checkpoint { line: 0 },
        Act::Edit { directory: 0, edits: edits(&mut random, 4) },
    ];
    let length = 6 + random.below(14);
    acts.extend((0..length).map(|_| act(&mut random, !shared)));
    History { seed, shared, acts }
}

impl Act {
    /// The edits in it, which may be left out one by one.
    fn edits_mut(&mut self) -> Vec<&mut Vec<Edit>> {
        match self {
            Self::Edit { edits, .. } | Self::Step { edits, .. } | Self::HalfRestore { edits, .. } => vec![edits],
            Self::Restore { meanwhile, .. } | Self::Rewind { meanwhile, .. } => {
                let during = meanwhile.during.as_mut().map(|(_, edits)| edits);
                std::iter::once(&mut meanwhile.after_plan).chain(during).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl History {
    /// The same with something left out, each way once.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        let mut size = self.acts.len() / 2;
        while size > 0 {
            for from in (0..self.acts.len()).step_by(size) {
                let mut fewer = self.clone();
                fewer.acts.drain(from..(from + size).min(self.acts.len()));
                smaller.push(fewer);
            }
            size /= 2;
        }
        for act in 0..self.acts.len() {
            let lists: Vec<usize> = self.clone().acts[act].edits_mut().iter().map(|edits| edits.len()).collect();
            for (list, length) in lists.into_iter().enumerate() {
                for edit in 0..length {
                    let mut fewer = self.clone();
                    fewer.acts[act].edits_mut()[list].remove(edit);
                    smaller.push(fewer);
                }
            }
        }
        smaller
    }
}
