//! What histories happen in: a real store, real directories, and beside them what the model says of each.

use super::disk::{self, Edit, Found, Listing, look, taken, tree};
use super::generator::{Act, History, Meanwhile};
use super::model::{Request, Tree, above, is_within, paths, recorded, repositories, restored};
use crate::place::{Place, backends_of};
use crate::support::files_only;
use samite::embedded::Embedded;
use samite::recover::{RecoverOptions, Site};
use samite::workspace::{RestoreReport, RestoreRequest};
use samite::{Begin, Client, Completion, ForkOptions, NewSession, NewStep, Observer, WriterOptions};
use samite_model::step::Effect;
use samite_model::tree::Action;
use samite_model::{BlockId, BranchId, Position, Pseudonym, SessionId};
use samite_workspace::{PlannedRestore, RestoreOptions, Store, materialise};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What is wrong, in words.
pub(super) type Check<T = ()> = Result<T, String>;

/// Says what is wrong where something does not hold.
macro_rules! hold {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}
pub(super) use hold;

/// Says what could not be done.
pub(super) trait Said<T> {
    fn said(self, what: &str) -> Check<T>;
}

impl<T> Said<T> for samite_model::Result<T> {
    fn said(self, what: &str) -> Check<T> {
        self.map_err(|error| format!("{what}: {} ({error:?})", error.message()))
    }
}

/// A checkpoint, whatever it was taken for, and what the directory held.
#[derive(Clone)]
struct Taken {
    session: usize,
    position: Position,
    root: BlockId,
    listing: Listing,
}

/// A branch, and the directory that it works in.
struct Line {
    session: usize,
    branch: BranchId,
    directory: Option<usize>,
    deleted: bool,
}

/// A tree that a session recorded of a directory.
struct Recorded {
    session: usize,
    root: BlockId,
    listing: Listing,
    /// Whether it is what a step left.
    ends_step: bool,
}

/// What somebody did while samite was at work: to which paths, and what they held afterwards.
#[derive(Default)]
struct Touched {
    paths: BTreeSet<String>,
    after: Listing,
}

/// What a restore of a line is to meet.
struct Expected {
    before: Listing,
    base: Tree,
    target: Tree,
    others: BTreeSet<String>,
    plan: PlannedRestore,
    touched: Arc<Mutex<Touched>>,
}

/// Everything of one history.
pub(super) struct World<'a> {
    place: &'a Place,
    name: String,
    pub(super) client: Client,
    blocks: Store,
    owner: Pseudonym,
    pub(super) sessions: Vec<SessionId>,
    current: Vec<usize>,
    lines: Vec<Line>,
    pub(super) directories: Vec<PathBuf>,
    /// What was recorded of each directory, in its order.
    log: Vec<Vec<Recorded>>,
    /// What each session knows each directory to hold.
    known: BTreeMap<(usize, usize), (BlockId, Tree)>,
    taken: Vec<Taken>,
    pub(super) shared: bool,
    acts: usize,
    /// How often what happened.
    pub(super) counts: BTreeMap<&'static str, usize>,
}

fn fresh(words: &str) -> WriterOptions {
    WriterOptions { id: Some(words.to_owned()), ..WriterOptions::default() }
}

fn path_of(action: &Action) -> String {
    String::from_utf8(action.path().as_bytes().to_vec()).unwrap()
}

/// What differs between two listings: what `diff` names.
fn differing(before: &Listing, after: &Listing) -> BTreeSet<String> {
    let same = |a: &Found, b: &Found| {
        a.node == b.node && a.first_name == b.first_name && (a.node.is_directory() || a.mtime == b.mtime)
    };
    before
        .keys()
        .chain(after.keys())
        .filter(|path| match (before.get(*path), after.get(*path)) {
            (Some(a), Some(b)) => !same(a, b),
            _ => true,
        })
        .cloned()
        .collect()
}

/// Names the first paths at which two trees differ.
fn difference(found: &Tree, right: &Tree) -> Option<String> {
    let differs = |path: &&&str| found.get(**path) != right.get(**path);
    let all = paths(&[found, right]);
    let named: Vec<String> = all
        .iter()
        .filter(differs)
        .take(6)
        .map(|path| format!("{path:?} is {:?} and should be {:?}", short(found.get(*path)), short(right.get(*path))))
        .collect();
    (!named.is_empty()).then(|| named.join("; "))
}

