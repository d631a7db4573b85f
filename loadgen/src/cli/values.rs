//! Parses the values of single options. An error says what is allowed; clap adds the option and the value.

use crate::units::parse_count;
use std::net::{SocketAddr, ToSocketAddrs};

/// CPUs to pin threads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

/// Reads a wall-clock time: RFC 3339, or seconds since 1970.
pub(super) fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    let wrong =
        || "expected a time such as 2026-11-21T09:14:35Z, or seconds since 1970 such as 1795252475.5".to_owned();
    match text.parse::<f64>() {
        // Years 1970 to 2286 only, so that neither minutes nor milliseconds are taken for seconds.
        Ok(seconds) if (1e9..1e10).contains(&seconds) => {
            jiff::Timestamp::from_microsecond((seconds * 1e6).round() as i64).map_err(|_| wrong())
        }
        Ok(_) => Err(wrong()),
        Err(_) => text.parse().map_err(|_| wrong()),
    }
}

/// Reads a number of threads, from 1 to 1024.
pub(super) fn threads(text: &str) -> Result<u64, String> {
    match parse_count(text)? {
        count @ 1..=1024 => Ok(count),
        _ => Err("expected at most 1024 threads; raise -c for more load, not -t".to_owned()),
    }
}

/// Reads a factor above 1; an `x` may follow.
pub(super) fn catch_up_factor(text: &str) -> Result<f64, String> {
    let factor = text.trim_end_matches('x').parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| "expected a factor above 1, such as 2".to_owned())
}

/// Reads `Name: value`.
pub(super) fn header(text: &str) -> Result<(String, String), String> {
    let wrong = || "expected 'Name: value'".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let value = value.trim();
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() || http::HeaderValue::from_str(value).is_err() {
        return Err(wrong());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Reads HOST:PORT. Resolves a name to its first address.
pub(super) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let wrong = || "expected HOST:PORT, such as 127.0.0.1:9100; 0.0.0.0:9100 serves all interfaces".to_owned();
    text.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(wrong)
}

/// Reads CPU numbers and ranges, separated by commas.
pub(super) fn cpu_list(text: &str) -> Result<CpuList, String> {
    let read = || {
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last >= 1024 {
                return None;
            }
            cpus.extend(first..=last);
        }
        Some(CpuList(cpus))
    };
    read().ok_or_else(|| "expected CPU numbers below 1024, such as 1 or 0,2-3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_take_ranges() {
        assert_eq!(cpu_list("0,2-4"), Ok(CpuList(vec![0, 2, 3, 4])));
    }
}
