//! JSON with the places of its parts in the text, so that one part can be changed and all others stay as they are. Only
//! for text that was found to be JSON before.

use std::ops::Range;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) value: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    /// A string, as the text has it, or anything else that has no parts.
    Plain,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Where its name begins.
    pub(super) start: usize,
    pub(super) name: String,
    pub(super) node: Node,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Kind::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The member that counts: of several of one name, the last.
    pub(super) fn member(&self, name: &str) -> Option<&Node> {
        self.members()?.iter().rfind(|member| member.name == name).map(|member| &member.node)
    }
}

/// Reads a text that is JSON; none should it be none after all.
pub(super) fn read(text: &str) -> Option<Node> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.value()?;
    reader.blanks();
    (reader.at == text.len()).then_some(node)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Option<Node> {
        self.blanks();
        let start = self.at;
        let value = match self.peek()? {
            b'{' => self.object()?,
            b'[' => self.array()?,
            b'"' => self.string().map(|_| Kind::Plain)?,
            _ => {
                while self.peek().is_some_and(|byte| !byte.is_ascii_whitespace() && !b",]}:".contains(&byte)) {
                    self.at += 1;
                }
                Kind::Plain
            }
        };
        (self.at > start).then_some(Node { span: start..self.at, value })
    }

    fn object(&mut self) -> Option<Kind> {
        let mut members = Vec::new();
        self.at += 1;
        if self.takes(b'}') {
            return Some(Kind::Object(members));
        }
        loop {
            self.blanks();
            let start = self.at;
            let name = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            members.push(Member { start, name, node: self.value()? });
            if self.takes(b'}') {
                return Some(Kind::Object(members));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn array(&mut self) -> Option<Kind> {
        let mut items = Vec::new();
        self.at += 1;
        if self.takes(b']') {
            return Some(Kind::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.takes(b']') {
                return Some(Kind::Array(items));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }
}
