//! Kernels and containers that lack what the generator would like to use.

use crate::support::{command, installed, quick_server};
use std::process::Command;

#[test]
fn a_kernel_or_a_container_without_epoll_pwait2_gets_a_run() {
    if !installed("strace", "-V") {
        return;
    }
    let server = quick_server();
    let folder = tempfile::tempdir().unwrap();
    let (calls, json) = (folder.path().join("calls"), folder.path().join("load.json"));
    // Linux before 5.11, and seccomp profiles older than that call.
    for error in ["ENOSYS", "EPERM"] {
        let output = Command::new("strace")
            .args(["-f", "-e", "trace=epoll_pwait2", "-e", &format!("inject=epoll_pwait2:error={error}"), "-o"])
            .arg(&calls)
            .arg(command().get_program())
            .args(["-t1", "-c2", "-R50", "-d1s", "--json"])
            .arg(&json)
            .arg(server.url())
            .output()
            .unwrap();
        assert!(output.status.success(), "{error}: {output:?}");
        let load: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        assert_eq!((load["requests_due"].as_u64(), load["lost"].as_u64()), (Some(50), Some(0)), "{error}: {load:#}");
        let calls = std::fs::read_to_string(&calls).unwrap();
        let refused = calls.lines().filter(|line| line.contains(error) && line.contains("INJECTED")).count();
        assert_eq!(refused, 1, "the loop asks once: {calls}");
    }
}
