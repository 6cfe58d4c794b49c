//! `step run`: any command as a step that is safe to repeat.

mod interrupt;
mod output;
mod tool;
mod watch;

pub use interrupt::{Interrupt, Interrupted, OnStart};
pub use output::{Captured, CommandOutput};
pub use tool::tool_of;
pub use watch::{Kept, OnCheckpoint};

use crate::client::Client;
use crate::payload::NotRun;
use crate::probe;
use crate::recover::{Assessment, Settlement, Site, forget_life, process_value};
use crate::step::{Begin, Completion, NewStep, Outcome, Refused, StepHandle, StepRecord, is_known};
use crate::writer::{NewEvent, Writer, WriterOptions};
use data_encoding::BASE64;
use interrupt::Signalled;
use samite_host::files;
use samite_host::supervise::{Capture, End, Exit, Finished, Output, SuperviseOptions, Supervised, spawn};
use samite_model::recovery::Decision;
use samite_model::step::{Effect, OutcomeKind, Probe, State};
use samite_model::{BranchId, EntryKind, Error, ErrorKind, JournalId, Position, Result, SessionId};
use samite_redact::Redactor;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
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
    /// A non-zero exit may run again; and a step that failed for good before does run again.
    pub retry: bool,
    /// It is another act than a step in doubt that turned out to have happened, or for whose sake it was not run before
    /// ([`Ran::Other`]): run it.
    pub anyway: bool,
    /// Is handed what interrupts the command, before its step begins.
    pub on_start: Option<OnStart>,
    /// Is told of the checkpoints that the session's cadence took, or could not take, for it.
    pub on_checkpoint: Option<OnCheckpoint>,
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
    /// The command was not run. Another step on the same tool or resource was in doubt and turned out to have happened, so
    /// the command may be the same act in other words, and this is the outcome of that other step. The same call gets the
    /// same answer, also after a crash, until its caller says that it is another act ([`RunStep::anyway`]).
    Other {
        /// The key of the other step.
        key: String,
        /// What was settled, when it was this call that settled it.
        settlement: Option<Box<Settlement>>,
        /// The outcome of the other step.
        outcome: Outcome,
    },
    /// It was interrupted.
    Interrupted(Box<Interrupted>),
    /// Somebody is at it.
    Busy(Box<StepRecord>),
    /// A person must decide, or it is too early to tell.
    InDoubt(Box<Assessment>),
}

/// The command as a step's input: text where it is UTF-8, else bytes in base64.
pub(crate) fn argv_value(argv: &[OsString]) -> Value {
    argv.iter()
        .map(|argument| match argument.to_str() {
            Some(text) => Value::from(text),
            None => json!({ "base64": BASE64.encode(argument.as_bytes()) }),
        })
        .collect()
}

/// Whether a command is not kept as it was given: a placeholder stands in it for what was redacted.
pub(crate) fn is_redacted(argv: &[OsString]) -> bool {
    argv.iter().any(|argument| samite_redact::holds_placeholder(argument.as_bytes()))
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
        writer.let_go(short, ran).await
    }
}

