//! Deserialising that takes whatever stands in a place: a field of another shape is as good as absent.
//!
//! Transcripts come from many versions, and a field that changed its shape must cost that field and not the record.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The methods of a visitor for every shape but those it names: drained, and the default in its place.
macro_rules! default_for {
    ($($shape:ident),*) => {$(default_for!(@ $shape);)*};
    (@ scalars) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        default_for!(@ numbers);
    };
    (@ numbers) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

fn anything(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("any value")
}

/// A string.
#[derive(Debug, Default)]
pub(in crate::import) struct Text<'a>(pub(in crate::import) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(in crate::import) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(in crate::import) fn is(&self, text: &str) -> bool {
        self.get() == Some(text)
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }

            default_for!(scalars, map, list);
        }
        deserializer.deserialize_any(Shape)
    }
}

/// `true`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::import) struct Flag(pub(in crate::import) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Flag;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Flag(value))
            }

            default_for!(numbers, text, map, list);
        }
        deserializer.deserialize_any(Shape)
    }
}

/// What an object's fields are read into. The last of equal keys counts.
pub(in crate::import) trait Fields<'de>: Default {
    /// Reads the value of one field, or drains it.
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Drains a value.
pub(in crate::import) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// An object.
#[derive(Debug)]
pub(in crate::import) struct Object<T>(pub(in crate::import) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Fields<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape<T>(PhantomData<T>);
        impl<'de, T: Fields<'de>> Visitor<'de> for Shape<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = T::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    fields.field(key.get().unwrap_or_default(), &mut map)?;
                }
                Ok(Object(Some(fields)))
            }

            default_for!(scalars, text, list);
        }
        deserializer.deserialize_any(Shape(PhantomData))
    }
}

/// A list of values; a string or anything else in its place is no list.
#[derive(Debug)]
pub(in crate::import) struct List<T>(pub(in crate::import) Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Shape<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                anything(f)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(List(Some(values)))
            }

            default_for!(scalars, text, map);
        }
        deserializer.deserialize_any(Shape(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Sample<'a> {
        text: Text<'a>,
        flag: Flag,
        list: List<Text<'a>>,
    }

    impl<'de> Fields<'de> for Sample<'de> {
        fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
            match key {
                "text" => self.text = map.next_value()?,
                "flag" => self.flag = map.next_value()?,
                "list" => self.list = map.next_value()?,
                _ => skip(map)?,
            }
            Ok(())
        }
    }

    #[test]
    fn another_shape_is_as_good_as_absent() {
        for other in ["null", "1", "-1", "1.5", "{\"a\":[{}]}"] {
            let json = format!("{{\"text\":{other},\"flag\":{other},\"list\":{other},\"more\":{other}}}");
            let Object(Some(sample)) = serde_json::from_str::<Object<Sample<'_>>>(&json).unwrap() else {
                panic!("{json}")
            };
            assert!(sample.text.get().is_none() && !sample.flag.0 && sample.list.0.is_none(), "{json}");
        }
        for value in ["null", "1", "\"text\"", "[1]", "true"] {
            assert!(serde_json::from_str::<Object<Sample<'_>>>(value).unwrap().0.is_none(), "{value}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_escapes_are_read() {
        let json = r#"{"text":"a","text":"b\n","flag":true,"list":["x",1]}"#;
        let Object(Some(sample)) = serde_json::from_str::<Object<Sample<'_>>>(json).unwrap() else { panic!() };
        assert!(sample.text.is("b\n") && sample.flag.0);
        let list: Vec<_> = sample.list.0.unwrap().iter().map(|text| text.get().map(str::to_owned)).collect();
        assert_eq!(list, [Some("x".to_owned()), None]);
    }
}
