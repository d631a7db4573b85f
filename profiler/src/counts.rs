//! Counts the samples that a recording took and lost. The recording itself does not contain these counts.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file's name, beside the recording.
const FILE: &str = "recorder.json";

/// async-profiler's counters over all events; the recording does not contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Samples in the recording; wall-clock samples of a thread that sleeps on count as one.
    pub samples: u64,
    /// Samples that were due and not taken, because the thread or the profiler was busy with another sample.
    pub lost: u64,
}

impl Counts {
    pub fn parse(metrics: &str) -> Counts {
        let value = |name| -> u64 {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        // its total includes the lost samples
        let lost = value("samples_skipped_total");
        Counts { samples: value("samples_total").saturating_sub(lost), lost }
    }

    /// Writes the counters beside `recording`, or `null` if async-profiler did not report them.
    pub fn write(counts: Option<Counts>, recording: &Path) -> Result<()> {
        write_new(&recording.with_file_name(FILE), serde_json::to_string(&counts)?.as_bytes())
    }

    /// The counters beside `recording`; None if there are none.
    pub fn read(recording: &Path) -> Option<Counts> {
        let path = recording.with_file_name(FILE);
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
        serde_json::from_reader::<_, Option<Counts>>(file.ok()?.take(4096)).ok().flatten()
    }
}

/// Writes a new file. A file or link with this name is unlinked first, so a link is not followed.
fn write_new(path: &Path, content: &[u8]) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => {
            fs::OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(content))
        }
    }
    .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lost_samples_are_read_from_the_metrics_and_written_past_a_link() {
        let counts = Counts::parse("mem_x_kb 7\nsamples_total 58986\nsamples_skipped_total 1788\n");
        assert_eq!(counts, Counts { samples: 57_198, lost: 1_788 });
        let directory = tempfile::tempdir().unwrap();
        let (secret, recording) = (directory.path().join("secret"), directory.path().join("profile.jfr"));
        fs::write(&secret, "untouched").unwrap();
        std::os::unix::fs::symlink(&secret, directory.path().join(FILE)).unwrap();
        assert_eq!(Counts::read(&recording), None, "a link is not followed");
        write_new(&directory.path().join(FILE), serde_json::to_string(&counts).unwrap().as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "untouched");
        assert_eq!(Counts::read(&recording), Some(counts));
        write_new(&directory.path().join(FILE), b"null").unwrap();
        assert_eq!(Counts::read(&recording), None, "async-profiler did not say");
    }
}