fn short(node: Option<&super::model::Node>) -> String {
    let text = format!("{node:?}");
    text.chars().take(120).collect()
}

impl<'a> World<'a> {
    /// A new one in a store; its directories get names that begin with this.
    pub(super) async fn new(place: &'a Place, store: &Embedded, name: String, shared: bool) -> Check<Self> {
        let client = store.client().await.said("open")?;
        let backends = backends_of(store);
        let owner = backends.keys.subject(&client.principal().owner().unwrap()).unwrap().pseudonym;
        let blocks = Store {
            index: backends.blocks,
            packs: backends.packs,
            tenant: backends.keys.tenant_pseudonym(),
            screening: samite_workspace::Screening::default(),
            sealing: Arc::new(backends.keys),
            clock: backends.clock,
            random: backends.random,
        };
        let work = place.directory(&format!("{name}-0"));
        let mut world = Self {
            place,
            name,
            client,
            blocks,
            owner,
            sessions: Vec::new(),
            current: Vec::new(),
            lines: Vec::new(),
            directories: vec![work.clone()],
            log: vec![Vec::new()],
            known: BTreeMap::new(),
            taken: Vec::new(),
            shared,
            acts: 0,
            counts: BTreeMap::new(),
        };
        for session in 0..=usize::from(shared) {
            let made = world.client.create_session(NewSession::default()).await.said("create a session")?;
            world.client.attach(made.id, None, &work).await.said("attach")?;
            world.sessions.push(made.id);
            world.current.push(world.lines.len());
            world.lines.push(Line { session, branch: made.current, directory: Some(0), deleted: false });
        }
        Ok(world)
    }

    /// Lets a history happen, and holds each act and each checkpoint against the model.
    pub(super) async fn live(&mut self, history: &History) -> Check {
        for (number, act) in history.acts.iter().enumerate() {
            self.act(act).await.map_err(|wrong| format!("act {number}, {act:?}: {wrong}"))?;
        }
        self.all_restore_exactly().await
    }

    async fn act(&mut self, act: &Act) -> Check {
        self.acts += 1;
        let before: Vec<Listing> = self.directories.iter().map(|directory| look(directory)).collect();
        let concerned = match act {
            Act::Edit { directory, edits } => {
                let directory = directory % self.directories.len();
                self.edit(directory, edits);
                Some(directory)
            }
            Act::Checkpoint { line } => self.checkpoint(*line).await?,
            Act::Step { line, edits } => self.step(*line, edits).await?,
            Act::Restore { line, to, force, within, meanwhile } => {
                self.restore(*line, *to, *force, *within, meanwhile).await?
            }
            Act::Rewind { session, to, meanwhile } => self.rewind(*session, *to, meanwhile).await?,
            Act::Fork { session, at } => self.fork(*session, *at).await?,
            Act::Use { line, restore } => self.make_current(*line, *restore).await?,
            Act::HalfRestore { line, to, done, edits } => self.half_restore(*line, *to, *done, edits).await?,
            Act::Merge { line, other, automatic, choices } => self.merge(*line, *other, *automatic, *choices).await?,
            Act::DeleteBranch { line, collect } => {
                self.delete_branch(*line).await?;
                if *collect {
                    self.collect().await?;
                }
                None
            }
            Act::Collect => {
                self.collect().await?;
                None
            }
        };
        // Whoever works elsewhere sees nothing of it.
        for (at, before) in before.iter().enumerate().filter(|(at, _)| Some(*at) != concerned) {
            hold!(look(&self.directories[at]) == *before, "directory {at} changed, which was not concerned");
        }
        Ok(())
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn edit(&self, directory: usize, edits: &[Edit]) {
        for edit in edits {
            disk::edit(&self.directories[directory], edit);
        }
    }

    /// A line that works in a directory: its index, and the directory's.
    pub(super) fn working(&self, number: usize) -> Option<(usize, usize)> {
        let working: Vec<(usize, usize)> = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.deleted)
            .filter_map(|(at, line)| line.directory.map(|directory| (at, directory)))
            .collect();
        (!working.is_empty()).then(|| working[number % working.len()])
    }

    /// The session and the branch of a line.
    pub(super) fn line(&self, line: usize) -> (usize, BranchId) {
        let Line { session, branch, .. } = self.lines[line];
        (session, branch)
    }

