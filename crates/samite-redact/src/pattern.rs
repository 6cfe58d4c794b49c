//! A user's own patterns.

use crate::finding::{Hit, Rank};
use crate::policy::{Class, EXPRESSION, PATTERNS, Pattern, check_name};
use regex::bytes::{Regex, RegexBuilder};
use samite_model::{Error, Result};
use std::borrow::Cow;

/// What one compiled expression, and what its cache, may take, in bytes.
const SIZE: usize = 1 << 20;

/// Compiled patterns.
#[derive(Debug)]
pub(crate) struct Finder(Vec<(String, Regex)>);

impl Finder {
    pub(crate) fn new(patterns: &[Pattern]) -> Result<Self> {
        if patterns.len() > PATTERNS {
            return Err(Error::invalid(
                "too_many_patterns",
                format!("{} patterns; a policy has at most {PATTERNS}", patterns.len()),
            ));
        }
        patterns.iter().map(compile).collect::<Result<_>>().map(Self)
    }

    pub(crate) fn find(&self, text: &[u8], hits: &mut Vec<Hit>) {
        for (name, regex) in &self.0 {
            let grouped = regex.capture_names().any(|group| group == Some("secret"));
            let mut add = |range: std::ops::Range<usize>| {
                if !range.is_empty() {
                    hits.push(Hit {
                        range,
                        class: Class::Pattern,
                        kind: Cow::Owned(name.clone()),
                        rank: Rank::Pattern,
                    });
                }
            };
            if grouped {
                for captures in regex.captures_iter(text) {
                    if let Some(group) = captures.name("secret") {
                        add(group.range());
                    }
                }
            } else {
                for found in regex.find_iter(text) {
                    add(found.range());
                }
            }
        }
    }
}

fn compile(pattern: &Pattern) -> Result<(String, Regex)> {
    check_name(&pattern.name)?;
    let name = &pattern.name;
    if pattern.expression.len() > EXPRESSION {
        return Err(Error::invalid("bad_expression", format!("the pattern {name} is longer than {EXPRESSION} bytes")));
    }
    let regex =
        RegexBuilder::new(&pattern.expression).size_limit(SIZE).dfa_size_limit(SIZE).build().map_err(|error| {
            // The first line of what the parser says shows the expression; the last says what is wrong with it.
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Error::invalid(
                "bad_expression",
                format!("the pattern {name} is no regular expression that can be used: {why}"),
            )
            .because(error)
        })?;
    if regex.is_match(b"") {
        return Err(Error::invalid(
            "bad_expression",
            format!("the pattern {name} matches nothing at all, and so everywhere"),
        ));
    }
    Ok((name.clone(), regex))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(expression: &str) -> Pattern {
        Pattern { name: "own".to_owned(), expression: expression.to_owned() }
    }

    fn found(expression: &str, text: &str) -> Vec<String> {
        let mut hits = Vec::new();
        Finder::new(&[pattern(expression)]).unwrap().find(text.as_bytes(), &mut hits);
        hits.into_iter().map(|hit| text[hit.range].to_owned()).collect()
    }

    #[test]
    fn patterns_match_all_or_their_group() {
        assert_eq!(found("CUST-[0-9]{6}", "a CUST-123456, CUST-654321"), ["CUST-123456", "CUST-654321"]);
        assert_eq!(found("id=(?P<secret>[0-9]+)", "id=12 id=x id=3"), ["12", "3"]);
        assert_eq!(found("(?i)größe", "GRÖSSE Größe"), ["Größe"]);
    }

    #[test]
    fn patterns_that_cannot_be_used_are_refused() {
        for expression in ["(", "a*", "", "(?:a{1000}){1000}", &"a".repeat(EXPRESSION + 1), "(?=a)"] {
            assert_eq!(Finder::new(&[pattern(expression)]).unwrap_err().code(), "bad_expression", "{expression}");
        }
        let many = vec![pattern("a"); PATTERNS + 1];
        assert_eq!(Finder::new(&many).unwrap_err().code(), "too_many_patterns");
    }
}
