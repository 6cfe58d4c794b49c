//! What the replayed disk promises, for any operations.

use proptest::prelude::*;
use samite_powercut::{Bytes, Disk, Model, Node, Operation, ROOT, Remain, Remains, Volume};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

const MODELS: [Model; 2] = [Model::Ordered, Model::Harsh];
/// A directory that is there from the beginning.
const BELOW: u64 = 2;

/// What programs saw.
fn seen(volume: &Volume) -> Remains {
    let mut seen = BTreeMap::new();
    let mut waiting = vec![(ROOT, PathBuf::new())];
    while let Some((directory, path)) = waiting.pop() {
        for (name, file) in volume.names(directory).unwrap() {
            let path = path.join(OsStr::from_bytes(name));
            match volume.node(*file).unwrap() {
                Node::File { bytes, mode } => seen.insert(path, Remain::File(*mode, bytes.clone())),
                Node::Directory { mode, .. } => {
                    waiting.push((*file, path.clone()));
                    seen.insert(path, Remain::Directory(*mode))
                }
            };
        }
    }
    Remains(seen)
}

/// Files 3, 4, … get names in two directories, are written, cut, renamed, removed and synced, in any order.
fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let directory = prop_oneof![Just(ROOT), Just(BELOW)];
    let name = (0_u8..4).prop_map(|name| vec![b'a' + name]);
    let file = 3_u64..8;
    let one = prop_oneof![
        4 => (file.clone(), 0_u64..12_000, 1_usize..9_000, any::<u8>()).prop_map(|(file, offset, length, byte)| {
            Operation::Write { file, offset, bytes: Bytes::from(vec![byte; length]) }
        }),
        1 => (file.clone(), 0_u64..20_000).prop_map(|(file, length)| Operation::Truncate { file, length }),
        2 => file.clone().prop_map(|file| Operation::Sync { file }),
        1 => directory.clone().prop_map(|directory| Operation::SyncDirectory { directory }),
        2 => (directory.clone(), name.clone()).prop_map(|(directory, name)| {
            Operation::Create { directory, name, file: 0, mode: 0o600 }
        }),
        1 => (directory.clone(), name.clone()).prop_map(|(directory, name)| Operation::Remove { directory, name }),
        1 => (directory.clone(), name.clone(), directory, name)
            .prop_map(|(from, name, to, new_name)| Operation::Rename { from, name, to, new_name }),
    ];
    prop::collection::vec(one, 1..60).prop_map(|operations| {
        let below = Operation::MakeDirectory { directory: ROOT, name: b"below".to_vec(), file: BELOW, mode: 0o700 };
        let mut all = vec![below];
        let mut next = 3;
        for mut operation in operations {
            if let Operation::Create { file, .. } = &mut operation {
                *file = next;
                next += 1;
            }
            all.push(operation);
        }
        all
    })
}

fn sync_everything(operations: &[Operation]) -> Vec<Operation> {
    let files = operations.iter().filter_map(|operation| match operation {
        Operation::Create { file, .. } => Some(Operation::Sync { file: *file }),
        _ => None,
    });
    let directories = [ROOT, BELOW].map(|directory| Operation::SyncDirectory { directory });
    files.chain(directories).collect()
}

fn follow(model: Model, operations: &[Operation]) -> (Disk, Volume) {
    let (mut disk, mut volume) = (Disk::new(model), Volume::default());
    for operation in operations {
        disk.apply(operation);
        volume.apply(operation);
    }
    (disk, volume)
}

proptest! {
    #[test]
    fn what_was_synced_is_there(operations in operations(), seed in any::<u64>()) {
        for model in MODELS {
            let mut all = operations.clone();
            all.extend(sync_everything(&operations));
            let (disk, volume) = follow(model, &all);
            prop_assert_eq!(disk.cut(seed), seen(&volume));
        }
    }

    #[test]
    fn what_was_synced_stays_until_it_is_changed(
        operations in operations(),
        later in prop::collection::vec((0_u64..12_000, 1_usize..9_000), 1..8),
        seed in any::<u64>(),
    ) {
        for model in MODELS {
            let mut all = operations.clone();
            all.extend(sync_everything(&operations));
            let (mut disk, volume) = follow(model, &all);
            // One file is written on: of it each byte is the old or the new one; all else is as it was.
            for (offset, length) in &later {
                let bytes = Bytes::from(vec![0xff; *length]);
                disk.apply(&Operation::Write { file: 3, offset: *offset, bytes });
            }
            let (cut, before) = (disk.cut(seed), seen(&volume));
            prop_assert_eq!(cut.0.len(), before.0.len());
            for (path, remain) in &cut.0 {
                match (remain, &before.0[path]) {
                    (Remain::File(_, now), Remain::File(_, then)) if now != then => {
                        prop_assert!(now.len() >= then.len());
                        for (at, byte) in now.iter().enumerate() {
                            prop_assert!(*byte == 0xff || *byte == then.get(at).copied().unwrap_or(0));
                        }
                    }
                    (now, then) => prop_assert_eq!(now, then),
                }
            }
        }
    }

    #[test]
    fn a_cut_may_lose_nothing_and_may_lose_everything(operations in operations()) {
        // Everything that was not synced is lost or kept as a whole by two in five seeds.
        for model in MODELS {
            let (disk, volume) = follow(model, &operations);
            let wanted = seen(&volume);
            prop_assert!((0..64).any(|seed| disk.cut(seed) == wanted));
            let unsynced: Vec<Operation> = operations
                .iter()
                .filter(|one| !matches!(one, Operation::Sync { .. } | Operation::SyncDirectory { .. }))
                .cloned()
                .collect();
            let (disk, _) = follow(model, &unsynced);
            prop_assert!((0..64).any(|seed| disk.cut(seed) == Remains::default()));
        }
    }

    #[test]
    fn a_seed_is_a_disk(operations in operations(), seed in any::<u64>()) {
        for model in MODELS {
            prop_assert_eq!(follow(model, &operations).0.cut(seed), follow(model, &operations).0.cut(seed));
        }
    }
}