    /// Another branch of the same session.
    pub(super) fn other_line(&self, line: usize, number: usize) -> Option<BranchId> {
        let session = self.lines[line].session;
        let all: Vec<&Line> = self
            .lines
            .iter()
            .enumerate()
            .filter(|(at, other)| *at != line && other.session == session && !other.deleted)
            .map(|(_, other)| other)
            .collect();
        (!all.is_empty()).then(|| all[number % all.len()].branch)
    }

    /// Notes the last tree of a line, which may lie just before the outcome of what made it, and what is known then.
    pub(super) async fn note_last(
        &mut self,
        line: usize,
        directory: usize,
        listing: &Listing,
        known: Option<(BlockId, Tree)>,
    ) -> Check {
        let (session, branch) = self.line(line);
        let head = self.client.head(self.sessions[session], branch).await.said("head")?;
        let last = self.client.tree_at(head).await.said("last tree")?.ok_or("no tree")?;
        self.note(session, directory, head, last.tree.root, listing);
        let known = known.unwrap_or_else(|| (last.tree.root, recorded(&tree(listing))));
        self.known.insert((session, directory), known);
        Ok(())
    }

    /// A checkpoint of a session that can be gone back to.
    fn target(&self, session: usize, number: usize) -> Option<Taken> {
        let gone = |branch| self.lines.iter().any(|line| line.branch == branch && line.deleted);
        let all: Vec<&Taken> =
            self.taken.iter().filter(|taken| taken.session == session && !gone(taken.position.journal)).collect();
        (!all.is_empty()).then(|| all[number % all.len()].clone())
    }

    /// Notes that a session recorded a tree of a directory, and what it knows of it from then on.
    pub(super) fn note(
        &mut self,
        session: usize,
        directory: usize,
        position: Position,
        root: BlockId,
        listing: &Listing,
    ) {
        let listing = taken(listing);
        self.log[directory].push(Recorded { session, root, listing: listing.clone(), ends_step: false });
        self.taken.push(Taken { session, position, root, listing });
    }

    async fn checkpoint(&mut self, line: usize) -> Check<Option<usize>> {
        let Some((line, directory)) = self.working(line) else { return Ok(None) };
        let Line { session, branch, .. } = self.lines[line];
        let before = self.taken.iter().rfind(|taken| taken.session == session).cloned();
        let listing = look(&self.directories[directory]);
        let taken = self
            .client
            .checkpoint(self.sessions[session], Some(branch), WriterOptions::default(), files_only())
            .await
            .said("checkpoint")?;
        hold!(look(&self.directories[directory]) == listing, "a checkpoint changed something");
        self.count("checkpoints");
        self.note(session, directory, taken.position, taken.root, &listing);
        self.known.insert((session, directory), (taken.root, recorded(&tree(&listing))));
        let Some(before) = before else { return Ok(Some(directory)) };
        let gone = |branch| self.lines.iter().any(|line| line.branch == branch && line.deleted);
        if !gone(before.position.journal) {
            let changes = self.client.diff(before.position, taken.position).await.said("diff")?;
            let named: BTreeSet<String> =
                changes.iter().map(|change| String::from_utf8(change.path.as_bytes().to_vec()).unwrap()).collect();
            let right = differing(&before.listing, &disk::taken(&listing));
            // The top directory itself is not of the model.
            let named: BTreeSet<String> = named.into_iter().filter(|path| !path.is_empty()).collect();
            hold!(named == right, "diff names {named:?}, and {right:?} differ");
        }
        Ok(Some(directory))
    }

    async fn step(&mut self, line: usize, edits: &[Edit]) -> Check<Option<usize>> {
        let Some((line, directory)) = self.working(line) else { return Ok(None) };
        let Line { session, branch, .. } = self.lines[line];
        let before = look(&self.directories[directory]);
        let writer = self
            .client
            .writer(self.sessions[session], Some(branch), fresh(&format!("writer {}", self.acts)))
            .await
            .said("write")?;
        let began = writer.checkpoint(files_only()).await.said("checkpoint before a step")?;
        let key = format!("step {}", self.acts);
        let step = NewStep {
            effect: Effect::Contained { within: Vec::new() },
            tree: Some(began.root),
            ..NewStep::new(key, format!("edit {}", self.acts), serde_json::json!({}))
        };
        let Begin::Run(handle) = writer.begin(&step).await.said("begin a step")? else {
            return Err("a new step does not run".to_owned());
        };
        self.edit(directory, edits);
        let after = look(&self.directories[directory]);
        let ended =
            writer.finish_with_tree(&handle, &Completion::completed(serde_json::json!({}))).await.said("end a step")?;
        writer.release().await.said("release")?;
        let Some(left) = ended.tree else { return Err("a step ended without its tree".to_owned()) };
        self.note(session, directory, began.position, began.root, &before);
        // Between a step's last tree and its outcome, the step is in doubt: whoever goes back goes to the outcome.
        self.note(session, directory, ended.position, left.root, &after);
        if let Some(last) = self.log[directory].last_mut() {
            last.ends_step = true;
        }
        self.count("steps");
        self.known.insert((session, directory), (left.root, recorded(&tree(&after))));
        Ok(Some(directory))
    }

