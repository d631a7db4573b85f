//! Division as C does it with `long double` on x86-64, with a mantissa of 64 bits.
//!
//! wrk2 scales times by such divisions before it prints two decimals. Half of all three-digit times end in 5, and
//! whether 12.215 becomes 12.21 or 12.22 depends on the bit at which the quotient was rounded.

/// A number above zero: `mantissa` times two to the power of `exponent`. The highest bit of the mantissa is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extended {
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// Converts a value. Returns `None` if it is not finite and above zero.
    pub(super) fn of(value: f64) -> Option<Self> {
        if !value.is_normal() || value < 0.0 {
            return None;
        }
        let bits = value.to_bits();
        let mantissa = (bits & ((1 << 52) - 1) | 1 << 52) << 11;
        Some(Self { mantissa, exponent: (bits >> 52) as i32 - 1075 - 11 })
    }

    /// Divides, rounding to the nearest value and ties to even.
    pub(super) fn divided_by(self, divisor: u32) -> Self {
        let (numerator, divisor) = (u128::from(self.mantissa) << 60, u128::from(divisor));
        let (quotient, remainder) = (numerator / divisor, numerator % divisor);
        let dropped = 64 - quotient.leading_zeros();
        // A bit that stands for the remainder of the division.
        let quotient = quotient << 1 | u128::from(remainder > 0);
        let mantissa = rounded(quotient, dropped + 1);
        let exponent = self.exponent - 60 + dropped as i32;
        match u64::try_from(mantissa) {
            Ok(mantissa) => Self { mantissa, exponent },
            Err(_) => Self { mantissa: 1 << 63, exponent: exponent + 1 },
        }
    }

    /// Formats with `decimals` digits after the point, rounding to the nearest value and ties to even. Returns `None`
    /// from 2⁶⁴ on.
    pub(super) fn fixed(self, decimals: usize) -> Option<String> {
        let places = 10u128.pow(decimals as u32);
        let shift = u32::try_from(-self.exponent).ok()?;
        let digits = if shift < 128 { rounded(u128::from(self.mantissa) * places, shift) } else { 0 };
        let whole = digits / places;
        let fraction = digits % places;
        Some(if decimals == 0 { whole.to_string() } else { format!("{whole}.{fraction:0decimals$}") })
    }
}

/// `value` without its lowest `bits` bits, fewer than 128.
fn rounded(value: u128, bits: u32) -> u128 {
    if bits == 0 {
        return value;
    }
    let kept = value >> bits;
    let (rest, half) = (value & ((1 << bits) - 1), 1 << (bits - 1));
    kept + u128::from(rest > half || rest == half && kept % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divided(value: f64, divisor: u32) -> String {
        Extended::of(value).unwrap().divided_by(divisor).fixed(2).unwrap()
    }

    #[test]
    fn halves_are_rounded_as_in_reports_of_wrk2() {
        let seen =
            [(12_215.0, "12.22"), (83_455.0, "83.46"), (1_345.0, "1.35"), (1_405.0, "1.40"), (11_295.0, "11.30")];
        for (us, printed) in seen {
            assert_eq!(divided(us, 1000), printed);
        }
        // These are exact halves, which go to the even digit.
        assert_eq!((divided(125.0, 1000), divided(375.0, 1000)), ("0.12".to_owned(), "0.38".to_owned()));
        assert_eq!(Extended::of(7.0).unwrap().fixed(0).unwrap(), "7");
        assert_eq!(Extended::of(f64::NAN), None);
        assert_eq!(Extended::of(0.0), None);
    }

    proptest! {
        #[test]
        fn away_from_halves_the_result_is_that_of_doubles(value in 1.0f64..1e9, divisor in prop::sample::select(vec![60u32, 1000, 1_000_000])) {
            let quotient = value / f64::from(divisor);
            let from_half = (quotient * 100.0).fract() - 0.5;
            prop_assume!(from_half.abs() > 1e-6);
            prop_assert_eq!(divided(value, divisor), format!("{quotient:.2}"));
        }
    }
}
