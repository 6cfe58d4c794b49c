//! Vectors from an endpoint that answers as `OpenAI`'s does: `POST {base}/embeddings`.
//!
//! The request and answer are those of <https://platform.openai.com/docs/api-reference/embeddings>, as many servers have them.

mod answer;
mod base;
mod key;
mod request;

use crate::embedder::{Embedder, Side, accept, prefixed, refuse_blank};
use base::Base;
use samite_model::memory::{Normalisation, Pooling, Space, SpaceParts};
use samite_model::{Error, Result};
use std::borrow::Cow;
use std::io::Read as _;
use std::time::Duration;
use ureq::Agent;
use ureq::http::HeaderValue;

pub use key::{ApiKey, KeySource};

/// The longest answer, beside what the vectors take: 1 MiB.
const LONGEST_REST: usize = 1 << 20;
/// The most bytes of a number and the comma behind it, with room for indentation.
const LONGEST_NUMBER: usize = 48;

/// Which endpoint, which model, and within what limits.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// The address before `/embeddings`: `https://…`, or `http://…` on this machine.
    pub base: String,
    /// Whether `http://…` may lead to other machines, as it does in a private network. Everybody between reads the texts; a key is
    /// never sent that way.
    pub plain_http: bool,
    /// The name in the space; the base's host when there is none.
    pub provider: Option<String>,
    /// The model's name as the endpoint knows it.
    pub model: String,
    /// Which of the models of this name, if that is known; else empty.
    pub revision: String,
    /// How many numbers its vectors have.
    pub dimensions: u32,
    /// Whether that number is in the request, for models that give as many as one asks for.
    pub ask_dimensions: bool,
    /// What is put before a query.
    pub query_prefix: String,
    /// What is put before a text that is to be found.
    pub passage_prefix: String,
    /// At how many characters a text is cut, prefix and all. How many tokens that is only the endpoint knows; it refuses what is
    /// too long (`embedder_refused`).
    pub longest_text: usize,
    /// The most texts of one request.
    pub batch: usize,
    /// The most bytes of the texts of one request; one text is asked for however long it is.
    pub batch_bytes: usize,
    /// How long one request may take, from looking up the name to the last byte of the answer.
    pub time_limit: Duration,
}

impl EndpointOptions {
    /// A model of an endpoint, with the limits that most keep to: texts of 8,000 characters, 64 of them and 512 KiB in a request,
    /// 30 seconds.
    pub fn new(base: impl Into<String>, model: impl Into<String>, dimensions: u32) -> Self {
        Self {
            base: base.into(),
            plain_http: false,
            provider: None,
            model: model.into(),
            revision: String::new(),
            dimensions,
            ask_dimensions: false,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            longest_text: 8_000,
            batch: 64,
            batch_bytes: 512 << 10,
            time_limit: Duration::from_secs(30),
        }
    }
}

/// Asks an endpoint. It follows no redirect, repeats nothing by itself, and sends nothing but texts, the model's name and the key.
pub struct Endpoint {
    space: Space,
    base: Base,
    options: EndpointOptions,
    key: Option<KeySource>,
    agent: Agent,
}

impl Endpoint {
    /// An endpoint; nothing is sent. A key is asked for at each request, so that one that is replaced is used at once.
    ///
    /// # Errors
    /// `invalid`: `bad_endpoint` for an address that is none or would send a key, or without leave a text, as plain text to another
    /// machine; `bad_space`.
    pub fn new(options: EndpointOptions, key: Option<KeySource>) -> Result<Self> {
        let base = Base::parse(&options.base)?;
        base.allow(key.is_some(), options.plain_http)?;
        let space = Space::new(SpaceParts {
            provider: options.provider.clone().unwrap_or_else(|| base.host().to_owned()),
            model: options.model.clone(),
            revision: options.revision.clone(),
            dimensions: options.dimensions,
            pooling: Pooling::Provider,
            query_prefix: options.query_prefix.clone(),
            passage_prefix: options.passage_prefix.clone(),
            normalisation: Normalisation::Unit,
        })?;
        let mut config = Agent::config_builder()
            .timeout_global(Some(options.time_limit))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("samite/", env!("CARGO_PKG_VERSION")));
        if base.is_here() {
            // A proxy would look at its own machine.
            config = config.proxy(None);
        }
        Ok(Self { space, base, options, key, agent: config.build().into() })
    }

    /// The host that texts are sent to, in lower case: a name or an address, without its port.
    pub fn host(&self) -> &str {
        self.base.host()
    }

    /// One request.
    fn ask(&self, texts: &[Cow<'_, str>]) -> Result<Vec<Vec<f32>>> {
        let dimensions = self.options.ask_dimensions.then_some(self.options.dimensions);
        let body = request::body(&self.options.model, texts, dimensions)?;
        let url = self.base.embeddings();
        let failed = |error: &dyn std::fmt::Display| {
            Error::unavailable("embedder_unavailable", format!("the embeddings of {url} cannot be had: {error}"))
                .hint("look whether it runs and its address is right, then try again")
        };
        let mut request = self.agent.post(&url).header("content-type", "application/json");
        if let Some(source) = &self.key {
            let key = source()?;
            let mut value = HeaderValue::from_str(&key.bearer()).map_err(|_| key::unusable())?;
            value.set_sensitive(true);
            request = request.header("authorization", value);
        }
        let mut response = request.send(&body).map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let longest = LONGEST_REST + texts.len() * self.space.dimensions() * LONGEST_NUMBER;
        let mut bytes = Vec::new();
        let limit = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
        response.body_mut().as_reader().take(limit).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        answer::check_status(&url, status, wait, &bytes)?;
        if bytes.len() > longest {
            return Err(answer::wrong(&url, &format!("it is longer than {longest} bytes")));
        }
        accept(&self.space, texts.len(), answer::vectors(&url, texts.len(), &bytes)?)
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Endpoint({} at {})", self.space, self.base.embeddings())
    }
}

impl Embedder for Endpoint {
    fn space(&self) -> &Space {
        &self.space
    }

    fn processor(&self) -> Option<&str> {
        // Who has a name of its own is one, wherever it is.
        let is_one = self.options.provider.is_some() || !self.base.is_here();
        is_one.then_some(self.space.parts().provider.as_str())
    }

    /// As [`Embedder::embed`], in as many requests as the batches' limits make of the texts, each with the time limit.
    ///
    /// # Errors
    /// As there; `unavailable` (`embedder_unavailable`) when it cannot be reached, takes too long, has too much to do (429) or fails
    /// (5xx); `denied` (`embedder_denied`) when it does not take the key (401, 403); `invalid`: `embedder_refused` for what else it
    /// does not answer, `bad_embeddings` when its answer is no vector for each text; what the source of the key says.
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>> {
        refuse_blank(texts)?;
        let longest = self.options.longest_text.max(1);
        let cut = |text| request::cut(prefixed(&self.space, text, side), longest);
        let texts: Vec<Cow<'_, str>> = texts.iter().copied().map(cut).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in request::batches(&texts, self.options.batch, self.options.batch_bytes) {
            vectors.extend(self.ask(batch)?);
        }
        Ok(vectors)
    }
}