    /// Paths that were changed while another session worked in the directory, since a tree of this one: between two of
    /// the other's trees, before one of its, or just after what a step of it left, when it was not looked again.
    fn others(&self, session: usize, directory: usize, since: BlockId) -> BTreeSet<String> {
        let log = &self.log[directory];
        let start = log.iter().rposition(|one| one.root == since && one.session == session).unwrap_or_default();
        let other = |one: &&Recorded| one.session != session;
        let mut others = BTreeSet::new();
        for at in start + 1..log.len() {
            let between = log[..at].iter().any(|one| other(&one)) && log[at..].iter().any(|one| other(&one));
            let after_step = other(&&log[at - 1]) && log[at - 1].ends_step;
            if between || other(&&log[at]) || after_step {
                others.extend(differing(&log[at - 1].listing, &log[at].listing));
            }
        }
        others
    }

    /// What a session knows a directory to hold; nothing where that tree was collected.
    async fn base(&self, session: usize, directory: usize) -> Check<Tree> {
        let Some((root, base)) = self.known.get(&(session, directory)) else { return Ok(Tree::new()) };
        let places = self.blocks.index.find_blocks(vec![*root]).await.said("find blocks")?;
        Ok(if places.iter().all(Option::is_some) { base.clone() } else { Tree::new() })
    }

    /// Previews a restore, lets somebody edit, and says what is to come of it.
    async fn expect(
        &self,
        line: usize,
        directory: usize,
        to: &Taken,
        request: &mut RestoreRequest,
        meanwhile: &Meanwhile,
    ) -> Check<Expected> {
        let Line { session, branch, .. } = self.lines[line];
        let preview = async |request: &RestoreRequest| {
            self.client.plan_restore(self.sessions[session], Some(branch), to.position, request).await.said("preview")
        };
        let listing = look(&self.directories[directory]);
        let mut plan = preview(request).await?;
        hold!(look(&self.directories[directory]) == listing, "a preview changed something");
        if !meanwhile.after_plan.is_empty() {
            self.edit(directory, &meanwhile.after_plan);
            // What changes is held against what would be previewed now.
            plan = preview(request).await?;
        }
        let touched = Arc::new(Mutex::new(Touched::default()));
        let during = meanwhile.during.as_ref().filter(|_| !self.shared && !request.force);
        if let Some((at, edits)) = during.cloned() {
            let (top, touched) = (self.directories[directory].clone(), touched.clone());
            let told = Mutex::new(0);
            request.observer = Observer::new(move |_| {
                let mut told = told.lock().unwrap();
                if *told == at {
                    let mut touched = touched.lock().unwrap();
                    let mut changed: BTreeSet<String> = BTreeSet::new();
                    for edit in &edits {
                        // Other names of a file change with it.
                        let before = look(&top);
                        let named = disk::edit(&top, edit);
                        let inodes: BTreeSet<u64> =
                            named.iter().filter_map(|path| before.get(path)).map(|found| found.inode).collect();
                        changed.extend(
                            before
                                .iter()
                                .filter(|(_, found)| inodes.contains(&found.inode))
                                .map(|(path, _)| path.clone()),
                        );
                        changed.extend(named);
                    }
                    touched.after = look(&top);
                    touched.paths = changed;
                }
                *told += 1;
            });
        }
        Ok(Expected {
            before: look(&self.directories[directory]),
            base: self.base(session, directory).await?,
            target: tree(&to.listing),
            others: self.others(session, directory, to.root),
            plan,
            touched,
        })
    }

