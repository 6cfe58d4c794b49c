//! Destroying what was registered as a secret: forgetting it, or registering another in its place, is an erasure of the
//! entries that hold it.

use super::start::Why;
use super::{EraseOptions, EraseWhat, ErasureRecord};
use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::payload::SecretRegistered;
use data_encoding::BASE64;
use samite_model::erasure::Run;
use samite_model::{EntryKind, Error, Observer, Position, Pseudonym, Result};

impl Core {
    /// The entries that hold what was registered under a name, by the name's keyed hash.
    pub(super) async fn secret_runs(&self, hash: [u8; 16]) -> Result<Vec<Run>> {
        let all: Vec<(Position, SecretRegistered)> = self.said_of_tenant(EntryKind::SECRET_REGISTERED).await?;
        let of_it = all.into_iter().filter(|(_, said)| said.secret.is_some() && self.secret_hash(&said.name) == hash);
        Ok(of_it.map(|(at, _)| Run { journal: at.journal, first: at.seq, last: at.seq }).collect())
    }

    /// Who registered what is registered under a name, or was last.
    pub(super) async fn owner_of_secret(&self, name: &str) -> Result<Pseudonym> {
        let runs = self.secret_runs(self.secret_hash(name)).await?;
        let Some(last) = runs.last() else { return Err(no_secret(name)) };
        Ok(self.entry_at(Position { journal: last.journal, seq: last.last }).await?.header.owner)
    }
}

/// The error for a name under which nothing is registered.
pub(crate) fn no_secret(name: &str) -> Error {
    let shown: String = name.chars().take(40).collect();
    Error::not_found("no_secret", format!("no secret {shown:?} is registered"))
        .hint("`samite secrets list` shows which are")
}

impl Embedded {
    /// Forgets a registered secret, and destroys what held it: it is not looked for any more, and the entries in which it was
    /// sealed become tombstones, here and in an older copy of the store before that serves. When this returns, both are done;
    /// an erasure that is cut off is finished as any other.
    ///
    /// # Errors
    /// `not_found` (`no_secret`) when none of this name is registered; `denied` (`scope_missing`) for whoever may not operate
    /// the tenant, and `legal_hold` where an older version put it in the name of a person who is held; as [`Embedded::erase`].
    pub async fn forget_secret(&self, client: &Client, name: &str) -> Result<ErasureRecord> {
        let forgotten = SecretRegistered { name: name.to_owned(), secret: None };
        self.take_secret(client, &forgotten, "a registered secret was forgotten").await
    }

    /// Registers a secret, as [`Client::register_secret`]; where one of this name is registered, that is destroyed, as
    /// [`Embedded::forget_secret`] does it.
    ///
    /// # Errors
    /// As both.
    pub async fn register_secret(&self, client: &Client, name: &str, secret: &[u8]) -> Result<Option<ErasureRecord>> {
        if client.core.secret_runs(client.core.secret_hash(name)).await?.is_empty() {
            return client.register_secret(name, secret).await.map(|()| None);
        }
        client.check_secret(name, secret).await?;
        let registered = SecretRegistered { name: name.to_owned(), secret: Some(BASE64.encode(secret)) };
        self.take_secret(client, &registered, "another was registered in place of a secret").await.map(Some)
    }

    async fn take_secret(&self, client: &Client, said: &SecretRegistered, reason: &str) -> Result<ErasureRecord> {
        let options = EraseOptions {
            what: EraseWhat::Secret(said.name.clone()),
            reason: reason.to_owned(),
            also: Vec::new(),
            observer: Observer::default(),
        };
        let client = client.to_erase(&options.what).await?;
        let entry = client.secret_entry(said)?;
        let erased = self.erase_with(&client, &options, Why::Asked, vec![entry]).await;
        client.core.look_again();
        erased
    }
}
