//! The example scripts of Debian's package wrk, unchanged.

use crate::support::{Manner, TruthServer, is_installed, load_with};
use std::time::Duration;

const FOLDER: &str = "/usr/share/doc/wrk/examples/scripts";

#[test]
fn the_stock_scripts_of_wrk_run_unchanged() {
    if !is_installed("wrk", &[FOLDER]) {
        return;
    }
    let response = b"HTTP/1.1 200 OK\r\nX-Token: secret\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let server = TruthServer::start(Manner::Respond(response, Duration::ZERO));
    let url = &server.url();
    std::thread::scope(|scope| {
        for (script, output, at_least, at_most) in [
            ("addr", "thread addr: 127.0.0.1:", 100, 100),
            ("auth", "", 100, 100),
            ("counter", "", 100, 100),
            ("delay", "", 50, 100),
            ("pipeline", "", 90, 110),
            ("post", "", 100, 100),
            ("report", "99.999%,", 100, 100),
            ("setup", "thread 2 made ", 100, 100),
            ("stop", "", 100, 300),
        ] {
            scope.spawn(move || {
                let rate = if script == "stop" { "-d10s -R300" } else { "-d1s -R100" };
                let run = load_with(&format!("-t2 -c4 {rate} -s {FOLDER}/{script}.lua"), url, "");
                assert!(run.output.status.success(), "{script}: {:?}", run.output);
                run.assert_every_request_has_an_outcome();
                let text = run.stdout();
                assert!(text.contains(output), "{script}: {output} in\n{text}");
                let requests = run.number("requests") + run.number("unfinished.count");
                assert!((f64::from(at_least)..=f64::from(at_most)).contains(&requests), "{script}: {requests}");
                assert_eq!(run.number("errors.read") + run.number("errors.status"), 0.0, "{script}");
            });
        }
    });
}
