//! Verifiers that nobody here wrote, as programs; `./test` installs them (`tests/verifiers/install`).

use crate::log::{ORIGIN, key, large};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of them.
pub(crate) enum Verifier {
    /// A program over a library, which reads all of the log: Go's `golang.org/x/mod/sumdb`, or the crates `signed_note` and
    /// `tlog_tiles`.
    Program(&'static str, PathBuf),
    /// The command of `aics-tlog`.
    Aics(PathBuf),
}

fn place() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/verifiers");
    std::env::var_os("SAMITE_TEST_VERIFIERS").map_or_else(default, PathBuf::from)
}

/// Where the Python packages are, if they are there.
pub(crate) fn python() -> Option<PathBuf> {
    let installed = place().join("python.installed").exists();
    installed.then(|| place().join("python"))
}

/// Those that are installed; says which are not.
pub(crate) fn installed() -> Vec<Verifier> {
    let program =
        |name| Some(place().join(name)).filter(|path| path.exists()).map(|path| Verifier::Program(name, path));
    let found = [program("sumdb-verify"), program("crates-verify"), python().map(Verifier::Aics)];
    for (name, verifier) in ["sumdb-verify", "crates-verify", "aics-tlog"].into_iter().zip(&found) {
        if verifier.is_none() {
            eprintln!("SKIPPED: {name} is not installed for tests; ./test installs it where it can");
        }
    }
    found.into_iter().flatten().collect()
}

/// Runs a command: what it said, and whether it ended well.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(said) } else { Err(said) }
}

impl Verifier {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Program(name, _) => name,
            Self::Aics(_) => "aics-tlog",
        }
    }

    /// Runs it with these arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, String> {
        match self {
            Self::Program(_, path) => run(Command::new(path).args(arguments)),
            Self::Aics(path) => {
                run(Command::new("python3").args(["-m", "aics_tlog"]).args(arguments).env("PYTHONPATH", path))
            }
        }
    }

    /// Verifies what a log has from an index on, after its beginning was pruned. `aics-tlog` finds the roots of right halves in
    /// tiles of leaves only, which are pruned with them: of such a log it verifies the tree head.
    pub(crate) fn verify_from(&self, folder: &Path, minimum: u64, size: u64) -> Result<(), String> {
        let (key, minimum) = (key().verifier().to_string(), minimum.to_string());
        match self {
            Self::Program(..) => {
                let said = self.run(&["-from", &minimum, folder.to_str().unwrap(), &key])?;
                if said == format!("{size}\n") { Ok(()) } else { Err(said) }
            }
            Self::Aics(_) => {
                let head = folder.join("checkpoint");
                let note = ["verify-checkpoint", "--note", head.to_str().unwrap()];
                self.run(&[&note[..], &["--log-key", &key, "--origin", ORIGIN]].concat()).map(drop)
            }
        }
    }

    /// Verifies a log of this size with its public key; of one that looks at single entries, this one.
    pub(crate) fn verify(&self, folder: &Path, size: u64, index: u64) -> Result<(), String> {
        let key = key().verifier().to_string();
        match self {
            Self::Program(..) => {
                let said = self.run(&[folder.to_str().unwrap(), &key])?;
                if said == format!("{size}\n") { Ok(()) } else { Err(said) }
            }
            Self::Aics(_) => {
                let aics = |arguments: &[&str]| self.run(arguments);
                let (head, tiles) = (folder.join("checkpoint"), folder.to_str().unwrap());
                let older = large().join("older");
                let found = large().join("entry");
                aics(&["verify-checkpoint", "--note", head.to_str().unwrap(), "--log-key", &key, "--origin", ORIGIN])?;
                let index_text = index.to_string();
                let entry = ["--entry-out", found.to_str().unwrap()];
                let inclusion = ["verify-inclusion", "--index", &index_text, "--tiles", tiles, "--log-key", &key];
                aics(&[&inclusion[..], &entry].concat())?;
                assert_eq!(std::fs::read(&found).unwrap(), crate::log::entry(index), "it proved another entry");
                let older = older.to_str().unwrap();
                aics(&["verify-consistency", "--old-checkpoint", older, "--tiles", tiles, "--log-key", &key]).map(drop)
            }
        }
    }
}
