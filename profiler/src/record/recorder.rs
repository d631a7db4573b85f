//! Starts and ends the one recording, by asprof.

use crate::counts::Counts;
use crate::event::Event;
use crate::print::print;
use crate::record::asprof::{self, Attach};
use crate::record::jvm::Jvm;
use crate::record::perf;
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name in the output directory.
pub const RECORDING: &str = "profile.jfr";
/// A chunk is readable by itself: if the JVM dies, at most this much is lost.
const CHUNK_S: u32 = 10;

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
    /// The recording ends by itself after this time, rounded up to whole seconds; more than zero.
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
        // whole seconds: async-profiler's timer runs once a second
        add("--timeout", self.time_max.as_nanos().div_ceil(1_000_000_000).to_string());
        add("--chunktime", format!("{CHUNK_S}s"));
        options
    }
}

/// Starts the recording. The JVM writes `out/profile.jfr` itself, so that directory must exist for the JVM too.
pub fn start(tools: &Tools, jvm: &Jvm, attach: &Attach, recording: &Recording) -> Result<()> {
    let out = directory(jvm, &recording.out)?;
    let file = out.join(RECORDING);
    if fs::symlink_metadata(&file).is_ok() {
        bail!("{} exists: set --out to a directory without a recording", file.display());
    }
    let probe = perf::probe(Some(jvm), attach.fdtransfer);
    let mut options = recording.options();
    if probe.fdtransfer && recording.has(Event::Cpu) {
        options.push("--fdtransfer".to_owned());
    }
    options.extend(["-f".to_owned(), path_text(&file)?]);
    asprof::run(tools, jvm, attach, "start", &options)?;
    let cpu = if recording.has(Event::Cpu) { probe.engine } else { "off" };
    print(format_args!("recording {} of process {} (cpu: {cpu})\n", file.display(), jvm.pid))?;
    Ok(())
}

/// Ends the recording and checks that its file begins like a recording.
pub fn stop(tools: &Tools, jvm: &Jvm, attach: &Attach, out: &Path) -> Result<()> {
    let file = directory(jvm, out)?.join(RECORDING);
    // asprof's stop succeeds even if the recording ended long ago
    if !asprof::run(tools, jvm, attach, "status", &[])?.contains("is running") {
        if file.exists() {
            bail!(
                "no recording is running: {} ended before this, by itself after --timeout or by another stop",
                file.display()
            );
        }
        bail!("no recording is running: begin one with `profile start`");
    }
    asprof::run(tools, jvm, attach, "stop", &["-f".to_owned(), path_text(&file)?])?;
    if !file.exists() {
        bail!("the recording that ran was started with another --out: {} does not exist", file.display());
    }
    let bytes = check_recording(&file)?;
    // read after the end, so that every sample is counted; they stay until the next start
    let counts = asprof::run(tools, jvm, attach, "metrics", &[]).map(|metrics| Counts::parse(&metrics)).ok();
    Counts::write(counts, &file)?;
    print(format_args!("recorded {} ({bytes} bytes)\n", file.display()))?;
    Ok(())
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
        .with_context(|| format!("the output directory {} does not exist: create it first", out.display()))?;
    if !absolute.is_dir() {
        bail!("{} is not a directory", absolute.display());
    }
    if !jvm.sees(&absolute) {
        bail!(
            "the JVM, in another container, does not see {}: mount one volume at the same path in both",
            absolute.display()
        );
    }
    Ok(absolute)
}

fn path_text(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    // asprof separates its options by commas and expands % in file names
    if text.contains([',', '%']) {
        bail!("{text}: asprof does not accept a comma or a percent sign in the path");
    }
    Ok(text.to_owned())
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
    fn a_time_limit_is_rounded_up_to_whole_seconds() {
        for (ms, seconds) in [(1, "1"), (1000, "1"), (1001, "2"), (90_000, "90")] {
            let limited = Recording { time_max: Duration::from_millis(ms), ..recording(vec![Event::Lock]) };
            let options = limited.options();
            let at = options.iter().position(|option| option == "--timeout").unwrap();
            assert_eq!(options[at + 1], seconds, "{ms} ms");
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
    fn a_file_that_is_not_a_recording_is_refused_by_name() {
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
    fn a_link_in_place_of_the_recording_is_not_followed() {
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
