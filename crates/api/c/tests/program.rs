//! Programs in C, compiled and run.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::UdpSocket,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// Beside the test's own executable.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let deps = own.parent().unwrap();
    let places = [deps.join("libfanfare_c.so"), deps.parent().unwrap().join("libfanfare_c.so")];
    places.into_iter().find(|place| place.exists()).expect("cargo builds the shared object, too")
}

fn run(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    said(&output.unwrap_or_else(|error| panic!("{program}: {error}")))
}

fn said(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A folder for one test.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(library(), folder.join("libfanfare.so.0")).unwrap();
        Self(folder)
    }

    /// Compiles a program of this crate.
    fn program(&self, compiler: &str, source: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let name = Path::new(source).file_stem().unwrap();
        let program = self.0.join(name).display().to_string();
        let (include, source) = (root.join("include"), root.join(source));
        let folder = self.0.display().to_string();
        let words = [
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            &format!("-I{}", include.display()),
            source.to_str().unwrap(),
            "-o",
            &program,
            &format!("-L{folder}"),
            "-l:libfanfare.so.0",
            &format!("-Wl,-rpath,{folder}"),
            "-lpthread",
        ];
        run(compiler, &words);
        program
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A group on the loopback interface, on a port that nobody has.
fn group() -> String {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("norm://lo;239.255.42.7:{port}")
}

/// A program that runs, killed with the test.
struct Running(Child, BufReader<std::process::ChildStdout>);

impl Running {
    fn start(program: &str, words: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self(child, output)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Lines until this one.
    fn until(&mut self, wanted: &str) {
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "it ended without saying {wanted:?}");
            if line == wanted {
                return;
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.0.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Its input ends; what else it says, and that it ends well.
    fn end(&mut self) -> String {
        drop(self.0.stdin.take());
        let mut rest = String::new();
        self.1.read_to_string(&mut rest).unwrap();
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}: {rest}");
        rest
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_example_file_to_many_says_who_has_the_file() {
    let place = Place::new("files");
    let (program, group) = (place.program("cc", "examples/file_to_many.c"), group());
    let file = place.0.join("data.bin");
    fs::write(&file, vec![7; 300_000]).unwrap();
    let mut receivers = ["anna", "bert"].map(|name| {
        let folder = place.0.join(name).display().to_string();
        let mut receiver = Running::start(&program, &["recv", &group, &folder, name]);
        assert_eq!(receiver.line(), "ready");
        receiver
    });
    let told = run(&program, &["send", &group, "anna,bert", file.to_str().unwrap()]);
    assert!(told.contains("anna has data.bin after "), "{told}");
    assert!(told.ends_with("2 of 2 have everything\n"), "{told}");
    for (receiver, name) in receivers.iter_mut().zip(["anna", "bert"]) {
        assert_eq!(receiver.end(), "data.bin: 300000 bytes\n");
        assert_eq!(fs::read(place.0.join(name).join("data.bin")).unwrap(), vec![7; 300_000]);
    }
}

#[test]
fn the_example_feed_prints_what_is_said_from_now_on() {
    let place = Place::new("feed");
    let (program, group) = (place.program("cc", "examples/feed.c"), group());
    let mut receiver = Running::start(&program, &["recv", &group]);
    assert_eq!(receiver.line(), "ready");
    let mut sender = Running::start(&program, &["send", &group]);
    sender.say("one\ntwo\n");
    receiver.until("two");
    sender.say("three\n");
    receiver.until("three");
    sender.end();
    receiver.end();
}

#[test]
fn the_example_chat_carries_lines_both_ways() {
    let place = Place::new("chat");
    let (program, group) = (place.program("cc", "examples/chat.c"), group());
    let [mut anna, mut bert] =
        ["anna", "bert"].map(|name| Running::start(&program, &[&group, name]));
    anna.say("hello\n");
    bert.until("anna: hello");
    bert.say("good evening\n");
    anna.until("bert: good evening");
    bert.end();
    anna.end();
}

#[test]
fn the_example_tensors_reaches_three_workers_whole() {
    let place = Place::new("tensors");
    let (program, group) = (place.program("cc", "examples/tensors.c"), group());
    let mut workers = ["a", "b", "c"].map(|name| {
        let mut worker = Running::start(&program, &["work", &group, name]);
        assert_eq!(worker.line(), "ready");
        worker
    });
    let told = run(&program, &["send", &group, "3", "40"]);
    assert_eq!(told, "3 workers have everything\n");
    let sum: u64 = (0..40).flat_map(|step| (0..6400).map(move |i| (step + i) % 1000)).sum();
    for worker in &mut workers {
        assert_eq!(worker.end(), format!("40 tensors, sum {sum}\n"));
    }
}

#[test]
fn every_mistake_is_answered_in_words_and_none_ends_the_program() {
    let place = Place::new("mistakes");
    let program = place.program("cc", "tests/mistakes.c");
    assert_eq!(run(&program, &[&group()]), "no mistake went through\n");
}

#[test]
fn handles_are_closed_and_used_by_many_threads_at_once() {
    let place = Place::new("torture");
    let program = place.program("cc", "tests/torture.c");
    assert_eq!(run(&program, &[&group()]), "done\n");
}

#[test]
fn the_header_is_good_for_cpp_and_declares_every_function_that_is_exported_and_no_other() {
    let place = Place::new("names");
    place.program("c++", "tests/names.cpp");
    let list = run("nm", &["-D", "--defined-only", library().to_str().unwrap()]);
    let exported = list.lines().filter_map(|line| line.split_whitespace().nth(2));
    let mut exported: Vec<&str> = exported.collect();
    exported.sort_unstable();
    let header = include_str!("../include/fanfare.h");
    let words = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = words.flat_map(|line| line.split([' ', '*']));
    let mut declared: Vec<&str> =
        words.filter_map(|word| word.split_once('(')).map(|(name, _)| name).collect();
    declared.retain(|name| name.starts_with("fanfare_"));
    declared.sort_unstable();
    assert_eq!(declared, exported);
}

#[test]
fn the_shared_object_says_that_it_is_libfanfare_so_0() {
    let dynamic = run("readelf", &["-d", library().to_str().unwrap()]);
    assert!(dynamic.contains("SONAME") && dynamic.contains("[libfanfare.so.0]"), "{dynamic}");
}

#[test]
fn what_is_installed_serves_pkg_config_and_cmake_and_the_archive_is_enough() {
    let place = Place::new("install");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (prefix, built) = (place.0.join("prefix"), library().parent().unwrap().to_owned());
    let installer = root.join("install.sh");
    run(installer.to_str().unwrap(), &[built.to_str().unwrap(), prefix.to_str().unwrap()]);
    let source = root.join("tests/names.cpp");
    let told = fs::read_to_string(prefix.join("lib/pkgconfig/fanfare.pc")).unwrap();
    assert!(told.contains(&format!("prefix={}\n", prefix.display())), "{told}");
    let project = place.0.join("project");
    fs::create_dir_all(&project).unwrap();
    let lists = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(names CXX)\n\
         find_package(fanfare 0.1 REQUIRED)\n\
         add_executable(shared {0})\ntarget_link_libraries(shared PRIVATE fanfare::fanfare)\n\
         add_executable(archive {0})\ntarget_link_libraries(archive PRIVATE fanfare::static)\n",
        source.display()
    );
    fs::write(project.join("CMakeLists.txt"), lists).unwrap();
    let (made, prefix) = (project.join("build"), prefix.display());
    let prefix = format!("-DCMAKE_PREFIX_PATH={prefix}");
    let (from, to) = (project.to_str().unwrap(), made.to_str().unwrap());
    run("cmake", &["-S", from, "-B", to, &prefix]);
    run("cmake", &["--build", to]);
    for program in ["shared", "archive"] {
        run(made.join(program).to_str().unwrap(), &[]);
    }
}