impl Writer {
    async fn run(&self, run: &RunStep, site: &Site) -> Result<Ran> {
        let mut settled: Option<Box<Settlement>> = None;
        let mut asked = run.step.clone();
        let signalled = Signalled::default();
        // Each round settles one doubt; a doubt that cannot be settled ends the loop.
        for _ in 0..64 {
            let (begun, supervised) = self.begin_supervised(run, &mut asked, site, &signalled).await?;
            let doubt = match (begun, supervised) {
                (Begin::Run(handle), Some(supervised)) => {
                    return Ok(match self.carry_out(&handle, &asked, supervised, run, site, &signalled).await? {
                        Carried::Ended(outcome) => Ran::Ended { outcome, replayed: false, settled },
                        Carried::Settled(outcome, settled) => {
                            Ran::Ended { outcome, replayed: false, settled: Some(settled) }
                        }
                        Carried::Interrupted(interrupted) => Ran::Interrupted(interrupted),
                        Carried::InDoubt(assessment) => Ran::InDoubt(assessment),
                    });
                }
                (Begin::Run(handle), None) => {
                    // The key had an outcome a moment ago; nothing was started.
                    self.fail(&handle, json!("not started"), true).await?;
                    continue;
                }
                (Begin::Replay(outcome), _) => {
                    return match &outcome.not_run {
                        Some(other) => self.other(other.key.clone(), outcome).await,
                        None => Ok(Ran::Ended { outcome, replayed: true, settled }),
                    };
                }
                (Begin::Busy(record), _) => return Ok(Ran::Busy(record)),
                (Begin::InDoubt(doubt), _) => doubt,
            };
            if let Some(signal) = signalled.signal() {
                // Before anything was done.
                let key = asked.key.clone();
                return Ok(Ran::Interrupted(Box::new(Interrupted { key, signal, begun: false, outcome: None })));
            }
            let assessment = self.assess(&doubt, site).await?;
            let is_recorded = |known: NotRun| known.step == doubt.step.id;
            let refused = (!doubt.same_key && !run.anyway && !self.refusal(&asked.key).await?.is_some_and(is_recorded))
                .then(|| Refused::new(asked.clone(), &doubt.step));
            let settlement = match self.settle_refusing(&assessment, site, refused.as_ref()).await {
                Err(error) if is_past(&error) => {
                    self.refuse_late(refused.as_ref()).await?;
                    continue;
                }
                settlement => settlement?,
            };
            if !settlement.decided {
                // Whoever decides may say that it happened.
                if !self.refuse_late(refused.as_ref()).await? {
                    continue;
                }
                return Ok(Ran::InDoubt(Box::new(assessment)));
            }
            if settlement.run_again {
                // Only its own key may run it again: that is what the outside knows it by.
                let again = self.run_again_supervised(&assessment, run, site, refused.as_ref(), &signalled).await?;
                let settlement = Some(Box::new(settlement));
                match again {
                    Again::NotKnown => return Ok(Ran::InDoubt(Box::new(assessment))),
                    Again::Past => signalled.end(),
                    Again::Carried(Carried::Interrupted(interrupted)) => return Ok(Ran::Interrupted(interrupted)),
                    Again::Carried(Carried::InDoubt(assessment)) => return Ok(Ran::InDoubt(assessment)),
                    Again::Carried(Carried::Ended(outcome) | Carried::Settled(outcome, _)) if doubt.same_key => {
                        return Ok(Ran::Ended { outcome, replayed: false, settled: settlement });
                    }
                    Again::Carried(Carried::Ended(outcome) | Carried::Settled(outcome, _)) if !run.anyway => {
                        return Ok(Ran::Other { key: doubt.step.started.key.clone(), settlement, outcome });
                    }
                    Again::Carried(Carried::Ended(_) | Carried::Settled(..)) => {
                        signalled.end();
                        settled = settlement;
                    }
                }
                continue;
            }
            if let (Some(outcome), false, false) = (settlement.outcome.clone(), doubt.same_key, run.anyway) {
                let settlement = Some(Box::new(settlement));
                return Ok(Ran::Other { key: doubt.step.started.key.clone(), settlement, outcome });
            }
            settled = Some(Box::new(settlement));
        }
        Err(Error::conflict("steps_contended", "doubts keep appearing").hint("run `samite recover SESSION`"))
    }

    /// Records a refusal after another process settled the doubt, or before a person does. False when the call itself has
    /// an outcome or runs, which is then its answer.
    async fn refuse_late(&self, refused: Option<&Refused>) -> Result<bool> {
        let Some(refused) = refused else { return Ok(true) };
        match self.refuse(refused).await {
            Err(error) if is_known(&error) => Ok(false),
            refused => refused.map(|()| true),
        }
    }

    /// The answer to a call that was refused before: where the step stands that it may be.
    async fn other(&self, key: String, refused: Outcome) -> Result<Ran> {
        let hashes = self.hashes("step-key", key.as_bytes())?;
        let outcome = self.outcome_of_key(&key).await?;
        if outcome.is_some() {
            // Its caller is told now, in other words.
            self.see(|step| hashes.contains(&step.key)).await?;
        } else {
            let (_, open) = self.open_steps(true).await?;
            if let Some(step) = open.iter().find(|step| hashes.contains(&step.key)) {
                return Ok(Ran::Busy(Box::new(self.record(step.start, State::Started).await?)));
            }
        }
        Ok(Ran::Other { key, settlement: None, outcome: outcome.unwrap_or(refused) })
    }

