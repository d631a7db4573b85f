//! The generator's own delays are distinguished from those of the server, for every request. Here with a real stop of the
//! process and the kernel's time stamps; `run::virtual_time` has the other cases.

mod support;

use std::process::Stdio;
use std::time::Duration;
use support::{Manner, OK, Run, TruthServer, command};

/// Runs the generator, stops the whole process for `stop` after `before`, and lets it continue.
fn load_stopped(flags: &str, url: &str, before: Duration, stop: Duration) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("load.json");
    let child = command()
        .args(flags.split_whitespace())
        .arg("--json")
        .arg(&file)
        .arg(url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let signal = |signal| {
        // SAFETY: the child is ours and has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    };
    std::thread::sleep(before);
    signal(libc::SIGSTOP);
    std::thread::sleep(stop);
    signal(libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    let json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    Run { output, json, directory }
}

fn kept(run: &Run) -> bool {
    run.json["kept_schedule"]["verdict"].as_bool().unwrap()
}

#[test]
fn a_stop_while_a_response_is_on_its_way_is_not_charged_to_the_server_either() {
    // The server takes 20 ms, so that a request is always on the wire when the generator is stopped.
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(20)));
    let flags = "-t1 -c1 -d2s -R50 --idle sleep";
    let run = load_stopped(flags, &server.url(), Duration::from_millis(800), Duration::from_millis(700));
    let (latency, net) = (run.number("latency_us.max") / 1000.0, run.number("net_latency_us.max") / 1000.0);
    assert!(latency > 600.0, "{latency} ms");
    assert!(net < latency / 2.0, "{net} of {latency} ms are left to a server that takes 20");
    assert!(!kept(&run));
}
