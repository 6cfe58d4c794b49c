//! Dates: the same terms however they are written.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::fold::{fold, normalised};
use super::token::{Kind, Token, tokens};

/// A number or the name of a month.
#[derive(Clone, Copy, Debug)]
enum Item {
    Number { value: u32, digits: usize, before: char, unit: char },
    Month(u32, bool),
}

/// Numbers and months that follow each other with nothing between that parts a date.
#[derive(Debug, Default)]
pub(super) struct Dates {
    items: Vec<(Item, u32)>,
    /// Whether the last word says that a month may follow: "in May".
    led: bool,
}

impl Dates {
    /// Takes a number with what stands directly before it. False: no part of a date, the caller takes the dates so far.
    pub(super) fn number(&mut self, value: u32, digits: usize, before: char, position: u32) -> bool {
        if digits <= 4 {
            self.items.push((Item::Number { value, digits, before, unit: ' ' }, position));
        }
        digits <= 4
    }

    /// Takes the name of a month. One that is another word too counts alone only after a word such as "in".
    pub(super) fn month(&mut self, month: u32, is_name: bool, position: u32) {
        self.items.push((Item::Month(month, is_name || self.led), position));
        self.led = false;
    }

    /// Takes another word; whether it ends what may be a date, so that the caller takes the dates so far first.
    pub(super) fn word(&mut self, folded: &str) -> bool {
        if matches!(folded, "of" | "the" | "de" | "del" | "den" | "der" | "do" | "di") {
            self.led |= folded == "of";
            return false;
        }
        self.led = matches!(
            folded,
            "in" | "since"
                | "until"
                | "till"
                | "by"
                | "during"
                | "last"
                | "next"
                | "this"
                | "every"
                | "early"
                | "late"
                | "mid"
                | "before"
                | "after"
                | "im"
                | "seit"
                | "ab"
                | "en"
                | "em"
                | "au"
                | "du"
                | "ce"
                | "nel"
        );
        !self.items.is_empty()
    }

    /// Takes the character after a number that says which part of a date it is; false if it is none.
    pub(super) fn unit(&mut self, character: &str) -> bool {
        let mark = match character {
            "年" | "년" => 'y',
            "月" | "월" => 'm',
            "日" | "号" | "일" => 'd',
            _ => return false,
        };
        match self.items.last_mut() {
            Some((Item::Number { unit, .. }, _)) => {
                *unit = mark;
                true
            }
            _ => false,
        }
    }

    /// The terms of what is there, each with its place; nothing is there afterwards.
    pub(super) fn take(&mut self) -> Vec<(u32, String)> {
        let mut terms = Vec::new();
        if self.items.is_empty() {
            return terms;
        }
        let items = std::mem::take(&mut self.items);
        let mut rest = items.as_slice();
        while let [(_, position), following @ ..] = rest {
            let (date, taken) = first(rest);
            date.terms(*position, &mut terms);
            rest = rest.get(taken..).unwrap_or(following);
        }
        terms
    }
}

/// What is known of a date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Date {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
}

impl Date {
    fn new(year: Option<u32>, month: u32, day: Option<u32>) -> Option<Self> {
        let right = (1..=12).contains(&month)
            && day.is_none_or(|day| (1..=31).contains(&day))
            && year.is_none_or(|year| (1000..3000).contains(&year));
        right.then_some(Self { year, month: Some(month), day })
    }

    fn terms(self, position: u32, terms: &mut Vec<(u32, String)>) {
        let Some(month) = self.month else { return };
        terms.push((position, format!("month:{month:02}")));
        if let Some(year) = self.year {
            terms.push((position, format!("date:{year}-{month:02}")));
        }
        if let Some(day) = self.day {
            terms.push((position, format!("date:{month:02}-{day:02}")));
        }
        if let (Some(year), Some(day)) = (self.year, self.day) {
            terms.push((position, format!("date:{year}-{month:02}-{day:02}")));
        }
    }
}

/// The date that the items begin with, and how many of them it is: the longest that there is.
fn first(items: &[(Item, u32)]) -> (Date, usize) {
    let three = match items {
        [(a, _), (b, _), (c, _), ..] => three(*a, *b, *c),
        _ => None,
    };
    let two = || match items {
        [(a, _), (b, _), ..] => two(*a, *b),
        _ => None,
    };
    if let Some(date) = three {
        (date, 3)
    } else if let Some(date) = two() {
        (date, 2)
    } else if let [(Item::Month(month, true), _), ..] = items {
        (Date { month: Some(*month), ..Date::default() }, 1)
    } else {
        (Date::default(), 1)
    }
}

fn is_year(digits: usize, value: u32) -> bool {
    digits == 4 && (1000..3000).contains(&value)
}

fn three(first: Item, second: Item, third: Item) -> Option<Date> {
    use Item::{Month, Number};
    match (first, second, third) {
        (Number { .. }, Number { .. }, Number { .. }) => numbers(first, second, third),
        (Number { value: day, digits: 1..=2, .. }, Month(month, _), Number { value: year, digits, .. })
        | (Month(month, _), Number { value: day, digits: 1..=2, .. }, Number { value: year, digits, .. })
        | (Number { value: year, digits, .. }, Month(month, _), Number { value: day, digits: 1..=2, .. })
            if is_year(digits, year) =>
        {
            Date::new(Some(year), month, Some(day))
        }
        _ => None,
    }
}

