//! The outside worlds of steps: what a command does to them, how to look, and how often it was really done.

use crate::http;
use crate::place::{Place, noise};
use crate::shells::{gate, hook};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// An outside world together with what the step declares about its effect on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct World {
    /// What is acted on.
    pub(crate) on: On,
    /// What is declared.
    pub(crate) effect: Declared,
}

/// What is acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// A commit in a git repository.
    Commit,
    /// A push to a bare repository.
    Push,
    /// A line appended to a file.
    Line,
    /// A tool of an MCP server.
    Mcp,
    /// A POST to an HTTP server.
    Http,
}

/// The effect that the step declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    Idempotent,
    Keyed,
    Contained,
    Observable,
    /// Observable by the hash that a file will have.
    Hash,
    /// Observable with a probe that cannot tell after a crash.
    Blind,
    Opaque,
}

impl World {
    pub(crate) const ALL: [Self; 18] = {
        use Declared as D;
        const fn world(on: On, effect: Declared) -> World {
            World { on, effect }
        }
        [
            world(On::Commit, D::Observable),
            world(On::Commit, D::Contained),
            world(On::Commit, D::Opaque),
            world(On::Push, D::Observable),
            world(On::Push, D::Idempotent),
            world(On::Line, D::Observable),
            world(On::Line, D::Hash),
            world(On::Line, D::Keyed),
            world(On::Line, D::Contained),
            world(On::Line, D::Idempotent),
            world(On::Line, D::Blind),
            world(On::Line, D::Opaque),
            world(On::Mcp, D::Keyed),
            world(On::Mcp, D::Observable),
            world(On::Mcp, D::Opaque),
            world(On::Http, D::Keyed),
            world(On::Http, D::Observable),
            world(On::Http, D::Opaque),
        ]
    };

    pub(crate) fn name(self) -> String {
        format!("step {:?} {:?}", self.on, self.effect).to_lowercase()
    }

    pub(crate) fn may_ask(self) -> bool {
        matches!(self.effect, Declared::Opaque | Declared::Blind)
    }

    /// Whether doing it again is within what was declared.
    pub(crate) fn may_repeat(self) -> bool {
        self.effect == Declared::Idempotent
    }

