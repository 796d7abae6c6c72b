//! Compiles or downloads peers when they are first needed, and keeps them.

use crate::programs::{
    error::{LabError, Refusal},
    system::tool,
    tools::Tools,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Runs a tool to its end; gives what it printed on both outputs.
pub fn output(program: &str, package: &str, arguments: &[&str]) -> Result<String, LabError> {
    let done = run(program, package, arguments)?;
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    match done.status.success() {
        true => Ok(text.into_owned()),
        false => Err(failed(program, &text)),
    }
}

fn run(program: &str, package: &str, arguments: &[&str]) -> Result<Output, LabError> {
    Command::new(program).args(arguments).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => tool::missing(program, package),
        _ => LabError::system(format_args!("program ({program})"), &error),
    })
}

fn failed(program: &str, text: &str) -> LabError {
    let line = text.lines().find(|line| line.contains("error")).unwrap_or_else(|| text.trim());
    let text = format!("program ({program}): {line}. Check that its package is complete");
    LabError::new(Refusal::System, "lab.peer", text)
}

/// Whether a program can be run at all, whatever it says.
pub fn present(program: &str, package: &str) -> Result<(), LabError> {
    run(program, package, &["--version"]).map(drop)
}

/// The version of a Debian package, or what is known of it.
pub fn package_version(package: &str) -> String {
    let query = ["-W", "-f", "${Version}", package];
    output("dpkg-query", "dpkg", &query).unwrap_or_else(|_| "unknown".to_owned())
}

/// A version and a hash of how the system is set and driven: figures with other settings are others.
/// That is why `norm` and `messaging::norm` each say how libnorm is compiled: in a file of both it would not
/// count, and it cannot move without making figures that are published another version's.
pub fn with_settings(version: &str, settings: &[&str]) -> String {
    format!("{version} ({})", short_hash(settings.concat().as_bytes()))
}

/// The first eight hexadecimal digits of a hash: a name that changes with the content.
pub fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..8].to_owned()
}

impl Tools {
    fn place(&self, name: &str) -> Result<PathBuf, LabError> {
        let made = fs::create_dir_all(&self.cache);
        made.map_err(|error| {
            LabError::system(format_args!("file ({})", self.cache.display()), &error)
        })?;
        Ok(self.cache.join(name))
    }

    /// A program from `source`, compiled unless it is there already. `header` is what its package,
    /// `package`, brings.
    pub fn compiled(&self, program: &Source<'_>) -> Result<PathBuf, LabError> {
        let Source { name, text, compiler, .. } = *program;
        let stem = name.split('.').next().unwrap_or(name);
        let place = self.place(&format!("{stem}-{}", short_hash(text.as_bytes())))?;
        if place.exists() {
            return Ok(place);
        }
        let source = self.place(name)?;
        write(&source, text.as_bytes())?;
        // To a name of its own first: another run must never see half a program.
        let partial = place.with_extension(std::process::id().to_string());
        let (out, file) = (partial.display().to_string(), source.display().to_string());
        let mut arguments = vec!["-O2", "-o", &out, &file];
        arguments.extend(program.flags.split_whitespace());
        output(compiler, program.compiler_package, &arguments).map_err(|error| {
            match error.to_string().contains(program.header) && !program.header.is_empty() {
                true => tool::missing(program.header, program.package),
                false => error,
            }
        })?;
        renamed(&partial, place)
    }

    /// A file from the net, known by its BLAKE3.
    pub fn fetched(&self, name: &str, url: &str, hash: &str) -> Result<PathBuf, LabError> {
        let place = self.place(name)?;
        if fs::read(&place).is_ok_and(|bytes| blake3::hash(&bytes).to_hex().as_str() == hash) {
            return Ok(place);
        }
        let partial = place.with_extension(std::process::id().to_string());
        let out = partial.display().to_string();
        output("curl", "curl", &["-fsSL", "--max-time", "120", "-o", &out, url])?;
        let bytes = fs::read(&partial)
            .map_err(|error| LabError::system(format_args!("file ({out})"), &error))?;
        let found = blake3::hash(&bytes).to_hex();
        if found.as_str() != hash {
            let text = format!(
                "download ({url}): its BLAKE3 hash is {found}, expected {hash}. Do not use it"
            );
            return Err(LabError::new(Refusal::System, "lab.peer", text));
        }
        renamed(&partial, place)
    }

    /// A directory of compiled classes.
    pub fn classes(&self, name: &str, text: &str, jar: &Path) -> Result<PathBuf, LabError> {
        let place = self.place(&format!("classes-{}", short_hash(text.as_bytes())))?;
        if place.exists() {
            return Ok(place);
        }
        let source = self.place(name)?;
        write(&source, text.as_bytes())?;
        let partial = place.with_extension(std::process::id().to_string());
        let words = [&partial, jar, &source].map(|path| path.display().to_string());
        output("javac", "default-jdk-headless", &["-d", &words[0], "-cp", &words[1], &words[2]])?;
        renamed(&partial, place)
    }
}

/// A program of ours over a library.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name, in the cache.
    pub name: &'a str,
    /// Its source.
    pub text: &'a str,
    /// What compiles it.
    pub compiler: &'a str,
    /// The package with the compiler.
    pub compiler_package: &'a str,
    /// What the compiler is given, by words.
    pub flags: &'a str,
    /// What a compiler complains of when the library's package is missing.
    pub header: &'a str,
    /// The library's package.
    pub package: &'a str,
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    fs::write(path, bytes)
        .map_err(|error| LabError::system(format_args!("file ({})", path.display()), &error))
}

fn renamed(from: &Path, to: PathBuf) -> Result<PathBuf, LabError> {
    match fs::rename(from, &to) {
        Ok(()) => Ok(to),
        // Another run was faster.
        Err(_) if to.exists() => Ok(to),
        Err(error) => Err(LabError::system(format_args!("file ({})", to.display()), &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_names_its_package() {
        let error = output("no-such-tool-here", "tool-package", &[]).unwrap_err();
        assert_eq!(error.refusal, Refusal::Missing);
        assert!(error.to_string().contains("Install the package tool-package"));
    }

    #[test]
    fn a_fetched_file_is_taken_from_the_cache_only_when_its_hash_is_right() {
        let cache = std::env::temp_dir().join(format!("fanfare-workshop-{}", std::process::id()));
        let tools = Tools { fanfare: PathBuf::new(), cache: cache.clone() };
        let place = tools.place("kept.jar").unwrap();
        fs::write(&place, b"content").unwrap();
        let hash = blake3::hash(b"content").to_hex();
        assert_eq!(tools.fetched("kept.jar", "file:///nowhere", &hash), Ok(place));
        let other = blake3::hash(b"other").to_hex();
        assert!(tools.fetched("kept.jar", "file:///nowhere", &other).is_err());
        fs::remove_dir_all(cache).unwrap();
    }
}
