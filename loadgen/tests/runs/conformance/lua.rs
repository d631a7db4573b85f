//! The language: output, modules, errors, and where a script comes from.

use super::{FIVE, assert_prints, error_of, five, run_script};
use crate::support::{command, is_installed, load_with, quick_server};

#[test]
fn scripts_print_whole_lines_in_order_before_the_report() {
    let script = "function setup(thread) threads = (threads or 0) + 1; thread:set('id', threads) end
        local made = 0
        function request()
            made = made + 1
            io.write('line ', id)
            io.stdout:write(' ', made)
            print('', 'end')
            return wrk.format()
        end
        function response() io.write('') end
        function done() io.write('a rest without an end of line') end";
    let run = run_script(script, "-t3 -c12 -d30s -R6000 --requests 3000", &quick_server());
    let text = run.stdout();
    let mut next = [1; 4];
    let mut lines = text.lines().skip_while(|line| !line.starts_with("line "));
    for line in lines.by_ref().take(3000) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, id, made, "end"] = words[..] else { panic!("{line:?} is no whole line") };
        let id: usize = id.parse().unwrap();
        assert_eq!(made, next[id].to_string(), "in order: {line}");
        next[id] += 1;
    }
    assert_eq!(next.iter().sum::<i32>(), 3004, "{next:?}");
    let rest: Vec<&str> = lines.collect();
    assert!(rest[0].starts_with("  Thread calibration: "), "the report follows: {:?}", rest[0]);
    assert_eq!(rest.last(), Some(&"a rest without an end of line"));
}

#[test]
fn text_without_an_end_of_line_keeps_its_order_and_does_not_run_into_the_report() {
    let script = "io.write('top')
        function setup() io.write('set', 'up') end
        function init() io.write('in'); print('it'); io.write('rest of init') end
        function request() io.write('.'); return wrk.format() end
        function done() io.write('done') end";
    let text = run_script(script, "-t2 -c2 -d30s -R100 --requests 6", &quick_server()).stdout();
    let (before, report) = text.split_once("Running ").unwrap();
    // The script's top level runs in the state of setup and in that of each thread.
    let of_thread = "top\nsetup\ninit\nrest of init\n";
    assert_eq!(before, format!("top\n{of_thread}{of_thread}"));
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[1].ends_with("2 threads and 2 connections"), "{text}");
    assert_eq!(lines[2..4], ["...", "..."], "{text}");
    assert!(lines[4].starts_with("  Thread calibration: ") && lines.last() == Some(&"done"), "{text}");
    let flushed = "function request() io.write('.'); io.flush(); return wrk.format() end";
    let text = run_script(flushed, FIVE, &quick_server()).stdout();
    assert!(text.contains("\n.....\n  Thread calibration: "), "{text}");
}

#[test]
fn text_without_an_end_of_line_is_printed_whole_and_not_copied_at_each_write() {
    // Copies of what is pending would be 200 MB in the first loop.
    let script = "function init()
        collectgarbage('stop')
        local before_kb = collectgarbage('count')
        for i = 1, 20000 do io.write('x') end
        local used_kb = collectgarbage('count') - before_kb
        collectgarbage('restart')
        print('\\nlittle memory', used_kb < 4096)
        for i = 1, 10000 do io.write('y', 1234567) end
        print()
    end";
    let (run, _) = five(script);
    assert_prints(&run, &"x".repeat(20_000));
    assert_prints(&run, "little memory\ttrue");
    assert_prints(&run, &"y1234567".repeat(10_000));
}

#[test]
fn a_script_that_exits_loses_no_output() {
    let script = "function done() io.write('a rest'); os.exit(7) end";
    let run = run_script(script, FIVE, &quick_server());
    assert_eq!(run.output.status.code(), Some(7));
    assert!(run.stdout().ends_with("a rest"), "{}", run.stdout());
}

