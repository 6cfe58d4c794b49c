//! The tool that a command belongs to, where its caller names none.
//!
//! Doubt about a step stands in the way of others of its tool, so the name decides two things at once. Too narrow, and a
//! call that a model words anew is not recognised, and is done twice; too wide, and unrelated commands are held up. So it
//! is the program that does the work, behind whatever only starts it, and never what may be worded anew: not the arguments
//! and not a fingerprint of code. Where the program cannot be told, it is the interpreter: that holds up too much, and
//! doubles nothing.

use std::ffi::OsString;
use std::path::Path;

/// How deep programs that start programs are followed.
const DEPTH: usize = 8;

/// The tool that a command belongs to: its program's name; behind `env`, `nice`, `timeout` and their like, that of what
/// they start; of a script that a shell or an interpreter runs, the script's; of code given to a shell with `-c`, the name
/// of the last program that it runs, leaving out what only waits, tests or prepares. Code that has loops, conditions or
/// substitutions in place of a program, and code for other interpreters, belongs to the interpreter.
pub fn tool_of(argv: &[OsString]) -> String {
    let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    tool(&words, DEPTH)
}

fn tool(words: &[String], depth: usize) -> String {
    let words = started(words);
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let name = base(program);
    let inner = if depth == 0 { None } else { behind(&name, arguments, depth) };
    inner.filter(|inner| !inner.is_empty()).unwrap_or(name)
}

/// The tool that an interpreter runs, where that can be told.
fn behind(name: &str, arguments: &[String], depth: usize) -> Option<String> {
    if is_shell(name) {
        let mut has_code = false;
        for (at, argument) in arguments.iter().enumerate() {
            match argument.strip_prefix('-').or_else(|| argument.strip_prefix('+')) {
                Some(long) if long.starts_with('-') => {}
                Some(flags) => has_code |= argument.starts_with('-') && flags.contains('c'),
                // `-o OPTION` has a word of its own.
                None if at > 0 && arguments.get(at - 1).is_some_and(|before| before.ends_with('o')) => {}
                None if has_code => return of_code(argument, depth),
                None => return Some(base(argument)),
            }
        }
        return None;
    }
    if !is_interpreter(name) {
        return None;
    }
    let first = arguments.iter().position(|argument| !argument.starts_with('-'));
    let flags = arguments.get(..first.unwrap_or(arguments.len())).unwrap_or_default();
    match flags.last().map(String::as_str) {
        // Code in place of a file: what it does cannot be told from its words.
        Some("-c" | "-e" | "-E" | "-p" | "-r" | "--eval" | "--print") => None,
        Some("-m") if name.starts_with("python") => first.and_then(|at| arguments.get(at)).cloned(),
        _ => first.and_then(|at| arguments.get(at)).map(|script| base(script)),
    }
}

fn is_shell(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh")
}

fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    matches!(plain, "python" | "node" | "nodejs" | "perl" | "ruby" | "php" | "deno" | "bun" | "Rscript" | "lua")
}

