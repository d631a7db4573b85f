//! Finds the JVM to record, and reads what /proc reports about it.

use anyhow::{Result, bail};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The jar of the JVM that `--pid auto` finds.
const SERVICE_JAR: &str = "lsmlab-server.jar";

/// `--pid`: a number, or `auto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pid {
    Auto,
    Number(u32),
}

impl FromStr for Pid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Pid::Auto),
            _ => match text.parse() {
                Ok(number) if number > 0 => Ok(Pid::Number(number)),
                _ => Err("expected a process id or `auto`".to_owned()),
            },
        }
    }
}

/// A running JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jvm {
    pub pid: u32,
    /// `/proc`, or a stand-in for it in tests.
    proc: PathBuf,
}

impl Jvm {
    fn directory(&self) -> PathBuf {
        self.proc.join(self.pid.to_string())
    }

    /// The effective user of the process.
    pub fn uid(&self) -> Option<u32> {
        status_field(&self.directory(), "Uid")?.split_whitespace().nth(1)?.parse().ok()
    }

    /// The effective capabilities, as the kernel's bit set.
    pub fn capabilities(&self) -> Option<u64> {
        u64::from_str_radix(&status_field(&self.directory(), "CapEff")?, 16).ok()
    }

    /// Whether a seccomp filter is on.
    pub fn is_filtered(&self) -> bool {
        status_field(&self.directory(), "Seccomp").is_some_and(|mode| mode != "0")
    }

    /// The user namespace, as `user:[inode]`.
    pub fn user_namespace(&self) -> Option<String> {
        let link = fs::read_link(self.directory().join("ns/user")).ok()?;
        Some(link.to_string_lossy().into_owned())
    }

    /// The path at which this process sees the JVM's `path`.
    fn path_seen_by(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        self.directory().join("root").join(relative)
    }

    /// Whether the JVM sees this process's `path` at the same path; true if this process may not check.
    pub fn sees(&self, path: &Path) -> bool {
        if !self.is_in_another_container() {
            return true;
        }
        match fs::metadata(self.path_seen_by(path)) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        }
    }

    /// Whether the process has other mounts than this one: it runs in another container.
    fn is_in_another_container(&self) -> bool {
        let ours = fs::read_link(self.proc.join("self/ns/mnt"));
        let theirs = fs::read_link(self.directory().join("ns/mnt"));
        matches!((ours, theirs), (Ok(ours), Ok(theirs)) if ours != theirs)
    }

    /// Whether the process still runs.
    pub fn is_alive(&self) -> bool {
        self.directory().join("stat").exists()
    }
}

fn status_field(process: &Path, name: &str) -> Option<String> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned()))
}

/// The JVM that `pid` names. An error lists the JVMs that were found instead.
pub fn resolve(pid: &Pid) -> Result<Jvm> {
    resolve_in(Path::new("/proc"), pid)
}

fn resolve_in(proc: &Path, pid: &Pid) -> Result<Jvm> {
    let wanted = match pid {
        Pid::Number(pid) => *pid,
        Pid::Auto => find_service(proc)?,
    };
    let jvm = Jvm { pid: wanted, proc: proc.to_owned() };
    if !jvm.is_alive() {
        bail!("no process {wanted} is running here; {}", list(&java_processes(proc)));
    }
    if !is_java(&jvm.directory()) {
        let what = words(&jvm.directory()).join(" ");
        bail!("process {wanted} is not a JVM but `{}`; {}", shorten(&what), list(&java_processes(proc)));
    }
    Ok(jvm)
}

fn find_service(proc: &Path) -> Result<u32> {
    let running = java_processes(proc);
    let services: Vec<_> = running.iter().filter(|process| process.runs(SERVICE_JAR)).collect();
    match services.as_slice() {
        [one] => Ok(one.pid),
        [] => bail!("no JVM runs {SERVICE_JAR}; {}", list(&running)),
        _ => {
            let several = services.into_iter().cloned().collect::<Vec<_>>();
            bail!("several JVMs run {SERVICE_JAR}: name one with --pid; {}", list(&several))
        }
    }
}

#[derive(Clone)]
struct JavaProcess {
    pid: u32,
    words: Vec<String>,
}

