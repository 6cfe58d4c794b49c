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
    /// The tenants that it speaks for: tokens for others are refused. None is every one, for who is the only issuer.
    #[serde(default)]
    pub tenants: Option<Vec<Tenant>>,
    /// What its users are called.
    #[serde(default)]
    pub users: Users,
    /// What its agents are called.
    #[serde(default)]
    pub agents: Agents,
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
    /// By subject alone, in tenants for which no other issuer speaks.
    Subject,
}

/// What agents are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agents {
    /// By name alone, in tenants for which no other issuer speaks.
    #[default]
    Name,
    /// By issuer and name, `ISSUER|NAME`: no two issuers ever name the same one.
    IssuerAndName,
}

impl Issuer {
    /// Whether it speaks for a tenant.
    pub fn speaks_for(&self, tenant: &Tenant) -> bool {
        self.tenants.as_ref().is_none_or(|tenants| tenants.contains(tenant))
    }

    fn shares_with(&self, other: &Self) -> bool {
        match (&self.tenants, &other.tenants) {
            (Some(own), Some(others)) => own.iter().any(|tenant| others.contains(tenant)),
            _ => true,
        }
    }

    /// What an agent is called that a token names, with the issuer that the token says it is of, where it says one. The name of
    /// an issuer holds no `|`, so the first one ends it, and no name of one issuer is ever one of another.
    ///
    /// # Errors
    /// `denied` (`bad_actor`) for an issuer whose name cannot be told from the agent's.
    pub(crate) fn agent(&self, name: &str, of: Option<&str>) -> Result<String> {
        let of = of.filter(|of| *of != self.name);
        if of.is_some_and(|of| of.contains(SEPARATOR)) {
            return Err(Error::denied("bad_actor", "the token names an actor of an issuer whose name holds |")
                .hint("`iss` in `act` is an issuer's name"));
        }
        Ok(match (self.agents, of) {
            (Agents::Name, None) if !name.contains(SEPARATOR) => name.to_owned(),
            (_, None) => format!("{}{SEPARATOR}{name}", self.name),
            (Agents::Name, Some(of)) => format!("{of}{SEPARATOR}{name}"),
            // It is this issuer's word that it is the other's.
            (Agents::IssuerAndName, Some(of)) => format!("{}{SEPARATOR}{of}{SEPARATOR}{name}", self.name),
        })
    }
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

/// What stands between an issuer's name and what it names.
pub(crate) const SEPARATOR: char = '|';

/// The shortest development token: none that is guessed or typed by mistake.
const SHORTEST: usize = 16;

impl Config {
    /// Reads a configuration in TOML. Files that it names are relative to `directory`.
    ///
    /// # Errors
    /// `invalid` (`bad_identity_config`), naming what is wrong; the text itself is never shown.
    pub fn parse(text: &str, directory: &Path) -> Result<Self> {
        let mut config: Self = toml::from_str(text).map_err(|error: toml::de::Error| {
            // The error's own display quotes lines of the file, and its message values, which may be a development token.
            let line = error.span().map_or(0, |span| text.get(..span.start).unwrap_or_default().matches('\n').count());
            wrong(&format!("line {}: {}", line + 1, unquoted(error.message())))
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
            if issuer.name.contains(SEPARATOR) {
                return Err(wrong(&format!(
                    "the name of issuer {} holds {SEPARATOR}, which ends it in names",
                    place + 1
                )));
            }
            if issuer.tenants.as_ref().is_some_and(Vec::is_empty) {
                return Err(wrong(&format!("issuer {:?} speaks for no tenant", issuer.name)));
            }
            if issuer.tenants.is_none() && self.issuers.len() > 1 {
                return Err(wrong(&format!(
                    "issuer {:?} needs `tenants`: of several issuers each says which tenants it speaks for",
                    issuer.name
                )));
            }
            let named = issuer.users == Users::Subject || issuer.agents == Agents::Name;
            if named && self.issuers.iter().any(|other| other.name != issuer.name && issuer.shares_with(other)) {
                return Err(wrong(&format!(
                    "issuer {:?} shares a tenant with another, which could give the same names: it needs users = \
                     \"issuer_and_subject\" and agents = \"issuer_and_name\"",
                    issuer.name
                )));
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

/// What a parser says without what it quotes of the file: where it stands is told by the line.
fn unquoted(message: &str) -> String {
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    let begins = |word: &str| message.starts_with(word);
    match expected {
        Some(expected) if begins("invalid type") || begins("invalid value") => {
            format!("another kind of value stands there: expected {expected}")
        }
        Some(expected) if begins("unknown field") => format!("a name that is not known: expected {expected}"),
        Some(expected) if begins("unknown variant") => format!("a word that is not known: expected {expected}"),
        // The names of fields are ours.
        _ if begins("missing field `") => message.to_owned(),
        _ => "it cannot be read".to_owned(),
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
    fn in_a_tenant_names_are_one_issuers() {
        let issuer = |name: &str, tenants: &str, more: &str| {
            format!("[[issuer]]\nname = \"{name}\"\naudience = [\"a\"]\nkeys = \"k\"\ntenants = [{tenants}]\n{more}")
        };
        let plain = "users = \"subject\"\n";
        let whole = "agents = \"issuer_and_name\"\n";
        for (text, is_right) in [
            (issuer("i", "\"acme\"", plain) + &issuer("j", "\"other\"", plain), true),
            (issuer("i", "\"acme\"", plain) + &issuer("j", "\"other\", \"acme\"", plain), false),
            (issuer("i", "\"acme\"", whole) + &issuer("j", "\"acme\"", ""), false),
            (issuer("i", "\"acme\"", whole) + &issuer("j", "\"acme\"", whole), true),
        ] {
            let found = Config::parse(&text, Path::new("/"));
            assert_eq!(found.is_ok(), is_right, "{text}: {found:?}");
            assert!(is_right || found.unwrap_err().message().contains("shares a tenant"));
        }
        // Whatever two issuers call an agent of theirs, or of each other, it is never the same.
        let text = issuer("i", "\"acme\"", whole) + &issuer("j", "\"acme\"", whole);
        let config = Config::parse(&text, Path::new("/")).unwrap();
        let names = ["a", "j|a", "i|a", "|a", "i"];
        let of = [None, Some("i"), Some("j"), Some("k")];
        let all = |issuer: &Issuer| -> Vec<String> {
            names.iter().flat_map(|name| of.map(|of| issuer.agent(name, of).unwrap())).collect()
        };
        let (one, other) = (all(&config.issuers[0]), all(&config.issuers[1]));
        assert!(one.iter().all(|name| !other.contains(name)), "{one:?} {other:?}");
        assert!(config.issuers[0].agent("a", Some("i|j")).is_err());
        // Where names are plain, one that holds the separator is none that another issuer's could be.
        let alone = Config::parse(&issuer("i", "\"acme\"", plain), Path::new("/")).unwrap();
        let agent = |name: &str, of: Option<&str>| alone.issuers[0].agent(name, of).unwrap();
        assert_eq!(
            (agent("a", None), agent("j|b", None), agent("b", Some("j"))),
            ("a".into(), "i|j|b".into(), "j|b".into())
        );
    }

    #[test]
    fn a_wrong_one_is_refused_and_not_quoted() {
        let issuer = "[[issuer]]\nname = \"i\"\naudience = [\"a\"]\nkeys = \"k\"\n";
        for (text, says) in [
            (String::new(), "no issuer"),
            ("[[issuer]]\nname = \"i\"\nkeys = \"k\"\n".to_owned(), "audience"),
            (format!("{issuer}tenants = [\"a\"]\n{issuer}"), "twice"),
            (format!("{issuer}{}", issuer.replace("\"i\"", "\"j\"")), "which tenants"),
            (format!("{issuer}tenants = []\n"), "no tenant"),
            (issuer.replace("\"i\"", "\"i|j\""), "holds |"),
            (issuer.replace("\"k\"", "\"http://issuer.example/k\""), "https"),
            (format!("{issuer}leeway = 900\n"), "line 5: a name that is not known"),
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
        // Whatever stands where a token, a key or a word should be, nothing of it is told.
        for quoted in [
            WHOLE.replace("\"development-only-1\"", "1234567890123456"),
            WHOLE.replace("workload = \"laptop\"", "workload = \"laptop\"\nscopes = \"sixteen-and-more-1\""),
            WHOLE.replace("token = ", "token = [\"sixteen-and-more-1\", 1234567890123456]\ntoken = "),
            WHOLE.replace("users = \"subject\"", "users = \"sixteen-and-more-1\""),
            WHOLE.replace("tenant = \"acme\"", "tenant = \"Sixteen-and-more-1\""),
            format!("{WHOLE}sixteen-and-more-1 = 2\n"),
            format!("{WHOLE}sixteen-and-more-1\n"),
        ] {
            assert_ne!(quoted, WHOLE);
            let error = format!("{:?}", Config::parse(&quoted, Path::new("/")).unwrap_err());
            assert!(!error.contains("ixteen-and") && !error.contains("1234567890123456"), "{error}");
        }
        let broken = WHOLE.replace("\"laptop\"", "laptop");
        let error = Config::parse(&broken, Path::new("/")).unwrap_err();
        assert!(
            !format!("{error:?}").contains("development-only-1") && error.message().contains("line 19"),
            "{error:?}"
        );
    }
}
