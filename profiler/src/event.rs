//! The events a recording can hold, and what the width of a frame means for each.

use clap::ValueEnum;

/// A kind of sample. The names are those of the files that `convert` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Event {
    /// Threads on a CPU.
    Cpu,
    /// Allocated memory.
    Alloc,
    /// Time spent waiting for a contended monitor or lock.
    Lock,
    /// Every thread, running or not.
    Wall,
    /// Memory that native code allocated with malloc and similar functions.
    Nativemem,
}

impl Event {
    pub const ALL: [Event; 5] = [Event::Cpu, Event::Alloc, Event::Lock, Event::Wall, Event::Nativemem];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Event::Cpu => "cpu",
            Event::Alloc => "alloc",
            Event::Lock => "lock",
            Event::Wall => "wall",
            Event::Nativemem => "nativemem",
        }
    }

    /// Its name in titles.
    pub fn title(self) -> &'static str {
        match self {
            Event::Cpu => "CPU time",
            Event::Alloc => "allocated memory",
            Event::Lock => "lock wait",
            Event::Wall => "wall-clock time",
            Event::Nativemem => "native memory",
        }
    }

    /// The unit of a frame's width, as in the collapsed stacks.
    pub fn unit(self) -> &'static str {
        match self {
            Event::Cpu | Event::Wall => "samples",
            Event::Alloc | Event::Nativemem => "bytes",
            Event::Lock => "ns",
        }
    }

    /// The converter's options that select this event. Without them it mixes all events of a recording.
    pub fn converter_options(self) -> &'static [&'static str] {
        match self {
            Event::Cpu => &["--cpu"],
            Event::Alloc => &["--alloc", "--total"],
            Event::Lock => &["--lock", "--total"],
            Event::Wall => &["--wall"],
            Event::Nativemem => &["--nativemem", "--total"],
        }
    }

    /// Whether a stack ends in the class of the allocated or locked object.
    pub fn ends_in_class(self) -> bool {
        matches!(self, Event::Alloc | Event::Lock)
    }
}

/// Parses `500us`, `20ms`, `1s`, `1000` (nanoseconds) into nanoseconds.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    let allowed = "a whole number with ns, us, ms or s, such as 500us";
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(format!("unknown unit {unit:?}: expected {allowed}")),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("expected {allowed}, more than zero"))
}

/// Parses `512k`, `1m`, `4096` into bytes.
pub fn parse_size_bytes(text: &str) -> Result<u64, String> {
    let allowed = "a whole number of bytes, or with k or m, such as 512k";
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        _ => return Err(format!("unknown unit {unit:?}: expected {allowed}")),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("expected {allowed}, more than zero"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_or_is_in_nanoseconds() {
        assert_eq!(parse_duration_ns("500us"), Ok(500_000));
        assert_eq!(parse_duration_ns("20ms"), Ok(20_000_000));
        assert_eq!(parse_duration_ns("1s"), Ok(1_000_000_000));
        assert_eq!(parse_duration_ns("1000"), Ok(1_000));
    }

    #[test]
    fn a_wrong_duration_says_what_is_allowed() {
        for wrong in ["", "us", "0ms", "-1ms", "1.5ms", "5min", "99999999999999999999s"] {
            let error = parse_duration_ns(wrong).unwrap_err();
            assert!(error.contains("500us"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_size_is_in_bytes_kibibytes_or_mebibytes() {
        assert_eq!(parse_size_bytes("512k"), Ok(524_288));
        assert_eq!(parse_size_bytes("2m"), Ok(2_097_152));
        assert_eq!(parse_size_bytes("4096"), Ok(4_096));
        assert!(parse_size_bytes("1g").unwrap_err().contains("512k"));
        assert!(parse_size_bytes("0").is_err());
    }
}
