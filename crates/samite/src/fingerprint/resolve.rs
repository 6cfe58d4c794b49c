//! Which program a name stands for: behind links, and behind what chooses between versions of it.

use super::Toolchain;
use samite_host::files;
use samite_host::look::{Program, part, program};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the process's environment says about where programs are.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The `PATH`.
    pub(super) path: OsString,
    /// The variables of [`VARIABLES`] that are set.
    pub(super) variables: BTreeMap<&'static str, OsString>,
}

const VARIABLES: [&str; 6] =
    ["HOME", "NODENV_VERSION", "PYENV_VERSION", "RBENV_VERSION", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];

impl Site {
    pub(super) fn of_this_process() -> Self {
        let variables = VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        Self { path: std::env::var_os("PATH").unwrap_or_default(), variables: variables.collect() }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).and_then(|value| value.to_str()).filter(|value| !value.is_empty())
    }

    fn directory(&self, name: &str) -> Option<&Path> {
        self.variables.get(name).map(Path::new).filter(|directory| directory.is_absolute())
    }
}

/// A toolchain that was found.
pub(super) struct Located {
    /// Where it is on the `PATH`.
    path: PathBuf,
    /// What is there.
    there: Program,
    /// The program itself; none when what is there chooses between programs, and it is not known which.
    pub(super) program: Option<Program>,
}

impl Located {
    /// What is known of it without its version.
    pub(super) fn toolchain(&self) -> Toolchain {
        let program = self.program.as_ref().unwrap_or(&self.there);
        Toolchain {
            path: self.path.to_string_lossy().into_owned(),
            file: program.file.to_string_lossy().into_owned(),
            version: None,
            modified: program.modified,
            size: program.size,
            inode: program.inode,
        }
    }
}

/// Finds a toolchain by its name. Without a workspace, which may have chosen its version, the program that was `known`
/// is it for as long as it is there.
pub(super) fn locate(site: &Site, name: &str, workspace: Option<&Path>, known: Option<&Toolchain>) -> Option<Located> {
    if workspace.is_none()
        && let Some(known) = known.filter(|known| known.version.is_some())
        && let Some(there) = program(Path::new(&known.file))
    {
        return Some(Located { path: PathBuf::from(&known.path), program: Some(there.clone()), there });
    }
    let mut places = std::env::split_paths(&site.path).filter(|directory| directory.is_absolute());
    let (path, there) = places.find_map(|directory| {
        let path = directory.join(name);
        program(&path).map(|there| (path, there))
    })?;
    let program = if is_rustup(&path, &there) {
        behind_rustup(site, name, workspace)
    } else if path.parent().is_some_and(|directory| directory.ends_with("shims")) {
        behind_shim(site, name, &path, workspace)
    } else {
        // What is called otherwise in the end does something else first: a launcher of a package manager, say.
        is_itself(name, &there.file).then(|| there.clone())
    };
    Some(Located { path, there, program })
}

fn is_itself(name: &str, file: &Path) -> bool {
    let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
    file.file_name().is_some_and(|file| file.to_string_lossy().contains(stem))
}

/// Its programs are all the same file, by symbolic or hard links.
fn is_rustup(path: &Path, there: &Program) -> bool {
    let sibling = || program(&path.with_file_name("rustup")).is_some_and(|rustup| rustup.inode == there.inode);
    there.file.file_name().is_some_and(|name| name == "rustup") || sibling()
}

/// The program in the toolchain that rustup would choose, when it is installed.
fn behind_rustup(site: &Site, name: &str, workspace: Option<&Path>) -> Option<Program> {
    let home = match site.directory("RUSTUP_HOME") {
        Some(home) => home.to_owned(),
        None => site.directory("HOME")?.join(".rustup"),
    };
    let settings: toml::Table =
        read(&home.join("settings.toml")).and_then(|text| text.parse().ok()).unwrap_or_default();
    let toolchain = match site.text("RUSTUP_TOOLCHAIN") {
        Some(toolchain) => PathBuf::from(toolchain),
        None => chosen_below(workspace, &settings)
            .or_else(|| Some(PathBuf::from(settings.get("default_toolchain")?.as_str()?)))?,
    };
    let directory = if toolchain.is_absolute() {
        toolchain
    } else {
        let (toolchains, channel) = (home.join("toolchains"), toolchain.to_str()?);
        let host = settings.get("default_host_triple").and_then(toml::Value::as_str);
        installed(&toolchains, channel, host).or_else(|| installed(&toolchains, channel, None))?
    };
    program(&directory.join("bin").join(name))
}

/// The toolchain that the nearest directory above a workspace chooses: by an override of the user, or by a file there.
fn chosen_below(workspace: Option<&Path>, settings: &toml::Table) -> Option<PathBuf> {
    let overrides = settings.get("overrides").and_then(toml::Value::as_table);
    let workspace = files::canonical(workspace?).ok()?;
    workspace.ancestors().find_map(|directory| {
        let chosen = overrides.and_then(|overrides| overrides.get(directory.to_str()?)?.as_str());
        chosen.map(PathBuf::from).or_else(|| chosen_in(directory))
    })
}

