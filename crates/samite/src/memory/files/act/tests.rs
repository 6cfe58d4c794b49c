use super::*;
use proptest::prelude::*;

/// Files by their paths and contents; what each edit leaves is taken in.
struct Folder {
    files: Files,
    next: u8,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let mut folder = Self { files: Files::default(), next: 0 };
        for (path, content) in files {
            folder.put(FilePath::parse(path, false).unwrap(), content);
        }
        folder
    }

    fn put(&mut self, path: FilePath, content: &str) {
        self.next += 1;
        let (record, content) = (RecordId([self.next; 16]), content.to_owned());
        self.files.0.insert(path, File { record, trust: Trust::Model, content, is_found: true });
    }

    /// Carries out a command, and says what the tool says.
    fn run(&mut self, command: &FileCommand) -> Result<String, String> {
        let outcome = self.files.act(command)?;
        for edit in outcome.edits {
            let gone = match &edit {
                Edit::Remove(record) => Some(*record),
                Edit::Write { replaces, .. } => replaces.map(|(record, _)| record),
            };
            self.files.0.retain(|_, file| Some(file.record) != gone);
            if let Edit::Write { path, content, .. } = edit {
                self.put(path, &content);
            }
        }
        Ok(outcome.text)
    }

    fn all(&self) -> Vec<(String, &str)> {
        self.files.0.iter().map(|(path, file)| (path.to_string(), file.content.as_str())).collect()
    }
}

fn command(input: &serde_json::Value) -> FileCommand {
    FileCommand::parse(input.clone()).unwrap()
}

