//! A directory for unfinished files, on the file system of their destination.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// Removed when dropped.
pub struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    pub fn inside(out: &Path) -> Result<Scratch> {
        let out = fs::canonicalize(out).with_context(|| format!("cannot find {}", out.display()))?;
        let directory = out.join(format!(".convert-{}", process::id()));
        // fails if the name exists, even as a link
        fs::create_dir(&directory).with_context(|| format!("cannot write to {}", out.display()))?;
        Ok(Scratch { directory })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Takes a file that the converter wrote.
    pub fn take(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        let text = fs::read_to_string(&path).with_context(|| format!("the converter did not write {name}"))?;
        fs::remove_file(path)?;
        Ok(text)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        fs::write(self.path(name), content).with_context(|| format!("cannot write {name}"))
    }

    /// Moves the named files into `out` and deletes all others.
    pub fn publish(self, out: &Path, names: &[String]) -> Result<()> {
        for name in names {
            fs::rename(self.path(name), out.join(name)).with_context(|| format!("cannot write {name}"))?;
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