    /// Holds what became of a directory against what was expected, and notes what the session knows now.
    async fn met(
        &mut self,
        line: usize,
        directory: usize,
        to: &Taken,
        expected: Expected,
        request: &RestoreRequest,
        done: (&RestoreReport, Option<Position>),
    ) -> Check {
        let Expected { before, base, target, others, plan, touched } = expected;
        let (report, safety) = done;
        let touched = std::mem::take(&mut *touched.lock().unwrap());
        for (what, happened) in [
            ("restores that change something", !plan.plan.actions.is_empty()),
            ("restores that keep something", !report.kept.is_empty()),
            ("restores beside which somebody edits", !touched.paths.is_empty()),
            ("restores of a directory that others work in", !others.is_empty()),
            ("restores by force", request.force),
            ("restores of a part", !request.within.is_empty()),
        ] {
            *self.counts.entry(what).or_default() += usize::from(happened);
        }
        let after = look(&self.directories[directory]);
        let now = tree(&before);
        let asked = Request {
            now: &now,
            base: &base,
            target: &target,
            others: &others,
            force: request.force,
            within: &request.within,
        };
        let (right, kept) = restored(&asked);
        hold!(report.failed.is_empty(), "failed: {:?}", report.failed);
        // What somebody changed at that very moment is theirs, and what is around it: all of a repository.
        let near = |path: &str| touched.paths.iter().any(|other| is_within(path, other) || is_within(other, path));
        let mut wholes = repositories(&[&now, &base, &target, &tree(&touched.after)]);
        wholes.retain(|whole| near(whole));
        let is_touched = |path: &str| {
            path.starts_with("samite-kept-")
                || near(path)
                || wholes.iter().any(|whole| is_within(path, whole))
                || touched.paths.contains(super::model::RULES) && path.contains(".log")
        };
        let untouched = |tree: &Tree| -> Tree {
            tree.iter().filter(|(path, _)| !is_touched(path)).map(|(path, node)| (path.clone(), node.clone())).collect()
        };
        if let Some(differs) = difference(&untouched(&tree(&after)), &untouched(&right)) {
            return Err(format!("restored otherwise than the model: {differs}; kept: {:?}", report.kept));
        }
        for (path, found) in touched.after.iter().filter(|(path, _)| touched.paths.contains(*path)) {
            let known = |tree: &Tree| tree.get(path).is_some_and(|node| node.holds_as(&found.node));
            let somewhere = |other: &String| other == path || other.starts_with("samite-kept-");
            let is_there = after.iter().any(|(other, now)| somewhere(other) && now.node.holds_as(&found.node));
            hold!(known(&base) || known(&target) || is_there, "what somebody wrote meanwhile to {path:?} is lost");
        }
        // What is kept is listed, by its name or by that of a directory that it is in.
        let listed: BTreeSet<String> =
            report.kept.iter().map(|kept| String::from_utf8(kept.path.as_bytes().to_vec()).unwrap()).collect();
        // A directory that leads to what was asked for is made on the way, and is not asked for itself.
        let asked_for =
            |path: &str| request.within.is_empty() || request.within.iter().any(|within| is_within(path, within));
        for path in kept.iter().filter(|path| !is_touched(path) && asked_for(path)) {
            let named = listed.contains(path) || above(path).any(|above| listed.contains(above));
            hold!(named, "{path:?} was kept and is not listed: {listed:?}; {now:?}; {base:?}; {target:?}; {others:?}");
        }
        // Nothing outside the plan changes.
        let planned: BTreeSet<String> = plan.plan.actions.iter().map(path_of).collect();
        for path in before.keys().chain(after.keys()).filter(|path| !planned.contains(*path) && !is_touched(path)) {
            let (was, is) = (before.get(path), after.get(path));
            let same = match (was, is) {
                (Some(was), Some(is)) => {
                    was.node == is.node && was.inode == is.inode && (was.node.is_directory() || was.mtime == is.mtime)
                }
                _ => false,
            };
            hold!(same, "{path:?} is not in the plan and changed: {was:?}, {is:?}");
        }
        let Line { session, branch, .. } = self.lines[line];
        let head = self.client.head(self.sessions[session], branch).await.said("head")?;
        let last = self.client.tree_at(head).await.said("last tree")?.ok_or("no tree after a restore")?;
        if touched.paths.is_empty() {
            if let Some(safety) = safety {
                let safety = self.client.tree_at(safety).await.said("safety")?.ok_or("no safety snapshot")?;
                self.note(session, directory, safety.position, safety.tree.root, &before);
            }
            self.note(session, directory, last.position, last.tree.root, &after);
        }
        let known =
            if request.within.is_empty() { (to.root, target) } else { (last.tree.root, recorded(&tree(&after))) };
        // What was put back of a part is known when it is looked at; somebody may have come between.
        if request.within.is_empty() || touched.paths.is_empty() {
            self.known.insert((session, directory), known);
        } else {
            let listing = self.materialised(last.tree.root)?;
            self.known.insert((session, directory), (last.tree.root, tree(&listing)));
        }
        Ok(())
    }

