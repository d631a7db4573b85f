//! Starts and ends the one recording, by asprof.

use crate::event::Event;
use crate::jvm::Jvm;
use crate::perf::{self, FdTransfer};
use crate::process;
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The file's name in the output directory.
pub const RECORDING: &str = "profile.jfr";
/// The file beside it, with async-profiler's counters, or `null` if it did not say.
pub const COUNTS: &str = "recorder.json";
/// A chunk is readable by itself: if the JVM dies, at most this much is lost.
const CHUNK_S: u32 = 10;
const ATTACH_TIME_MAX: Duration = Duration::from_secs(30);

/// How to reach the service's JVM.
#[derive(Args, Clone)]
pub struct Attach {
    /// Directory that holds libasyncProfiler.so at the same path for the JVM and for this program, such as a volume
    /// that two containers share. The library is put there if it is missing [default: the lib directory]
    #[arg(long, env = "PROFILE_LIBPATH", value_name = "DIR")]
    pub libpath: Option<PathBuf>,
    /// Open the perf events here and hand them to the JVM, which then needs no privilege. `auto` does so if this
    /// process may open them and the JVM may not
    #[arg(long, value_enum, env = "PROFILE_FDTRANSFER", default_value = "auto")]
    pub fdtransfer: FdTransfer,
}

/// The settings of a recording.
pub struct Recording {
    pub out: PathBuf,
    pub events: Vec<Event>,
    pub interval_ns: u64,
    pub wall_interval_ns: u64,
    pub alloc_interval_bytes: u64,
    pub lock_threshold_ns: u64,
    pub nativemem_interval_bytes: u64,
    pub depth: u32,
    /// The recording ends by itself after this time.
    pub time_max: Duration,
}

impl Recording {
    fn has(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |name: &str, value: String| options.extend([name.to_owned(), value]);
        if self.has(Event::Cpu) {
            add("-e", "cpu".to_owned());
            add("-i", self.interval_ns.to_string());
        }
        if self.has(Event::Wall) {
            add("--wall", self.wall_interval_ns.to_string());
        }
        if self.has(Event::Alloc) {
            add("--alloc", self.alloc_interval_bytes.to_string());
        }
        if self.has(Event::Lock) {
            add("--lock", self.lock_threshold_ns.to_string());
        }
        if self.has(Event::Nativemem) {
            add("--nativemem", self.nativemem_interval_bytes.to_string());
        }
        add("-j", self.depth.to_string());
        add("--timeout", self.time_max.as_secs().max(1).to_string());
        add("--chunktime", format!("{CHUNK_S}s"));
        options
    }
}

/// Starts the recording. The JVM writes `out/profile.jfr` itself, so that directory must exist for the JVM too.
pub fn start(tools: &Tools, jvm: &Jvm, attach: &Attach, recording: &Recording) -> Result<()> {
    let out = directory(jvm, &recording.out)?;
    let file = out.join(RECORDING);
    if fs::symlink_metadata(&file).is_ok() {
        bail!("{} exists: give --out a directory without a recording", file.display());
    }
    let probe = perf::probe(Some(jvm), attach.fdtransfer);
    let mut options = recording.options();
    if probe.fdtransfer && recording.has(Event::Cpu) {
        options.push("--fdtransfer".to_owned());
    }
    options.extend(["-f".to_owned(), path_text(&file)?]);
    asprof(tools, jvm, attach, "start", &options)?;
    let cpu = if recording.has(Event::Cpu) { probe.engine } else { "off" };
    println!("recording {} of process {} (cpu: {cpu})", file.display(), jvm.pid);
    Ok(())
}

/// Ends the recording and checks that the file is complete.
pub fn stop(tools: &Tools, jvm: &Jvm, attach: &Attach, out: &Path) -> Result<()> {
    let file = directory(jvm, out)?.join(RECORDING);
    // before the end, since the counts end with the recording
    let counts = asprof(tools, jvm, attach, "metrics", &[]).map(|metrics| Counts::parse(&metrics)).ok();
    if let Err(error) = asprof(tools, jvm, attach, "stop", &["-f".to_owned(), path_text(&file)?]) {
        return match check_recording(&file) {
            Ok(_) if error.to_string().contains("has not started") => Err(error.context(format!(
                "{} is whole, but ended before this: by itself after --timeout, or by another stop",
                file.display()
            ))),
            _ => Err(error),
        };
    }
    if !file.exists() {
        bail!("no recording was running, or it was started with another --out: there is no {}", file.display());
    }
    let bytes = check_recording(&file)?;
    write_new(&file.with_file_name(COUNTS), serde_json::to_string(&counts)?.as_bytes())?;
    println!("recorded {} ({bytes} bytes)", file.display());
    Ok(())
}

