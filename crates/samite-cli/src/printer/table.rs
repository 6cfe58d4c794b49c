//! Tables that fit the terminal's width.

use super::escape;
use super::look::{Look, Style};
use unicode_width::UnicodeWidthStr;

/// How a column behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words, never cut.
    Left,
    /// Numbers, never cut.
    Right,
    /// Words, cut when the terminal is too narrow. The widest of these gives way first.
    Flexible,
}

/// Rows under headings. Every cell is escaped.
pub(crate) struct Table {
    columns: Vec<(String, Column)>,
    rows: Vec<(Style, Vec<String>)>,
}

const GAP: usize = 2;
const NARROWEST: usize = 8;
/// Where nobody says how wide a line may be, it is this: whoever wants all of a cell reads the JSON.
const WIDTH: usize = 80;

impl Table {
    /// A table with these headings.
    pub(crate) fn new(columns: &[(&str, Column)]) -> Self {
        Self { columns: columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.styled(Style::Plain, cells);
    }

    /// Adds a row in a style.
    pub(crate) fn styled(&mut self, style: Style, cells: impl IntoIterator<Item = String>) {
        self.rows.push((style, cells.into_iter().map(|cell| escape::line(&cell).into_owned()).collect()));
    }

    /// The lines, headings first. A column without any content is left out.
    pub(crate) fn lines(&self, look: Look) -> Vec<String> {
        let used: Vec<usize> = (0..self.columns.len())
            .filter(|index| self.rows.iter().any(|(_, row)| row.get(*index).is_some_and(|cell| !cell.is_empty())))
            .collect();
        let widths = self.widths(&used, look.width.unwrap_or(WIDTH));
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut lines = vec![look.paint(Style::Dim, &self.line(&heading, &used, &widths))];
        for (style, row) in &self.rows {
            lines.push(look.paint(*style, &self.line(row, &used, &widths)));
        }
        lines
    }

    fn widths(&self, used: &[usize], limit: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = used
            .iter()
            .map(|index| {
                let heading = self.columns.get(*index).map_or(0, |(name, _)| name.width());
                let cells = self.rows.iter().filter_map(|(_, row)| row.get(*index)).map(|cell| cell.width());
                cells.max().unwrap_or(0).max(heading)
            })
            .collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        loop {
            let total = widths.iter().sum::<usize>() + gaps;
            let widest = used
                .iter()
                .zip(widths.iter_mut())
                .filter(|(index, width)| {
                    self.columns.get(**index).is_some_and(|(_, kind)| *kind == Column::Flexible) && **width > NARROWEST
                })
                .max_by_key(|(_, width)| **width);
            match widest {
                Some((_, width)) if total > limit => *width -= (total - limit).min(*width - NARROWEST).clamp(1, 8),
                _ => return widths,
            }
        }
    }

    fn line(&self, cells: &[String], used: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for (index, width) in used.iter().zip(widths) {
            let kind = self.columns.get(*index).map_or(Column::Left, |(_, kind)| *kind);
            let cell = cut(cells.get(*index).map_or("", String::as_str), *width);
            let space = " ".repeat(width.saturating_sub(cell.width()));
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            if kind == Column::Right {
                line.push_str(&space);
                line.push_str(&cell);
            } else {
                line.push_str(&cell);
                line.push_str(&space);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The text cut to a width, with a sign that something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut taken = 0;
    for char in text.chars() {
        let wide = unicode_width::UnicodeWidthChar::width(char).unwrap_or(0);
        if taken + wide + 1 > width {
            break;
        }
        taken += wide;
        short.push(char);
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(width: Option<usize>) -> Look {
        Look { terminal: width.is_some(), colour: false, width }
    }

    fn table() -> Table {
        let mut table = Table::new(&[
            ("ID", Column::Left),
            ("NAME", Column::Flexible),
            ("NOTE", Column::Flexible),
            ("HEAD", Column::Right),
        ]);
        table.row(["0a1b".into(), "a name that is long".into(), String::new(), "7".into()]);
        table.row(["0a1c".into(), "日本\x1b[1m".into(), String::new(), "12".into()]);
        table
    }

    #[test]
    fn columns_stand_under_their_headings_and_empty_ones_are_left_out() {
        assert_eq!(
            table().lines(look(None)),
            ["ID    NAME                 HEAD", "0a1b  a name that is long     7", "0a1c  日本\\u{1b}[1m          12"]
        );
    }

    #[test]
    fn a_table_fits_eighty_columns_where_nobody_says_how_wide_a_line_may_be() {
        let mut table = table();
        table.row(["unreadable".into(), "why it cannot be read ".repeat(8), "k".repeat(90), "7".into()]);
        let lines = table.lines(look(None));
        assert!(lines.iter().all(|line| line.width() <= 80), "{lines:?}");
        assert!(
            lines.last().unwrap().contains("why it cannot be read") && lines.last().unwrap().contains('…'),
            "{lines:?}"
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_the_flexible_column() {
        let lines = table().lines(look(Some(24)));
        assert_eq!(lines[1], "0a1b  a name that…     7");
        assert!(lines.iter().all(|line| line.width() <= 24), "{lines:?}");
    }

    #[test]
    fn a_cut_leaves_room_for_wide_characters() {
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