#[test]
fn a_script_is_read_from_a_pipe() {
    let server = quick_server();
    let flags = "-t2 -c2 -d30s -R100 --requests 6";
    let shell = |line: String| std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
    let program = env!("CARGO_BIN_EXE_loadgen");
    let script = "wrk.method = \"POST\" wrk.body = \"{}\"";
    for line in [
        format!("{program} {flags} -s <(echo '{script}') {}", server.url()),
        format!("echo '{script}' | {program} {flags} -s /dev/stdin {}", server.url()),
    ] {
        let output = shell(line);
        assert!(output.status.success(), "{output:?}");
    }
    let texts = server.texts();
    assert_eq!(texts.len(), 12);
    assert!(texts.iter().all(|text| text.starts_with("POST /path ") && text.ends_with("{}")), "{texts:?}");
}

#[test]
fn modules_are_found_beside_the_script_whatever_its_folder_is_called() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("a;b?c%d");
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    for (file, text) in [
        ("m.lua", "return {path = '/m'}"),
        ("deep/n.lua", "return '/n'"),
        ("deep/init.lua", "return '/init'"),
        ("bad.lua", "x = = 1"),
        (
            "s.lua",
            "wrk.path = require('m').path .. require('deep.n') .. require('deep') .. require('ffi').sizeof('int')",
        ),
        ("missing.lua", "require 'nowhere'"),
        ("broken.lua", "require 'bad'"),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let server = quick_server();
    let run = |script: &str| {
        command().args(FIVE.split(' ')).arg("-s").arg(folder.join(script)).arg(server.url()).output().unwrap()
    };
    assert!(run("s.lua").status.success());
    assert!(server.texts()[0].starts_with("GET /m/n/init4 "), "{}", server.texts()[0]);
    for (script, wanted) in [("missing.lua", "a;b?c%d/nowhere.lua'"), ("broken.lua", "bad.lua:1: unexpected symbol")] {
        let output = run(script);
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn modules_in_c_can_be_loaded() {
    if !is_installed("lua-cjson lua-socket", &["/usr/share/lua/5.1/cjson/util.lua", "/usr/share/lua/5.1/socket.lua"]) {
        return;
    }
    let (run, _) = five(
        "local cjson, socket = require 'cjson', require 'socket'
        function init() print(cjson.encode({1, 'b'}), socket.gettime() > 1e9) end",
    );
    assert_prints(&run, "[1,\"b\"]\ttrue");
    // Beside the script, where wrk's users put it.
    let native = format!("/usr/lib/{}-linux-gnu/lua/5.1/cjson.so", std::env::consts::ARCH);
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(native, directory.path().join("cjson.so")).unwrap();
    let script = directory.path().join("script.lua");
    std::fs::write(&script, "package.cpath = ''; wrk.path = require('cjson').decode('{\"path\": \"/decoded\"}').path")
        .unwrap();
    let server = quick_server();
    let run = load_with(&format!("{FIVE} -s {}", script.display()), &server.url(), "");
    assert!(run.output.status.success(), "{:?}", run.output);
    assert!(server.texts()[0].starts_with("GET /decoded "));
}

#[test]
fn an_error_of_a_script_ends_the_run_and_names_the_line() {
    for (script, wanted) in [
        ("x = = 1", "script.lua:1: unexpected symbol"),
        ("function setup() nothing() end", "script: setup: "),
        ("\nfunction init() nothing() end", "script.lua:2: attempt to call global 'nothing'"),
        ("function request() error('seen') end", "script.lua:1: seen"),
        ("function response() error('seen') end", "script.lua:1: seen"),
        ("function done() error('seen') end", "script.lua:1: seen"),
        ("\nfunction request() return {} end", "script.lua:2: expected the text of a request, got table"),
        ("\nfunction request() end", "script.lua:2: expected the text of a request, got nil"),
        ("\nrequest = function() return 'GET' end", "script.lua:2: request 1 is cut short"),
        ("function wrk.request() return '' end", "script.lua:1: the request is empty"),
        ("\nfunction delay() return -1 end", "script.lua:2: expected milliseconds from 0"),
        ("wrk.method = 'A B'", "script.lua: the request of the table wrk: request 1 is not an HTTP/1.1 request"),
    ] {
        let error = error_of(script);
        assert!(error.contains(wanted), "{script}: {error}");
    }
    let output = command().args(["-R1", "-s", "/nowhere.lua", &quick_server().url()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read /nowhere.lua: "));
}
