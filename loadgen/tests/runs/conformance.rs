//! What scripts and command lines of wrk and wrk2 see here. `docs/wrk2-conformance.md` names the test of each row.

mod functions;
mod lua;
mod requests;
mod table;

use crate::support::{Run, TruthServer, load_with, quick_server};
use std::path::Path;

/// Five requests of one connection.
const FIVE: &str = "-t1 -c1 -d30s -R100 --requests 5";

/// Runs `script` with `flags` against `server`. The script gets the words `one two`.
fn run_script(script: &str, flags: &str, server: &TruthServer) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("script.lua");
    std::fs::write(&file, script).unwrap();
    load_with(&format!("{flags} -s {}", file.display()), &server.url(), "one two")
}

/// Runs `script` for five requests, all of which must be answered. Returns the requests' texts as well.
fn five(script: &str) -> (Run, Vec<String>) {
    let server = quick_server();
    let run = run_script(script, FIVE, &server);
    assert!(run.output.status.success(), "{script}: {:?}", run.output);
    run.assert_every_request_has_an_outcome();
    assert_eq!(run.number("errors.read") + run.number("errors.write"), 0.0, "{script}");
    (run, server.texts())
}

/// The error of a run that `script` ends with exit code 1.
fn error_of(script: &str) -> String {
    let run = run_script(script, FIVE, &quick_server());
    assert_eq!(run.output.status.code(), Some(1), "{script}: {:?}", run.output);
    String::from_utf8(run.output.stderr).unwrap()
}

/// Appends a `done` that prints what the script collected in `seen`.
fn and_print_seen(script: &str) -> String {
    format!(
        "local threads = {{}}
        function setup(thread) threads[#threads + 1] = thread end
        seen = ''
        {script}
        function done() for _, thread in ipairs(threads) do print('seen ' .. thread:get('seen')) end end"
    )
}

#[track_caller]
fn assert_prints(run: &Run, line: &str) {
    let text = run.stdout();
    assert!(text.lines().any(|printed| printed == line), "no line {line:?} in\n{text}");
}

#[test]
fn each_row_of_the_document_names_a_test_that_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(folder.join("../docs/wrk2-conformance.md")).unwrap();
    let source = |name: &str| std::fs::read_to_string(folder.join(format!("tests/runs/{name}.rs"))).unwrap();
    let own = ["functions", "lua", "requests", "table"].map(|name| source(&format!("conformance/{name}"))).concat();
    let sources = own.clone() + &source("scripts") + &source("stock_scripts");
    let rows: Vec<&str> =
        document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| wrk")).collect();
    assert!(rows.len() > 40, "{}", rows.len());
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, verdict, test] = cells[..] else { panic!("three cells: {row}") };
        assert!(["same", "differs", "not"].iter().any(|word| verdict.starts_with(word)), "{row}");
        let test = test.trim_matches('`');
        assert!(sources.contains(&format!("\nfn {test}()")), "no test {test}: {row}");
    }
    let tests = own.split("#[test]\n").skip(1).map(|text| text.split(['(', ' ']).nth(1).unwrap());
    for test in tests {
        assert!(document.contains(&format!("`{test}`")), "no row for {test}");
    }
}
