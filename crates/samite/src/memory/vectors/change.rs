//! Changing the model of a namespace while it is used: vectors are made in the new space beside the old one, and then the old one goes.

use super::file::VectorFile;
use super::models::{Encoding, ModelSource};
use super::{missing, no_embedder};
use crate::memory::Memory;
use crate::views::Projection;
use samite_embed::Embedder;
use samite_host::kill_point;
use samite_memory::search::Index;
use samite_model::memory::{Model, ModelChanged, ModelStep, Models};
use samite_model::{EntryKind, Error, Observer, Result, SpaceId};
use std::sync::Arc;

/// What came of a change of model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOutcome {
    /// The model that there is now.
    pub model: Model,
    /// How many vectors were made.
    pub made: u64,
    /// Whether it is another one than before.
    pub changed: bool,
}

/// How far the vectors in one space have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceState {
    /// The model that makes them.
    pub model: Model,
    /// Whether it is the one that it is being changed to.
    pub is_next: bool,
    /// How many records have a vector.
    pub made: u64,
    /// How many have none yet.
    pub behind: u64,
}

impl Memory {
    /// Changes the model that makes the vectors, or goes on with that, so many records a second at most. Meanwhile searches make
    /// vectors with both, and are answered by both. When this returns, all records have a vector in the new space but those that were
    /// written last, the change is durable, and the old vectors are gone. After a kill at any moment the same call goes on.
    ///
    /// # Errors
    /// `invalid` (`no_embedder`) where models have no names here; those of who opens it, and of the model; `conflict`
    /// (`model_change_underway`), naming both, while it is changed to another one; `denied` for who may not manage, and for a processor
    /// that may not have the texts.
    pub async fn change_model(&self, name: &str, rate: Option<u32>, observer: &Observer) -> Result<ModelOutcome> {
        let source = self.source()?;
        let embedder = source.open(name)?;
        self.client.may_embed_with(embedder.as_ref()).await?;
        let model = Model { name: name.to_owned(), space: embedder.space().clone() };
        let models = self.models().await?;
        let current = current(source.as_ref(), &models)?;
        if let Some(next) = models.next.as_ref().filter(|next| next.space != model.space) {
            return Err(underway(next, &model));
        }
        let is_same = current.as_ref().is_some_and(|current| current.space == model.space);
        if models.next.is_none() && is_same {
            let made = self.fill(embedder.as_ref(), rate, observer).await?;
            // What is left of a change that was killed after it was done.
            self.remove_other_vectors(&models).await?;
            return Ok(ModelOutcome { model, made, changed: false });
        }
        if models.next.is_none() {
            self.say_model(ModelStep::Begun, &model).await?;
            kill_point("memory.model_begun");
            // Somebody else may have begun another change before.
            if let Some(next) = self.models().await?.next.filter(|next| next.space != model.space) {
                return Err(underway(&next, &model));
            }
        }
        let made = self.fill(embedder.as_ref(), rate, observer).await?;
        kill_point("memory.model_made");
        self.say_model(ModelStep::Done, &model).await?;
        kill_point("memory.model_changed");
        let now = self.models().await?;
        if now.current.as_ref().is_none_or(|current| current.space != model.space) {
            return Err(Error::conflict(
                "model_change_abandoned",
                format!("somebody gave up the change to {}", model.space),
            )
            .hint("begin it again: `samite memory reindex --to MODEL`"));
        }
        self.remove_other_vectors(&now).await?;
        Ok(ModelOutcome { model, made, changed: true })
    }

    /// Gives up a change of model, and says to which. When this returns, that is durable, and its vectors are gone.
    ///
    /// # Errors
    /// `not_found` (`no_model_change`) where there is none; `denied` for who may not manage.
    pub async fn abandon_model(&self) -> Result<Model> {
        let Some(next) = self.models().await?.next else {
            return Err(Error::not_found("no_model_change", "the model of this namespace is not being changed")
                .hint("`samite memory stats` says which it is"));
        };
        self.say_model(ModelStep::Abandoned, &next).await?;
        self.remove_other_vectors(&self.models().await?).await?;
        Ok(next)
    }

    /// How far the vectors have come, in the space of each model that there is. Makes none.
    ///
    /// # Errors
    /// As [`Memory::standings`].
    pub async fn spaces(&self) -> Result<Vec<SpaceState>> {
        let view = self.shared(true).await?;
        let Some(state) = self.state().await? else { return Ok(Vec::new()) };
        let models = view.standings.models();
        let current = match &self.encoding {
            Encoding::Words => models.current.clone(),
            Encoding::Pinned(embedder) => models.current.clone().or_else(|| Some(unnamed(embedder.as_ref()))),
            Encoding::Named(source) => current(source.as_ref(), models).ok().flatten(),
        };
        let mut spaces = Vec::new();
        for (model, is_next) in
            current.into_iter().map(|one| (one, false)).chain(models.next.clone().map(|one| (one, true)))
        {
            let space = model.space.id();
            let mut index = Index::clone(&view.index);
            if let Some(file) = VectorFile::of(&self.client.core, state.owner, state.id, space) {
                file.read_into(&mut index).ok();
            }
            let made = index.rows(space).map_or(0, |rows| u64::from(rows.len()));
            let behind = missing(&view.standings, &index, space).len() as u64;
            spaces.push(SpaceState { model, is_next, made, behind });
        }
        Ok(spaces)
    }

    async fn models(&self) -> Result<Models> {
        Ok(self.shared(false).await?.standings.models().clone())
    }

    fn source(&self) -> Result<Arc<dyn ModelSource>> {
        match &self.encoding {
            Encoding::Named(source) => Ok(source.clone()),
            Encoding::Words | Encoding::Pinned(_) => Err(no_embedder()),
        }
    }

    async fn say_model(&self, step: ModelStep, model: &Model) -> Result<()> {
        let said = ModelChanged { step, model: model.clone() };
        let draft = self.client.core.draft(EntryKind::MEMORY_MODEL, &said, Projection::default())?;
        self.append(vec![draft], Vec::new()).await.map(|_| ())
    }

    /// Removes the vectors of spaces that nobody searches any more.
    async fn remove_other_vectors(&self, models: &Models) -> Result<()> {
        let Some(state) = self.state().await? else { return Ok(()) };
        let mut keep: Vec<SpaceId> = models.spaces().collect();
        if models.current.is_none()
            && let Encoding::Named(source) = &self.encoding
        {
            keep.extend(current(source.as_ref(), models)?.map(|model| model.space.id()));
        }
        VectorFile::remove_others(&self.client.core, state.id, &keep)?;
        Ok(())
    }
}

/// The model that there is: the one that was chosen, or else the one that is used where nobody chose.
fn current(source: &dyn ModelSource, models: &Models) -> Result<Option<Model>> {
    match (&models.current, source.standard()) {
        (Some(model), _) => Ok(Some(model.clone())),
        (None, Some(name)) => {
            let space = source.open(name)?.space().clone();
            Ok(Some(Model { name: name.to_owned(), space }))
        }
        (None, None) => Ok(None),
    }
}

fn unnamed(embedder: &dyn Embedder) -> Model {
    Model { name: String::new(), space: embedder.space().clone() }
}

fn underway(next: &Model, wanted: &Model) -> Error {
    let what = format!(
        "the model of this namespace is being changed to {}, and cannot be changed to {}",
        next.space, wanted.space
    );
    Error::conflict("model_change_underway", what)
        .hint("go on with that one, or give it up first: `samite memory reindex --abandon`")
}