    /// Begins the step with its supervisor waiting, so that its processes are durable before it starts. A key that has
    /// an outcome, which is to be replayed, needs no supervisor. `step` gets what is found out before it starts.
    async fn begin_supervised(
        &self,
        run: &RunStep,
        step: &mut NewStep,
        site: &Site,
        signalled: &Signalled,
    ) -> Result<(Begin, Option<(Supervised, String)>)> {
        step.clone_from(&run.step);
        let mut again = false;
        if let Some(outcome) = self.outcome_of_key(&step.key).await?.filter(|outcome| {
            // A failure that may run again is none to be replayed.
            outcome.kind != OutcomeKind::FailedRetryable
        }) {
            again = outcome.kind == OutcomeKind::Failed
                && !outcome.abandoned
                && match &outcome.not_run {
                    Some(other) => run.anyway || self.did_not_happen(&other.key).await?,
                    None => run.retry,
                };
            if !again {
                return Ok((self.begin(step).await?, None));
            }
        }
        if let Some(probe) = step.probe.take() {
            step.probe = Some(probe::prepare(probe, &probe::Lookout::new(&run.directory))?);
        }
        if matches!(step.effect, Effect::Contained { .. }) {
            self.check_inside(&step.key, &run.directory).await?;
        }
        if matches!(step.effect, Effect::Contained { .. }) || step.probe == Some(Probe::Workspace) {
            step.tree = Some(self.tree_before(&step.key).await?);
        }
        let (supervised, life) =
            self.supervise(run, &self.idempotency_key(&step.key)?, &run.argv, &run.directory, site)?;
        step.process = Some(process_value(supervised.recorded(), &life)?);
        samite_host::kill_point("step.before_begin");
        // Once its start is durable, what ends this process would leave it in doubt although nothing ran.
        signalled.begin(run.on_start.as_ref());
        let begun = self.begin_as(step, again, run.anyway).await;
        if !matches!(begun, Ok(Begin::Run(_))) {
            signalled.end();
        }
        samite_host::kill_point("step.after_begin");
        Ok((begun?, Some((supervised, life))))
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
        step: &NewStep,
        (mut supervised, life): (Supervised, String),
        run: &RunStep,
        site: &Site,
        signalled: &Signalled,
    ) -> Result<Carried> {
        if let Some(signal) = signalled.signal() {
            // Nothing was started, so there is no doubt.
            drop(supervised);
            let output = json!({ "not_started": format!("signal {signal} came before it was started") });
            let completion = Completion::failed(output, true);
            let position = self.finish(handle, &completion).await?;
            files::remove(&site.lives.join(life)).ok();
            let outcome = Some(ended(completion, position));
            let key = handle.key.clone();
            return Ok(Carried::Interrupted(Box::new(Interrupted { key, signal, begun: true, outcome })));
        }
        // An attempt after a failure has the key of the one before.
        supervised.set_variable("SAMITE_IDEMPOTENCY_KEY", &handle.idempotency_key);
        let gone = supervised.stopper().and_then(|stopper| supervised.go().map(|()| stopper));
        let stopper = match gone {
            Ok(stopper) => stopper,
            Err(error) => {
                // Nothing was started, so there is no doubt.
                self.fail(handle, json!({ "not_started": error.message() }), true).await?;
                return Err(error);
            }
        };
        samite_host::kill_point("step.after_go");
        signalled.running(stopper);
        let to = run.on_checkpoint.as_ref();
        let wait = || self.renewing(|| supervised.wait());
        let mut finished = self.watched(handle, to, wait).await?;
        samite_host::kill_point("step.before_outcome");
        // A command that ended well all the same has done what it should.
        let signal =
            signalled.signal().filter(|_| matches!(&finished.end, End::Ended { exit, .. } if *exit != Exit::Code(0)));
        if let Some(signal) = signal.filter(|_| !interrupt::may_run_again(&step.effect)) {
            let key = handle.key.clone();
            return Ok(Carried::Interrupted(Box::new(Interrupted { key, signal, begun: true, outcome: None })));
        }
        // An outcome with the ends of a long output is better than none.
        let whole = [
            self.keep_output(handle, "stdout", &mut finished.stdout).await.unwrap_or_default(),
            self.keep_output(handle, "stderr", &mut finished.stderr).await.unwrap_or_default(),
        ];
        let redactor = self.core().redactor()?;
        let Some(completion) = completion(&finished, whole, run.retry || signal.is_some(), &redactor) else {
            return Err(Error::unavailable(
                "supervisor_lost",
                format!("the supervisor of step {:?} died, so how far its command came is not known", handle.key),
            )
            .hint("run `samite recover SESSION`: the step is in doubt"));
        };
        let how = finished_words(&finished.end);
        let died = match &finished.end {
            End::Ended { exit: Exit::Signal(_), .. } => !interrupt::may_run_again(&step.effect),
            _ => false,
        };
        if died {
            // Half of it may have happened, as when samite itself is interrupted.
            return self.died(handle, completion, site).await.map_err(|error| unrecorded(handle, &how, error));
        }
        // Whoever goes back behind a step on files takes away what it made, whether or not a checkpoint followed.
        // Looking through a large directory takes its time.
        let recorded = self.renewing(|| {
            futures_lite::future::block_on(async {
                if step.tree.is_some() {
                    self.finish_with_tree(handle, &completion).await
                } else {
                    self.finish_in_cadence(handle, &completion).await
                }
            })
        });
        let ended_at = recorded.map_err(|error| unrecorded(handle, &how, error))?;
        let position = ended_at.position;
        samite_host::kill_point("step.after_outcome");
        // It was about a doubt that there is none of; a file that stays does no harm.
        files::remove(&site.lives.join(life)).ok();
        if let Some(taken) = ended_at.tree {
            OnCheckpoint::tell(to, Kept::Taken(Box::new(taken)));
        } else if let Some(error) = ended_at.failed {
            OnCheckpoint::tell(to, Kept::Failed(error));
        }
        let outcome = ended(completion, position);
        Ok(match signal {
            Some(signal) => {
                let (key, outcome) = (handle.key.clone(), Some(outcome));
                Carried::Interrupted(Box::new(Interrupted { key, signal, begun: true, outcome }))
            }
            None => Carried::Ended(outcome),
        })
    }