fn create(directory: u64, name: &str, file: u64) -> Operation {
    Operation::Create { directory, name: name.into(), file, mode: 0o600 }
}

/// Which names are there after each of many cuts.
fn outcomes(model: Model, operations: &[Operation]) -> std::collections::BTreeSet<String> {
    let (disk, _) = follow(model, operations);
    (0..300)
        .map(|seed| {
            let cut = disk.cut(seed);
            let names: Vec<String> = cut
                .0
                .iter()
                .map(|(path, remain)| match remain {
                    Remain::File(_, bytes) => format!("{}={}", path.display(), String::from_utf8_lossy(bytes)),
                    Remain::Directory(_) => format!("{}/", path.display()),
                })
                .collect();
            names.join(" ")
        })
        .collect()
}

fn set(texts: &[&str]) -> std::collections::BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn write(file: u64, text: &'static str) -> Operation {
    Operation::Write { file, offset: 0, bytes: Bytes::from(text.as_bytes()) }
}

#[test]
fn an_fsync_of_a_file_does_not_persist_its_name() {
    let operations = [create(ROOT, "a", 3), write(3, "x"), Operation::Sync { file: 3 }];
    assert_eq!(outcomes(Model::Harsh, &operations), set(&["", "a=x"]));
    assert_eq!(outcomes(Model::Ordered, &operations), set(&["a=x"]));
    let synced = [&operations[..], &[Operation::SyncDirectory { directory: ROOT }]].concat();
    assert_eq!(outcomes(Model::Harsh, &synced), set(&["a=x"]));
}

#[test]
fn a_name_that_is_durable_says_nothing_of_the_bytes() {
    let operations = [create(ROOT, "a", 3), write(3, "x"), Operation::SyncDirectory { directory: ROOT }];
    // A length without its block is zeros, where only the least is promised.
    assert_eq!(outcomes(Model::Harsh, &operations), set(&["a=", "a=\0", "a=x"]));
    assert_eq!(outcomes(Model::Ordered, &operations), set(&["a=", "a=x"]));
}

#[test]
fn a_file_that_is_replaced_is_the_old_or_the_new_one() {
    let sync = |file| Operation::Sync { file };
    let rename = Operation::Rename { from: ROOT, name: b"t".to_vec(), to: ROOT, new_name: b"a".to_vec() };
    let old = [create(ROOT, "a", 3), write(3, "old"), sync(3), Operation::SyncDirectory { directory: ROOT }];
    let new = [create(ROOT, "t", 4), write(4, "new"), sync(4), rename];
    let operations = [&old[..], &new[..]].concat();
    assert_eq!(outcomes(Model::Harsh, &operations), set(&["a=old", "a=new", "a=old t=new"]));
    assert_eq!(outcomes(Model::Ordered, &operations), set(&["a=old t=new", "a=new"]));
}

#[test]
fn a_directory_needs_a_sync_above_it() {
    let operations = [
        Operation::MakeDirectory { directory: ROOT, name: b"d".to_vec(), file: 3, mode: 0o700 },
        create(3, "a", 4),
        Operation::Sync { file: 4 },
        Operation::SyncDirectory { directory: 3 },
    ];
    assert_eq!(outcomes(Model::Harsh, &operations), set(&["", "d/ d/a="]));
    assert_eq!(outcomes(Model::Ordered, &operations), set(&["d/ d/a="]));
}

#[test]
fn unsynced_removals_happen_or_not_and_shared_memory_is_never_there() {
    let operations = [
        create(ROOT, "a", 3),
        create(ROOT, "b", 4),
        create(ROOT, "l-shm", 5),
        Operation::SyncDirectory { directory: ROOT },
        Operation::Remove { directory: ROOT, name: b"a".to_vec() },
        Operation::Remove { directory: ROOT, name: b"b".to_vec() },
    ];
    assert_eq!(outcomes(Model::Harsh, &operations), set(&["", "a=", "a= b=", "b="]));
    assert_eq!(outcomes(Model::Ordered, &operations), set(&["", "a= b=", "b="]));
}
