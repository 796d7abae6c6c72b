//! The end of a command's help: examples, exit codes, environment and files.

use crate::Exit;

/// Columns in which an example and what it does fit side by side.
const COLUMNS: usize = 80;

/// How values are written.
const VALUES: &[(&str, &str)] = &[
    ("RATE", "bits per second: 64k, 10M or 1G"),
    ("SIZE", "bytes: 1400, 64KiB or 1GiB"),
    ("TIME", "500ms, 30s, 2m, 1h or 7d"),
];

/// What every command reads.
const ALWAYS: &[(&str, &str)] = &[("NO_COLOR", "no colours if it is set")];

/// What stands below the options of a command.
#[derive(Debug, Clone, Copy)]
pub struct Help {
    /// Command lines, and what each does.
    pub examples: &'static [(&'static str, &'static str)],
    /// Exit codes of this command, besides 2 for a command line that is not understood.
    pub exits: &'static [(Exit, &'static str)],
    /// Variables that this command reads.
    pub environment: &'static [(&'static str, &'static str)],
    /// Files that this command reads or writes.
    pub files: &'static [(&'static str, &'static str)],
    /// Rates, sizes and times are among its values: how they are written.
    pub values: bool,
}

impl Help {
    /// A command that has examples and ends with 0 or 1.
    #[must_use]
    pub const fn new(examples: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            examples,
            exits: &[(Exit::Done, "done"), (Exit::Failed, "failed")],
            environment: &[],
            files: &[],
            values: false,
        }
    }

    /// The same with these exit codes.
    #[must_use]
    pub const fn exits(self, exits: &'static [(Exit, &'static str)]) -> Self {
        Self { exits, ..self }
    }

    /// The same with these variables.
    #[must_use]
    pub const fn environment(self, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self { environment, ..self }
    }

    /// The same with these files.
    #[must_use]
    pub const fn files(self, files: &'static [(&'static str, &'static str)]) -> Self {
        Self { files, ..self }
    }

    /// The same, with how rates, sizes and times are written.
    #[must_use]
    pub const fn values(self) -> Self {
        Self { values: true, ..self }
    }

    /// What `-h` shows: examples.
    #[must_use]
    pub fn short(&self) -> String {
        self.shown_examples().trim_end().to_owned()
    }

    /// What `--help` shows: all of it.
    #[must_use]
    pub fn long(&self) -> String {
        let usage = (Exit::Usage, "the command line or a file is wrong");
        let mut exits: Vec<(Exit, &str)> = self.exits.to_vec();
        exits.push(usage);
        exits.sort_by_key(|(exit, _)| *exit as u8);
        let exits: Vec<(String, &str)> =
            exits.into_iter().map(|(exit, what)| ((exit as u8).to_string(), what)).collect();
        let mut text = self.shown_examples();
        if self.values {
            text += &section("Values", owned(VALUES));
        }
        text += &section("Exit codes", exits);
        let environment = [self.environment, ALWAYS].concat();
        text += &section("Environment", owned(&environment));
        text += &section("Files", owned(self.files));
        text.trim_end().to_owned()
    }

    fn shown_examples(&self) -> String {
        let longest = self.examples.iter().map(|(line, _)| line.chars().count()).max();
        let longest = longest.unwrap_or_default();
        let fits = |(line, what): &(&str, &str)| {
            // Two columns before it, two behind it, and "# ".
            longest + what.chars().count() + 6 <= COLUMNS && line.chars().count() <= longest
        };
        let aside = self.examples.iter().all(fits);
        let mut text = String::from("Examples:\n");
        for (line, what) in self.examples {
            match aside {
                true => text += &format!("  {line:<longest$}  # {what}\n"),
                false => text += &format!("  # {what}\n  {line}\n"),
            }
        }
        text + "\n"
    }
}

fn owned(list: &[(&'static str, &'static str)]) -> Vec<(String, &'static str)> {
    list.iter().map(|(name, what)| ((*name).to_owned(), *what)).collect()
}

/// A heading, and a line for each entry; nothing where there is none.
fn section(heading: &str, entries: Vec<(String, &str)>) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let longest = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let lines = entries.iter().map(|(name, what)| format!("  {name:<longest$}  {what}\n"));
    format!("{heading}:\n{}\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_help_has_examples_and_long_help_has_all() {
        let help = Help::new(&[("fanfare x", "do it"), ("fanfare x --y", "do it twice")])
            .files(&[("/etc/x", "its settings")]);
        let short = "Examples:\n  fanfare x      # do it\n  fanfare x --y  # do it twice";
        assert_eq!(help.short(), short);
        let long = format!(
            "{short}\n\nExit codes:\n  0  done\n  1  failed\n  \
             2  the command line or a file is wrong\n\nEnvironment:\n  NO_COLOR  no colours if it is set\n\nFiles:\n  /etc/x  its settings"
        );
        assert_eq!(help.long(), long);
    }

    #[test]
    fn an_example_too_long_for_a_line_has_its_words_above_it() {
        let line = "fanfare send a-file-with-a-long-name another-file --expect near,far,radio";
        let leaked: &'static [(&str, &str)] = Box::leak(Box::new([(line, "wait for three")]));
        assert_eq!(Help::new(leaked).short(), format!("Examples:\n  # wait for three\n  {line}"));
    }
}
