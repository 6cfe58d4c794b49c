//! The engine.

use crate::{LONGEST, SCHEMA, Target};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicySet, Request,
    RestrictedExpression, Schema, ValidationMode, Validator,
};
use samite_model::access::{Policy, ResourceKind, Right};
use samite_model::{Error, Principal, Result};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// So many findings are told at once.
const TOLD: usize = 10;

/// Policies, ready to be asked.
pub struct Engine {
    set: PolicySet,
    schema: Schema,
    authorizer: Authorizer,
    types: Types,
    warnings: Vec<String>,
}

/// The names of the schema's types.
struct Types {
    tenant: EntityTypeName,
    user: EntityTypeName,
    agent: EntityTypeName,
    workload: EntityTypeName,
    actor: EntityTypeName,
    session: EntityTypeName,
    artifact: EntityTypeName,
    action: EntityTypeName,
}

impl Types {
    fn new() -> Result<Self> {
        let name = |name: &str| format!("Samite::{name}").parse().map_err(|error| internal("a type", &error));
        Ok(Self {
            tenant: name("Tenant")?,
            user: name("User")?,
            agent: name("Agent")?,
            workload: name("Workload")?,
            actor: name("Actor")?,
            session: name("Session")?,
            artifact: name("Artifact")?,
            action: name("Action")?,
        })
    }
}

fn internal(what: &str, error: &dyn fmt::Display) -> Error {
    Error::internal("bad_policy_schema", format!("{what} of the policies' schema is none: {error}"))
}

fn bad(message: String) -> Error {
    Error::invalid("bad_policy", message)
        .hint("`samite policy organisation schema` prints what policies can speak of")
        .hint("https://docs.cedarpolicy.com has the language")
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

fn several(errors: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = errors.collect();
    let more = all.len().saturating_sub(TOLD);
    all.truncate(TOLD);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join("; ")
}

/// On which line of a text something is, from 1.
fn line(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

impl Engine {
    /// Reads policies and validates them against the [schema](SCHEMA).
    ///
    /// # Errors
    /// `invalid`: `bad_policy` for a text that is no policies, is too long, has none or has templates, or that speaks of what
    /// there is not; `internal` when the schema itself is none.
    pub fn new(text: &str) -> Result<Self> {
        if text.len() > LONGEST {
            return Err(bad(format!("the policies have {} bytes; at most {LONGEST} are read", text.len())));
        }
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| internal("the text", &error))?;
        let set: PolicySet = text.parse().map_err(|errors: cedar_policy::ParseErrors| {
            let all = errors.iter().map(|error| {
                use miette::Diagnostic as _;
                let place = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
                place.map_or_else(|| error.to_string(), |at| format!("line {}: {error}", line(text, at)))
            });
            bad(several(all))
        })?;
        if set.templates().next().is_some() {
            return Err(bad("a template decides nothing by itself: write policies without slots".to_owned()));
        }
        if set.policies().next().is_none() {
            return Err(bad("there is no policy in it, and without one everything is denied".to_owned()));
        }
        let result = Validator::new(schema.clone()).validate(&set, ValidationMode::Strict);
        if !result.validation_passed() {
            return Err(bad(several(result.validation_errors().map(ToString::to_string))));
        }
        let warnings = result.validation_warnings().map(ToString::to_string).collect();
        Ok(Self { set, schema, authorizer: Authorizer::new(), types: Types::new()?, warnings })
    }

    /// How many policies there are.
    pub fn count(&self) -> usize {
        self.set.policies().count()
    }

    /// What may be a mistake in them, in words.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What they say of one act: nothing against it, that it is forbidden, or that they could not be evaluated. They never
    /// permit what nothing else allows.
    pub fn say(&self, principal: &Principal, right: Right, target: &Target<'_>) -> Policy {
        // There is no such act: it is refused whatever they say, in the words for that.
        if !target.kind.rights().has(right) {
            return Policy::Silent;
        }
        let Some((request, entities)) = self.request(principal, right, target) else { return Policy::Failed };
        let response = self.authorizer.is_authorized(&request, &self.set, &entities);
        if response.diagnostics().errors().next().is_some() {
            return Policy::Failed;
        }
        match response.decision() {
            Decision::Allow => Policy::Silent,
            Decision::Deny => Policy::Forbid,
        }
    }

    fn request(&self, principal: &Principal, right: Right, target: &Target<'_>) -> Option<(Request, Entities)> {
        let types = &self.types;
        let reference = |uid: &EntityUid| RestrictedExpression::new_entity_uid(uid.clone());
        let tenant = uid(&types.tenant, target.tenant.as_str());
        let (user, agent) = (uid(&types.user, &principal.user), uid(&types.agent, &principal.agent));
        let workload = uid(&types.workload, &principal.workload);
        let parents: Vec<EntityUid> = principal.parents.iter().map(|parent| uid(&types.agent, parent)).collect();
        let actor = uid(&types.actor, "actor");
        let scopes = principal.scopes.iter().cloned().map(RestrictedExpression::new_string);
        let attributes = HashMap::from([
            ("user".to_owned(), reference(&user)),
            ("agent".to_owned(), reference(&agent)),
            ("workload".to_owned(), reference(&workload)),
            ("parents".to_owned(), RestrictedExpression::new_set(parents.iter().map(reference))),
            ("scopes".to_owned(), RestrictedExpression::new_set(scopes)),
        ]);
        let mut above: HashSet<EntityUid> = parents.iter().cloned().collect();
        above.extend([user.clone(), agent.clone(), workload.clone()]);
        let mut entities = vec![Entity::new(actor.clone(), attributes, above.clone()).ok()?];
        let mut named = above;
        let resource = match target.kind {
            ResourceKind::Tenant => tenant.clone(),
            kind => {
                let kind = if kind == ResourceKind::Session { &types.session } else { &types.artifact };
                let id = format!("{:032x}", u128::from_be_bytes(target.id?));
                let (mut attributes, mut above) = (HashMap::new(), HashSet::from([tenant.clone()]));
                if let Some(owner) = target.owner {
                    let owner = uid(&types.user, owner.as_str().strip_prefix("user:")?);
                    attributes.insert("owner".to_owned(), reference(&owner));
                    above.insert(owner.clone());
                    named.insert(owner);
                }
                let resource = uid(kind, &id);
                entities.push(Entity::new(resource.clone(), attributes, above).ok()?);
                resource
            }
        };
        for uid in named {
            entities.push(Entity::new(uid, HashMap::new(), HashSet::from([tenant.clone()])).ok()?);
        }
        entities.push(Entity::new_no_attrs(tenant, HashSet::new()));
        let entities = Entities::from_entities(entities, Some(&self.schema)).ok()?;
        let action = uid(&types.action, right.name());
        let request = Request::new(actor, action, resource, Context::empty(), Some(&self.schema)).ok()?;
        Some((request, entities))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("policies", &self.count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
