//! Script to which a program belongs: the one that runs the parts of a chain one after the other.

use super::process::ProcessInfo;

/// Programs around one another, such as `sudo timeout 60 udp-sender`; more are not looked through.
const WRAPPERS_MAX: usize = 16;

/// The script, by the process that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScriptOwner {
    pub(super) id: u32,
    pub(super) start: u64,
    /// It is a shell; any other program may run things that do not belong together.
    pub(super) is_shell: bool,
}

impl ScriptOwner {
    fn of(process: &ProcessInfo) -> Self {
        Self { id: process.id, start: process.start, is_shell: process.is_shell }
    }
}

/// Finds the script that runs process `own`. `is_known`: a chain of that owner has begun. None where a
/// person runs it from a terminal, and for what is run by the system itself.
pub(super) fn find(
    own: u32,
    table: &dyn Fn(u32) -> Option<ProcessInfo>,
    is_known: &dyn Fn(ScriptOwner) -> bool,
) -> Option<ScriptOwner> {
    let mut top = table(own)?;
    for _ in 0..WRAPPERS_MAX {
        // A shell whose last command this is may have become it: the process is the same one.
        let itself = ScriptOwner { is_shell: true, ..ScriptOwner::of(&top) };
        if is_known(itself) {
            return Some(itself);
        }
        let parent = table(top.parent)?;
        if parent.wraps(&top) {
            top = parent;
            continue;
        }
        let is_system = parent.id <= 1 && !parent.is_shell;
        return (!is_system && !is_interactive(&parent, &top)).then(|| ScriptOwner::of(&parent));
    }
    None
}

/// True if a person has typed this command: a shell with job control gives it a group of its own, and
/// the terminal.
fn is_interactive(parent: &ProcessInfo, top: &ProcessInfo) -> bool {
    let terminal = parent.terminal != 0;
    let own_group = i64::from(parent.group);
    terminal && parent.group != top.group && parent.foreground != own_group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: u32, parent: u32, group: u32, words: &str) -> ProcessInfo {
        let (words, is_shell) = (words.replace(' ', "\0").into_bytes(), words.starts_with("sh"));
        ProcessInfo {
            id,
            parent,
            group,
            words,
            is_shell,
            start: u64::from(id),
            ..ProcessInfo::default()
        }
    }

    fn owner(processes: &[ProcessInfo], own: u32, known: &[u32]) -> Option<u32> {
        let table = |id| processes.iter().find(|process| process.id == id).cloned();
        let found = find(own, &table, &|owner| known.contains(&owner.id));
        found.map(|owner| owner.id)
    }

    #[test]
    fn the_script_is_found_through_programs_around() {
        let all = [
            process(5, 1, 5, "sh chain "),
            process(6, 5, 5, "sudo timeout 9 udp-sender --nokbd "),
            process(7, 6, 7, "timeout 9 udp-sender --nokbd "),
            process(8, 7, 7, "udp-sender --nokbd "),
        ];
        assert_eq!(owner(&all, 8, &[]), Some(5));
    }

    #[test]
    fn the_last_command_that_takes_the_place_of_its_shell_belongs_to_it() {
        let all = [process(4, 1, 4, "php "), process(5, 4, 4, "udp-sender --nokbd ")];
        assert_eq!(owner(&all, 5, &[5]), Some(5));
        assert_eq!(owner(&all, 5, &[]), Some(4));
    }

    #[test]
    fn commands_that_a_person_types_are_no_chain() {
        let at_terminal = |mut process: ProcessInfo, foreground| {
            (process.terminal, process.foreground) = (34816, foreground);
            process
        };
        let shell = at_terminal(process(4, 1, 4, "sh "), 5);
        let typed = [shell, at_terminal(process(5, 4, 5, "udp-sender "), 5)];
        assert_eq!(owner(&typed, 5, &[]), None);
        // A script that was started there.
        let script = at_terminal(process(5, 4, 5, "sh chain "), 5);
        let sender = at_terminal(process(6, 5, 5, "udp-sender "), 5);
        assert_eq!(owner(&[script.clone(), sender], 6, &[]), Some(5));
        // timeout makes a group of its own, and leaves the terminal to the script.
        let timeout = at_terminal(process(6, 5, 6, "timeout 9 udp-sender "), 5);
        let sender = at_terminal(process(7, 6, 6, "udp-sender "), 5);
        assert_eq!(owner(&[script, timeout, sender], 7, &[]), Some(5));
    }

    #[test]
    fn services_of_the_system_are_no_chain_and_a_script_that_is_the_first_process_is() {
        let service = [process(1, 0, 1, "init "), process(9, 1, 9, "udp-sender ")];
        assert_eq!(owner(&service, 9, &[]), None);
        let container = [process(1, 0, 1, "sh chain "), process(9, 1, 1, "udp-sender ")];
        assert_eq!(owner(&container, 9, &[]), Some(1));
        assert_eq!(owner(&[process(9, 8, 9, "udp-sender ")], 9, &[]), None);
    }
}
