//! Which documents follow each other.

/// No document.
pub const NONE: u32 = u32::MAX;

/// Each visible document's predecessor, and so its successors, over all parts of a corpus: documents are numbered through, those
/// of the first part first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    previous: Vec<u32>,
    /// The first successor of each document.
    first: Vec<u32>,
    /// The next document with the same predecessor.
    next: Vec<u32>,
}

impl Context {
    /// From each document's predecessor, or [`NONE`]. A number of no document is none. Links in a circle do no harm.
    ///
    /// The caller gives no link from or to an invisible document, so that nothing about it is known.
    pub fn new(mut previous: Vec<u32>) -> Self {
        let count = previous.len();
        let mut first = vec![NONE; count];
        let mut next = vec![NONE; count];
        for (document, before) in previous.iter_mut().enumerate().rev() {
            match first.get_mut(*before as usize) {
                Some(successor) => {
                    if let Some(next) = next.get_mut(document) {
                        *next = *successor;
                    }
                    *successor = u32::try_from(document).unwrap_or(NONE);
                }
                None => *before = NONE,
            }
        }
        Self { previous, first, next }
    }

    /// The predecessor of a document.
    pub fn previous(&self, document: u32) -> Option<u32> {
        self.previous.get(document as usize).copied().filter(|previous| *previous != NONE)
    }

    /// The documents whose predecessor it is, in order.
    pub fn successors(&self, document: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |document: Option<&u32>| document.copied().filter(|document| *document != NONE);
        std::iter::successors(some(self.first.get(document as usize)), move |document| {
            some(self.next.get(*document as usize))
        })
    }

    /// Gives `add` every document that has this one as a neighbour, with the weight that it has there. Weights end at 0.
    pub(super) fn spread(&self, document: u32, back: &[f32], ahead: &[f32], add: &mut impl FnMut(u32, f32)) {
        if self.previous.is_empty() {
            return;
        }
        let mut before = document;
        for weight in ahead {
            if *weight == 0.0 {
                break;
            }
            match self.previous(before) {
                Some(previous) => before = previous,
                None => break,
            }
            add(before, *weight);
        }
        self.spread_to_successors(document, back, add);
    }

    fn spread_to_successors(&self, document: u32, back: &[f32], add: &mut impl FnMut(u32, f32)) {
        let mut from = document;
        for (place, weight) in back.iter().enumerate().take_while(|(_, weight)| **weight != 0.0) {
            let mut successors = self.successors(from);
            let Some(first) = successors.next() else { return };
            if let Some(second) = successors.next() {
                let further = back.get(place + 1..).unwrap_or_default();
                for successor in [first, second].into_iter().chain(successors) {
                    add(successor, *weight);
                    self.spread_to_successors(successor, further, add);
                }
                return;
            }
            add(first, *weight);
            from = first;
        }
    }
}
