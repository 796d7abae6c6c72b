//! Commands that a reader of a page types: those of its blocks of code.

/// A command of a page, on one line with single spaces, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct TypedCommand {
    pub(super) text: String,
    pub(super) line: usize,
}

/// The commands of a page, or what in it cannot be told to be a command or not.
pub(super) fn commands(page: &str) -> Result<Vec<TypedCommand>, String> {
    let (mut commands, mut kind) = (Vec::new(), None);
    let mut open: Option<TypedCommand> = None;
    for (at, whole) in page.lines().enumerate() {
        let (line, at) = (whole.trim(), at + 1);
        if let Some(named) = line.strip_prefix("```") {
            if let Some(open) = open.take() {
                return Err(format!("line {}: '{}' does not end", open.line, open.text));
            }
            kind = if kind.is_none() { Some(named.to_owned()) } else { None };
            continue;
        }
        let typed = match kind.as_deref() {
            Some("sh") if !line.starts_with('#') => line,
            Some("console") if open.is_some() => line,
            Some("console") => after_prompt(line).unwrap_or_default(),
            Some("text" | "") if line.starts_with("fanfare ") => {
                return Err(format!("line {at}: a command stands in a block of text; mark it sh"));
            }
            _ => continue,
        };
        if typed.is_empty() && open.is_none() {
            continue;
        }
        let mut command = open.take().unwrap_or(TypedCommand { text: String::new(), line: at });
        if !command.text.is_empty() {
            command.text.push(' ');
        }
        command.text.push_str(&one_line(without_comment(typed).trim_end_matches('\\')));
        if typed.ends_with('\\') || is_loop_open(&command.text) {
            open = Some(command);
        } else {
            commands.push(command);
        }
    }
    Ok(commands)
}

/// A command without the remark behind it, which says times and reasons that change more often.
fn without_comment(typed: &str) -> &str {
    typed.split_once(" # ").map_or(typed, |(command, _)| command.trim_end())
}

/// The same words with single spaces between them.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text after `$` or `#` at the end of the first word, as in `relay-a$ fanfare relay`.
fn after_prompt(line: &str) -> Option<&str> {
    let (prompt, command) = line.split_once(' ')?;
    prompt.ends_with(['$', '#']).then_some(command)
}

fn is_loop_open(text: &str) -> bool {
    let mut words = text.split(' ');
    words.next() == Some("for") && words.next_back() != Some("done")
}

#[test]
fn commands_of_a_page_are_told_from_output_and_comments() {
    let page = "x\n```sh\n# first\nfanfare  send a \\\n    --expect 3   # why\nfor n in 1 2; do\n  \
                echo $n &\ndone\n```\n```console\nbase$ fanfare id\ned25519:93ad\nr# ls \\\n -l\n\
                ```\n```text\nerror: x\n```\n";
    let told = commands(page).unwrap();
    let told: Vec<(&str, usize)> =
        told.iter().map(|typed| (typed.text.as_str(), typed.line)).collect();
    let expected = [
        ("fanfare send a --expect 3", 4),
        ("for n in 1 2; do echo $n & done", 6),
        ("fanfare id", 11),
        ("ls -l", 13),
    ];
    assert_eq!(told, expected);
    let hidden = "```text\nfanfare send x\n```\n";
    assert!(commands(hidden).unwrap_err().contains("line 2"), "a command that is no command");
}