    /// A command of which half may have happened was ended by a signal. Its probe is asked at once, where it has one; it says
    /// that it did not happen, and then this is a failure like any other. Where nobody can tell, the step is in doubt.
    async fn died(&self, handle: &StepHandle, failed: Completion, site: &Site) -> Result<Carried> {
        let (_, open) = self.open_steps(true).await?;
        let Some(step) = open.iter().find(|step| step.id == handle.id) else {
            // Another ended it, which is then said.
            let position = self.finish(handle, &failed).await?;
            return Ok(Carried::Ended(ended(failed, position)));
        };
        self.remember_lost(handle.id);
        let doubt = self.describe_doubt(step, true, true).await?;
        let assessment = self.assess(&doubt, site).await?;
        Ok(match assessment.decision {
            Decision::Completed => {
                let settlement = self.settle(&assessment, site).await?;
                match settlement.outcome.clone() {
                    Some(outcome) => Carried::Settled(outcome, Box::new(settlement)),
                    None => Carried::InDoubt(Box::new(assessment)),
                }
            }
            Decision::RunAgain => {
                let position = self.finish(handle, &failed).await?;
                forget_life(&doubt.step, site);
                Carried::Ended(ended(failed, position))
            }
            _ => Carried::InDoubt(Box::new(assessment)),
        })
    }

    /// A contained step that works elsewhere than in the branch's workspace would be put back there, and not where it was.
    async fn check_inside(&self, key: &str, directory: &Path) -> Result<()> {
        let Some(workspace) = self.workspace().await? else { return Ok(()) };
        let (Ok(real), Ok(root)) = (files::canonical(directory), files::canonical(&workspace.directory)) else {
            // What is not there is said by whoever needs it.
            return Ok(());
        };
        if real.starts_with(&root) {
            return Ok(());
        }
        let error = Error::invalid(
            "outside_workspace",
            format!(
                "step {key:?} is contained, and would run in {}, which is outside the workspace {} of branch {}",
                directory.display(),
                workspace.directory.display(),
                self.branch().short()
            ),
        );
        let all = self.client.workspaces(self.session()).await?;
        let is_here = |root: &Path| files::canonical(root).is_ok_and(|root| real.starts_with(root));
        let other = all.iter().find(|other| other.branch != self.branch() && is_here(&other.directory));
        Err(match other {
            Some(other) => {
                let (session, branch) = (self.session().short(), other.branch.short());
                error.hint(format!(
                    "branch {branch} of this session works there: `samite step run {session}:{branch} …`"
                ))
            }
            None => error.hint("run it in the workspace (`--cwd`), or declare another effect"),
        })
    }