macro_rules! call {
    ($folder:expr, $($json:tt)+) => { $folder.run(&command(&serde_json::json!({ $($json)+ }))) };
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what is answered")]
fn ok(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn no(text: &str) -> Result<String, String> {
    Err(text.to_owned())
}

#[test]
fn a_directory_shows_what_is_in_it_with_sizes() {
    let long = "x".repeat(1536);
    let mut folder = Folder::new(&[
        ("/memories/notes.md", "tea\n"),
        ("/memories/b/c/deep.md", &long),
        ("/memories/b/d.md", ""),
        ("/memories/.hidden", "h"),
        ("/memories/node_modules/x.js", "x"),
        ("/memories/b/.git/config", "c"),
    ]);
    let header = "Here're the files and directories up to 2 levels deep in";
    let rest = "excluding hidden items and node_modules:";
    assert_eq!(
        call!(folder, "command": "view", "path": "/memories"),
        Ok(format!(
            "{header} /memories, {rest}\n1.6K\t/memories\n1.6K\t/memories/b/\n1.5K\t/memories/b/c/\n0B\t/memories/b/d.md\n4B\t/memories/notes.md"
        ))
    );
    let inner = format!(
        "{header} /memories/b, {rest}\n1.6K\t/memories/b\n1.5K\t/memories/b/c/\n1.5K\t/memories/b/c/deep.md\n0B\t/memories/b/d.md"
    );
    assert_eq!(call!(folder, "command": "view", "path": "/memories/b/"), Ok(inner));
    assert_eq!(
        call!(Folder::new(&[]), "command": "view", "path": "/memories"),
        Ok(format!("{header} /memories, {rest}\n0B\t/memories"))
    );
    for missing in ["/memories/x", "/memories/notes.md/", "/memories/b/d"] {
        let said = format!("The path {missing} does not exist. Please provide a valid path.");
        assert_eq!(call!(folder, "command": "view", "path": missing), Err(said));
    }
    let sizes = [(0, "0B"), (1023, "1023B"), (1024, "1.0K"), (1025, "1.1K"), (5632, "5.5K"), (1_258_291, "1.2M")];
    for (bytes, shown) in sizes {
        assert_eq!(size(bytes), shown);
    }
}

#[test]
fn a_file_is_shown_with_its_lines_numbers() {
    let mut folder = Folder::new(&[("/memories/a.md", "one\ntwo\nthree")]);
    let header = "Here's the content of /memories/a.md with line numbers:";
    let view = |folder: &mut Folder, range: serde_json::Value| call!(folder, "command": "view", "path": "/memories/a.md", "view_range": range);
    let whole = format!("{header}\n     1\tone\n     2\ttwo\n     3\tthree");
    assert_eq!(call!(folder, "command": "view", "path": "/memories/a.md"), ok(&whole));
    for range in [serde_json::json!(null), serde_json::json!([1, -1]), serde_json::json!([0, 9])] {
        assert_eq!(view(&mut folder, range), ok(&whole));
    }
    assert_eq!(view(&mut folder, serde_json::json!([2, 2])), Ok(format!("{header}\n     2\ttwo")));
    for range in [[4, 5], [3, 2], [1, 0], [1, -2]] {
        let said = view(&mut folder, serde_json::json!(range)).unwrap_err();
        assert!(said.starts_with("Error: Invalid `view_range` parameter: ["), "{said}");
    }
    let many = Folder::new(&[("/memories/a.md", &"\n".repeat(LINES))]);
    let view = command(&serde_json::json!({ "command": "view", "path": "/memories/a.md" }));
    assert_eq!(many.files.act(&view).unwrap_err(), "File /memories/a.md exceeds maximum line limit of 999,999 lines.");
}

#[test]
fn files_are_made_edited_moved_and_deleted() {
    let mut folder = Folder::new(&[]);
    assert_eq!(
        call!(folder, "command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\ntwo\n"),
        ok("File created successfully at: /memories/a.md")
    );
    assert_eq!(
        call!(folder, "command": "create", "path": "/memories/a.md", "file_text": "x"),
        no("Error: File /memories/a.md already exists")
    );
    assert_eq!(
        call!(folder, "command": "create", "path": "/memories/a.md/b", "file_text": "x"),
        no("Error: The path /memories/a.md is a file and not a directory")
    );
    assert_eq!(
        call!(folder, "command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "1\n1b"),
        ok(
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t1\n     2\t1b\n     3\ttwo\n     4\ttwo"
        )
    );
    assert_eq!(
        call!(folder, "command": "str_replace", "path": "/memories/a.md", "old_str": "three", "new_str": "x"),
        no("No replacement was performed, old_str `three` did not appear verbatim in /memories/a.md.")
    );
    assert_eq!(
        call!(folder, "command": "str_replace", "path": "/memories/a.md", "old_str": "two", "new_str": "x"),
        no(
            "No replacement was performed. Multiple occurrences of old_str `two` in lines: 3, 4. Please ensure it is unique"
        )
    );
    for path in ["/memories/b", "/memories"] {
        assert_eq!(
            call!(folder, "command": "str_replace", "path": path, "old_str": "x"),
            Err(format!("Error: The path {path} does not exist. Please provide a valid path."))
        );
    }
    assert_eq!(
        call!(folder, "command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "zero\n"),
        ok("The file /memories/a.md has been edited.")
    );
    assert_eq!(
        call!(folder, "command": "insert", "path": "/memories/a.md", "insert_line": 9, "insert_text": "x"),
        no("Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 6]")
    );
    assert_eq!(
        call!(folder, "command": "insert", "path": "/memories/x", "insert_line": 0, "insert_text": "x"),
        no("Error: The path /memories/x does not exist")
    );
    assert_eq!(folder.all(), [("/memories/a.md".to_owned(), "zero\n1\n1b\ntwo\ntwo\n")]);
    call!(folder, "command": "create", "path": "/memories/d/e/f", "file_text": "f").unwrap();
    call!(folder, "command": "create", "path": "/memories/d2", "file_text": "no part of d").unwrap();
    assert_eq!(
        call!(folder, "command": "rename", "old_path": "/memories/d", "new_path": "/memories/d2"),
        no("Error: The destination /memories/d2 already exists")
    );
    assert_eq!(
        call!(folder, "command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e/g"),
        no("Error: The destination /memories/d/e/g is inside /memories/d")
    );
    assert_eq!(
        call!(folder, "command": "rename", "old_path": "/memories/n", "new_path": "/memories/m"),
        no("Error: The path /memories/n does not exist")
    );
    assert_eq!(
        call!(folder, "command": "rename", "old_path": "/memories/d", "new_path": "/memories/new/place"),
        ok("Successfully renamed /memories/d to /memories/new/place")
    );
    let paths: Vec<String> = folder.all().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/memories/a.md", "/memories/d2", "/memories/new/place/e/f"]);
    assert_eq!(call!(folder, "command": "delete", "path": "/memories/new"), ok("Successfully deleted /memories/new"));
    assert_eq!(
        call!(folder, "command": "delete", "path": "/memories/new"),
        no("Error: The path /memories/new does not exist")
    );
    assert_eq!(
        call!(folder, "command": "delete", "path": "/memories"),
        no("Error: Cannot delete the /memories directory itself")
    );
    assert_eq!(folder.all().len(), 2);
    assert_eq!(
        call!(folder, "command": "view", "path": "/memories/../etc/passwd"),
        no("Error: Path /memories/../etc/passwd would escape /memories directory")
    );
    assert_eq!(
        call!(folder, "command": "view", "path": "/etc"),
        no("Error: Path must start with /memories, got: /etc")
    );
    assert_eq!(
        call!(folder, "command": "delete", "path": "/memories/a\u{202e}\0"),
        no("Error: Path /memories/a\\u{202e}\\0 is not valid")
    );
}

#[test]
fn what_nobody_approved_is_not_seen_and_not_overwritten() {
    let mut folder = Folder::new(&[("/memories/d/a", "a"), ("/memories/d/b", "b")]);
    folder.files.0.iter_mut().for_each(|(path, file)| file.is_found = path.to_string() != "/memories/d/a");
    let listed = call!(folder, "command": "view", "path": "/memories/d").unwrap();
    assert!(listed.ends_with("\n1B\t/memories/d\n1B\t/memories/d/b"), "{listed}");
    assert!(call!(folder, "command": "view", "path": "/memories/d/a").is_err());
    assert!(call!(folder, "command": "create", "path": "/memories/d/a", "file_text": "x").is_err());
    assert!(call!(folder, "command": "rename", "old_path": "/memories/d/b", "new_path": "/memories/d/a").is_err());
    call!(folder, "command": "delete", "path": "/memories/d").unwrap();
    assert_eq!(folder.all(), [("/memories/d/a".to_owned(), "a")]);
}

fn paths() -> impl Strategy<Value = String> {
    "(/memories)?((/|\\.\\.|%2e|\\\\|\u{ff0e}|[ab]| ){1,6})"
}

fn commands() -> impl Strategy<Value = FileCommand> {
    let text = || "[ab\n]{0,4}";
    prop_oneof![
        (paths(), text()).prop_map(|(path, file_text)| FileCommand::Create { path, file_text }),
        (paths(), text(), text()).prop_map(|(path, old_str, new_str)| FileCommand::StrReplace {
            path,
            old_str,
            new_str
        }),
        (paths(), -1i64..4, text()).prop_map(|(path, insert_line, insert_text)| FileCommand::Insert {
            path,
            insert_line,
            insert_text
        }),
        paths().prop_map(|path| FileCommand::Delete { path }),
        (paths(), paths()).prop_map(|(old_path, new_path)| FileCommand::Rename { old_path, new_path }),
        paths().prop_map(|path| FileCommand::View { path, view_range: None }),
    ]
}

proptest! {
    /// Beside a map of files that are compared whole: a command touches the file that it names, and nothing else.
    #[test]
    fn a_command_touches_what_it_names_alone(commands in proptest::collection::vec(commands(), 0..24)) {
        let mut folder = Folder::new(&[]);
        for command in &commands {
            let before: BTreeMap<String, String> =
                folder.all().into_iter().map(|(path, content)| (path, content.to_owned())).collect();
            let said = folder.run(command);
            let after: BTreeMap<String, String> =
                folder.all().into_iter().map(|(path, content)| (path, content.to_owned())).collect();
            let named = |path: &String| match command {
                FileCommand::Rename { old_path, new_path } => [old_path, new_path].into_iter().any(|one| {
                    path.strip_prefix(one.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                }),
                FileCommand::Delete { path: one } => {
                    path.strip_prefix(one.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                }
                other => path == other.path(),
            };
            for path in before.keys().chain(after.keys()) {
                prop_assert!(path.starts_with("/memories/"), "{path}");
                if before.get(path) != after.get(path) {
                    prop_assert!(said.is_ok() && named(path), "{command:?} {said:?} {path}");
                    let is_view = matches!(command, FileCommand::View { .. });
                    prop_assert!(!is_view);
                }
                // No file is a directory.
                let below = format!("{path}/");
                let is_both = after.contains_key(path) && after.keys().any(|other| other.starts_with(&below));
                prop_assert!(!is_both);
            }
            if let (FileCommand::Create { path, file_text }, Ok(_)) = (command, &said) {
                prop_assert_eq!((before.get(path), after.get(path)), (None, Some(file_text)));
            }
            if let (FileCommand::Rename { .. }, Ok(_)) = (command, &said) {
                let contents = |files: &BTreeMap<String, String>| {
                    let mut all: Vec<String> = files.values().cloned().collect();
                    all.sort_unstable();
                    all
                };
                prop_assert_eq!(contents(&before), contents(&after));
            }
        }
    }
}
