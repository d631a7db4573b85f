//! Starting and ending the one recording, by asprof.

use crate::cli::Attach;
use crate::event::Event;
use crate::jvm::Jvm;
use crate::perf;
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{self, Read, Seek};
use std::os::fd::FromRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The file's name in the output directory.
pub const RECORDING: &str = "profile.jfr";
/// A chunk is readable by itself: of a JVM that dies, at most this much is lost.
const CHUNK_S: u32 = 10;
const ATTACH_TIME_MAX: Duration = Duration::from_secs(30);

/// What to record.
pub struct Recording {
    pub out: PathBuf,
    pub events: Vec<Event>,
    pub interval_ns: u64,
    pub wall_interval_ns: u64,
    pub alloc_interval_bytes: u64,
    pub lock_threshold_ns: u64,
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
        add("--chunktime", format!("{CHUNK_S}s"));
        options
    }
}

/// Starts the recording. The JVM writes `out/profile.jfr` itself, so that directory has to exist for it too.
pub fn start(tools: &Tools, jvm: &Jvm, attach: &Attach, recording: &Recording) -> Result<()> {
    let out = directory(jvm, &recording.out)?;
    let file = out.join(RECORDING);
    if file.exists() {
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

/// Ends the recording and checks that the file is there and whole.
pub fn stop(tools: &Tools, jvm: &Jvm, attach: &Attach, out: &Path) -> Result<()> {
    let file = directory(jvm, out)?.join(RECORDING);
    asprof(tools, jvm, attach, "stop", &["-f".to_owned(), path_text(&file)?])?;
    if !file.exists() {
        bail!("no recording was running, or it was started with another --out: there is no {}", file.display());
    }
    let bytes = check_recording(&file)?;
    println!("recorded {} ({bytes} bytes)", file.display());
    Ok(())
}

/// The size of a recording whose beginning is one; an error says what is wrong with the file.
pub fn check_recording(file: &Path) -> Result<u64> {
    let mut magic = Vec::new();
    fs::File::open(file)
        .and_then(|file| file.take(4).read_to_end(&mut magic))
        .with_context(|| format!("cannot read the recording {}", file.display()))?;
    let bytes = fs::metadata(file)?.len();
    match magic.as_slice() {
        b"FLR\0" => Ok(bytes),
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

/// Whether the JVM sees `path`; what may not be looked at is taken to be there.
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

fn asprof(tools: &Tools, jvm: &Jvm, attach: &Attach, action: &str, options: &[String]) -> Result<()> {
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
    let (succeeded, output) = run(&mut command)?;
    if !succeeded {
        bail!("asprof {action} failed for process {}: {}", jvm.pid, explain(jvm, &output));
    }
    Ok(())
}

/// Runs to the end or to the time limit; standard output and error together. A file in memory takes them: a pipe would
/// only end with the process that asprof leaves behind to hand over perf events.
fn run(command: &mut Command) -> Result<(bool, String)> {
    let mut output = memory_file().context("cannot make a file in memory")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot run {}", Path::new(command.get_program()).display()))?;
    let deadline = Instant::now() + ATTACH_TIME_MAX;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("the JVM did not answer within {} s: is it stopped?", ATTACH_TIME_MAX.as_secs());
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut said = String::new();
    output.rewind()?;
    output.read_to_string(&mut said)?;
    Ok((status.success(), said.trim().to_owned()))
}

fn memory_file() -> io::Result<fs::File> {
    // SAFETY: the name is a C string; the descriptor, where there is one, belongs to the file from here on.
    unsafe {
        let descriptor = libc::memfd_create(c"asprof-output".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(fs::File::from_raw_fd(descriptor)) }
    }
}

/// What asprof said, and what to do about it.
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
        }
    }

    #[test]
    fn each_event_has_its_option() {
        let options = recording(Event::ALL.to_vec()).options().join(" ");
        assert_eq!(options, "-e cpu -i 500000 --wall 20000000 --alloc 524288 --lock 10000 --chunktime 10s");
        assert_eq!(recording(vec![Event::Lock]).options().join(" "), "--lock 10000 --chunktime 10s");
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
    fn a_path_that_asprof_would_misread_is_refused() {
        assert!(path_text(Path::new("/a,b/profile.jfr")).is_err());
        assert!(path_text(Path::new("/a%p/profile.jfr")).is_err());
        assert_eq!(path_text(Path::new("/a/profile.jfr")).unwrap(), "/a/profile.jfr");
    }
}