/// async-profiler's counters over all events; the recording does not contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub samples: u64,
    /// Samples that were due and not taken, because the thread or the profiler was busy with another sample.
    pub lost: u64,
}

impl Counts {
    fn parse(metrics: &str) -> Counts {
        let value = |name| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Counts { samples: value("samples_total"), lost: value("samples_skipped_total") }
    }

    /// The counters that `stop` wrote; None if there are none.
    pub fn read(recording: &Path) -> Option<Counts> {
        let path = recording.with_file_name(COUNTS);
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
        serde_json::from_reader::<_, Option<Counts>>(file.ok()?.take(4096)).ok().flatten()
    }
}

/// Writes a new file: whatever has its name is unlinked, not followed.
fn write_new(path: &Path, content: &[u8]) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => {
            fs::OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(content))
        }
    }
    .with_context(|| format!("cannot write {}", path.display()))
}

/// The size of a file that begins like a recording; an error says what is wrong with it. The service can write to the
/// directory, so a link in place of the file is refused: it could lead to a file that only this process may read.
pub fn check_recording(file: &Path) -> Result<u64> {
    let mut magic = Vec::new();
    let opened = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file);
    let opened = opened.with_context(|| match fs::symlink_metadata(file) {
        Ok(entry) if entry.is_symlink() => format!("{} is a link, which is not followed", file.display()),
        _ => format!("cannot read the recording {}", file.display()),
    })?;
    let entry = opened.metadata()?;
    if !entry.is_file() {
        bail!("{} is not a file", file.display());
    }
    opened.take(4).read_to_end(&mut magic).with_context(|| format!("cannot read the recording {}", file.display()))?;
    match magic.as_slice() {
        b"FLR\0" => Ok(entry.len()),
        [] => bail!("{} is empty: the recording was not ended, or its JVM died at once", file.display()),
        _ => bail!("{} is not a JFR recording", file.display()),
    }
}

fn directory(jvm: &Jvm, out: &Path) -> Result<PathBuf> {
    let absolute = fs::canonicalize(out)
        .with_context(|| format!("the output directory {} does not exist here: make it first", out.display()))?;
    if !absolute.is_dir() {
        bail!("{} is not a directory", absolute.display());
    }
    if jvm.is_in_another_container() && !exists_for(jvm, &absolute) {
        bail!(
            "the JVM, in another container, does not see {}: mount one volume at the same path in both",
            absolute.display()
        );
    }
    Ok(absolute)
}

