//! Which model makes the vectors of a namespace, and what it is changed to.

use super::space::Space;
use crate::id::SpaceId;
use serde::{Deserialize, Serialize};

/// A model, and the space of the vectors that it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// The name by which a process finds it: `builtin`, `file:DIR`, `endpoint:NAME`.
    pub name: String,
    /// The space.
    pub space: Space,
}

/// A step of a change of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStep {
    /// Vectors are made with this model too from now on.
    Begun,
    /// All have one: this is the model now.
    Done,
    /// It is not changed to this one after all.
    Abandoned,
}

/// `memory_model`: a step of a change of model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChanged {
    /// The step.
    pub step: ModelStep,
    /// The model that it is changed to.
    pub model: Model,
}

/// The models of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    /// The one that was changed to last; none where nobody ever changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Model>,
    /// The one that it is being changed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Model>,
}

impl Models {
    /// Takes in a step. One that comes too late, since somebody else changed or abandoned it, does nothing.
    pub fn apply(&mut self, changed: ModelChanged) {
        let is_next = self.next.as_ref().is_some_and(|next| next.space == changed.model.space);
        match changed.step {
            ModelStep::Begun if self.next.is_none() => self.next = Some(changed.model),
            ModelStep::Done if is_next => {
                self.next = None;
                self.current = Some(changed.model);
            }
            ModelStep::Abandoned if is_next => self.next = None,
            _ => {}
        }
    }

    /// The spaces that are named.
    pub fn spaces(&self) -> impl Iterator<Item = SpaceId> + '_ {
        self.current.iter().chain(&self.next).map(|model| model.space.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Normalisation, Pooling, SpaceParts};

    fn model(name: &str) -> Model {
        let space = Space::new(SpaceParts {
            provider: "test".into(),
            model: name.into(),
            revision: String::new(),
            dimensions: 2,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        });
        Model { name: name.into(), space: space.unwrap() }
    }

    #[test]
    fn a_model_is_changed_once_by_whoever_began_first() {
        use ModelStep::{Abandoned, Begun, Done};
        let after = |steps: &[(ModelStep, &str)]| {
            let mut models = Models::default();
            for (step, name) in steps {
                models.apply(ModelChanged { step: *step, model: model(name) });
            }
            let name = |model: Option<Model>| model.map(|model| model.name);
            (name(models.current), name(models.next))
        };
        let (a, b) = (|| Some("a".to_owned()), || Some("b".to_owned()));
        assert_eq!(after(&[(Begun, "a")]), (None, a()));
        assert_eq!(after(&[(Begun, "a"), (Begun, "b")]), (None, a()));
        assert_eq!(after(&[(Begun, "a"), (Done, "b")]), (None, a()));
        assert_eq!(after(&[(Begun, "a"), (Done, "a"), (Done, "a")]), (a(), None));
        assert_eq!(after(&[(Begun, "a"), (Done, "a"), (Begun, "b")]), (a(), b()));
        assert_eq!(after(&[(Begun, "a"), (Done, "a"), (Begun, "b"), (Abandoned, "a")]), (a(), b()));
        assert_eq!(after(&[(Begun, "a"), (Done, "a"), (Begun, "b"), (Abandoned, "b")]), (a(), None));
        assert_eq!(after(&[(Done, "a")]), (None, None));
    }
}