fn base(program: &str) -> String {
    let name = Path::new(program).file_name();
    name.map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !name.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// The words of the command that programs which only start another were given; all of them when there is none.
fn started(words: &[String]) -> &[String] {
    let mut rest = words;
    loop {
        let Some((program, arguments)) = rest.split_first() else { return words };
        // Options that have a word after them, and how many words before the command are no options.
        let (valued, operands): (&[&str], usize) = match base(program).as_str() {
            "env" => (&["-u", "--unset", "-C", "--chdir"], 0),
            "nice" => (&["-n", "--adjustment"], 0),
            "ionice" => (&["-c", "-n"], 0),
            "timeout" => (&["-s", "--signal", "-k", "--kill-after"], 1),
            "stdbuf" => (&["-i", "-o", "-e"], 0),
            "sudo" => (&["-u", "-g", "-C", "-D", "-h", "-p"], 0),
            "nohup" | "setsid" | "time" | "exec" | "command" | "builtin" => (&[], 0),
            _ => return rest,
        };
        let mut left = operands;
        let mut at = 0;
        while let Some(argument) = arguments.get(at) {
            if argument == "--" {
                at += 1;
                break;
            } else if argument.starts_with('-') {
                at += if valued.contains(&argument.as_str()) { 2 } else { 1 };
            } else if is_assignment(argument) {
                at += 1;
            } else if left > 0 {
                left -= 1;
                at += 1;
            } else {
                break;
            }
        }
        match arguments.get(at..) {
            Some(inner) if !inner.is_empty() => rest = inner,
            _ => return rest,
        }
    }
}

/// Whether a command only waits, tests or prepares, so that what it belongs to is told by another.
fn only_prepares(name: &str) -> bool {
    matches!(
        name,
        "cd" | "pushd"
            | "popd"
            | "set"
            | "export"
            | "unset"
            | "umask"
            | "ulimit"
            | "trap"
            | "shift"
            | "wait"
            | "sleep"
            | "true"
            | "false"
            | ":"
            | "test"
            | "["
            | "exit"
            | "kill"
            | "mkdir"
            | "source"
            | "."
    )
}

/// The tool of the last program that shell code runs; an output of words that goes nowhere counts only where nothing
/// else does. None where it cannot be told.
fn of_code(code: &str, depth: usize) -> Option<String> {
    let mut found = None;
    let mut spoken = None;
    for Simple { words, redirected } in commands(code)? {
        let after: Vec<String> = words.into_iter().skip_while(|word| is_assignment(word)).collect();
        let Some(first) = after.first() else { continue };
        if is_reserved(first) || first.contains(['$', '*', '?', '`']) {
            return None;
        }
        let name = tool(&after, depth - 1);
        if matches!(name.as_str(), "echo" | "printf") && !redirected {
            spoken = Some(name);
        } else if !only_prepares(&name) {
            found = Some(name);
        }
    }
    found.or(spoken)
}

fn is_reserved(word: &str) -> bool {
    const RESERVED: [&str; 17] = [
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function",
        "select", "[[", "{", "}",
    ];
    RESERVED.contains(&word)
}

/// A simple command of shell code.
#[derive(Default)]
struct Simple {
    words: Vec<String>,
    redirected: bool,
}

/// The simple commands of shell code; none where it has subshells or here-documents.
fn commands(code: &str) -> Option<Vec<Simple>> {
    let mut commands = Vec::new();
    let mut command = Simple::default();
    let mut word: Option<String> = None;
    // The next word is where an output goes.
    let mut target = false;
    let mut letters = code.chars().peekable();
    let end_word = |word: &mut Option<String>, target: &mut bool, command: &mut Simple| {
        if let Some(word) = word.take()
            && !std::mem::take(target)
        {
            command.words.push(word);
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                while let Some(inside) = letters.next_if(|inside| *inside != '\'') {
                    word.push(inside);
                }
                letters.next()?;
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => word.extend(letters.next()),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '$' if letters.peek() == Some(&'(') => {
                // What is put in there is an argument; it runs first, and its words are skipped.
                skip_substitution(&mut letters)?;
                word.get_or_insert_default().push('$');
            }
            '#' if word.is_none() => while letters.next_if(|inside| *inside != '\n').is_some() {},
            '>' | '<' => {
                // A number before it says which stream.
                if word.as_deref().is_some_and(|word| word.chars().all(|letter| letter.is_ascii_digit())) {
                    word = None;
                }
                end_word(&mut word, &mut target, &mut command);
                if letter == '<' && letters.peek() == Some(&'<') {
                    return None;
                }
                while letters.next_if(|next| matches!(next, '>' | '&' | '|')).is_some() {}
                command.redirected |= letter == '>';
                target = true;
            }
            ';' | '&' | '|' | '\n' => {
                end_word(&mut word, &mut target, &mut command);
                commands.push(std::mem::take(&mut command));
            }
            '(' | ')' | '`' => return None,
            letter if letter.is_whitespace() => end_word(&mut word, &mut target, &mut command),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end_word(&mut word, &mut target, &mut command);
    commands.push(command);
    Some(commands)
}

fn skip_substitution(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<()> {
    let mut depth = 0_usize;
    loop {
        match letters.next()? {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(());
                }
            }
            '\'' => while letters.next()? != '\'' {},
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_command_belongs_to_the_program_that_does_the_work() {
        let table: [(&[&str], &str); 36] = [
            (&["git", "push"], "git"),
            (&["/usr/bin/git", "push"], "git"),
            (&["env", "A=b", "-u", "C", "git", "push"], "git"),
            (&["env"], "env"),
            (&["nice", "-n", "5", "timeout", "-k", "1", "10", "cargo", "test"], "cargo"),
            (&["sudo", "-u", "x", "systemctl", "restart", "y"], "systemctl"),
            (&["./deploy.sh", "now"], "deploy.sh"),
            (&["bash", "deploy.sh", "now"], "deploy.sh"),
            (&["bash", "-eu", "-o", "pipefail", "tools/deploy.sh"], "deploy.sh"),
            (&["sh", "-c", "git push"], "git"),
            (&["bash", "-lc", "cd x && git add . && git commit -m 'a; b'"], "git"),
            (&["sh", "-c", "env A=b git push"], "git"),
            (&["sh", "-c", "A=b npm publish"], "npm"),
            (&["sh", "-c", "npm ci && npm test && git push"], "git"),
            (&["sh", "-c", "git push && echo done"], "git"),
            (&["sh", "-c", "echo effect >> effects.txt; sleep 60"], "echo"),
            (&["sh", "-c", "echo effect >> effects.txt"], "echo"),
            (&["sh", "-c", "echo hello"], "echo"),
            (&["sh", "-c", "printf '%s' \"a && b\" > x; test -f x"], "printf"),
            (&["sh", "-c", "cat list | mail -s 'x' bob 2>/dev/null"], "mail"),
            (&["sh", "-c", "exec curl -X POST $URL"], "curl"),
            (&["sh", "-c", "git tag $(cat version) && git push --tags"], "git"),
            (&["sh", "-c", "bash -c 'git push'"], "git"),
            (&["sh", "-c", "# what\ngit push # why"], "git"),
            (&["sh", "-c", "for x in a b; do git push $x; done"], "sh"),
            (&["sh", "-c", "if true; then git push; fi"], "sh"),
            (&["sh", "-c", "$CMD now"], "sh"),
            (&["sh", "-c", "(git push)"], "sh"),
            (&["sh", "-c", "cat <<E\nx\nE"], "sh"),
            (&["sh", "-c", "sleep 1"], "sh"),
            (&["sh"], "sh"),
            (&["python3", "-m", "pytest", "-q"], "pytest"),
            (&["python3.12", "-u", "tools/send.py", "x"], "send.py"),
            (&["python3", "-c", "import os; os.system('x')"], "python3"),
            (&["node", "-e", "fetch('x')"], "node"),
            (&["node", "send.js"], "send.js"),
        ];
        for (argv, expected) in table {
            let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
            assert_eq!(tool_of(&argv), expected, "{argv:?}");
        }
    }

    proptest! {
        #[test]
        fn any_command_belongs_to_something(program in "[a-z/.]{1,8}", code in "\\PC{0,60}") {
            let named = !program.trim_matches(['/', '.']).is_empty();
            let argv = ["sh".to_owned(), "-c".to_owned(), code].map(OsString::from);
            prop_assert!(!tool_of(&argv).is_empty());
            let argv = [OsString::from(program)];
            prop_assert!(!tool_of(&argv).is_empty() || !named);
        }
    }
}
