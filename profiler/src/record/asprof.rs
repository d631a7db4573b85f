//! Runs asprof, which attaches to a JVM, and explains its messages.

use crate::process;
use crate::record::jvm::Jvm;
use crate::record::perf::FdTransfer;
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const ATTACH_TIME_MAX: Duration = Duration::from_secs(30);

/// The address of the service's JVM.
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

/// Runs an action of asprof and returns what it printed; an error says what to do.
pub fn run(tools: &Tools, jvm: &Jvm, attach: &Attach, action: &str, options: &[String]) -> Result<String> {
    let library = match &attach.libpath {
        Some(directory) => tools.library_in(directory)?,
        None => tools.library()?,
    };
    if !jvm.sees(&library) {
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
        let output = outcome.output();
        let reason = if output.is_empty() { outcome.ending() } else { explain(jvm, &output) };
        bail!("asprof {action} failed for process {}: {reason}", jvm.pid);
    }
    Ok(outcome.stdout)
}

/// asprof's message, and what to do about it.
fn explain(jvm: &Jvm, output: &str) -> String {
    const ADVICE: [(&str, &str); 7] = [
        (
            "Dynamic agent loading is not enabled",
            "the JVM was started with -XX:-EnableDynamicAgentLoading: start it without this flag",
        ),
        ("already started", "a recording is running: end it with `profile stop`"),
        (
            "Could not open Flight Recorder output file",
            "the JVM, which writes the file itself, may not write to the directory: give its user permission",
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
