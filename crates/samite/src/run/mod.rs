//! `step run`: any command as a step that is safe to repeat.

use crate::client::Client;
use crate::probe;
use crate::recover::{Assessment, Settlement, Site, forget_life, process_value};
use crate::step::{Begin, Completion, NewStep, Outcome, StepHandle, StepRecord};
use crate::writer::{NewEvent, Writer, WriterOptions};
use data_encoding::BASE64;
use samite_host::files;
use samite_host::supervise::{Capture, End, Exit, Finished, Output, Stopper, SuperviseOptions, Supervised, spawn};
use samite_model::step::{Effect, OutcomeKind, Probe};
use samite_model::{BranchId, EntryKind, Error, JournalId, Result, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};

/// An output's bytes that are kept at most: 1 GiB.
const SPILL: u64 = 1 << 30;

/// A command to run as a step.
#[derive(Clone, Debug)]
pub struct RunStep {
    /// The step; its input is set from the command.
    pub step: NewStep,
    /// The command and its arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// The samite binary, which supervises.
    pub program: PathBuf,
    /// Pass its output on while it comes.
    pub echo: bool,
    /// A non-zero exit may run again.
    pub retry: bool,
    /// Is handed what stops the command, once it runs.
    pub on_start: Option<OnStart>,
}

/// Takes what stops a running command: its end is then recorded like any other.
#[derive(Clone)]
pub struct OnStart(pub Arc<dyn Fn(Stopper) + Send + Sync>);

impl std::fmt::Debug for OnStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnStart")
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Ran {
    /// It ran now, or it had run before: this is its outcome.
    Ended {
        /// The outcome.
        outcome: Outcome,
        /// Whether it was not run now.
        replayed: bool,
        /// How a doubt about it was settled on the way.
        settled: Option<Box<Settlement>>,
    },
    /// Another step on the same tool or resource was in doubt, and turned out to have happened: this is its outcome. The
    /// command was not run, because it may be the same act in other words.
    Other {
        /// What was settled.
        settlement: Box<Settlement>,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Somebody is at it.
    Busy(Box<StepRecord>),
    /// A person must decide, or it is too early to tell.
    InDoubt(Box<Assessment>),
}

/// What a supervised command put out, as an outcome's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// One output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The beginning, when it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The beginning in base64, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// The end in base64, when the middle is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The seq of the event that holds the whole of it, when it is longer than what stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// How many bytes it had.
    pub bytes: u64,
}

impl Captured {
    fn new(output: &Output, entry: Option<u64>) -> Self {
        let (first, end) = match output.whole() {
            Some(whole) => (whole, None),
            None => (output.first.clone(), Some(BASE64.encode(&output.last))),
        };
        let (text, base64) = match String::from_utf8(first) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(BASE64.encode(error.as_bytes()))),
        };
        Self { text, base64, end, entry, bytes: output.total }
    }

    /// The bytes that were kept of its beginning.
    pub fn bytes(&self) -> Vec<u8> {
        match (&self.text, &self.base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(base64)) => BASE64.decode(base64.as_bytes()).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }
}

/// The command as a step's input: text where it is UTF-8, else bytes in base64.
fn argv_value(argv: &[OsString]) -> Value {
    argv.iter()
        .map(|argument| match argument.to_str() {
            Some(text) => Value::from(text),
            None => json!({ "base64": BASE64.encode(argument.as_bytes()) }),
        })
        .collect()
}

/// The command that a step's input names, when `step run` made it.
pub(crate) fn argv_of(input: &Value) -> Option<(Vec<OsString>, PathBuf)> {
    let directory = input.get("directory")?.as_str()?.into();
    let argv = input.get("argv")?.as_array()?;
    let argv = argv
        .iter()
        .map(|argument| match argument {
            Value::String(text) => Some(OsString::from(text)),
            other => {
                let bytes = BASE64.decode(other.get("base64")?.as_str()?.as_bytes()).ok()?;
                Some(OsString::from_vec(bytes))
            }
        })
        .collect::<Option<Vec<_>>>()?;
    Some((argv, directory))
}

impl Client {
    /// Runs a command as a step: once, whatever crashes. Blocks its thread until the command has ended.
    ///
    /// # Errors
    /// `invalid` for an empty command; `conflict` (`lease_held`) while another writer holds the branch;
    /// `unavailable` (`supervisor_lost`) when the command's supervisor died, which leaves the step in doubt; and as
    /// [`Writer::begin`].
    pub async fn run_step(
        &self,
        session: SessionId,
        branch: Option<BranchId>,
        options: WriterOptions,
        mut run: RunStep,
        site: &Site,
    ) -> Result<Ran> {
        run.step.input = json!({ "argv": argv_value(&run.argv), "directory": run.directory.to_string_lossy() });
        // A writer that outlives this process keeps its lease for its next command.
        let short = options.id.is_none();
        let writer = self.writer(session, branch, options).await?;
        let ran = writer.run(&run, site).await;
        if short {
            writer.release().await?;
        }
        ran
    }
}

