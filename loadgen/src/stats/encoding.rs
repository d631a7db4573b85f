//! Serialises the counts of a record: histograms in HdrHistogram's compressed V2 format, in base64.

use super::STATUS_MAX;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};

/// Serialises a histogram as a string.
pub(crate) mod histogram {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer as Reader, Serializer as _, V2DeflateSerializer};

    pub(crate) fn serialize<S: Serializer>(value: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(value, &mut bytes).map_err(S::Error::custom)?;
        to.serialize_str(&STANDARD.encode(&bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
        let bytes = STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
        Reader::new().deserialize(&mut &bytes[..]).map_err(D::Error::custom)
    }

    /// Serialises an optional histogram as a string or null.
    pub(crate) mod optional {
        use super::*;

        #[derive(Serialize, Deserialize)]
        struct Encoded(#[serde(with = "super")] Histogram<u64>);

        pub(crate) fn serialize<S: Serializer>(value: &Option<Histogram<u64>>, to: S) -> Result<S::Ok, S::Error> {
            value.clone().filter(|histogram| !histogram.is_empty()).map(Encoded).serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Histogram<u64>>, D::Error> {
            Ok(Option::<Encoded>::deserialize(from)?.map(|encoded| encoded.0))
        }
    }
}

/// Serialises the counts by status as pairs of status and count.
pub(crate) mod statuses {
    use super::*;

    type Counts = Box<[u64; STATUS_MAX + 1]>;

    pub(crate) fn serialize<S: Serializer>(counts: &Counts, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(counts.iter().enumerate().filter(|(_, count)| **count > 0))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Counts, D::Error> {
        let mut counts = Box::new([0; STATUS_MAX + 1]);
        for (status, count) in Vec::<(usize, u64)>::deserialize(from)? {
            *counts.get_mut(status).ok_or_else(|| D::Error::custom(format!("no status: {status}")))? = count;
        }
        Ok(counts)
    }
}

/// Serialises a number that may be NaN. NaN is null in JSON.
pub(crate) mod number {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}