    async fn restore(
        &mut self,
        line: usize,
        to: usize,
        force: bool,
        within: Option<usize>,
        meanwhile: &Meanwhile,
    ) -> Check<Option<usize>> {
        let Some((line, directory)) = self.working(line) else { return Ok(None) };
        let Line { session, branch, .. } = self.lines[line];
        let Some(to) = self.target(session, to) else { return Ok(None) };
        let within = within.and_then(|number| {
            let now = tree(&look(&self.directories[directory]));
            let then = tree(&to.listing);
            let all: Vec<&str> = paths(&[&now, &then]).into_iter().filter(|path| !path.contains('\n')).collect();
            (!all.is_empty()).then(|| all[number % all.len()].to_owned())
        });
        let mut request = RestoreRequest { within: within.into_iter().collect(), force, ..RestoreRequest::default() };
        let expected = self.expect(line, directory, &to, &mut request, meanwhile).await?;
        let restored = self
            .client
            .restore(self.sessions[session], Some(branch), to.position, WriterOptions::default(), &request)
            .await
            .said("restore")?;
        self.met(line, directory, &to, expected, &request, (&restored.report, restored.safety)).await?;
        Ok(Some(directory))
    }

    async fn rewind(&mut self, session: usize, to: usize, meanwhile: &Meanwhile) -> Check<Option<usize>> {
        let session = session % self.sessions.len();
        let Some(to) = self.target(session, to) else { return Ok(None) };
        let line = self.current[session];
        let directory = self.lines[line].directory;
        let options = ForkOptions {
            branch: Some(to.position.journal),
            seq: Some(to.position.seq),
            keep: true,
            ..ForkOptions::default()
        };
        let mut request = RestoreRequest::default();
        let expected = match directory {
            Some(directory) => Some(self.expect(line, directory, &to, &mut request, meanwhile).await?),
            None => None,
        };
        let (report, restored) = self
            .client
            .rewind(self.sessions[session], options, WriterOptions::default(), &request)
            .await
            .said("rewind")?;
        self.count("rewinds");
        // The old line stays, without the directory.
        self.lines[line].directory = None;
        let new = self.lines.len();
        self.lines.push(Line { session, branch: report.branch, directory, deleted: false });
        self.current[session] = new;
        let current = self.client.current_branch(self.sessions[session]).await.said("current branch")?;
        hold!(current == report.branch, "a rewind's branch is not current");
        if let (Some(directory), Some(expected)) = (directory, expected) {
            let Some(restored) = restored else { return Err("a rewind put no files back".to_owned()) };
            self.met(new, directory, &to, expected, &request, (&restored.report, restored.safety)).await?;
        }
        Ok(directory)
    }

    async fn fork(&mut self, session: usize, at: usize) -> Check<Option<usize>> {
        let session = session % self.sessions.len();
        if self.directories.len() >= 5 {
            return Ok(None);
        }
        let Some(at) = self.target(session, at) else { return Ok(None) };
        let options = ForkOptions {
            branch: Some(at.position.journal),
            seq: Some(at.position.seq),
            keep: true,
            ..ForkOptions::default()
        };
        let forked = self.client.fork(self.sessions[session], options).await.said("fork")?;
        let directory = self.place.path(&format!("{}-{}", self.name, self.directories.len()));
        let made =
            self.client.materialise(self.sessions[session], forked.branch, &directory).await.said("materialise")?;
        hold!(made.report.is_complete(), "a fork is not complete: {:?}", made.report);
        let found = disk::without_inodes(&look(&directory));
        hold!(
            found == disk::without_inodes(&at.listing),
            "a fork is not as the checkpoint: {found:?}, {:?}",
            at.listing
        );
        self.count("forks");
        let number = self.directories.len();
        self.lines.push(Line { session, branch: forked.branch, directory: Some(number), deleted: false });
        self.directories.push(directory);
        self.log.push(Vec::new());
        self.known.insert((session, number), (at.root, tree(&at.listing)));
        Ok(None)
    }

