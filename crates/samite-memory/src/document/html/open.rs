//! Which elements are open: as much as is needed to know where one that is hidden ends.

/// Deeper elements are counted, not kept.
const DEEPEST: usize = 100;

/// Elements that have no end.
const VOID: &[&str] =
    &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements that begin on a line of their own, and end an open paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "search",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
    "ul",
    "caption",
];

/// Whether an element stands on lines of its own.
pub(super) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

/// An element that is open.
#[derive(Debug)]
struct Element {
    name: String,
    hidden: bool,
    block: bool,
}

/// The open elements, outermost first.
#[derive(Debug, Default)]
pub(super) struct Open {
    elements: Vec<Element>,
    /// How many are open beyond those that are kept.
    deeper: usize,
    /// The outermost hidden one of those, and how many of its name are open in it and with it.
    hidden_deeper: Option<(String, usize)>,
    /// How many of those that are kept are hidden, and how many are `pre`.
    hidden: usize,
    preformatted: usize,
}

impl Open {
    /// Whether nobody sees what is here.
    pub(super) const fn is_hidden(&self) -> bool {
        self.hidden > 0 || self.hidden_deeper.is_some()
    }

    /// Whether blanks and line ends are kept here.
    pub(super) const fn is_preformatted(&self) -> bool {
        self.preformatted > 0
    }

    /// An element begins, which ends those that end without a tag.
    pub(super) fn push(&mut self, name: &str, hidden: bool) {
        let block = is_block(name);
        if self.deeper == 0 {
            self.imply(name, block);
        }
        if VOID.contains(&name) {
            return;
        }
        if self.elements.len() < DEEPEST {
            self.hidden += usize::from(hidden);
            self.preformatted += usize::from(name == "pre");
            self.elements.push(Element { name: name.to_owned(), hidden, block });
            return;
        }
        self.deeper += 1;
        match &mut self.hidden_deeper {
            Some((outer, count)) => *count += usize::from(outer == name),
            None if hidden => self.hidden_deeper = Some((name.to_owned(), 1)),
            None => {}
        }
    }

    /// An element ends, and with it those in it that have no end. An end of what is not open is none.
    pub(super) fn pop(&mut self, name: &str) {
        if self.deeper == 0 {
            if let Some(place) = self.elements.iter().rposition(|open| open.name == name) {
                self.truncate(place);
            }
            return;
        }
        // Which one ends is not known there, so one does.
        self.deeper -= 1;
        if let Some((outer, count)) = &mut self.hidden_deeper {
            *count -= usize::from(outer == name);
            if *count == 0 || self.deeper == 0 {
                self.hidden_deeper = None;
            }
        }
    }

    /// Ends what the standard ends at the beginning of this element.
    fn imply(&mut self, name: &str, block: bool) {
        let (ends, until): (&[&str], &[&str]) = match name {
            "li" => (&["li"], &["ul", "ol", "menu", "dir"]),
            "dt" | "dd" => (&["dt", "dd"], &["dl"]),
            "td" | "th" => (&["td", "th"], &["tr", "table"]),
            "tr" => (&["tr"], &["table"]),
            "tbody" | "thead" | "tfoot" => (&["tbody", "thead", "tfoot"], &["table"]),
            "option" | "optgroup" => (&["option"], &["select", "datalist"]),
            "body" => (&["head"], &[]),
            _ => (&[], &[]),
        };
        // The standard looks no further than the list or table that this one is in.
        let ended = self.elements.iter().rposition(|open| {
            let open = open.name.as_str();
            ends.contains(&open) || until.contains(&open)
        });
        self.truncate_if(ended, |open| ends.contains(&open.name.as_str()));
        if block {
            let nearest = self.elements.iter().rposition(|open| open.block);
            self.truncate_if(nearest, |open| open.name == "p");
        }
    }

    fn truncate_if(&mut self, place: Option<usize>, ends: impl Fn(&Element) -> bool) {
        if let Some(place) = place.filter(|place| self.elements.get(*place).is_some_and(ends)) {
            self.truncate(place);
        }
    }

    fn truncate(&mut self, place: usize) {
        for element in self.elements.drain(place..) {
            self.hidden -= usize::from(element.hidden);
            self.preformatted -= usize::from(element.name == "pre");
        }
    }
}
