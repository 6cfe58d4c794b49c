//! The package manifests and lock files of a workspace.

use samite_host::files;
use samite_host::look::part;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

const NAMES: [&str; 49] = [
    ".nvmrc",
    ".python-version",
    ".tool-versions",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "Gemfile",
    "Gemfile.lock",
    "Package.resolved",
    "Package.swift",
    "Pipfile",
    "Pipfile.lock",
    "build.gradle",
    "build.gradle.kts",
    "build.zig.zon",
    "bun.lock",
    "bun.lockb",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "composer.lock",
    "deno.json",
    "deno.lock",
    "docker-compose.yaml",
    "docker-compose.yml",
    "environment.yml",
    "flake.lock",
    "flake.nix",
    "global.json",
    "go.mod",
    "go.sum",
    "go.work",
    "gradle.lockfile",
    "mix.exs",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pom.xml",
    "pyproject.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "yarn.lock",
];

/// Files that call for toolchains beside the manifests, and are not manifests themselves.
const BUILD_FILES: [&str; 5] = ["CMakeLists.txt", "Makefile", "configure.ac", "meson.build", "meson_options.txt"];

/// Where packages lie that the manifests above name.
const SKIPPED: [&str; 9] =
    ["node_modules", "target", "vendor", "venv", "dist", "build", "__pycache__", "site-packages", "third_party"];

/// Bounds: directories below the workspace's, entries looked at, manifests found, bytes of each.
const DEEPEST: usize = 3;
const MOST_ENTRIES: usize = 20_000;
const MOST_MANIFESTS: usize = 500;
const LARGEST: u64 = 32 << 20;

/// What was found in a workspace.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// The SHA-256 of each manifest, by path.
    pub(super) hashes: BTreeMap<String, String>,
    /// Whether there was more than is looked at.
    pub(super) cut: bool,
    /// The names, without their directories, of manifests and build files. A git repository counts as one.
    pub(super) names: BTreeSet<String>,
}

/// Looks for manifests. Nearer ones come first.
pub(super) fn find(workspace: &Path) -> Manifests {
    let (mut found, mut entries) = (Manifests::default(), 0);
    if std::fs::symlink_metadata(workspace.join(".git")).is_ok() {
        found.names.insert(".git".to_owned());
    }
    let mut waiting = VecDeque::from([(PathBuf::new(), 0)]);
    while let Some((directory, depth)) = waiting.pop_front() {
        let Ok(names) = files::list(&workspace.join(&directory)) else { continue };
        for name in names {
            entries += 1;
            if entries > MOST_ENTRIES || found.hashes.len() >= MOST_MANIFESTS {
                found.cut = true;
                return found;
            }
            let path = directory.join(&name);
            let Some(name) = name.to_str() else { continue };
            if is_manifest(name) {
                if let Ok(Some((bytes, size))) = part(&workspace.join(&path), LARGEST, false) {
                    let hash = ring::digest::digest(&ring::digest::SHA256, &bytes);
                    let mut hash = data_encoding::HEXLOWER.encode(hash.as_ref());
                    if size > LARGEST {
                        hash = format!("{hash} of the first {LARGEST} of {size} bytes");
                    }
                    found.hashes.insert(path.to_string_lossy().into_owned(), hash);
                    found.names.insert(name.to_owned());
                }
            } else if BUILD_FILES.contains(&name) {
                found.names.insert(name.to_owned());
            } else if depth < DEEPEST && may_hold_some(name) && is_directory(&workspace.join(&path)) {
                waiting.push_back((path, depth + 1));
            }
        }
    }
    found
}

fn is_manifest(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok() || is_requirements(name)
}

/// Whether it is one of the files that list what a Python program needs.
pub(super) fn is_requirements(name: &str) -> bool {
    name.starts_with("requirements") && Path::new(name).extension().is_some_and(|end| end == "txt")
}

fn may_hold_some(name: &str) -> bool {
    !name.starts_with('.') && !SKIPPED.contains(&name)
}

/// Whether it is a directory itself: a symbolic link may lead out of the workspace, or in a circle.
fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the workspace that is looked at is made directly")]
    use super::*;
    use std::fs;

    #[test]
    fn names_are_in_order() {
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn manifests_are_found_where_projects_keep_them_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "package.json",
            "requirements-dev.txt",
            "a/b/c/Cargo.toml",
            "a/b/c/d/Cargo.toml",
            "node_modules/x/package.json",
            ".git/package.json",
            "src/main.rs",
            "src/Makefile",
            "requirements.md",
        ] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), "abc").unwrap();
        }
        std::os::unix::fs::symlink("..", dir.path().join("a/circle")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("go.mod")).unwrap();
        let found = find(dir.path());
        assert!(!found.cut);
        let paths: Vec<&str> = found.hashes.keys().map(String::as_str).collect();
        assert_eq!(paths, ["a/b/c/Cargo.toml", "package.json", "requirements-dev.txt"]);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(found.hashes.values().all(|hash| hash == abc));
        let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
        assert_eq!(names, [".git", "Cargo.toml", "Makefile", "package.json", "requirements-dev.txt"]);
    }

    #[test]
    fn too_much_is_told() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=MOST_MANIFESTS {
            fs::write(dir.path().join(format!("requirements{number}.txt")), "").unwrap();
        }
        let found = find(dir.path());
        assert_eq!((found.hashes.len(), found.cut), (MOST_MANIFESTS, true));
    }
}