    pub(crate) fn gates(self) -> Vec<&'static str> {
        let between = match (self.on, self.effect) {
            (On::Push | On::Mcp | On::Http, _) => Some("effect.unanswered"),
            (On::Commit, _) => Some("effect.in_hook"),
            (On::Line, Declared::Contained) => Some("effect.half"),
            (On::Line, _) => None,
        };
        ["effect.before", "effect.after"].into_iter().chain(between).collect()
    }

    /// Makes the world as it is before the step.
    pub(crate) fn prepare(self, place: &Place, session: &str) {
        match self.on {
            On::Commit | On::Push => {
                fs::create_dir(place.path().join("work")).unwrap();
                place.git("work", &["init", "-q", "-b", "main"]);
                place.write("work/a.txt", b"one\n");
                place.git("work", &["add", "."]);
                place.git("work", &["commit", "-q", "-m", "first"]);
                write_hook(place, "work/.git/hooks/post-commit", "effect.in_hook");
                if self.on == On::Push {
                    place.git(".", &["init", "-q", "--bare", "-b", "main", "remote.git"]);
                    place.git("work", &["remote", "add", "origin", &place.file("remote.git")]);
                    place.git("work", &["push", "-q", "origin", "main"]);
                    place.git("work", &["commit", "-q", "--allow-empty", "-m", "second"]);
                    write_hook(place, "remote.git/hooks/post-receive", "effect.unanswered");
                    let hook = place.read("remote.git/hooks/post-receive");
                    let counting = hook.replacen('\n', &format!("\necho pushed >> {}\n", place.file("pushes")), 1);
                    fs::write(place.path().join("remote.git/hooks/post-receive"), counting).unwrap();
                }
            }
            On::Line => {
                place.write("work/log.txt", b"first\n");
                place.write("work/other.txt", b"first\n");
            }
            On::Mcp | On::Http => fs::create_dir(place.path().join("work")).unwrap(),
        }
        if self.effect == Declared::Contained {
            place.write("work/large.bin", &noise(1, 300_000));
            place.json(&["workspace", "attach", session, "work"]);
        }
    }

    /// The arguments of `step run` from the effect on. The words differ as a model's words do.
    pub(crate) fn arguments(self, place: &Place, words: &str) -> Vec<String> {
        let log = place.file("work/log.txt");
        let (before, after) = (gate("effect.before"), gate("effect.after"));
        let target = match self.on {
            On::Commit => format!("file:{}", place.file("work/.git")),
            On::Push => "git:origin/main".to_owned(),
            On::Line => format!("file:{log}"),
            On::Mcp => "mcp:tickets/new".to_owned(),
            On::Http => format!("http://{}{}", http::address(), http_path(place)),
        };
        // What a lost git left locked is free: nothing of it runs any more when a step runs again.
        let unlock = "find .git -name '*.lock' -delete";
        let (probe, act) = match self.on {
            On::Commit => (
                format!("git:{}#main", place.file("work")),
                format!("{unlock}; git commit -q --allow-empty -m '{words}'"),
            ),
            On::Push => (
                format!("git:{}@origin#main=HEAD", place.file("work")),
                format!("{unlock}; : {words}; git push -q origin main"),
            ),
            On::Line => match self.effect {
                Declared::Hash => (format!("file:{log}={}", hash_after(place, words)), line(words)),
                Declared::Blind => {
                    (format!("command:sh -c 'test -e {} && exit 2; exit 1'", place.file("crashed")), line(words))
                }
                Declared::Keyed => (
                    String::new(),
                    format!("grep -q $SAMITE_IDEMPOTENCY_KEY log.txt || {}", line("$SAMITE_IDEMPOTENCY_KEY")),
                ),
                Declared::Contained => {
                    (String::new(), format!("{}; {}; echo '{words}' >> other.txt", line(words), gate("effect.half")))
                }
                Declared::Idempotent => (
                    String::new(),
                    "printf 'first\\nline\\n' > log.new; mv log.new log.txt; echo run >> ../runs".into(),
                ),
                _ => (format!("command:grep -q '{words}' {log}"), line(words)),
            },
            On::Mcp => {
                let tickets = place.file("tickets");
                let probe = format!(
                    "command:{} __mcp-call {tickets} find_ticket '{words}'",
                    crate::place::programs().world.display()
                );
                (probe, format!("\"$WORLD\" __mcp-call {tickets} create_ticket '{words}' {}", self.keyed()))
            }
            On::Http => {
                let path = format!("{}/{}", http_path(place), words.replace(' ', "-"));
                let probe = format!("http://{}{path}", http::address());
                (probe, format!("\"$WORLD\" __http {path} {}", self.keyed()))
            }
        };
        let effect = match self.effect {
            Declared::Idempotent => "idempotent",
            Declared::Keyed => "keyed:24h",
            Declared::Contained => "contained",
            // What was sent may arrive for a second after its sender died.
            Declared::Observable if matches!(self.on, On::Push | On::Http) => "observable:1",
            Declared::Observable | Declared::Hash | Declared::Blind => "observable",
            Declared::Opaque => "opaque",
        };
        let mut arguments: Vec<String> =
            ["--tool", "act", "--effect", effect, "--cwd", "work"].map(str::to_owned).to_vec();
        if self.effect != Declared::Contained {
            arguments.extend(["--touches".to_owned(), target]);
        }
        if effect.starts_with("observable") {
            arguments.extend(["--probe".to_owned(), probe]);
        }
        let script = format!("{before}\n{act} || exit 1\n{after}\nexit 0");
        arguments.extend(["--", "sh", "-c", &script].map(str::to_owned));
        arguments
    }

    fn keyed(self) -> &'static str {
        if self.effect == Declared::Keyed { "keyed" } else { "" }
    }

    /// How often it was really done.
    pub(crate) fn done(self, place: &Place) -> usize {
        match self.on {
            On::Commit => place.git("work", &["rev-list", "--count", "main"]).parse::<usize>().unwrap() - 1,
            On::Push => place.lines("pushes"),
            On::Line if self.effect == Declared::Idempotent => place.lines("runs"),
            On::Line => place.lines("work/log.txt") - 1,
            On::Mcp => place.lines("tickets"),
            On::Http => http::done(&http_path(place)),
        }
    }

    /// Whether the world is in the state that doing it once leaves.
    pub(crate) fn is_right(self, place: &Place) -> bool {
        match (self.on, self.effect) {
            (On::Commit, _) => place.git("work", &["fsck", "--strict"]).is_empty(),
            (On::Push, _) => {
                place.git("work", &["rev-parse", "main"]) == place.git("remote.git", &["rev-parse", "main"])
            }
            (On::Line, Declared::Contained) => place.lines("work/other.txt") == 2 && place.lines("work/log.txt") == 2,
            (On::Line, Declared::Idempotent) => place.read("work/log.txt") == "first\nline\n",
            _ => true,
        }
    }
}

fn line(words: &str) -> String {
    format!("echo \"{words}\" >> log.txt")
}

fn http_path(place: &Place) -> String {
    format!("/{}", place.path().file_name().unwrap().to_string_lossy())
}

/// The hash that the file will have with the line.
fn hash_after(place: &Place, words: &str) -> String {
    let scratch = place.path().join(format!("hash-{}", words.replace(' ', "-")));
    fs::write(&scratch, format!("first\n{words}\n")).unwrap();
    let output = place.program("sha256sum", &place.path()).arg(&scratch).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

fn write_hook(place: &Place, name: &str, point: &str) {
    place.write(name, hook(point).as_bytes());
    fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
}