fn chosen_in(directory: &Path) -> Option<PathBuf> {
    ["rust-toolchain", "rust-toolchain.toml"].iter().find_map(|name| {
        let text = read(&directory.join(name))?;
        match text.parse::<toml::Table>() {
            Ok(table) => {
                let toolchain = table.get("toolchain")?;
                let path = toolchain.get("path").and_then(toml::Value::as_str).map(|path| directory.join(path));
                path.or_else(|| Some(PathBuf::from(toolchain.get("channel")?.as_str()?)))
            }
            // The old form has nothing but its name.
            Err(_) => text.lines().next().map(|line| PathBuf::from(line.trim())),
        }
    })
}

/// The directory of an installed toolchain, which is called by its channel, and mostly by its host as well.
fn installed(toolchains: &Path, channel: &str, host: Option<&str>) -> Option<PathBuf> {
    let is_plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    let exact = toolchains.join(channel);
    if is_plain(channel) && exact.is_dir() {
        return Some(exact);
    }
    let host = host.unwrap_or(std::env::consts::ARCH);
    let is_it = |name: &str| {
        let rest = name.strip_prefix(channel).and_then(|rest| rest.strip_prefix('-'));
        is_plain(channel)
            && rest
                .and_then(|rest| rest.strip_prefix(host))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let mut names: Vec<OsString> = files::list(toolchains).ok()?;
    names.retain(|name| name.to_str().is_some_and(is_it));
    names.sort();
    names.first().map(|name| toolchains.join(name))
}

/// The program of the version that pyenv, rbenv or nodenv would choose, when it is installed.
fn behind_shim(site: &Site, name: &str, shim: &Path, workspace: Option<&Path>) -> Option<Program> {
    let (file, variable) = match name {
        "python3" => (".python-version", "PYENV_VERSION"),
        "ruby" => (".ruby-version", "RBENV_VERSION"),
        "node" => (".node-version", "NODENV_VERSION"),
        _ => return None,
    };
    let root = shim.parent()?.parent()?;
    let nearest = || workspace?.ancestors().find_map(|directory| read(&directory.join(file)));
    let chosen = site.text(variable).map(str::to_owned).or_else(nearest).or_else(|| read(&root.join("version")))?;
    let version = chosen.split([':', ' ', '\n']).map(str::trim).find(|version| !version.is_empty())?;
    if version.starts_with('.') || version.contains('/') {
        return None;
    }
    let versions = root.join("versions");
    let exact = program(&versions.join(version).join("bin").join(name));
    exact.or_else(|| {
        // The newest that begins so.
        let mut names: Vec<String> =
            files::list(&versions).ok()?.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| name.strip_prefix(version).is_some_and(|rest| rest.starts_with('.')));
        names.sort_by_key(|name| name.split('.').map(|part| part.parse::<u32>().ok()).collect::<Vec<_>>());
        program(&versions.join(names.last()?).join("bin").join(name))
    })
}

