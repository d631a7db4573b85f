//! Numbers with units, read from the command line and printed in the report, in wrk2's notation.

mod extended;

use crate::clock::SECOND;
use extended::Extended;

/// A rate as an exact fraction: `requests` per `seconds`. It is exact so that the schedule never drifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests, at least 1.
    pub requests: u64,
    /// Seconds, at least 1; a power of ten.
    pub seconds: u64,
}

impl Rate {
    /// Requests a second.
    pub fn per_second(self) -> f64 {
        self.requests as f64 / self.seconds as f64
    }
}

/// Splits a number such as `12.5k` into its digits `125`, the number of decimals 1, and the suffix `k`.
fn split_decimal(text: &str) -> Option<(u64, u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let written_with_a_bare_point = number.contains('.') && fraction.is_empty();
    if whole.is_empty() || fraction.len() > 6 || fraction.contains('.') || written_with_a_bare_point {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, fraction.len() as u32, suffix))
}

fn metric_factor(suffix: &str) -> Option<u64> {
    match suffix {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "m" | "M" => Some(1_000_000),
        "g" | "G" => Some(1_000_000_000),
        _ => None,
    }
}

/// Reads a whole number of at least 1 with an optional suffix: `64`, `10k`, `2M`, `1G`.
pub fn parse_count(text: &str) -> Result<u64, String> {
    split_decimal(text)
        .filter(|(_, decimals, _)| *decimals == 0)
        .and_then(|(digits, _, suffix)| digits.checked_mul(metric_factor(suffix)?))
        .filter(|count| *count > 0)
        .ok_or_else(|| "expected a whole number above 0, such as 64, 10k or 2M".to_owned())
}

/// Reads a rate in requests a second, at most a thousand million: `70000`, `70k`, `0.5`, `12.5k`.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let read = || {
        let (digits, decimals, suffix) = split_decimal(text)?;
        let requests = digits.checked_mul(metric_factor(suffix)?)?;
        let seconds = 10u64.pow(decimals);
        let allowed = requests > 0 && requests / seconds <= 1_000_000_000;
        allowed.then_some(Rate { requests, seconds })
    };
    read().ok_or_else(|| "expected requests a second, above 0 and at most 1G, such as 70000, 70k or 0.5".to_owned())
}

/// Reads a duration into nanoseconds: `30s`, `2m`, `1h`, `500ms`, `100us`. A number without a unit is in seconds.
pub fn parse_time_ns(text: &str) -> Result<u64, String> {
    let read = || {
        let (digits, decimals, suffix) = split_decimal(text)?;
        let unit_ns = match suffix {
            "us" => 1_000,
            "ms" => 1_000_000,
            "" | "s" | "S" => SECOND,
            "m" | "M" => 60 * SECOND,
            "h" | "H" => 3600 * SECOND,
            _ => return None,
        };
        let time_ns = digits.checked_mul(unit_ns)? / 10u64.pow(decimals);
        // A year is longer than any run, and far below the overflow of nanoseconds.
        (time_ns <= 366 * 24 * 3600 * SECOND).then_some(time_ns)
    };
    read().ok_or_else(|| "expected a time such as 30s, 2m, 1h or 500ms".to_owned())
}

/// Reads a duration as [`parse_time_ns`] does, but refuses zero.
pub fn parse_positive_time_ns(text: &str) -> Result<u64, String> {
    match parse_time_ns(text)? {
        0 => Err("expected a time above 0, such as 30s, 2m or 1h".to_owned()),
        time_ns => Ok(time_ns),
    }
}

/// Formats a float as C's printf does. NaN becomes `-nan`, which wrk2 prints if there are no samples.
pub fn fixed(value: f64, decimals: usize) -> String {
    match value {
        _ if value.is_nan() => "-nan".to_owned(),
        _ if value.is_infinite() => "inf".to_owned(),
        _ => format!("{value:.decimals$}"),
    }
}

