//! Which models make the vectors of a namespace.

use crate::client::Client;
use crate::core::Core;
use crate::memory::Memory;
use crate::payload::ProcessorSet;
use crate::views::register;
use samite_embed::Embedder;
use samite_model::memory::{Model, Models};
use samite_model::policy::Placement;
use samite_model::{Error, Result, SpaceId};
use std::sync::Arc;

/// What opens models by their names.
pub trait ModelSource: Send + Sync {
    /// The model of a namespace for which nobody chose one; none where it is searched by words alone.
    fn standard(&self) -> Option<&str>;

    /// A model, which is best kept open.
    ///
    /// # Errors
    /// Its own, for a name that it does not know, or a model that is not there.
    fn open(&self, name: &str) -> Result<Arc<dyn Embedder>>;
}

/// What a namespace is searched with besides words.
#[derive(Clone, Default)]
pub(in crate::memory) enum Encoding {
    /// Nothing.
    #[default]
    Words,
    /// This encoder, whatever was chosen for the namespace: where that is another one, it is an error.
    Pinned(Arc<dyn Embedder>),
    /// Those that were chosen.
    Named(Arc<dyn ModelSource>),
}

/// The encoders of a namespace's spaces, the one that matters most first.
#[derive(Default)]
pub(in crate::memory) struct Encoders {
    pub(in crate::memory) all: Vec<Arc<dyn Embedder>>,
    /// The spaces that were chosen; none where nobody chose any.
    pub(super) chosen: Vec<SpaceId>,
    /// Why one of them is missing.
    pub(in crate::memory) failed: Option<Error>,
}

impl Memory {
    /// The same namespace, searched by vectors of this encoder too. Where its vectors are of another space, searching it is an error.
    #[must_use]
    pub fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Self {
        Self { encoding: Encoding::Pinned(embedder), ..self.clone() }
    }

    /// The same namespace, searched by vectors of the model that was chosen for it too, which is found by its name.
    #[must_use]
    pub fn with_models(&self, source: Arc<dyn ModelSource>) -> Self {
        Self { encoding: Encoding::Named(source), ..self.clone() }
    }

    /// The encoders of the spaces that are searched. One that cannot be had is left out.
    ///
    /// # Errors
    /// `conflict` (`space_mismatch`), naming both spaces, for one whose vectors are of another space than those that there are.
    pub(in crate::memory) async fn encoders(&self, models: &Models) -> Result<Encoders> {
        let mut encoders = Encoders::default();
        if models.current.is_some() {
            encoders.chosen.extend(models.spaces());
        }
        let opened = match &self.encoding {
            Encoding::Words => return Ok(encoders),
            Encoding::Pinned(embedder) => {
                if let Some(current) = &models.current
                    && models.spaces().all(|space| space != embedder.space().id())
                {
                    current.space.same(embedder.space())?;
                }
                vec![Ok(embedder.clone())]
            }
            Encoding::Named(source) => {
                let mut opened = Vec::new();
                match &models.current {
                    Some(model) => opened.push(open(source.as_ref(), model)?),
                    None => opened.extend(source.standard().map(|name| source.open(name))),
                }
                if let Some(next) = &models.next {
                    // What it is changed to is not needed to answer.
                    opened.push(open(source.as_ref(), next).unwrap_or_else(Err));
                }
                opened
            }
        };
        for embedder in opened {
            let allowed = match embedder {
                Ok(embedder) => self.client.may_embed_with(embedder.as_ref()).await.map(|()| embedder),
                Err(error) => Err(error),
            };
            match allowed {
                Ok(embedder) => encoders.all.push(embedder),
                Err(error) => encoders.failed = Some(error),
            }
        }
        Ok(encoders)
    }
}

/// A model that was chosen: an error only where it is there, and another one.
fn open(source: &dyn ModelSource, model: &Model) -> Result<Result<Arc<dyn Embedder>>> {
    match source.open(&model.name) {
        Ok(embedder) => model.space.same(embedder.space()).map(|()| Ok(embedder)),
        Err(error) => Ok(Err(error)),
    }
}

impl Client {
    /// Refuses to give the tenant's texts to a processor that is not registered for that, or not where they may be.
    pub(in crate::memory) async fn may_embed_with(&self, embedder: &dyn Embedder) -> Result<()> {
        match embedder.processor() {
            Some(name) => self.core.may_receive_memory(name).await,
            None => Ok(()),
        }
    }
}

impl Core {
    async fn may_receive_memory(&self, name: &str) -> Result<()> {
        let (_, registers) = self.decided_registers().await?;
        let denied = |what: String| {
            Error::denied("no_processor_for_memory", what)
                .hint(format!("an operator registers it: `samite processor register {name} --receives memory …`"))
        };
        for entry in self.standing(&registers, register::PROCESSOR).await? {
            let set: ProcessorSet = entry.json()?;
            if set.name != name {
                continue;
            }
            if !set.receives.iter().any(|store| store == "memory") {
                return Err(denied(format!("processor {name:?} is not registered to receive memory")));
            }
            // Where it is was decided when it was registered; the tenant may have been pinned since.
            if self.placement(&set.region).await?.1 == Placement::Refused {
                return Err(self.refuse_region(&format!("processor {name:?}"), Some(&set.region)).await?);
            }
            return Ok(());
        }
        Err(denied(format!("no processor {name:?} is registered, and texts of memory are sent to nobody else")))
    }
}
