//! Two recordings compared.

use crate::support::{Jvm, assert_refused, expect_success, json, profile, record, text_of};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn two_recordings_are_compared_and_different_engines_or_intervals_refused() {
    let jvm = Jvm::start(&[]);
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [a, b, out] = directories.each_ref().map(|directory| directory.path().to_str().unwrap());
    for side in [a, b] {
        record(&jvm, Path::new(side), &["--events", "cpu"]);
    }
    drop(jvm); // the conversions need the CPUs
    for side in [a, b] {
        expect_success(&profile(&["convert", "--out", side, "--title", side]));
    }
    let compared = profile(&["diff", "--a", a, "--b", b, "--out", out]);
    expect_success(&compared);
    // The table has the methods whose share changed most; that of a single one may be the same in both.
    assert!(text_of(&compared).contains("| Busy."), "{}", text_of(&compared));
    let diff = json(&Path::new(out).join("diff.json"));
    assert_eq!(diff["events"]["cpu"]["files"].as_array().unwrap().len(), 4, "both directions, as SVG and PNG");
    for file in ["cpu-diff.svg", "cpu-diff-reverse.png", "diff.md"] {
        assert!(Path::new(out).join(file).exists(), "{file}");
    }

    let description = Path::new(b).join("profile.json");
    let text = fs::read_to_string(&description).unwrap();
    for (key, other, difference) in [
        ("engine", Value::from("another"), "engines differ"),
        ("interval_had_us", Value::from(10_000), "CPU intervals (µs) differ"),
    ] {
        let mut described: Value = serde_json::from_str(&text).unwrap();
        described[key] = other;
        fs::write(&description, described.to_string()).unwrap();
        assert_refused(&["diff", "--a", a, "--b", b, "--out", out], &[difference, "--force"]);
        expect_success(&profile(&["diff", "--a", a, "--b", b, "--out", out, "--force"]));
        let page = fs::read_to_string(Path::new(out).join("diff.md")).unwrap();
        assert!(page.contains(&format!("**Compared by force: their {difference}")), "{page}");
    }
}