/// Formats a value with a unit. As in wrk2, moves to the next unit at 85% of it: 0.86m, 0.90ms. `exact` is the value
/// before rounding to an f64.
fn scaled(value: f64, exact: Option<Extended>, base: &str, step: u32, units: &[&str], decimals: usize) -> String {
    let (mut value, mut exact) = (value, exact);
    let mut unit = base;
    for next in units {
        if value.is_nan() || value < f64::from(step) * 0.85 {
            break;
        }
        value /= f64::from(step);
        exact = exact.map(|exact| exact.divided_by(step));
        unit = next;
    }
    let digits = exact.and_then(|exact| exact.fixed(decimals)).unwrap_or_else(|| fixed(value, decimals));
    format!("{digits}{unit}")
}

/// Formats a time in microseconds, such as `12.00us`, `1.83ms`, `4.80s` or `0.86m`.
pub fn format_time_us(time_us: f64) -> String {
    const PER_SECOND: u32 = 1_000_000;
    let exact = Extended::of(time_us);
    if time_us >= f64::from(PER_SECOND) {
        let seconds = exact.map(|exact| exact.divided_by(PER_SECOND));
        scaled(time_us / f64::from(PER_SECOND), seconds, "s", 60, &["m"], 2)
    } else {
        scaled(time_us, exact, "us", 1000, &["ms"], 2)
    }
}

/// Formats a time in seconds without decimals, such as `30s` or `1m`.
pub fn format_time_s(time_s: f64) -> String {
    scaled(time_s, Extended::of(time_s), "s", 60, &["m"], 0)
}

/// Formats a number, such as `55.25`, `16.19k` or `1.20M`.
pub fn format_metric(value: f64) -> String {
    scaled(value, Extended::of(value), "", 1000, &["k", "M", "G", "T"], 2)
}

/// Formats a size in powers of 1024, such as `61.52K`, `40.19M` or `2.35G`. The caller appends the `B`.
pub fn format_binary(value: f64) -> String {
    scaled(value, Extended::of(value), "", 1024, &["K", "M", "G", "T"], 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_metric_suffixes() {
        assert_eq!(parse_count("64"), Ok(64));
        assert_eq!(parse_count("10k"), Ok(10_000));
        assert_eq!(parse_count("2M"), Ok(2_000_000));
        for bad in ["", "0", "-1", "1.5", "k", "1kk", "1 k", "99999999999999999999"] {
            assert!(parse_count(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rates_stay_exact_fractions() {
        assert_eq!(parse_rate("70k"), Ok(Rate { requests: 70_000, seconds: 1 }));
        assert_eq!(parse_rate("0.5"), Ok(Rate { requests: 5, seconds: 10 }));
        assert_eq!(parse_rate("12.5k").unwrap().per_second(), 12_500.0);
        for bad in ["", "0", "0.0", "-5", "1.", ".5", "1.2.3", "2G", "x", "1e3", "nan"] {
            assert!(parse_rate(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn times_take_units_down_to_microseconds() {
        assert_eq!(parse_time_ns("30"), Ok(30 * SECOND));
        assert_eq!(parse_time_ns("1m"), Ok(60 * SECOND));
        assert_eq!(parse_time_ns("1.5h"), Ok(5400 * SECOND));
        assert_eq!(parse_time_ns("250ms"), Ok(SECOND / 4));
        assert_eq!(parse_time_ns("100us"), Ok(100_000));
        for bad in ["", "s", "1d", "-1s", "1 s", "1ms2", "9999999h"] {
            assert!(parse_time_ns(bad).is_err(), "{bad:?}");
        }
        assert!(parse_positive_time_ns("0s").is_err());
    }

    #[test]
    fn units_change_at_85_percent_of_the_next() {
        assert_eq!(format_time_us(849.0), "849.00us");
        assert_eq!(format_time_us(850.0), "0.85ms");
        assert_eq!(format_time_us(999_999.0), "1000.00ms");
        assert_eq!(format_time_us(1_000_000.0), "1.00s");
        assert_eq!(format_time_us(51_600_000.0), "0.86m");
        assert_eq!(format_time_us(7_200_000_000.0), "120.00m");
        assert_eq!(format_time_s(20.0), "20s");
        assert_eq!(format_time_s(60.0), "1m");
        assert_eq!(format_metric(849.9), "849.90");
        assert_eq!(format_metric(16_190.0), "16.19k");
        assert_eq!(format_binary(62_996.48), "61.52K");
        assert_eq!(format_time_us(f64::NAN), "-nanus");
    }
}
