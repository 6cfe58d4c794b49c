//! Regions: where a tenant's data may be.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest name of a region.
const LONGEST: usize = 32;

/// A region, by the name that the operator gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Region(String);

impl Region {
    /// A region of this name: lower-case letters, digits and `-`, 1 to 32 of them.
    ///
    /// # Errors
    /// `invalid` (`bad_region`) for any other name.
    pub fn new(name: &str) -> Result<Self> {
        let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > LONGEST || !name.bytes().all(is_good) {
            return Err(Error::invalid("bad_region", format!("{name:?} is no name of a region"))
                .hint("lower-case letters, digits and -, at most 32 of them: eu, us-east-1"));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Region {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::new(name)
    }
}

impl TryFrom<String> for Region {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(&name)
    }
}

impl From<Region> for String {
    fn from(region: Region) -> Self {
        region.0
    }
}

/// Whether data of a tenant may go somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The tenant is pinned to no region.
    Unpinned,
    /// It is the tenant's own region.
    Home,
    /// It is another, for which a transfer was decided.
    Decided,
    /// It is another, for which none was.
    Refused,
}

impl Placement {
    /// Whether data of a tenant that is pinned to `home` may go to `to`, where transfers to `decided` were decided.
    pub fn of<'a>(home: Option<&Region>, to: &Region, decided: impl IntoIterator<Item = &'a Region>) -> Self {
        match home {
            None => Self::Unpinned,
            Some(home) if home == to => Self::Home,
            Some(_) if decided.into_iter().any(|region| region == to) => Self::Decided,
            Some(_) => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str) -> Region {
        Region::new(name).unwrap()
    }

    #[test]
    fn regions_have_plain_names() {
        for good in ["eu", "us-east-1", "a", &"r".repeat(32)] {
            assert_eq!(Region::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "EU", "eu west", "eu\n", "../eu", &"r".repeat(33), "é"] {
            assert_eq!(Region::new(bad).unwrap_err().code(), "bad_region", "{bad}");
            assert!(serde_json::from_value::<Region>(bad.into()).is_err(), "{bad}");
        }
        assert_eq!(serde_json::to_string(&region("eu")).unwrap(), r#""eu""#);
    }

    #[test]
    fn data_goes_home_or_where_it_was_decided() {
        let (eu, us) = (region("eu"), region("us"));
        assert_eq!(Placement::of(None, &us, []), Placement::Unpinned);
        assert_eq!(Placement::of(Some(&eu), &eu, []), Placement::Home);
        assert_eq!(Placement::of(Some(&eu), &us, []), Placement::Refused);
        assert_eq!(Placement::of(Some(&eu), &us, [&eu]), Placement::Refused);
        assert_eq!(Placement::of(Some(&eu), &us, [&us]), Placement::Decided);
    }
}
