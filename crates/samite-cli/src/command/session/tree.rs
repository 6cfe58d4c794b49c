//! `samite session tree`.

use crate::printer::words::{count, short_id};
use crate::printer::{Answer, Page, Style};
use crate::reference::Reference;
use crate::shape::{BranchShape, SessionShape, branches};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Draw the tree of a session's branches
///
/// Each branch stands under the one that it left, with the seq where it left it, its own last seq, how long its
/// workspace trees are kept, what was merged into it (the merge's second parent), and how many of its steps have no outcome. The current branch is marked with ●.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite session tree 3f2a
  samite session tree 3f2a --json | jq '.branches[] | {id, head, open_steps}'")]
pub(crate) struct Tree {
    /// The session
    session: Reference,
}

#[derive(Serialize)]
struct Drawn {
    #[serde(flatten)]
    session: SessionShape,
    branches: Vec<BranchShape>,
}

impl Answer for Drawn {
    fn show(&self, page: &mut Page) {
        let name = self.session.name().map_or_else(String::new, |name| format!("  {name}"));
        page.spans(&[(Style::Dim, "session "), (Style::Plain, self.session.id()), (Style::Strong, &name)]);
        for branch in self.branches.iter().filter(|branch| self.parent_of(branch).is_none()) {
            self.draw(page, branch, "", "", "");
        }
    }
}

impl Drawn {
    /// The branch that this one left, if it is still there.
    fn parent_of(&self, branch: &BranchShape) -> Option<&BranchShape> {
        let parent = branch.forked_at.as_ref()?;
        self.branches.iter().find(|other| other.id == parent.branch)
    }

    fn draw(&self, page: &mut Page, branch: &BranchShape, before: &str, corner: &str, below: &str) {
        let at = branch.forked_at.as_ref().map_or_else(String::new, |at| format!("at {} ", at.seq));
        let marker = if branch.current { "● " } else { "○ " };
        let name = branch.name.as_ref().map_or_else(String::new, |name| format!("  {name}"));
        let first = branch.forked_at.as_ref().map_or(1, |at| at.seq + 1);
        let own = match branch.head {
            head if head < first => "empty".to_owned(),
            head if head == first => first.to_string(),
            head => format!("{first}–{head}"),
        };
        let mut facts = vec![own, branch.lifetime()];
        if branch.reason() == "rewind" {
            facts.push("rewind".to_owned());
        }
        for merged in &branch.merged {
            facts.push(format!("{} merged {} at {}", merged.seq, merged.from.short(), merged.from.seq));
        }
        if let Some(merging) = &branch.merging {
            facts.push(format!("a merge of {} is open", short_id(merging)));
        }
        let facts = format!("  {}", facts.join(" · "));
        let open = match branch.open_steps {
            0 => String::new(),
            open => format!(" · {} without an outcome", count(open, "step")),
        };
        let style = if branch.current { Style::Strong } else { Style::Plain };
        page.spans(&[
            (Style::Dim, &format!("{before}{corner}{at}")),
            (style, &format!("{marker}{}{name}", branch.short())),
            (Style::Dim, &facts),
            (Style::Care, &open),
        ]);
        let mut children: Vec<&BranchShape> = self
            .branches
            .iter()
            .filter(|child| child.forked_at.as_ref().is_some_and(|at| at.branch == branch.id))
            .collect();
        children.sort_by_key(|child| child.forked_at.as_ref().map_or(0, |at| at.seq));
        let before = format!("{before}{below}");
        let last = children.len().saturating_sub(1);
        for (index, child) in children.into_iter().enumerate() {
            let (corner, below) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.draw(page, child, &before, corner, below);
        }
    }
}

impl Tree {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let session = self.session.find_session(&client).await?;
        let drawn = Drawn {
            session: SessionShape::new(&client.session(session).await?),
            branches: branches(&client, session).await?,
        };
        surface.printer.answer(&drawn)?;
        Ok(ExitCode::SUCCESS)
    }
}
