//! The arguments of `done(summary, latency, requests)`.

use crate::stats::Errors;
use hdrhistogram::Histogram;
use mlua::{Lua, MetaMethod, MultiValue, Table, UserData, UserDataFields, UserDataMethods, Value};

/// The first argument of `done`.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    /// Length of the run in microseconds.
    pub duration_us: u64,
    /// Number of responses.
    pub requests: u64,
    /// Number of bytes read.
    pub bytes: u64,
    /// Failures by class.
    pub errors: Errors,
}

impl Summary {
    pub(super) fn to_table(self, lua: &Lua) -> mlua::Result<Table> {
        let errors = lua.create_table()?;
        errors.set("connect", self.errors.connect)?;
        errors.set("read", self.errors.read)?;
        errors.set("write", self.errors.write)?;
        errors.set("status", self.errors.status)?;
        errors.set("timeout", self.errors.timeout)?;
        let summary = lua.create_table()?;
        summary.set("duration", self.duration_us)?;
        summary.set("requests", self.requests)?;
        summary.set("bytes", self.bytes)?;
        summary.set("errors", errors)?;
        Ok(summary)
    }
}

/// A distribution as a script sees it: `.min .max .mean .stdev`, `:percentile(p)`, `#d` for the number of distinct
/// values, `d(i)` for the i-th of them with its count, and `d[i]` for the i-th alone.
#[derive(Debug, Clone)]
pub struct LuaDistribution {
    histogram: Histogram<u64>,
    /// Factor from the histogram's unit to the script's unit: 0.001 for nanoseconds shown as microseconds.
    scale: f64,
    distinct: Vec<(f64, u64)>,
}

impl LuaDistribution {
    /// Makes a distribution from `histogram`, whose values are multiplied by `scale`.
    pub fn new(histogram: Histogram<u64>, scale: f64) -> Self {
        let recorded = histogram.iter_recorded();
        let distinct = recorded.map(|step| (step.value_iterated_to() as f64 * scale, step.count_at_value())).collect();
        Self { histogram, scale, distinct }
    }

    fn at(&self, index: i64) -> Option<(f64, u64)> {
        usize::try_from(index - 1).ok().and_then(|index| self.distinct.get(index)).copied()
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.histogram.is_empty() { 0.0 } else { value * self.scale }
    }
}

impl UserData for LuaDistribution {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("min", |_, this| Ok(this.scaled(this.histogram.min() as f64)));
        fields.add_field_method_get("max", |_, this| Ok(this.scaled(this.histogram.max() as f64)));
        fields.add_field_method_get("mean", |_, this| Ok(this.scaled(this.histogram.mean())));
        fields.add_field_method_get("stdev", |_, this| Ok(this.scaled(this.histogram.stdev())));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, this, percentile: f64| {
            if !(0.0..=100.0).contains(&percentile) {
                return Err(mlua::Error::runtime(format!("percentile: expected 0 to 100, got {percentile}")));
            }
            Ok(this.scaled(this.histogram.value_at_percentile(percentile) as f64))
        });
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.distinct.len()));
        methods.add_meta_method(MetaMethod::Index, |_, this, index: i64| Ok(this.at(index).map(|(value, _)| value)));
        methods.add_meta_method(MetaMethod::Call, |_, this, index: i64| {
            let pair = this.at(index).map(|(value, count)| vec![Value::Number(value), Value::Number(count as f64)]);
            Ok(MultiValue::from_vec(pair.unwrap_or_default()))
        });
    }
}