impl JavaProcess {
    fn runs(&self, jar: &str) -> bool {
        self.words.windows(2).any(|pair| pair[0] == "-jar" && pair[1].rsplit('/').next() == Some(jar))
    }
}

fn java_processes(proc: &Path) -> Vec<JavaProcess> {
    let mut found: Vec<_> = fs::read_dir(proc)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            is_java(&entry.path()).then(|| JavaProcess { pid, words: words(&entry.path()) })
        })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// A program named `java`, or any that maps libjvm: some launchers have another name.
fn is_java(process: &Path) -> bool {
    let named = words(process).first().is_some_and(|program| program.rsplit('/').next() == Some("java"));
    named || fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains("/libjvm.so"))
}

fn words(process: &Path) -> Vec<String> {
    let command = fs::read(process.join("cmdline")).unwrap_or_default();
    command
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

fn list(processes: &[JavaProcess]) -> String {
    if processes.is_empty() {
        return "no JVM is running here (in a sidecar: does it share the service's PID namespace?)".to_owned();
    }
    let lines: Vec<_> = processes
        .iter()
        .map(|process| format!("\n  {:>7}  {}", process.pid, shorten(&process.words.join(" "))))
        .collect();
    format!("JVMs running here:{}", lines.concat())
}

fn shorten(command: &str) -> String {
    const LENGTH_MAX: usize = 160;
    match command.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{} …", &command[..end]),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(proc: &Path, pid: u32, command: &[&str]) {
        let directory = proc.join(pid.to_string());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("cmdline"), command.join("\0")).unwrap();
        fs::write(directory.join("stat"), "").unwrap();
        fs::write(
            directory.join("status"),
            "Name:\tjava\nUid:\t0\t1000\t0\t0\nCapEff:\t0000000000200000\nSeccomp:\t2\n",
        )
        .unwrap();
    }

    const SERVICE: &[&str] = &["/opt/jdk/bin/java", "-Xmx1g", "-jar", "service/lsmlab-server.jar", "serve"];

    #[test]
    fn auto_finds_the_jvm_of_the_service_among_others() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 1, &["/sbin/tini", "--", "java", "-jar", "lsmlab-server.jar"]);
        process(proc.path(), 7, SERVICE);
        process(proc.path(), 8, &["java", "-jar", "other.jar", "lsmlab-server.jar"]);
        let jvm = resolve_in(proc.path(), &Pid::Auto).unwrap();
        assert_eq!(jvm.pid, 7);
        assert_eq!(jvm.uid(), Some(1000));
        assert_eq!(jvm.capabilities(), Some(1 << 21));
        assert!(jvm.is_filtered());
    }

    #[test]
    fn without_the_service_the_error_lists_the_jvms_that_run() {
        let proc = tempfile::tempdir().unwrap();
        let error = resolve_in(proc.path(), &Pid::Auto).unwrap_err().to_string();
        assert!(error.contains("no JVM is running"), "{error}");
        process(proc.path(), 8, &["java", "-jar", "other.jar"]);
        let error = resolve_in(proc.path(), &Pid::Auto).unwrap_err().to_string();
        assert!(error.contains("lsmlab-server.jar") && error.contains("8  java -jar other.jar"), "{error}");
    }

    #[test]
    fn two_services_are_one_too_many() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 7, SERVICE);
        process(proc.path(), 9, SERVICE);
        let error = resolve_in(proc.path(), &Pid::Auto).unwrap_err().to_string();
        assert!(error.contains("--pid") && error.contains("7  ") && error.contains("9  "), "{error}");
    }

    #[test]
    fn a_number_must_be_a_running_jvm() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 3, &["sleep", "9"]);
        let error = resolve_in(proc.path(), &Pid::Number(3)).unwrap_err().to_string();
        assert!(error.contains("not a JVM but `sleep 9`"), "{error}");
        let error = resolve_in(proc.path(), &Pid::Number(4)).unwrap_err().to_string();
        assert!(error.contains("no process 4"), "{error}");
        assert!("0".parse::<Pid>().is_err() && "-4".parse::<Pid>().is_err() && "x".parse::<Pid>().is_err());
    }
}
