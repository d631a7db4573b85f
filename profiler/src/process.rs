//! Runs another program to its end or to a time limit.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::FromRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The result of a program.
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Both outputs, as shown to a user.
    pub fn output(&self) -> String {
        format!("{}\n{}", self.stdout.trim(), self.stderr.trim()).trim().to_owned()
    }

    /// Describes the end of the program. Never empty, because a killed program prints nothing.
    pub fn ending(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(libc::SIGKILL)) => "killed by signal 9, as the kernel does when memory runs out".to_owned(),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "ended without a status".to_owned(),
        }
    }
}

/// Runs `command`; after `limit` it is killed, and the error says so.
///
/// The output goes to files in memory. A pipe would end only with the last process that inherits it, and asprof leaves
/// one behind to hand over perf events.
pub fn run(command: &mut Command, limit: Duration) -> Result<Outcome> {
    let mut stdout = memory_file().context("cannot create a file in memory")?;
    let mut stderr = memory_file().context("cannot create a file in memory")?;
    let program = Path::new(command.get_program()).display().to_string();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!("{program} was stopped after its time limit of {} s", limit.as_secs_f64());
        }
        thread::sleep(Duration::from_millis(5));
    };
    Ok(Outcome { status, stdout: text(&mut stdout)?, stderr: text(&mut stderr)? })
}

fn text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor, if there is one, belongs to the file from here on.
    unsafe {
        let descriptor = libc::memfd_create(c"profile-output".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_fd(descriptor)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn the_outputs_and_the_exit_status_are_kept_apart() {
        let outcome = run(&mut shell("echo out; echo err >&2; exit 3"), LIMIT).unwrap();
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(outcome.ending(), "exit status 3");
        assert_eq!(outcome.output(), "out\nerr");
    }

    #[test]
    fn the_end_of_a_killed_program_is_described() {
        let outcome = run(&mut shell("kill -9 $$"), LIMIT).unwrap();
        assert_eq!(outcome.output(), "");
        assert!(outcome.ending().contains("signal 9") && outcome.ending().contains("memory"), "{}", outcome.ending());
        assert!(run(&mut shell("kill -15 $$"), LIMIT).unwrap().ending().contains("signal 15"));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = run(&mut shell("exec sleep 600"), Duration::from_millis(20)).err().expect("stopped").to_string();
        assert!(error.contains("sh") && error.contains("time limit of 0.02 s"), "{error}");
    }
}