    async fn make_current(&mut self, line: usize, restore: bool) -> Check<Option<usize>> {
        let alive: Vec<usize> = (0..self.lines.len()).filter(|at| !self.lines[*at].deleted).collect();
        let line = alive[line % alive.len()];
        let Line { session, branch, .. } = self.lines[line];
        let previous = self.current[session];
        if previous == line {
            return Ok(None);
        }
        self.client.make_current(self.sessions[session], branch).await.said("make current")?;
        self.current[session] = line;
        self.count("branches made current");
        if self.lines[line].directory.is_none() {
            self.lines[line].directory = self.lines[previous].directory.take();
        }
        let Some(directory) = self.lines[line].directory else { return Ok(None) };
        let at = self.client.workspace_of_branch(self.sessions[session], branch).await.said("workspace")?;
        hold!(at.is_some_and(|at| at.directory == self.directories[directory]), "the directory did not go over");
        let head = self.client.head(self.sessions[session], branch).await.said("head")?;
        let last = self.client.tree_at(head).await.said("last tree")?;
        let last = last.and_then(|last| self.taken.iter().rfind(|taken| taken.root == last.tree.root).cloned());
        if let Some(to) = last.filter(|_| restore) {
            let mut request = RestoreRequest::default();
            let expected = self.expect(line, directory, &to, &mut request, &Meanwhile::default()).await?;
            let restored = self
                .client
                .restore(self.sessions[session], Some(branch), to.position, WriterOptions::default(), &request)
                .await
                .said("restore the old line")?;
            self.met(line, directory, &to, expected, &request, (&restored.report, restored.safety)).await?;
        }
        Ok(Some(directory))
    }

    async fn half_restore(&mut self, line: usize, to: usize, done: usize, edits: &[Edit]) -> Check<Option<usize>> {
        let Some((line, directory)) = self.working(line) else { return Ok(None) };
        let Line { session, branch, .. } = self.lines[line];
        let Some(to) = self.target(session, to) else { return Ok(None) };
        self.checkpoint_of(line, directory).await?;
        let id = self.sessions[session];
        let others = self.others(session, directory, to.root);
        let (base_root, base) = self.known[&(session, directory)].clone();
        let planned = self
            .client
            .plan_restore(id, Some(branch), to.position, &RestoreRequest::default())
            .await
            .said("preview")?;
        let writer =
            self.client.writer(id, Some(branch), fresh(&format!("writer {}", self.acts))).await.said("write")?;
        let hex = |path: &String| data_encoding::HEXLOWER.encode(path.as_bytes());
        let input = serde_json::json!({
            "operation": format!("{:032x}", self.acts), "target": to.root, "base": base_root,
            "within": [], "others": others.iter().map(hex).collect::<Vec<_>>(), "force": false,
        });
        let step = NewStep {
            effect: Effect::Contained { within: Vec::new() },
            tree: Some(base_root),
            ..NewStep::new(format!("restore {}", self.acts), "samite.restore", input)
        };
        let Begin::Run(_) = writer.begin(&step).await.said("begin a restore")? else {
            return Err("a restore does not begin".to_owned());
        };
        writer.release().await.said("release")?;
        let top = self.directories[directory].clone();
        let target = tree(&to.listing);
        let actions = &planned.plan.actions;
        for action in actions.iter().take(actions.len() * done / 100) {
            let path = path_of(action);
            if !path.is_empty() {
                disk::put(&top, &path, target.get(&path));
            }
        }
        self.edit(directory, edits);
        let before = look(&top);
        let site = Site { base: self.place.path(""), lives: self.place.path("lives") };
        std::fs::create_dir_all(&site.lives).unwrap();
        let options = RecoverOptions { branch: Some(branch), ..RecoverOptions::default() };
        let recovered = self.client.recover(id, options, &site).await.said("recover")?;
        hold!(recovered.is_clear(), "a person is asked about a restore: {recovered:?}");
        let now = tree(&before);
        let asked = Request { now: &now, base: &base, target: &target, others: &others, force: false, within: &[] };
        let (right, _) = restored(&asked);
        let after = look(&top);
        if let Some(differs) = difference(&tree(&after), &right) {
            return Err(format!("recovered otherwise than the model: {differs}; {recovered:?}"));
        }
        self.count("restores that were cut off");
        let head = self.client.head(id, branch).await.said("head")?;
        let last = self.client.tree_at(head).await.said("last tree")?.ok_or("no tree after a restore")?;
        self.note(session, directory, last.position, last.tree.root, &after);
        self.known.insert((session, directory), (to.root, target));
        Ok(Some(directory))
    }

