//! What a token must be like to be believed, and where in it a principal stands.

use crate::fetch::KeySource;
use samite_model::{Error, Principal, Result, Tenant};
use serde::Deserialize;
use std::path::Path;

/// Whom to believe.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The issuers, each by its name in the claim `iss`.
    #[serde(default, rename = "issuer")]
    pub issuers: Vec<Issuer>,
    /// Static tokens for development, which count only where that was asked for.
    #[serde(default, rename = "development")]
    pub development: Vec<DevelopmentToken>,
}

/// One issuer of tokens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// Its name: the claim `iss`, exactly.
    pub name: String,
    /// What tokens must be meant for: one of these stands in `aud`.
    pub audience: Vec<String>,
    /// Its keys, a JSON Web Key Set: an `https:` URL (`http:` on this machine only), or a file, which is relative to that of
    /// the configuration.
    pub keys: String,
    /// What its users are called.
    #[serde(default)]
    pub users: Users,
    /// Where the parts of a principal stand.
    #[serde(default)]
    pub claims: Claims,
}

/// What users are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Users {
    /// By issuer and subject, `ISSUER|SUBJECT`: no two issuers ever name the same one.
    #[default]
    IssuerAndSubject,
    /// By subject alone, which only one issuer's users can be.
    Subject,
}

/// The claims that the parts of a principal stand in. A name that begins with `/` is a path into nested objects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    /// The tenant.
    pub tenant: String,
    /// The agent, where the token has no `act`: the first of these that it has.
    pub agent: Vec<String>,
    /// The workload: the first of these that the token has, such as a SPIFFE id.
    pub workload: Vec<String>,
    /// The scopes: words in a string, or a list of strings.
    pub scopes: String,
}

impl Default for Claims {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            tenant: "tenant".to_owned(),
            agent: names(&["azp", "client_id"]),
            workload: names(&["spiffe_id", "workload"]),
            scopes: "scope".to_owned(),
        }
    }
}

/// A token that is what it says by being written down, for development.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevelopmentToken {
    /// The token itself.
    pub token: String,
    /// Whom it stands for.
    #[serde(flatten)]
    pub principal: DevelopmentPrincipal,
}

/// Whom a development token stands for.
#[derive(Clone, Debug, Deserialize)]
pub struct DevelopmentPrincipal {
    /// The tenant.
    pub tenant: Tenant,
    /// The user.
    pub user: String,
    /// The agent.
    pub agent: String,
    /// The workload.
    pub workload: String,
    /// The scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The agents that this one works for, the outermost first.
    #[serde(default)]
    pub parents: Vec<String>,
}

impl std::fmt::Debug for DevelopmentToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DevelopmentToken").field("principal", &self.principal).finish_non_exhaustive()
    }
}

impl DevelopmentToken {
    /// The principal.
    pub(crate) fn principal(&self) -> Principal {
        let DevelopmentPrincipal { tenant, user, agent, workload, scopes, parents } = self.principal.clone();
        Principal { tenant, user, agent, workload, scopes, parents }
    }
}

/// The shortest development token: none that is guessed or typed by mistake.
const SHORTEST: usize = 16;

impl Config {
    /// Reads a configuration in TOML. Files that it names are relative to `directory`.
    ///
    /// # Errors
    /// `invalid` (`bad_identity_config`), naming what is wrong; the text itself is never shown.
    pub fn parse(text: &str, directory: &Path) -> Result<Self> {
        let mut config: Self = toml::from_str(text).map_err(|error: toml::de::Error| {
            // The error's own display quotes lines of the file, which may hold a development token.
            let line = error.span().map_or(0, |span| text.get(..span.start).unwrap_or_default().matches('\n').count());
            wrong(&format!("line {}: {}", line + 1, error.message()))
        })?;
        for issuer in &mut config.issuers {
            issuer.keys = KeySource::parse(&issuer.keys, directory)?.to_string();
        }
        config.check()?;
        Ok(config)
    }

