//! A shell's command line, as far as it can be told without running it: the simple commands in it and where they write.
//! Pure. What cannot be told is said to be unclear, and is then treated as anything at all.

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The words of each simple command, in their order.
    pub(super) commands: Vec<Vec<String>>,
    /// The files that output is redirected to.
    pub(super) writes: Vec<String>,
    /// Whether there is something in it whose effect cannot be told: substitutions, loops, quotes that do not end.
    pub(super) unclear: bool,
}

/// Words that are a shell's own, after which other rules hold.
const RESERVED: [&str; 16] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "{", "}",
    "!",
];

/// What the reader is in the middle of.
struct Reading {
    line: Line,
    words: Vec<String>,
    word: Option<String>,
    /// Whether the word being read is where output goes.
    redirected: Option<Redirected>,
    /// The ends of here-documents whose text begins at the next line, and whether it is taken as it stands.
    documents: Vec<(String, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirected {
    To,
    From,
    Document,
}

/// Reads a command line.
pub(super) fn read(text: &str) -> Line {
    let mut reading =
        Reading { line: Line::default(), words: Vec::new(), word: None, redirected: None, documents: Vec::new() };
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = reading.step(next, rest);
    }
    reading.end_command();
    reading.line.unclear |= !reading.documents.is_empty();
    reading.line
}

impl Reading {
    /// Takes what begins with `next`, and returns what follows it.
    fn step<'a>(&mut self, next: char, rest: &'a str) -> &'a str {
        let after = rest.get(next.len_utf8()..).unwrap_or_default();
        match next {
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_command();
                return self.skip_documents(after);
            }
            ';' | '(' | ')' | '|' => {
                self.line.unclear |= next == '(' || next == ')';
                self.end_command();
            }
            '&' => {
                if let Some(rest) = after.strip_prefix('>') {
                    self.end_word();
                    self.redirected = Some(Redirected::To);
                    return rest.strip_prefix('>').unwrap_or(rest);
                }
                self.end_command();
            }
            '>' | '<' => return self.redirect(next, after),
            '#' if self.word.is_none() => return after.find('\n').map_or("", |at| after.get(at..).unwrap_or_default()),
            '\'' => {
                let Some((inside, after)) = after.split_once('\'') else {
                    self.line.unclear = true;
                    return "";
                };
                self.word.get_or_insert_default().push_str(inside);
                return after;
            }
            '"' => return self.quoted(after),
            '\\' => {
                let escaped = after.chars().next();
                if let Some(escaped) = escaped.filter(|escaped| *escaped != '\n') {
                    self.word.get_or_insert_default().push(escaped);
                }
                return after.get(escaped.map_or(0, char::len_utf8)..).unwrap_or_default();
            }
            '`' => self.line.unclear = true,
            '$' => {
                self.line.unclear |= after.starts_with('(') || self.is_program();
                self.word.get_or_insert_default().push('$');
            }
            other => self.word.get_or_insert_default().push(other),
        }
        after
    }

    /// Whether the word being read is the name of a program.
    fn is_program(&self) -> bool {
        self.words.is_empty() && self.redirected.is_none()
    }

    fn quoted<'a>(&mut self, text: &'a str) -> &'a str {
        self.word.get_or_insert_default();
        let mut letters = text.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => return text.get(at + 1..).unwrap_or_default(),
                '\\' => {
                    let escaped = letters.next().map(|(_, letter)| letter);
                    if !matches!(escaped, Some('"' | '\\' | '$' | '`' | '\n')) {
                        self.word.get_or_insert_default().push('\\');
                    }
                    self.word.get_or_insert_default().extend(escaped.filter(|letter| *letter != '\n'));
                }
                '`' => self.line.unclear = true,
                '$' => {
                    let is_substitution = text.get(at + 1..).is_some_and(|after| after.starts_with('('));
                    self.line.unclear |= is_substitution || self.is_program();
                    self.word.get_or_insert_default().push('$');
                }
                other => self.word.get_or_insert_default().push(other),
            }
        }
        self.line.unclear = true;
        ""
    }

    fn redirect<'a>(&mut self, sign: char, after: &'a str) -> &'a str {
        // A number right before it is a descriptor.
        let is_descriptor = self.word.as_ref().is_some_and(|word| word.bytes().all(|digit| digit.is_ascii_digit()));
        if is_descriptor {
            self.word = None;
        }
        self.end_word();
        if sign == '<' {
            if after.starts_with("<<") {
                self.redirected = Some(Redirected::From);
                return after.get(2..).unwrap_or_default();
            }
            if let Some(after) = after.strip_prefix('<') {
                self.redirected = Some(Redirected::Document);
                return after.strip_prefix('-').unwrap_or(after);
            }
            self.line.unclear |= after.starts_with('(');
            self.redirected = Some(Redirected::From);
            return after.strip_prefix('&').unwrap_or(after);
        }
        self.line.unclear |= after.starts_with('(');
        let after = after.strip_prefix('>').or_else(|| after.strip_prefix('|')).unwrap_or(after);
        if let Some(after) = after.strip_prefix('&') {
            // To another descriptor, which goes nowhere new.
            self.redirected = Some(Redirected::From);
            return after;
        }
        self.redirected = Some(Redirected::To);
        after
    }

    /// The text of here-documents, which begins here, is no command.
    fn skip_documents<'a>(&mut self, mut rest: &'a str) -> &'a str {
        for (end, as_it_stands) in std::mem::take(&mut self.documents) {
            loop {
                if rest.is_empty() {
                    self.line.unclear = true;
                    return "";
                }
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                rest = after;
                if line.trim_start_matches('\t') == end {
                    break;
                }
                self.line.unclear |= !as_it_stands && (line.contains("$(") || line.contains('`'));
            }
        }
        rest
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirected.take() {
            Some(Redirected::To) => self.line.writes.push(word),
            Some(Redirected::From) => {}
            // Whether its end was quoted is not kept: a text with a substitution in it is then unclear, which is safe.
            Some(Redirected::Document) => self.documents.push((word, false)),
            None => self.words.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if words.first().is_some_and(|first| RESERVED.contains(&first.as_str())) {
            self.line.unclear = true;
        }
        // What points a program elsewhere.
        let points = |word: &&String| is_assignment(word) && (word.starts_with("GIT_") || word.starts_with("PATH="));
        self.line.unclear |= words.iter().take_while(|word| is_assignment(word)).any(|word| points(&word));
        let named = words.iter().position(|word| !is_assignment(word)).unwrap_or(words.len());
        let words: Vec<String> = words.into_iter().skip(named).collect();
        if !words.is_empty() {
            self.line.commands.push(words);
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn commands(text: &str) -> Vec<String> {
        read(text).commands.iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn simple_commands_are_told_apart() {
        for (text, right) in [
            ("", &[][..]),
            ("ls -la && cat calc.py", &["ls -la", "cat calc.py"]),
            ("a;b|c&d\ne || f", &["a", "b", "c", "d", "e", "f"]),
            ("A=1 B='x y' make -j2 # all; of it", &["make -j2"]),
            (r#"git commit -m "a && b; c" 2>&1 | tail -3"#, &["git commit -m a && b; c", "tail -3"]),
            ("cat > a.txt <<'EOF'\nrm -rf /\nEOF\ncat a.txt", &["cat", "cat a.txt"]),
            ("a \\\n b\\ c", &["a b c"]),
        ] {
            assert_eq!(commands(text), right, "{text}");
            assert!(!read(text).unclear, "{text}");
        }
    }

    #[test]
    fn where_output_goes_is_told() {
        for (text, right) in [
            ("echo a > b", &["b"][..]),
            ("echo a >> b 2> c", &["b", "c"]),
            ("a &> b", &["b"]),
            ("a >| b", &["b"]),
            ("a 2>&1 < in", &[]),
            ("a <<< words", &[]),
            ("echo a >b;c>d", &["b", "d"]),
        ] {
            assert_eq!(read(text).writes, right, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_unclear() {
        for text in [
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"$(rm x)\"",
            "$TOOL x",
            "for f in *; do rm $f; done",
            "if true; then x; fi",
            "(cd x; y)",
            "echo 'a",
            "echo \"a",
            "cat <<EOF\n$(rm x)\nEOF\n",
            "cat <<EOF\nno end",
            "diff <(a) b",
            "! x",
            "GIT_DIR=/srv/x git commit",
        ] {
            assert!(read(text).unclear, "{text}");
        }
        assert!(!read("echo $HOME \"$A\" '$(x)' '`y`'").unclear);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,80}|[a-z'\"`$()<>|&;\\\\\n ]{0,60}") {
            let line = read(&text);
            prop_assert!(line.commands.iter().all(|words| !words.is_empty()));
        }
    }
}