/// Whether the JVM sees `path`; true if this process may not check.
fn exists_for(jvm: &Jvm, path: &Path) -> bool {
    match fs::metadata(jvm.path_seen_by(path)) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

fn path_text(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    // asprof separates its options by commas and expands % in file names
    if text.contains([',', '%']) {
        bail!("{text}: a comma or a percent sign in the path is not possible with asprof");
    }
    Ok(text.to_owned())
}

fn asprof(tools: &Tools, jvm: &Jvm, attach: &Attach, action: &str, options: &[String]) -> Result<String> {
    let library = match &attach.libpath {
        Some(directory) => tools.library_in(directory)?,
        None => tools.library()?,
    };
    if jvm.is_in_another_container() && !exists_for(jvm, &library) {
        bail!(
            "the JVM, in another container, does not see {}: mount one volume at the same path in both and name it \
             with --libpath",
            library.display()
        );
    }
    let mut command = Command::new(tools.asprof()?);
    command.arg(action).arg("--libpath").arg(&library).args(options).arg(jvm.pid.to_string());
    let outcome = process::run(&mut command, ATTACH_TIME_MAX)
        .context("the JVM does not answer: is it stopped, or is its attach socket gone?")?;
    if !outcome.status.success() {
        let said = outcome.said();
        let reason = if said.is_empty() { outcome.ending() } else { explain(jvm, &said) };
        bail!("asprof {action} failed for process {}: {reason}", jvm.pid);
    }
    Ok(outcome.stdout)
}

/// asprof's message, and what to do about it.
fn explain(jvm: &Jvm, output: &str) -> String {
    const ADVICE: [(&str, &str); 8] = [
        (
            "Dynamic agent loading is not enabled",
            "the JVM was started with -XX:-EnableDynamicAgentLoading: start it without",
        ),
        ("already started", "a recording is running: end it with `profile stop`"),
        ("has not started", "no recording is running: begin one with `profile start`"),
        (
            "Could not open Flight Recorder output file",
            "the JVM, which writes the file itself, may not write to the directory: let its user do so",
        ),
        (
            "failed to map segment",
            "the library lies on a file system mounted noexec: choose another --libpath, or mount it exec",
        ),
        ("cannot open shared object file", "the JVM does not see the library at this path: use --libpath"),
        (
            "Could not start attach mechanism",
            "the JVM does not answer on its attach socket: is it a HotSpot JVM, and is its /tmp writable?",
        ),
        ("perf_event", "see `profile probe`, or use --fdtransfer off"),
    ];
    if output.contains("change credentials") || output.contains("Operation not permitted") {
        // SAFETY: geteuid cannot fail and touches no memory of ours.
        let here = unsafe { libc::geteuid() };
        let there = jvm.uid().map_or("unknown".to_owned(), |uid| uid.to_string());
        return format!(
            "{output}\nthe JVM runs as user {there}, this process as user {here}: run as the same user, or as root"
        );
    }
    match ADVICE.iter().find(|(symptom, _)| output.contains(symptom)) {
        Some((_, advice)) => format!("{output}\n{advice}"),
        None => output.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(events: Vec<Event>) -> Recording {
        Recording {
            out: PathBuf::new(),
            events,
            interval_ns: 500_000,
            wall_interval_ns: 20_000_000,
            alloc_interval_bytes: 524_288,
            lock_threshold_ns: 10_000,
            nativemem_interval_bytes: 4096,
            depth: 512,
            time_max: Duration::from_secs(90),
        }
    }

    #[test]
    fn each_event_has_its_option() {
        let options = recording(Event::ALL.to_vec()).options().join(" ");
        assert_eq!(
            options,
            "-e cpu -i 500000 --wall 20000000 --alloc 524288 --lock 10000 --nativemem 4096 -j 512 --timeout 90 --chunktime 10s"
        );
        assert_eq!(
            recording(vec![Event::Lock]).options().join(" "),
            "--lock 10000 -j 512 --timeout 90 --chunktime 10s"
        );
    }

    #[test]
    fn a_file_that_is_no_recording_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(RECORDING);
        let error = format!("{:#}", check_recording(&file).unwrap_err());
        assert!(error.contains("cannot read") && error.contains(RECORDING), "{error}");
        fs::write(&file, "").unwrap();
        assert!(check_recording(&file).unwrap_err().to_string().contains("empty"));
        fs::write(&file, "PK\x03\x04").unwrap();
        assert!(check_recording(&file).unwrap_err().to_string().contains("not a JFR recording"));
    }

    #[test]
    fn the_lost_samples_are_read_from_the_metrics_and_written_past_a_link() {
        let counts = Counts::parse("mem_x_kb 7\nsamples_total 58986\nsamples_skipped_total 1788\n");
        assert_eq!(counts, Counts { samples: 58_986, lost: 1_788 });
        let directory = tempfile::tempdir().unwrap();
        let (secret, recording) = (directory.path().join("secret"), directory.path().join(RECORDING));
        fs::write(&secret, "untouched").unwrap();
        std::os::unix::fs::symlink(&secret, directory.path().join(COUNTS)).unwrap();
        assert_eq!(Counts::read(&recording), None, "a link is not followed");
        write_new(&directory.path().join(COUNTS), serde_json::to_string(&counts).unwrap().as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "untouched");
        assert_eq!(Counts::read(&recording), Some(counts));
        write_new(&directory.path().join(COUNTS), b"null").unwrap();
        assert_eq!(Counts::read(&recording), None, "async-profiler did not say");
    }

    #[test]
    fn a_link_in_the_place_of_the_recording_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (secret, file) = (directory.path().join("secret"), directory.path().join(RECORDING));
        fs::write(&secret, "FLR\0 of somebody else").unwrap();
        std::os::unix::fs::symlink(&secret, &file).unwrap();
        let error = check_recording(&file).unwrap_err().to_string();
        assert!(error.contains("is a link"), "{error}");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(check_recording(&file).unwrap_err().to_string().contains("is not a file"));
    }

    #[test]
    fn a_path_that_asprof_would_misread_is_refused() {
        assert!(path_text(Path::new("/a,b/profile.jfr")).is_err());
        assert!(path_text(Path::new("/a%p/profile.jfr")).is_err());
        assert_eq!(path_text(Path::new("/a/profile.jfr")).unwrap(), "/a/profile.jfr");
    }
}