    /// Does something that takes its time, and renews the lease meanwhile when only time would end it: this writer's other
    /// commands, too, would otherwise take it for lost.
    fn renewing<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(every) = self.renewal() else { return act() };
        let (ended, waiting) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while waiting.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    // One that fails is tried again; that another took over shows when the outcome is recorded.
                    futures_lite::future::block_on(self.renew()).ok();
                }
            });
            let done = act();
            drop(ended);
            done
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

    /// Runs a step in doubt again under its own key and command.
    async fn run_again_supervised(
        &self,
        assessment: &Assessment,
        run: &RunStep,
        site: &Site,
        refused: Option<&Refused>,
        signalled: &Signalled,
    ) -> Result<Again> {
        let step = &assessment.doubt.step;
        let (argv, directory) = match argv_of(&step.started.input) {
            Some((argv, _)) if is_redacted(&argv) => {
                // The record does not say what was run. Whoever calls anew under its key has the same command; it was compared.
                if !assessment.doubt.same_key {
                    return Ok(Again::NotKnown);
                }
                (run.argv.clone(), run.directory.clone())
            }
            Some(known) => known,
            None => return Ok(Again::NotKnown),
        };
        let (supervised, life) = self.supervise(run, &step.started.idempotency_key, &argv, &directory, site)?;
        let process = Some(process_value(supervised.recorded(), &life)?);
        signalled.begin(run.on_start.as_ref());
        let handle = match self.run_again_beside(step.id, &assessment.did_not(), None, process, refused).await {
            Err(error) if is_past(&error) => {
                self.refuse_late(refused).await?;
                return Ok(Again::Past);
            }
            handle => handle?,
        };
        let again = NewStep {
            effect: step.started.effect.clone(),
            tree: step.started.tree,
            ..NewStep::new(&step.started.key, &step.started.tool, Value::Null)
        };
        // The attempt in doubt is settled; the new one gives signs of its own.
        forget_life(step, site);
        self.carry_out(&handle, &again, (supervised, life), run, site, signalled).await.map(Again::Carried)
    }
}

/// Whether a doubt could not be settled because another process was quicker, or the call itself began meanwhile.
fn is_past(error: &Error) -> bool {
    error.code() == "not_in_doubt" || is_known(error)
}

/// What came of running a step in doubt again.
enum Again {
    /// Its command is not known here.
    NotKnown,
    /// It is not in doubt any more.
    Past,
    /// It was let go.
    Carried(Carried),
}

/// How a command that was let go came to its end.
enum Carried {
    Ended(Outcome),
    /// A signal ended it, and its probe saw that it had happened.
    Settled(Outcome, Box<Settlement>),
    /// A signal ended it, and whether it had happened cannot be told.
    InDoubt(Box<Assessment>),
    Interrupted(Box<Interrupted>),
}

/// An outcome as it was recorded.
fn ended(completion: Completion, position: Position) -> Outcome {
    let Completion { kind, output, duration, .. } = completion;
    Outcome { kind, output, not_run: None, position, settled: None, abandoned: false, duration }
}

/// How a command ended, in words.
fn finished_words(end: &End) -> String {
    match end {
        End::Ended { exit: Exit::Code(code), .. } => format!("ran and ended with status {code}"),
        End::Ended { exit: Exit::Signal(signal), .. } => format!("ran until signal {signal} ended it"),
        End::NotStarted(_) => "could not be started".to_owned(),
        End::SupervisorLost => "may have run".to_owned(),
    }
}

/// The error of a record that could not be made after the command was let go: whatever else it says, nobody may take it for
/// a call of which nothing happened.
fn unrecorded(handle: &StepHandle, how: &str, error: Error) -> Error {
    let what = format!("the command of step {:?} {how}, but that could not be recorded", handle.key);
    match error.kind() {
        ErrorKind::Unavailable | ErrorKind::Internal => {
            let recover = "then run `samite recover SESSION`: the step is in doubt";
            let hint = if error.code() == "disk_full" { "free some space" } else { "look at what refused it" };
            Error::unavailable("outcome_unrecorded", format!("{what}: {}", error.message()))
                .hint(format!("{hint}, {recover}; do not do it again by yourself"))
                .because(error)
        }
        _ => error.context(what),
    }
}

/// How a command's end counts. None when it is not known.
fn completion(
    finished: &Finished,
    [stdout, stderr]: [Option<u64>; 2],
    retry: bool,
    redactor: &Redactor,
) -> Option<Completion> {
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
        stdout: Captured::new(&finished.stdout, stdout, redactor),
        stderr: Captured::new(&finished.stderr, stderr, redactor),
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
