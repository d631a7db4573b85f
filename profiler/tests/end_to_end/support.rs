//! Helpers of the tests: running the command, starting a JVM to record, reading the files of a recording.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// The user id of `nobody`, a user without privileges.
pub const NOBODY: u32 = 65534;

pub fn room() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn jdk() -> &'static Path {
    static JDK: OnceLock<PathBuf> = OnceLock::new();
    JDK.get_or_init(|| {
        let found = Command::new(room().join("../bin/find-jdk")).output().expect("find-jdk runs");
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        PathBuf::from(String::from_utf8(found.stdout).unwrap().trim())
    })
}

/// The directory of the collected jars; collects them if it is incomplete.
pub fn lib() -> &'static Path {
    static LIB: OnceLock<PathBuf> = OnceLock::new();
    LIB.get_or_init(|| {
        let lib = room().join("target/lib");
        if !lib.join("profile-convert.jar").exists() {
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", "-f"]).arg(room().join("pom.xml")).arg("package").env("JAVA_HOME", jdk());
            assert!(maven.status().expect("mvn runs").success());
        }
        lib
    })
}

pub fn profile(words: &[&str]) -> Output {
    command(words).output().expect("profile runs")
}

pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profile"));
    command.args(words).env("JAVA_HOME", jdk()).env("PROFILE_LIB", lib());
    command.env_remove("PROFILE_LIBPATH").env_remove("PROFILE_FDTRANSFER");
    command
}

pub fn expect_success(output: &Output) {
    assert!(output.status.success(), "{}", text_of(output));
}

pub fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// Checks that the command fails and that its message contains every expected text.
pub fn assert_refused(words: &[&str], expected: &[&str]) {
    let output = profile(words);
    let printed = text_of(&output);
    assert!(!output.status.success(), "{words:?}: {printed}");
    for text in expected {
        assert!(printed.contains(text), "{words:?}: {text:?} is not in {printed:?}");
    }
}

/// The directory of the compiled `Busy`: compiling it takes longer than starting it.
fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let classes = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("classes");
        let mut javac = Command::new(jdk().join("bin/javac"));
        javac.arg("-g").arg("-d").arg(&classes).arg(room().join("tests/data/Busy.java"));
        assert!(javac.status().expect("javac runs").success());
        classes
    })
}

/// A JVM that runs `Busy` and keeps both CPUs busy until it is dropped.
pub struct Jvm {
    process: Child,
}

impl Jvm {
    pub fn start(options: &[&str]) -> Jvm {
        Jvm::with_threads(options, 3)
    }

    /// Starts a JVM whose threads do nothing.
    pub fn idle(options: &[&str]) -> Jvm {
        Jvm::with_threads(options, 0)
    }

    pub fn with_threads(options: &[&str], threads: u32) -> Jvm {
        let mut java = Command::new(jdk().join("bin/java"));
        java.args(options).arg("-cp").arg(classes()).arg("Busy").arg(threads.to_string());
        Jvm::run(java)
    }

    pub fn run(mut java: Command) -> Jvm {
        let mut process = java.stdout(Stdio::piped()).spawn().expect("java starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Jvm { process }
    }

    pub fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// Whether the JVM has `file` open, as it has while it records into it.
    pub fn has_open(&self, file: &Path) -> bool {
        let mut descriptors = fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().flatten();
        descriptors.any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        self.process.kill().expect("the JVM runs to the end of the test");
        self.process.wait().unwrap();
    }
}

/// Starts a JVM, records it for three seconds, and ends it, so that it takes no CPU from the conversion.
pub fn record_new_jvm(options: &[&str], out: &Path, extra: &[&str]) {
    record(&Jvm::start(options), out, extra);
}

/// Records for three seconds.
pub fn record(jvm: &Jvm, out: &Path, extra: &[&str]) {
    let (pid, out) = (jvm.pid(), out.to_str().unwrap());
    expect_success(&profile(&[&["start", "--pid", &pid, "--out", out], extra].concat()));
    thread::sleep(Duration::from_secs(3));
    expect_success(&profile(&["stop", "--pid", &pid, "--out", out]));
}

/// The content of `<event>.samples.gz`.
pub fn samples_of(out: &Path, event: &str) -> String {
    let file = fs::File::open(out.join(format!("{event}.samples.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// Asserts that the user is root. Tests that call this are ignored, and `make test-profiler` runs them as root only.
pub fn assert_root() {
    // SAFETY: geteuid cannot fail and touches no memory.
    assert_eq!(unsafe { libc::geteuid() }, 0, "this test needs root");
}

pub fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
