//! What others may be given.

use crate::error::{Error, Result};

/// What a processor can be said to receive.
pub const RECEIVES: [&str; 7] = ["sessions", "workspaces", "artifacts", "memory", "audit", "backups", "datasets"];

/// Refuses a list of stores that is empty, or names one that there is not.
///
/// # Errors
/// `invalid` (`bad_receives`).
pub fn check_receives<'a>(stores: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut any = false;
    for store in stores {
        any = true;
        if !RECEIVES.contains(&store) {
            return Err(Error::invalid("bad_receives", format!("{store:?} is nothing that a processor receives"))
                .hint(format!("what there is: {}", RECEIVES.join(", "))));
        }
    }
    if any {
        return Ok(());
    }
    Err(Error::invalid("bad_receives", "a processor that receives nothing needs no record")
        .hint(format!("what there is: {}", RECEIVES.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_receives_stores_that_there_are() {
        check_receives(["sessions", "backups"]).unwrap();
        assert_eq!(check_receives(["cellar"]).unwrap_err().code(), "bad_receives");
        assert_eq!(check_receives([]).unwrap_err().code(), "bad_receives");
    }
}
