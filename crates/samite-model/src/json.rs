//! JSON of which there is one spelling, for whatever is hashed or compared byte by byte.

use serde_json::Value;

/// A value as compact JSON with the fields of each object in the order of their names' bytes.
///
/// What a build keeps of the order in which fields came depends on the features of the library that read them, so bytes that
/// are compared with another build's, or with those of another client of the same tool, are made here.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    write(value, &mut bytes);
    bytes
}

/// The same, as text.
#[must_use]
pub fn canonical_text(value: &Value) -> String {
    String::from_utf8(canonical(value)).unwrap_or_default()
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            let in_order = fields.keys().is_sorted();
            bytes.push(b'{');
            if in_order {
                fields.iter().enumerate().for_each(|(place, field)| write_field(place, field, bytes));
            } else {
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_unstable_by_key(|(name, _)| *name);
                sorted.into_iter().enumerate().for_each(|(place, field)| write_field(place, field, bytes));
            }
            bytes.push(b'}');
        }
        Value::Array(items) => {
            bytes.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write(item, bytes);
            }
            bytes.push(b']');
        }
        plain => write_plain(plain, bytes),
    }
}

fn write_field(place: usize, (name, value): (&String, &Value), bytes: &mut Vec<u8>) {
    if place > 0 {
        bytes.push(b',');
    }
    write_plain(name, bytes);
    bytes.push(b':');
    write(value, bytes);
}

fn write_plain(value: &impl serde::Serialize, bytes: &mut Vec<u8>) {
    let before = bytes.len();
    // Texts, numbers, truth values and nothing are always JSON, and a vector takes all that is written.
    if serde_json::to_writer(&mut *bytes, value).is_err() {
        bytes.truncate(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn fields_are_in_the_order_of_their_names_however_they_came() {
        let wanted = r#"{"A":[{"x":1,"y":null}],"a":{"b":"\"\n","c":1.5},"ä":true}"#;
        for came in [
            r#"{"ä":true,"a":{"c":1.5,"b":"\"\n"},"A":[{"y":null,"x":1}]}"#,
            r#"{ "A": [{"x": 1, "y": null}], "a": {"b": "\"\n", "c": 1.50}, "ä": true }"#,
        ] {
            let value: Value = serde_json::from_str(came).unwrap();
            assert_eq!(canonical_text(&value), wanted);
        }
        assert_eq!(canonical(&json!([])), b"[]");
        assert_eq!(canonical(&json!({})), b"{}");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_the_same_value_and_has_one_spelling(value in values()) {
            let mut sorted = value.clone();
            sorted.sort_all_objects();
            prop_assert_eq!(canonical_text(&value), sorted.to_string());
        }
    }
}