impl Writer {
    async fn run(&self, run: &RunStep, site: &Site) -> Result<Ran> {
        let mut settled: Option<Box<Settlement>> = None;
        // Each round settles one doubt; a doubt that cannot be settled ends the loop.
        for _ in 0..64 {
            let (begun, supervised) = self.begin_supervised(run, site).await?;
            let doubt = match (begun, supervised) {
                (Begin::Run(handle), Some(supervised)) => {
                    let outcome = self.carry_out(&handle, supervised, run, site).await?;
                    return Ok(Ran::Ended { outcome, replayed: false, settled });
                }
                (Begin::Run(handle), None) => {
                    // The key had an outcome a moment ago; nothing was started.
                    self.fail(&handle, json!("not started"), true).await?;
                    continue;
                }
                (Begin::Replay(outcome), _) => return Ok(Ran::Ended { outcome, replayed: true, settled }),
                (Begin::Busy(record), _) => return Ok(Ran::Busy(record)),
                (Begin::InDoubt(doubt), _) => doubt,
            };
            let assessment = self.assess(&doubt, site).await?;
            let settlement = self.settle(&assessment, site).await?;
            if !settlement.decided {
                return Ok(Ran::InDoubt(Box::new(assessment)));
            }
            if settlement.run_again {
                // Only its own key may run it again: that is what the outside knows it by.
                let again = self.run_again_supervised(&assessment, run, site).await?;
                let Some(outcome) = again else { return Ok(Ran::InDoubt(Box::new(assessment))) };
                let settlement = Box::new(settlement);
                return Ok(if doubt.same_key {
                    Ran::Ended { outcome, replayed: false, settled: Some(settlement) }
                } else {
                    Ran::Other { settlement, outcome }
                });
            }
            if let (Some(outcome), false) = (settlement.outcome.clone(), doubt.same_key) {
                return Ok(Ran::Other { settlement: Box::new(settlement), outcome });
            }
            settled = Some(Box::new(settlement));
        }
        Err(Error::conflict("steps_contended", "doubts keep appearing").hint("run `samite recover SESSION`"))
    }

    /// Begins the step with its supervisor waiting, so that its processes are durable before it starts. A key that has
    /// an outcome needs no supervisor.
    async fn begin_supervised(&self, run: &RunStep, site: &Site) -> Result<(Begin, Option<(Supervised, String)>)> {
        let mut step = run.step.clone();
        if self.has_outcome(&step.key).await? {
            return Ok((self.begin(&step).await?, None));
        }
        if let Some(probe) = step.probe.take() {
            step.probe = Some(probe::prepare(probe, &probe::Lookout::new(&run.directory))?);
        }
        if matches!(step.effect, Effect::Contained { .. }) || step.probe == Some(Probe::Workspace) {
            step.tree = Some(self.tree_before(&step.key).await?);
        }
        let (supervised, life) =
            self.supervise(run, &self.idempotency_key(&step.key)?, &run.argv, &run.directory, site)?;
        step.process = Some(process_value(supervised.recorded(), &life)?);
        samite_host::kill_point("step.before_begin");
        let begun = self.begin(&step).await?;
        samite_host::kill_point("step.after_begin");
        Ok((begun, Some((supervised, life))))
    }

    fn supervise(
        &self,
        run: &RunStep,
        idempotency_key: &str,
        argv: &[OsString],
        directory: &std::path::Path,
        site: &Site,
    ) -> Result<(Supervised, String)> {
        let life = JournalId(self.core().random_id()?).to_string();
        // What memory does not hold goes to files without a name, and from there into the log.
        let capture = || -> Result<Capture> {
            Ok(Capture {
                echo: run.echo,
                spill: Some(files::anonymous(&site.lives)?),
                spill_limit: SPILL,
                ..Capture::default()
            })
        };
        let options = SuperviseOptions {
            env: vec![
                ("SAMITE_IDEMPOTENCY_KEY".into(), idempotency_key.into()),
                ("SAMITE_EPOCH".into(), self.epoch().to_string().into()),
                ("SAMITE_SESSION".into(), self.session().to_string().into()),
            ],
            stdout: capture()?,
            stderr: capture()?,
            sign_of_life: Some(site.lives.join(&life)),
            ..SuperviseOptions::new(&run.program, argv.to_vec(), directory)
        };
        Ok((spawn(options)?, life))
    }