    /// A checkpoint of this line.
    async fn checkpoint_of(&mut self, line: usize, directory: usize) -> Check {
        let Line { session, branch, .. } = self.lines[line];
        let listing = look(&self.directories[directory]);
        let taken = self
            .client
            .checkpoint(self.sessions[session], Some(branch), WriterOptions::default(), files_only())
            .await
            .said("checkpoint")?;
        self.note(session, directory, taken.position, taken.root, &listing);
        self.known.insert((session, directory), (taken.root, recorded(&tree(&listing))));
        Ok(())
    }

    async fn collect(&mut self) -> Check {
        let collected = self.client.collect().await.said("collect")?;
        *self.counts.entry("blocks collected").or_default() += usize::try_from(collected.blocks).unwrap();
        Ok(())
    }

    async fn delete_branch(&mut self, line: usize) -> Check {
        let may: Vec<usize> =
            (0..self.lines.len()).filter(|at| !self.lines[*at].deleted && !self.current.contains(at)).collect();
        if may.is_empty() {
            return Ok(());
        }
        let line = may[line % may.len()];
        let Line { session, branch, .. } = self.lines[line];
        let deleted = self.client.delete_branch(self.sessions[session], branch).await.said("delete a branch")?;
        self.count("branches deleted");
        self.lines[line].deleted = true;
        self.lines[line].directory = None;
        // What no other branch inherits is gone, and so is what only branches inherited that were deleted before.
        self.taken.retain(|taken| taken.position.journal != branch || taken.position.seq <= deleted.kept_to);
        let mut inherited = Vec::with_capacity(self.taken.len());
        for taken in &self.taken {
            let mut reached = taken.session != session;
            for line in self.lines.iter().filter(|line| line.session == session && !line.deleted) {
                let found = self.client.position(self.sessions[session], line.branch, taken.position.seq).await;
                reached |= found.is_ok_and(|found| found == taken.position);
            }
            inherited.push(reached);
        }
        let mut inherited = inherited.into_iter();
        self.taken.retain(|_| inherited.next().unwrap_or_default());
        Ok(())
    }

    /// What a tree makes of an empty directory.
    pub(super) fn materialised(&self, root: BlockId) -> Check<Listing> {
        let directory = self.place.path(&format!("{}-checkpoint", self.name));
        let options = RestoreOptions::new([7; 16], self.owner, None, root);
        let report = materialise(&self.blocks, &directory, &options).said("materialise")?;
        hold!(report.is_complete(), "a checkpoint is not complete: {report:?}");
        let found = look(&directory);
        std::fs::remove_dir_all(directory).unwrap();
        Ok(found)
    }

    /// Each checkpoint that was taken and not deleted is there, to the last byte and nanosecond.
    async fn all_restore_exactly(&self) -> Check {
        let mut seen: BTreeMap<BlockId, &Listing> = BTreeMap::new();
        for taken in &self.taken {
            let recorded = self.client.tree_at(taken.position).await.said("a checkpoint")?;
            hold!(recorded.is_some_and(|recorded| recorded.tree.root == taken.root), "a checkpoint has another tree");
            let right = disk::without_inodes(&taken.listing);
            if let Some(other) = seen.insert(taken.root, &taken.listing) {
                hold!(disk::without_inodes(other) == right, "two contents have one tree");
                continue;
            }
            let found = disk::without_inodes(&self.materialised(taken.root)?);
            if found != right {
                let wrong: Vec<&String> =
                    found.keys().chain(right.keys()).filter(|path| found.get(*path) != right.get(*path)).collect();
                let first = wrong.first().map(|path| (found.get(*path), right.get(*path)));
                return Err(format!("seq {} restores otherwise: {wrong:?}, {first:?}", taken.position.seq));
            }
        }
        Ok(())
    }
}
