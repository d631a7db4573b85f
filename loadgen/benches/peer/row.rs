//! One comparison, as JSON and as a line of the table in the docs.

use serde_json::{Map, Value, json};
use std::path::Path;

const BEGIN: &str = "<!-- bench-loadgen:begin -->";
const END: &str = "<!-- bench-loadgen:end -->";

/// The result that a row must show.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// The median ratio is at least this.
    Ratio(f64),
    /// Ours is less than this.
    Less(f64),
    /// Ours differs from the peer, which is the truth, by at most this much.
    Near(f64),
}

/// Pairs of figures, ours and the peer's, of neighbouring runs.
#[derive(Debug, Clone)]
pub struct Row {
    pub metric: String,
    pub unit: &'static str,
    pub peer_name: &'static str,
    pub more_is_better: bool,
    pub pairs: Vec<(f64, f64)>,
    pub wanted: Wanted,
}

impl Row {
    pub fn to_json(&self) -> Value {
        let ratio = |(ours, peer): &(f64, f64)| if self.more_is_better { ours / peer } else { peer / ours };
        let ratios = sorted(self.pairs.iter().map(ratio));
        let ours = median(&sorted(self.pairs.iter().map(|pair| pair.0)));
        let peer = median(&sorted(self.pairs.iter().map(|pair| pair.1)));
        let off = median(&sorted(self.pairs.iter().map(|(ours, peer)| (ours - peer).abs())));
        let (wanted, met) = match self.wanted {
            Wanted::Ratio(least) => (format!("≥ {least}×"), median(&ratios) >= least),
            Wanted::Less(limit) => (format!("< {limit} {}", self.unit), ours < limit),
            Wanted::Near(limit) => (format!("within {limit} {} of it", self.unit), off <= limit),
        };
        json!({
            "metric": self.metric, "unit": self.unit, "ours": ours, "peer": peer, "peer_name": self.peer_name,
            "ratio": median(&ratios), "spread": [ratios[0], ratios[ratios.len() - 1]], "runs": self.pairs.len(),
            "wanted": wanted, "met": met,
        })
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// Three significant digits.
fn number(value: &Value) -> String {
    let value = value.as_f64().unwrap_or(f64::NAN);
    let digits = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).max(0) };
    format!("{value:.*}", digits as usize)
}

/// The table as Markdown, one line for each row.
pub fn table(rows: &[Value]) -> String {
    let mut text = "| metric | unit | ours | peer | | ratio (lowest … highest) | runs | wanted | |\n".to_owned();
    text += "|---|---|--:|--:|---|--:|--:|---|---|\n";
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        let (ours, peer, ratio) = (number(&row["ours"]), number(&row["peer"]), number(&row["ratio"]));
        let (lowest, highest) = (number(&row["spread"][0]), number(&row["spread"][1]));
        let met = if row["met"] == true { "met" } else { "**not met**" };
        text += &format!(
            "| {} | {} | {ours} | {peer} | {} | {ratio}× ({lowest} … {highest}) | {} | {} | {met} |\n",
            word("metric"),
            word("unit"),
            word("peer_name"),
            row["runs"],
            word("wanted")
        );
    }
    text
}

/// Replaces the lines between the markers of `page`. A page without markers stays unchanged.
pub fn update_docs(page: &Path, content: &str) -> Result<(), String> {
    let named = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(page).map_err(named)?;
    let (Some(begin), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        return Err(format!("{} needs the lines {BEGIN} and {END}", page.display()));
    };
    let (before, after) = (&text[..begin + BEGIN.len()], &text[end..]);
    std::fs::write(page, format!("{before}\n{}\n{after}", content.trim())).map_err(named)
}

/// Returns the rows of `file` in their order, with those of `rows` in place of the same metrics; new metrics follow.
pub fn merged(file: &Path, rows: &[Value]) -> Vec<Value> {
    let earlier = std::fs::read(file).ok().and_then(|text| serde_json::from_slice::<Vec<Value>>(&text).ok());
    let mut all = earlier.unwrap_or_default();
    for row in rows {
        match all.iter_mut().find(|other| other["metric"] == row["metric"]) {
            Some(other) => *other = row.clone(),
            None => all.push(row.clone()),
        }
    }
    all
}

/// Returns the parts of the machine and the build that the figures depend on.
pub fn environment() -> Map<String, Value> {
    let line = |file: &str, start: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found = text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
        found.rsplit(": ").next().unwrap_or_default().trim().to_owned()
    };
    let mut map = Map::new();
    map.insert(
        "at".into(),
        jiff::Timestamp::now().round(jiff::Unit::Second).map_or(Value::Null, |at| at.to_string().into()),
    );
    map.insert("cpu".into(), line("/proc/cpuinfo", "model name").into());
    map.insert("cpus".into(), std::thread::available_parallelism().map_or(0, usize::from).into());
    map.insert("kernel".into(), line("/proc/sys/kernel/osrelease", "").into());
    let load = line("/proc/loadavg", "");
    map.insert("load_average_at_start".into(), load.split(' ').next().unwrap_or_default().into());
    map
}