fn read(path: &Path) -> Option<String> {
    let (bytes, _) = part(path, 1 << 20, false).ok()??;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "what is looked at is made directly")]
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place(root: &Path, name: &str, text: &str) -> PathBuf {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn root() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    fn site(path: &[PathBuf], variables: &[(&'static str, &str)]) -> Site {
        Site {
            path: std::env::join_paths(path).unwrap(),
            variables: variables.iter().map(|(name, value)| (*name, OsString::from(value))).collect(),
        }
    }

    #[test]
    fn the_path_is_searched_in_order_and_only_for_programs() {
        let (_dir, root) = root();
        place(&root, "first/node", "no program");
        fs::set_permissions(root.join("first/node"), fs::Permissions::from_mode(0o644)).unwrap();
        let right = place(&root, "lib/nodejs-20", "");
        fs::create_dir(root.join("second")).unwrap();
        symlink("../lib/nodejs-20", root.join("second/node")).unwrap();
        let site = site(&["relative".into(), root.join("first"), root.join("second")], &[]);
        let found = locate(&site, "node", None, None).unwrap();
        assert_eq!(found.path, root.join("second/node"));
        assert_eq!(found.program.as_ref().unwrap().file, right);
        assert_eq!(found.toolchain().file, right.to_string_lossy());
        assert!(locate(&site, "deno", None, None).is_none());
    }

    #[test]
    fn a_launcher_is_not_the_program() {
        let (_dir, root) = root();
        place(&root, "bin/volta-shim", "");
        symlink("volta-shim", root.join("bin/node")).unwrap();
        place(&root, "lib/python3.11", "");
        symlink("../lib/python3.11", root.join("bin/python3")).unwrap();
        place(&root, "shims/go", "");
        let site = site(&[root.join("bin"), root.join("shims")], &[]);
        let launched = locate(&site, "node", None, None).unwrap();
        assert!(launched.program.is_none());
        assert_eq!(launched.toolchain().file, root.join("bin/volta-shim").to_string_lossy());
        assert!(locate(&site, "python3", None, None).unwrap().program.is_some());
        assert!(locate(&site, "go", None, None).unwrap().program.is_none());
    }

    #[test]
    fn the_toolchain_that_rustup_would_choose_is_found_without_it() {
        let (_dir, root) = root();
        place(&root, "cargo/bin/rustup", "");
        symlink("rustup", root.join("cargo/bin/cargo")).unwrap();
        fs::hard_link(root.join("cargo/bin/rustup"), root.join("cargo/bin/rustc")).unwrap();
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let cargo = |name: &str| place(&root, &format!("rustup/toolchains/{name}/bin/cargo"), "");
        let (stable, exact) = (cargo(&format!("stable-{host}")), cargo(&format!("1.95.0-{host}")));
        let nightly = cargo(&format!("nightly-{host}"));
        cargo(&format!("nightly-2026-01-01-{host}"));
        let own = cargo("own");
        place(&root, &format!("rustup/toolchains/stable-{host}/bin/rustc"), "");
        let (work, far) = (root.join("work/deep"), root.join("far"));
        fs::create_dir_all(&work).unwrap();
        fs::create_dir(&far).unwrap();
        let settings =
            format!("default_toolchain = \"stable-{host}\"\n[overrides]\n{:?} = \"own\"\n", root.join("work"));
        place(&root, "rustup/settings.toml", &settings);
        let homes = root.join("rustup").to_string_lossy().into_owned();
        let site = |toolchain: &str| {
            let variables: &[_] = &[("RUSTUP_HOME", homes.as_str()), ("RUSTUP_TOOLCHAIN", toolchain)];
            super::tests::site(&[root.join("cargo/bin")], variables)
        };
        let found = |toolchain: &str, workspace: &Path| {
            let located = locate(&site(toolchain), "cargo", Some(workspace), None).unwrap();
            located.program.map(|program| program.file)
        };
        assert_eq!(found("", &far), Some(stable.clone()));
        assert_eq!(found("", &work), Some(own));
        assert_eq!(found("nightly", &work), Some(nightly), "and not one of a day");
        place(&work, "rust-toolchain.toml", "[toolchain]\nchannel = \"1.95.0\"\ncomponents = []\n");
        assert_eq!(found("", &work), Some(exact.clone()), "what is nearer comes first");
        place(&work, "rust-toolchain", "stable\n");
        assert_eq!(found("", &work), Some(stable));
        place(&work, "rust-toolchain", "1.20\n");
        assert_eq!(found("", &work), None, "it is not installed, and is not going to be");
        place(&work, "rust-toolchain", "../..\n");
        assert_eq!(found("", &work), None);
        let rustc = locate(&site(""), "rustc", Some(&far), None).unwrap();
        assert!(rustc.program.unwrap().file.ends_with("bin/rustc"), "by a hard link as well");
        // With the workspace, its choice is gone; the program that it had is not.
        let known = Toolchain {
            path: String::new(),
            file: exact.to_string_lossy().into_owned(),
            version: Some("cargo 1.95.0".to_owned()),
            modified: 0,
            size: 0,
            inode: 0,
        };
        assert_eq!(locate(&site(""), "cargo", None, Some(&known)).unwrap().program.unwrap().file, exact);
    }

    #[test]
    fn the_version_that_a_shim_would_choose_is_found_without_it() {
        let (_dir, root) = root();
        place(&root, "pyenv/shims/python3", "exit 1");
        let python = |version: &str| place(&root, &format!("pyenv/versions/{version}/bin/python3"), "");
        let (old, new, other) = (python("3.9.2"), python("3.9.10"), python("3.11.1"));
        let work = root.join("work");
        fs::create_dir(&work).unwrap();
        let found = |variables: &[(&'static str, &str)]| {
            let site = site(&[root.join("pyenv/shims")], variables);
            locate(&site, "python3", Some(&work), None).unwrap().program.map(|program| program.file)
        };
        assert_eq!(found(&[]), None);
        place(&root, "pyenv/version", "3.11.1\n");
        assert_eq!(found(&[]), Some(other));
        place(&work, ".python-version", "3.9\n3.11.1\n");
        assert_eq!(found(&[]), Some(new));
        assert_eq!(found(&[("PYENV_VERSION", "3.9.2")]), Some(old));
        assert_eq!(found(&[("PYENV_VERSION", "system")]), None);
        assert_eq!(found(&[("PYENV_VERSION", "../../x")]), None);
    }
}
