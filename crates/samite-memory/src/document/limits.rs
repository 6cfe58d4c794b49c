//! How long pieces are, and what of a text counts how much.

use crate::text::{Script, is_unseen};

/// How long pieces are, in characters of Latin script.
///
/// What a model reads is counted in tokens, of which a script without spaces has about one a character and Latin script one
/// in four. So a character of Chinese, Japanese, Korean or Thai counts as four, one of another script that is not Latin as two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    least: u64,
    usual: u64,
    most: u64,
}

impl Limits {
    /// Pieces of about so many characters: half of it at least, where there is more of the text, and eight fifths at most.
    ///
    /// Fewer than 40 are taken as 40, more than 100,000 as 100,000.
    pub fn about(characters: u32) -> Self {
        let usual = u64::from(characters.clamp(40, 100_000));
        Self { least: usual / 2, usual, most: usual * 8 / 5 }
    }

    /// What a piece has at least, where there is more of the text and no better place to cut.
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// What a rest may have that is not looked at for a cut.
    pub const fn usual(&self) -> u64 {
        self.usual
    }

    /// What no piece exceeds.
    pub const fn most(&self) -> u64 {
        self.most
    }
}

impl Default for Limits {
    /// About 1,000 characters, 1,600 at most: a model that reads 256 tokens reads nearly all of it.
    fn default() -> Self {
        Self::about(1000)
    }
}

/// What a character counts.
pub(super) fn weight(character: char) -> u64 {
    if character < '\u{370}' {
        return 1;
    }
    match Script::of(character) {
        Script::Unspaced => 4,
        // Their punctuation, and the wide forms of other characters.
        _ if matches!(character, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}') => 4,
        Script::Latin => 1,
        Script::Other if ('\u{2000}'..='\u{20ff}').contains(&character) => 1,
        _ => 2,
    }
}

/// Whether a character says nothing by itself: blanks, control characters, what nobody sees.
pub(super) fn is_silent(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        // A tone of skin is seen when nothing is before it.
        || is_unseen(character) && !('\u{1f3fb}'..='\u{1f3ff}').contains(&character)
}
