//! The arguments of `done(summary, latency, requests)`.

use crate::stats::Errors;
use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use mlua::{Lua, MetaMethod, Table, UserData, UserDataFields, UserDataMethods, Value};

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

/// A distribution as a script sees it: `.min .max .mean .stdev`, `:percentile(p)`, `#d` for the number of samples, and
/// `d[i]` for the i-th smallest of them.
#[derive(Debug, Clone)]
pub struct LuaDistribution {
    histogram: Histogram<u64>,
    /// Factor from the histogram's unit to the script's unit: 0.001 for nanoseconds shown as microseconds.
    scale: f64,
    /// The different values in ascending order, each with the number of samples up to it.
    values: Vec<(f64, u64)>,
}

impl LuaDistribution {
    /// Makes a distribution from `histogram`, whose values are multiplied by `scale`.
    pub fn new(histogram: Histogram<u64>, scale: f64) -> Self {
        let mut samples = 0;
        let value = |step: IterationValue<u64>| {
            samples += step.count_at_value();
            (step.value_iterated_to() as f64 * scale, samples)
        };
        let values = histogram.iter_recorded().map(value).collect();
        Self { histogram, scale, values }
    }

    /// Sample `number`, counted from 1. As in wrk2, a number below 1 means the first and one above `#d` the last; 0 if
    /// there is no sample.
    fn sample(&self, number: f64) -> f64 {
        let at = self.values.partition_point(|(_, samples)| (*samples as f64) < number);
        self.values.get(at).or(self.values.last()).map_or(0.0, |(value, _)| *value)
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
        // As in wrk2, a percentile above 100 is the maximum.
        methods.add_method("percentile", |_, this, percentile: f64| {
            Ok(this.scaled(this.histogram.value_at_percentile(percentile.clamp(0.0, 100.0)) as f64))
        });
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| Ok(this.histogram.len()));
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: Value| {
            Ok(lua.coerce_number(key)?.map(|number| this.sample(number)))
        });
        // wrk's form, which returns a count too.
        methods.add_meta_method(MetaMethod::Call, |_, this, number: f64| Ok((this.sample(number), 1)));
    }
}