    /// Lets the command go and records how it ended.
    async fn carry_out(
        &self,
        handle: &StepHandle,
        (mut supervised, life): (Supervised, String),
        run: &RunStep,
        site: &Site,
    ) -> Result<Outcome> {
        // An attempt after a failure has the key of the one before.
        supervised.set_variable("SAMITE_IDEMPOTENCY_KEY", &handle.idempotency_key);
        if let Err(error) = supervised.go() {
            // Nothing was started, so there is no doubt.
            self.fail(handle, json!({ "not_started": error.message() }), true).await?;
            return Err(error);
        }
        samite_host::kill_point("step.after_go");
        if let Some(OnStart(hand_out)) = &run.on_start {
            hand_out(supervised.stopper()?);
        }
        let mut finished = self.wait_for(supervised)?;
        samite_host::kill_point("step.before_outcome");
        // An outcome with the ends of a long output is better than none.
        let whole = [
            self.keep_output(handle, "stdout", &mut finished.stdout).await.unwrap_or_default(),
            self.keep_output(handle, "stderr", &mut finished.stderr).await.unwrap_or_default(),
        ];
        let Some(completion) = completion(&finished, whole, run.retry) else {
            return Err(Error::unavailable(
                "supervisor_lost",
                format!("the supervisor of step {:?} died, so how far its command came is not known", handle.key),
            )
            .hint("run `samite recover SESSION`: the step is in doubt"));
        };
        let position = self.finish(handle, &completion).await?;
        samite_host::kill_point("step.after_outcome");
        // It was about a doubt that there is none of; a file that stays does no harm.
        files::remove(&site.lives.join(life)).ok();
        Ok(Outcome {
            kind: completion.kind,
            output: completion.output,
            position,
            settled: None,
            abandoned: false,
            duration: completion.duration,
        })
    }

    /// Waits for the command's end, and renews the lease meanwhile when only time would end it: this writer's other
    /// commands, too, would otherwise take it for lost.
    fn wait_for(&self, supervised: Supervised) -> Result<Finished> {
        let Some(every) = self.renewal() else { return supervised.wait() };
        let (ended, waiting) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while waiting.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    // One that fails is tried again; that another took over shows when the outcome is recorded.
                    futures_lite::future::block_on(self.renew()).ok();
                }
            });
            let finished = supervised.wait();
            drop(ended);
            finished
        })
    }

    /// Appends an output that is longer than what an outcome holds, as an event of its own, and returns its seq.
    async fn keep_output(&self, handle: &StepHandle, name: &str, output: &mut Output) -> Result<Option<u64>> {
        let Some(mut spill) = output.spill.take().filter(|_| output.whole().is_none()) else { return Ok(None) };
        let mut body = Vec::new();
        let unreadable = |error: std::io::Error| {
            Error::unavailable("unreadable", format!("the {name} of step {:?} cannot be read again", handle.key))
                .because(error)
        };
        spill.rewind().map_err(unreadable)?;
        spill.take(output.spilled).read_to_end(&mut body).map_err(unreadable)?;
        let attributes = json!({ "output_of": handle.id, "stream": name, "context": "outside" });
        let event =
            NewEvent { kind: EntryKind::EVENT, body, attributes: Some(attributes), dedupe: None, expected_head: None };
        Ok(Some(self.append(event).await?.position.seq))
    }

    /// Runs a step in doubt again under its own key and command. None when its command is not known here.
    async fn run_again_supervised(
        &self,
        assessment: &Assessment,
        run: &RunStep,
        site: &Site,
    ) -> Result<Option<Outcome>> {
        let step = &assessment.doubt.step;
        let Some((argv, directory)) = argv_of(&step.started.input) else { return Ok(None) };
        let (supervised, life) = self.supervise(run, &step.started.idempotency_key, &argv, &directory, site)?;
        let process = Some(process_value(supervised.recorded(), &life)?);
        let handle = self.run_again(step.id, &assessment.did_not(), None, process).await?;
        // The attempt in doubt is settled; the new one gives signs of its own.
        forget_life(step, site);
        self.carry_out(&handle, (supervised, life), run, site).await.map(Some)
    }
}

/// How a command's end counts. None when it is not known.
fn completion(finished: &Finished, [stdout, stderr]: [Option<u64>; 2], retry: bool) -> Option<Completion> {
    let (exit, duration) = match &finished.end {
        End::Ended { exit, duration, .. } => (*exit, *duration),
        End::NotStarted(why) => return Some(Completion::failed(json!({ "not_started": why }), true)),
        End::SupervisorLost => return None,
    };
    let (status, signal) = match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
    };
    let output = CommandOutput {
        status,
        signal,
        stdout: Captured::new(&finished.stdout, stdout),
        stderr: Captured::new(&finished.stderr, stderr),
    };
    let kind = match exit {
        Exit::Code(0) => OutcomeKind::Completed,
        _ if retry => OutcomeKind::FailedRetryable,
        _ => OutcomeKind::Failed,
    };
    Some(Completion {
        kind,
        output: serde_json::to_value(output).unwrap_or_default(),
        duration: u64::try_from(duration.as_nanos()).ok(),
        source: None,
    })
}