/// A date in numbers alone. Of a day and a month with strokes the one above 12 is the day; if none is, nobody knows.
fn numbers(first: Item, second: Item, third: Item) -> Option<Date> {
    use Item::Number;
    let Number { value: one, digits, unit, .. } = first else { return None };
    let Number { value: two, before, digits: 1..=2, .. } = second else { return None };
    let Number { value: three, before: again, digits: last, .. } = third else { return None };
    let joined = |with: &[char]| before == again && with.contains(&before);
    if is_year(digits, one) && (unit == 'y' || joined(&['-', '/', '.'])) && last <= 2 {
        Date::new(Some(one), two, Some(three))
    } else if !is_year(last, three) || digits > 2 {
        None
    } else if joined(&['.']) || joined(&['/', '-']) && one > 12 {
        Date::new(Some(three), two, Some(one))
    } else if joined(&['/', '-']) && two > 12 {
        Date::new(Some(three), one, Some(two))
    } else {
        None
    }
}

fn two(a: Item, b: Item) -> Option<Date> {
    use Item::{Month, Number};
    match (a, b) {
        (Month(month, _), Number { value, digits, .. }) | (Number { value, digits, .. }, Month(month, _)) => {
            if is_year(digits, value) {
                Date::new(Some(value), month, None)
            } else if digits <= 2 {
                Date::new(None, month, Some(value))
            } else {
                None
            }
        }
        (
            Number { value: year, digits, unit, .. },
            Number { value: month, before, digits: 1..=2, unit: second, .. },
        ) => {
            if unit == 'm' && second == 'd' {
                Date::new(None, year, Some(month))
            } else if is_year(digits, year) && (unit == 'y' && second == 'm' || before == '-') {
                Date::new(Some(year), month, None)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The number of the month with a folded name, and whether the name is no other word.
pub(super) fn month(word: &str) -> Option<(u32, bool)> {
    MONTHS.get(word).copied()
}

static MONTHS: LazyLock<HashMap<String, (u32, bool)>> = LazyLock::new(|| {
    let mut months = HashMap::new();
    for (month, names) in (1..).zip(NAMES) {
        for name in names.split_whitespace() {
            let folded = fold(&normalised(name));
            let is_name = !OTHER_WORDS.contains(&folded.as_str());
            months.entry(folded).or_insert((month, is_name));
        }
    }
    months
});

/// Names of months that are other words as well.
const OTHER_WORDS: [&str; 11] = ["may", "march", "mar", "jan", "mai", "mars", "dec", "sep", "mei", "maj", "mayo"];

const NAMES: [&str; 12] = [
    "january jan januar jänner janvier enero gennaio janeiro januari январь января січень січня stycznia styczeń ocak يناير जनवरी",
    "february feb februar février febrero febbraio fevereiro februari февраль февраля лютий лютого lutego şubat فبراير फरवरी",
    "march mar märz mars marzo março maart marts март марта березень березня marca marzec mart مارس मार्च",
    "april apr avril abril aprile апрель апреля квітень квітня kwietnia kwiecień nisan أبريل अप्रैल",
    "may mai mayo maggio maio mei maj май мая травень травня maja mayıs مايو मई",
    "june jun juni juin junio giugno junho июнь июня червень червня czerwca czerwiec haziran يونيو जून",
    "july jul juli juillet julio luglio julho июль июля липень липня lipca lipiec temmuz يوليو जुलाई",
    "august aug août agosto augustus augusti август августа серпень серпня sierpnia sierpień ağustos أغسطس अगस्त",
    "september sept sep septembre septiembre settembre setembro сентябрь сентября вересень вересня września wrzesień eylül سبتمبر सितंबर",
    "october oct oktober octobre octubre ottobre outubro октябрь октября жовтень жовтня października październik ekim أكتوبر अक्टूबर",
    "november nov novembre noviembre novembro ноябрь ноября листопад листопада listopada listopad kasım نوفمبر नवंबर",
    "december dec dezember décembre diciembre dicembre dezembro декабрь декабря грудень грудня grudnia grudzień aralık ديسمبر दिसंबर",
];

/// The date that a text names first, as far as it says: what a question asks for, or what a date field holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedDate {
    /// The year, also one that stands alone.
    pub year: Option<u32>,
    /// The month, from 1.
    pub month: Option<u32>,
    /// The day of the month, from 1.
    pub day: Option<u32>,
}

impl NamedDate {
    /// What a text says. A name of a month that is another word too ("may") counts beside a number or after a word such as "in".
    pub fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let mut date = Self::default();
        let mut place = None;
        for token in tokens.iter().filter(|token| token.kind == Kind::Date) {
            if *place.get_or_insert(token.position) != token.position {
                break;
            }
            let numbers = token.text.split_once(':').map_or("", |(_, numbers)| numbers);
            let numbers: Vec<u32> = numbers.split('-').filter_map(|number| number.parse().ok()).collect();
            match numbers.as_slice() {
                [year, month, day] => date = Self { year: Some(*year), month: Some(*month), day: Some(*day) },
                [year, month] if *year > 12 => (date.year, date.month) = (Some(*year), Some(*month)),
                [month, day] => (date.month, date.day) = (Some(*month), Some(*day)),
                [month] => date.month = Some(*month),
                _ => {}
            }
        }
        let year =
            |token: &&Token| token.kind == Kind::Word && token.text.len() == 4 && token.text.starts_with(['1', '2']);
        let years = tokens.iter().filter(year).filter_map(|token| token.text.parse().ok());
        date.year = date.year.or_else(|| years.into_iter().find(|year| (1900..2100).contains(year)));
        date
    }
}
