//! JSON that is looked into where it lies: nothing is read but what is asked for.
//!
//! What is not looked at may be of any shape and depth, so a field that a newer version adds costs nothing.

use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// One value of a JSON text.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// The value that fills a text, if one does.
    pub(in crate::import) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str::<&RawValue>(text).ok().map(|raw| Self(raw.get()))
    }

    pub(in crate::import) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    pub(in crate::import) fn is_list(self) -> bool {
        self.0.starts_with('[')
    }

    pub(in crate::import) fn is_null(self) -> bool {
        self.0 == "null"
    }

    pub(in crate::import) fn is_true(self) -> bool {
        self.0 == "true"
    }

    /// An object's field; the last of equal ones, and nothing when it is no object.
    pub(in crate::import) fn get(self, key: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        let mut fields: BTreeMap<String, &'a RawValue> = serde_json::from_str(self.0).ok()?;
        fields.remove(key).map(|raw| Self(raw.get()))
    }

    /// The field at the end of a path through objects.
    pub(in crate::import) fn at(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// A list's elements; none when it is no list.
    pub(in crate::import) fn items(self) -> Vec<Self> {
        let items: Vec<&'a RawValue> =
            if self.is_list() { serde_json::from_str(self.0).unwrap_or_default() } else { Vec::new() };
        items.into_iter().map(|raw| Self(raw.get())).collect()
    }

    /// A string.
    pub(in crate::import) fn text(self) -> Option<String> {
        if self.0.starts_with('"') { serde_json::from_str(self.0).ok() } else { None }
    }

    /// A field that is a string.
    pub(in crate::import) fn text_at(self, path: &[&str]) -> Option<String> {
        self.at(path)?.text()
    }

    /// A whole number.
    pub(in crate::import) fn number(self) -> Option<i64> {
        serde_json::from_str(self.0).ok()
    }

    /// The value as a tree; nothing when it is too deep, or holds half of a surrogate pair.
    pub(in crate::import) fn value(self) -> Option<Value> {
        serde_json::from_str(self.0).ok()
    }

    /// A string that is JSON itself, as the arguments of calls are: as a tree; else the string.
    pub(in crate::import) fn unpacked(self) -> Option<Value> {
        let value = self.value()?;
        match value.as_str().map(serde_json::from_str) {
            Some(Ok(inner)) => Some(inner),
            _ => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_must_be_readable() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let text = format!("{{\"deep\":{deep},\"half\":\"\\ud83d\",\"a\":1,\"a\":{{\"b\":[\"x\",2,true,null]}}}}");
        let raw = Raw::parse(&text).unwrap();
        let list = raw.at(&["a", "b"]).unwrap();
        let items = list.items();
        assert_eq!((items.len(), items[0].text().as_deref(), items[1].number()), (4, Some("x"), Some(2)));
        assert!(items[2].is_true() && items[3].is_null() && list.is_list() && !list.is_object());
        assert_eq!(raw.get("half").unwrap().text(), None);
        assert_eq!(raw.get("deep").unwrap().value(), None);
        assert!(raw.get("gone").is_none() && list.get("b").is_none() && items[0].items().is_empty());
        assert!(Raw::parse("{\"a\":").is_none() && Raw::parse("{} {}").is_none());
    }

    #[test]
    fn arguments_are_unpacked() {
        let raw = Raw::parse(r#"["{\"a\":1}","words",{"b":2}]"#).unwrap();
        let all: Vec<_> = raw.items().iter().map(|one| one.unpacked().unwrap().to_string()).collect();
        assert_eq!(all, ["{\"a\":1}", "\"words\"", "{\"b\":2}"]);
    }
}
