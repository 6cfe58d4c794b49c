//! Versions that a program's own files tell, so that it need not be run.

use super::toolchains::Way;
use samite_host::files;
use samite_host::look::part;
use std::path::Path;

/// How far above a script the package that it belongs to may lie.
const PACKAGE: usize = 4;

/// The version of a program, when a file beside it tells.
pub(super) fn version(way: Way, name: &str, file: &Path) -> Option<String> {
    let beside = file.parent()?;
    let above = || beside.parent();
    match way {
        Way::Run(_) => None,
        Way::Go(_) => {
            let text = read(&above()?.join("VERSION"))?;
            let line = text.lines().next()?.trim();
            line.strip_prefix("go").is_some_and(begins_with_digit).then(|| line.to_owned())
        }
        Way::Java => {
            // In some an inner folder holds the programs.
            let text = above()?.ancestors().take(2).find_map(|directory| read(&directory.join("release")))?;
            let value = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
            Some(value.trim().trim_matches('"').to_owned())
        }
        Way::Jar(prefix) => {
            let names = files::list(&above()?.join("lib")).ok()?;
            names.iter().find_map(|name| {
                let version = name.to_str()?.strip_prefix(prefix)?.strip_suffix(".jar")?;
                let is_whole = begins_with_digit(version) && version.split('.').all(|part| part != "x");
                is_whole.then(|| version.to_owned())
            })
        }
        Way::Package => beside.ancestors().take(PACKAGE).find_map(|directory| {
            let package: serde_json::Value = serde_json::from_str(&read(&directory.join("package.json"))?).ok()?;
            let is_its = package.get("name")?.as_str()? == name;
            is_its.then(|| package.get("version")?.as_str().map(str::to_owned)).flatten()
        }),
        Way::Sdks => {
            let names = files::list(&beside.join("sdk")).ok()?;
            let mut names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
            names.retain(|name| begins_with_digit(name));
            names.sort();
            (!names.is_empty()).then(|| names.join(", "))
        }
    }
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// A small file, which may be behind a link.
fn read(path: &Path) -> Option<String> {
    let (bytes, _) = part(&files::canonical(path).ok()?, 1 << 20, false).ok()??;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "what is looked at is made directly")]
    use super::*;
    use std::fs;

    #[test]
    fn distributions_tell_their_versions() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        place("share/go/VERSION", "go1.22.1\ntime 2024-02-29T18:18:48Z\n");
        let go = place("lib/go/bin/go", "");
        std::os::unix::fs::symlink("../../share/go/VERSION", dir.path().join("lib/go/VERSION")).unwrap();
        assert_eq!(version(Way::Go("version"), "go", &go).as_deref(), Some("go1.22.1"));
        place("own/VERSION", "devel go1.23\n");
        assert_eq!(version(Way::Go("version"), "go", &place("own/bin/go", "")), None);

        place("jdk/release", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.9\"\n");
        assert_eq!(version(Way::Java, "java", &place("jdk/bin/java", "")).as_deref(), Some("17.0.9"));
        assert_eq!(version(Way::Java, "java", &place("jdk/jre/bin/java", "")).as_deref(), Some("17.0.9"));
        assert_eq!(version(Way::Java, "java", &place("other/bin/java", "")), None);

        place("maven/lib/maven-core-3.x.jar", "");
        let mvn = place("maven/bin/mvn", "");
        assert_eq!(version(Way::Jar("maven-core-"), "mvn", &mvn), None);
        place("maven/lib/maven-core-3.9.6.jar", "");
        assert_eq!(version(Way::Jar("maven-core-"), "mvn", &mvn).as_deref(), Some("3.9.6"));

        place("modules/npm/package.json", r#"{"name": "npm", "version": "10.2.3"}"#);
        let npm = place("modules/npm/bin/npm-cli.js", "");
        assert_eq!(version(Way::Package, "npm", &npm).as_deref(), Some("10.2.3"));
        // A package manager that stands in for another does not pass for it.
        assert_eq!(version(Way::Package, "yarn", &npm), None);

        place("dotnet/sdk/9.0.100/x", "");
        place("dotnet/sdk/8.0.404/x", "");
        let dotnet = place("dotnet/dotnet", "");
        assert_eq!(version(Way::Sdks, "dotnet", &dotnet).as_deref(), Some("8.0.404, 9.0.100"));
        assert_eq!(version(Way::Run("--version"), "node", &npm), None);
    }
}