    /// Whether it can be meant.
    ///
    /// # Errors
    /// `invalid` (`bad_identity_config`).
    pub fn check(&self) -> Result<()> {
        if self.issuers.is_empty() && self.development.is_empty() {
            return Err(wrong("no issuer is named"));
        }
        for (place, issuer) in self.issuers.iter().enumerate() {
            if issuer.name.is_empty() || issuer.audience.is_empty() || issuer.audience.iter().any(String::is_empty) {
                return Err(wrong(&format!("issuer {} needs a name and an audience", place + 1)));
            }
            if self.issuers.iter().take(place).any(|other| other.name == issuer.name) {
                return Err(wrong(&format!("issuer {:?} is there twice", issuer.name)));
            }
            if issuer.users == Users::Subject && self.issuers.len() > 1 {
                return Err(wrong("users by subject alone are one issuer's: two could name the same one"));
            }
            let Claims { tenant, agent, workload, scopes } = &issuer.claims;
            if [tenant, scopes].into_iter().chain(agent).chain(workload).any(String::is_empty) || workload.is_empty() {
                return Err(wrong(&format!("issuer {:?} names a claim without a name", issuer.name)));
            }
        }
        for token in &self.development {
            if token.token.len() < SHORTEST || !token.token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(wrong(&format!("a development token has at least {SHORTEST} printable characters")));
            }
            token.principal().check()?;
        }
        Ok(())
    }
}

pub(crate) fn wrong(message: &str) -> Error {
    Error::invalid("bad_identity_config", format!("the identity configuration is wrong: {message}"))
        .hint("docs/identity.md has one that is right")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
[[issuer]]
name = "https://issuer.example"
audience = ["samite"]
keys = "keys.json"
users = "subject"

[issuer.claims]
tenant = "/realm/tenant"
agent = ["client"]
workload = ["pod"]
scopes = "scp"

[[development]]
token = "development-only-1"
tenant = "acme"
user = "ada"
agent = "editor"
workload = "laptop"
"#;

    #[test]
    fn a_whole_one_is_read() {
        let config = Config::parse(WHOLE, Path::new("/etc/samite")).unwrap();
        assert_eq!(config.issuers[0].keys, "/etc/samite/keys.json");
        assert_eq!(config.issuers[0].users, Users::Subject);
        assert_eq!(config.issuers[0].claims.workload, ["pod"]);
        assert_eq!(config.development[0].principal().user, "ada");
        assert!(!format!("{config:?}").contains("development-only-1"));
    }

    #[test]
    fn a_wrong_one_is_refused_and_not_quoted() {
        let issuer = "[[issuer]]\nname = \"i\"\naudience = [\"a\"]\nkeys = \"k\"\n";
        for (text, says) in [
            (String::new(), "no issuer"),
            ("[[issuer]]\nname = \"i\"\nkeys = \"k\"\n".to_owned(), "audience"),
            (format!("{issuer}{issuer}"), "twice"),
            (format!("{issuer}users = \"subject\"\n{}", issuer.replace("\"i\"", "\"j\"")), "subject alone"),
            (issuer.replace("\"k\"", "\"http://issuer.example/k\""), "https"),
            (format!("{issuer}leeway = 900\n"), "leeway"),
            (issuer.replace("[\"a\"]", "[]"), "audience"),
            (format!("{issuer}claims.tenant = \"\"\n"), "without a name"),
            (
                "[[development]]\ntoken = \"short\"\ntenant = \"a\"\nuser = \"u\"\nagent = \"a\"\nworkload = \"w\"\n"
                    .to_owned(),
                "at least 16",
            ),
        ] {
            let error = Config::parse(&text, Path::new("/")).unwrap_err();
            assert_eq!(error.code(), "bad_identity_config", "{text}");
            assert!(error.message().contains(says), "{text}: {error}");
        }
        let broken = WHOLE.replace("\"laptop\"", "laptop");
        let error = Config::parse(&broken, Path::new("/")).unwrap_err();
        assert!(
            !format!("{error:?}").contains("development-only-1") && error.message().contains("line 19"),
            "{error:?}"
        );
    }
}
