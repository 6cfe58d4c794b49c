//! Durable steps of Restate on the same machine, in turns with ours.

use crate::Bench;
use crate::sessions::{self, SESSIONS};
use crate::steps::Chain;
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::{count, median};
use futures_lite::future::block_on;
use samite_host::{Sleep as _, SystemSleep, files};
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROUNDS: usize = 3;
/// As many as the peer's own bench runs.
const STEPS: usize = 600;
const STEPS_EACH: usize = 60;

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::unavailable("no_restate", format!("Restate: {what}")).because(error)
}

/// A process that ends with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program whose words nobody reads.
fn start(command: &mut Command) -> Result<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(Running).map_err(failed("it cannot be started"))
}

/// The peer, installed and serving on the loopback interface.
struct Restate {
    home: PathBuf,
    _server: Running,
    _service: Running,
}

impl Restate {
    fn new(home: &Path, source: &Path) -> Result<Self> {
        for name in files::list(source)? {
            let bytes = files::read(&source.join(&name))?;
            files::write_atomic(&home.join(&name), &bytes, files::PRIVATE_FILE)?;
        }
        let installed = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent"])
            .current_dir(home)
            .stdout(Stdio::null())
            .status()
            .map_err(failed("there is no npm"))?;
        let packages = home.join("node_modules/@restatedev");
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let program = |name: &str, binary: &str| packages.join(format!("{name}-linux-{architecture}/bin/{binary}"));
        let server = program("restate-server", "restate-server");
        if !installed.success() || !files::exists(&server)? {
            return Err(Error::unavailable("no_restate", "Restate: npm could not install it"));
        }
        let server = start(
            Command::new(server)
                .current_dir(home)
                .env("RESTATE_BASE_DIR", home.join("data"))
                .env("RESTATE_BIND_ADDRESS", "127.0.0.1:5122")
                .env("RESTATE_INGRESS__BIND_ADDRESS", "127.0.0.1:8080")
                .env("RESTATE_ADMIN__BIND_ADDRESS", "127.0.0.1:9070")
                .env("RESTATE_DISABLE_TELEMETRY", "true"),
        )?;
        let service = start(Command::new("node").arg("service.mjs").current_dir(home))?;
        // The server needs a few seconds before it answers.
        for _ in 0..30 {
            block_on(SystemSleep.sleep(1_000_000_000));
            let registered = Command::new(program("restate", "restate"))
                .args(["--yes", "deployments", "register", "http://127.0.0.1:9080"])
                .env("RESTATE_ADMIN_URL", "http://127.0.0.1:9070")
                .current_dir(home)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .map_err(failed("its command cannot be run"))?;
            if registered.success() {
                return Ok(Self { home: home.to_owned(), _server: server, _service: service });
            }
        }
        Err(Error::unavailable("no_restate", "Restate: its server does not answer"))
    }

    /// How many milliseconds the median step takes with one session and with 64.
    fn measure(&self) -> Result<(f64, f64)> {
        let output = Command::new("node")
            .arg("bench.mjs")
            .current_dir(&self.home)
            .stderr(Stdio::inherit())
            .output()
            .map_err(failed("there is no node"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let middle = |sessions: &str| {
            let line = text.lines().rfind(|line| line.contains(sessions))?;
            line.split_once("p50=")?.1.split_once("ms")?.0.parse::<f64>().ok()
        };
        middle("sessions=1 ")
            .zip(middle("sessions=64 "))
            .ok_or_else(|| Error::unavailable("no_restate", format!("Restate: its bench said {text:?}")))
    }
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let source = bench.shared("peers/restate")?;
    let directory = bench.directory()?;
    let restate = Restate::new(directory.path(), &source)?;
    let ours = Scratch::new(bench)?;
    let mut one = Chain::new(ours.session()?.1);
    let mut many = sessions::chains(&ours)?;
    // Both are measured as servers that have run for a while; the peer's own bench warms it up too.
    block_on(one.steps(STEPS))?;
    sessions::steps(&mut many, STEPS_EACH)?;
    let (mut ours_one, mut ours_many, mut their_one, mut their_many) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        one.took.clear();
        block_on(one.steps(STEPS))?;
        ours_one.push(1.0 / median(&mut one.took));
        for chain in &mut many {
            chain.took.clear();
        }
        sessions::steps(&mut many, STEPS_EACH)?;
        let mut took: Vec<f64> = many.iter().flat_map(|chain| chain.took.iter().copied()).collect();
        ours_many.push(count(SESSIONS) / median(&mut took));
        let (one, many) = restate.measure()?;
        their_one.push(1e3 / one);
        their_many.push(count(SESSIONS) * 1e3 / many);
    }
    let rows = [
        ("steps, one session / Restate", &mut ours_one, &mut their_one, 3.0),
        ("steps, 64 sessions / Restate", &mut ours_many, &mut their_many, 5.0),
    ];
    for (name, ours, theirs, target) in rows {
        let (ours, other) = (median(ours), median(theirs));
        table.row(&Row { name, ours, other, unit: "steps/s", ratio: ours / other, target: Target::AtLeast(target) });
    }
    Ok(())
}
