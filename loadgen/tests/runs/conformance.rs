//! What scripts and command lines of wrk and wrk2 see here. `docs/wrk2-conformance.md` names the test of each row.

use crate::support::{Manner, OK, Run, TruthServer, command, is_installed, load_with, quick_server};
use std::path::Path;
use std::time::Duration;

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
fn the_table_wrk_has_the_parts_of_the_url_and_the_request() {
    let script = "function init()
        print(wrk.scheme, wrk.host, wrk.method, wrk.path, wrk.headers['Host'] == wrk.host .. ':' .. wrk.port)
        assert(wrk.body == nil and type(wrk.port) == 'string')
    end";
    assert_prints(&five(script).0, "http\t127.0.0.1\tGET\t/path\ttrue");
    let (run, texts) = five("wrk.headers['X-A'] = 'b'; function init() print('other case', wrk.headers['x-a']) end");
    assert_prints(&run, "other case\tnil");
    assert!(texts[0].contains("\r\nX-A: b\r\n"), "{}", texts[0]);
}

#[test]
fn wrk_format_takes_what_it_is_not_given_from_the_table_wrk() {
    let (_, texts) = five(
        "wrk.method, wrk.body, wrk.headers['X-A'] = 'PUT', 'abc', 'b'
        function request() return wrk.format(nil, '/other') end",
    );
    assert!(texts[0].starts_with("PUT /other HTTP/1.1\r\n") && texts[0].ends_with("\r\n\r\nabc"), "{}", texts[0]);
    assert!(texts[0].contains("\r\nX-A: b\r\n") && texts[0].contains("\r\nContent-Length: 3\r\n"), "{}", texts[0]);
    let (_, texts) =
        five("function request() return wrk.format('POST', '/', {['X-B'] = 7, ['content-length'] = 9}, 'xy') end");
    assert!(texts[0].contains("\r\nContent-Length: 2\r\n") && !texts[0].contains("9\r\n\r\n"), "{}", texts[0]);
    assert!(texts[0].contains("\r\nX-B: 7\r\n") && texts[0].ends_with("\r\n\r\nxy"), "{}", texts[0]);
    assert!(texts[0].contains("\r\nHost: 127.0.0.1:"), "{}", texts[0]);
}

#[test]
fn the_body_may_be_a_number() {
    for script in
        ["wrk.method, wrk.body = 'POST', 12345", "function request() return wrk.format('POST', nil, nil, 12345) end"]
    {
        let text = &five(script).1[0];
        assert!(text.contains("\r\nContent-Length: 5\r\n") && text.ends_with("\r\n\r\n12345"), "{text}");
    }
    let error = error_of("function request() local text = wrk.format('POST', nil, nil, {}); return text end");
    assert!(error.contains("script.lua:1: the body of a request must be a string or a number, not a table"), "{error}");
}

#[test]
fn wrk_lookup_takes_names_of_services_and_wrk_connect_tries_an_address() {
    let script = "function init()
        print(wrk.lookup('127.0.0.1', '8080')[1], wrk.lookup('127.0.0.1', 'https')[1])
        print(wrk.connect(wrk.thread.addr), wrk.connect(wrk.lookup('127.0.0.1', '1')[1]))
    end";
    let (run, _) = five(script);
    assert_prints(&run, "127.0.0.1:8080\t127.0.0.1:443");
    assert_prints(&run, "true\tfalse");
    if is_installed("netbase", &["/etc/services"]) {
        let (run, _) = five("function init() print(wrk.lookup('127.0.0.1', 'domain')[1]) end");
        assert_prints(&run, "127.0.0.1:53");
    }
    let error = error_of("function init() wrk.lookup('127.0.0.1', 'gopher-x') end");
    assert!(error.contains("unknown service 'gopher-x': give a port"), "{error}");
}

#[test]
fn wrk_time_us_is_the_time_in_microseconds_since_1970() {
    let script = and_print_seen(
        "function request() start_us = wrk.time_us(); return wrk.format() end
        function response() if wrk.time_us() > start_us then seen = seen .. '+' end end",
    );
    assert_prints(&five(&script).0, "seen +++++");
    let (run, _) = five("function init() print('at', math.abs(wrk.time_us() / 1e6 - os.time()) < 2) end");
    assert_prints(&run, "at\ttrue");
}

#[test]
fn wrk_init_sets_the_host_and_may_be_called_by_the_script() {
    let script = "function init(args) wrk.init(args); wrk.headers['X-Host'] = wrk.headers['Host'] end";
    let text = &five(script).1[0];
    assert_eq!(text.matches(": 127.0.0.1:").count(), 2, "{text}");
}

#[test]
fn wrk_request_is_what_a_script_without_request_sends() {
    let script = "local made = 0
        function request() made = made + 1; wrk.path = '/' .. made; return wrk.request() end";
    assert!(five(script).1[4].starts_with("GET /5 HTTP/1.1\r\n"));
}

#[test]
fn setup_runs_once_per_thread_and_threads_keep_what_is_set() {
    let script = "local threads = {}
        function setup(thread) threads[#threads + 1] = thread; thread:set('id', #threads) end
        function init() twice = 2 * id end
        function done()
            local ids = {}
            for i, thread in ipairs(threads) do ids[i] = thread:get('id') .. ':' .. thread:get('twice') end
            print(table.concat(ids, ' '), threads[1]:get('nothing'))
        end";
    let run = run_script(script, "-t3 -c3 -d30s -R100 --requests 6", &quick_server());
    assert_prints(&run, "1:2 2:4 3:6\tnil");
}

#[test]
fn the_address_of_a_thread_can_be_read_in_every_function_and_set_in_setup() {
    let script = "local threads = {}
        function setup(thread) threads[1] = thread; print('setup', thread.addr) end
        function init() print('init', wrk.thread.addr) end
        function request() print('request', wrk.thread.addr); return wrk.format() end
        function response() print('response', wrk.thread.addr) end
        function done() print('done', threads[1].addr) end";
    let server = quick_server();
    let run = run_script(script, FIVE, &server);
    for function in ["setup", "init", "request", "response", "done"] {
        assert_prints(&run, &format!("{function}\t{}", server.address));
    }
    let other = quick_server();
    let script =
        format!("function setup(thread) thread.addr = wrk.lookup('127.0.0.1', '{}')[1] end", other.address.port());
    run_script(&script, FIVE, &server);
    assert_eq!((server.seen().len(), other.seen().len()), (5, 5), "the second run went to the other server");
}

#[test]
fn init_gets_the_url_and_the_words_of_the_command_line() {
    let (run, _) = five("function init(args) print(#args, args[1], args[2], args[0]:match('^http://') ~= nil) end");
    assert_prints(&run, "2\tone\ttwo\ttrue");
}

#[test]
fn a_script_may_replace_its_functions_during_the_run() {
    // By the server's count.
    let script = "local made = 0
        local function second() return wrk.format('GET', '/second') end
        function request() made = made + 1; if made == 2 then request = second end; return wrk.format('GET', '/first') end";
    let texts = five(script).1;
    let count = |path: &str| texts.iter().filter(|text| text.starts_with(&format!("GET /{path} "))).count();
    assert_eq!((count("first"), count("second")), (2, 3));

    let script = and_print_seen(
        "function response() seen = seen .. 'a'; response = function() seen = seen .. 'b'; response = nil end end",
    );
    assert_prints(&five(&script).0, "seen ab");

    let script =
        and_print_seen("function delay() seen = seen .. 'a'; delay = function() seen = seen .. 'b'; return 1 end end");
    let text = five(&script).0.stdout();
    assert!(text.contains("seen abbbb"), "{text}");
}

#[test]
fn a_request_function_that_is_removed_leaves_wrk_request() {
    let texts = five("function request() request = nil; return wrk.format('GET', '/first') end").1;
    assert!(texts[0].starts_with("GET /first ") && texts[1..].iter().all(|text| text.starts_with("GET /path ")));
}

#[test]
fn response_sees_the_status_the_headers_and_the_body() {
    let script = and_print_seen(
        "function response(status, headers, body) seen = status .. headers['Content-Length'] .. body end",
    );
    assert_prints(&five(&script).0, "seen 2005hello");
}

#[test]
fn delay_is_in_milliseconds_and_may_return_nothing() {
    for returned in ["", "return nil", "return false", "return true", "return 0", "return '1'", "return 0.5"] {
        five(&format!("function delay() {returned} end"));
    }
    for (returned, wanted) in [("-1", "got -1"), ("'soon'", "got soon"), ("0/0", "got NaN"), ("{}", "got table")] {
        let error = error_of(&format!("function delay() return {returned} end"));
        assert!(error.contains("script: delay: expected milliseconds from 0, ") && error.contains(wanted), "{error}");
    }
}

#[test]
fn done_gets_the_summary() {
    let script = "function done(summary)
        print(summary.requests, summary.bytes, summary.duration > 0, summary.nothing, summary.errors.nothing)
        local e = summary.errors
        print('errors', e.connect, e.read, e.write, e.status, e.timeout)
    end";
    let (run, _) = five(script);
    assert_prints(&run, &format!("5\t{}\ttrue\tnil\tnil", 5 * OK.len()));
    assert_prints(&run, "errors\t0\t0\t0\t0\t0");
}

#[test]
fn latency_and_requests_are_distributions_of_samples() {
    let script = "function done(summary, latency, requests)
        print('samples', #latency, summary.requests, latency.nothing, requests.nothing)
        local sum, last = 0, 0
        for i = 1, summary.requests do
            assert(latency[i] >= last and latency[i] >= latency.min)
            last, sum = latency[i], sum + latency[i]
            local value, count = latency(i)
            assert(value == latency[i] and count == 1)
        end
        assert(last == latency.max and latency[#latency] == last and latency[10 ^ 6] == last and latency[0] == latency[1])
        assert(math.abs(sum / #latency - latency.mean) < latency.mean / 100 and latency.stdev >= 0)
        assert(latency:percentile(50) == latency[3] and latency:percentile(60) == latency[3])
        assert(latency:percentile(99.999) == latency.max)
        assert(requests.min <= requests.max and #requests >= 0 and requests[1] >= 0 and requests:percentile(90) >= 0)
    end";
    assert_prints(&five(script).0, "samples\t5\t5\tnil\tnil");
}

#[test]
fn a_percentile_above_100_is_the_maximum() {
    let script = "function done(s, latency) print(latency:percentile(995) == latency.max, latency:percentile(-1) == latency.min) end";
    assert_prints(&five(script).0, "true\ttrue");
}

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
    ] {
        let error = error_of(script);
        assert!(error.contains(wanted), "{script}: {error}");
    }
    let output = command().args(["-R1", "-s", "/nowhere.lua", &quick_server().url()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read /nowhere.lua: "));
}

#[test]
fn hand_made_requests_are_sent_as_they_are_if_they_can_be_counted() {
    let post = "POST /j HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\n";
    let get = "GET /g HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n";
    let (run, texts) = five(&format!("function request() return '{get}{post}{{}}{get}' end"));
    assert_eq!(run.number("requests"), 6.0, "two batches of three");
    assert_eq!(texts[0].matches(" HTTP/1.1\r\n").count(), 3);
    // As in wrk2, line ends after a body are sent: servers skip them (RFC 9112, section 2.2).
    assert!(five(&format!("function request() return '{post}{{}}\\r\\n' end")).1[0].ends_with("{}\r\n"));
    for (text, wanted) in [
        (format!("{post}{{"), "request 1 is cut short: its body has 1 bytes, and its Content-Length is 2"),
        (
            "GET / HTTP/1.1\\r\\nHost: x\\r\\n".to_owned(),
            "request 1 is cut short: an empty line must follow its headers",
        ),
        (
            "GET / HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n".to_owned(),
            "its body has 0 bytes, and its Content-Length is 2",
        ),
        (format!("{get}{post}{{}}more"), "after the end of request 2: \"more\"; its Content-Length is 2"),
        (format!("{get}more\\r\\n\\r\\n"), "after the end of request 1: \"more\\r\\n\\r\\n\""),
        ("hello world, not http\\r\\n\\r\\n".to_owned(), "request 1 is not an HTTP/1.1 request"),
        (String::new(), "the request is empty"),
        (
            "PUT / HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n".to_owned(),
            "a request with Transfer-Encoding cannot be counted",
        ),
    ] {
        let error = error_of(&format!("function request() return '{text}' end"));
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn a_header_that_is_given_twice_is_sent_twice() {
    let server = quick_server();
    let run = |headers: &[&str]| {
        let headers = headers.iter().flat_map(|header| ["-H", header]);
        command().args(FIVE.split(' ')).args(headers).arg(server.url()).output().unwrap()
    };
    let output = run(&["Cookie: a=1", "X-Other: x", "Cookie: b=2", "Accept:*/*"]);
    assert!(output.status.success(), "{output:?}");
    let text = &server.texts()[0];
    for header in ["Cookie: a=1", "Cookie: b=2", "X-Other: x", "Accept: */*"] {
        assert_eq!(text.matches(&format!("\r\n{header}\r\n")).count(), 1, "{header} in {text}");
    }
    for (headers, wanted) in [
        (&["Host: a", "host: b"][..], "-H: Host is given twice"),
        (&["Content-Length: 5"], "-H: Content-Length follows from the body"),
    ] {
        let output = run(headers);
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn the_command_line_of_wrk2_has_its_meaning() {
    let server = quick_server();
    let url = &server.url();
    for flags in [
        "-t 1 -c 2 -d 300ms -R 20 --latency",
        "--threads 1 --connections 2 --duration 300ms --rate 20 -L",
        "-t1 -c2 -d300ms -R0.02k -U --timeout 1s -T1s",
        "-t1 -c2 -d300ms -R20 --u_latency -B --batch_latency",
    ] {
        let flags = flags.replace("--timeout 1s -T1s", "--timeout 1s").replace("-B --batch_latency", "--batch_latency");
        let run = load_with(&flags, url, "");
        assert!(run.output.status.success(), "{flags}: {:?}", run.output);
        assert_eq!((run.number("threads"), run.number("connections"), run.number("requests_due")), (1.0, 2.0, 6.0));
        let text = run.stdout();
        assert!(text.starts_with("Running "), "{text}");
        assert!(text.contains("Latency Distribution (HdrHistogram - Recorded Latency)"), "{flags}: {text}");
        assert_eq!(text.contains("Uncorrected Latency"), flags.contains("-U") || flags.contains("u_lat"), "{flags}");
    }
    let output = command().arg("-v").output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().starts_with("loadgen "));
    let output = command().arg(url).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "the rate is required");
}

#[test]
fn each_row_of_the_document_names_a_test_that_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(folder.join("../docs/wrk2-conformance.md")).unwrap();
    let sources: String = ["conformance", "scripts", "stock_scripts"]
        .map(|name| std::fs::read_to_string(folder.join(format!("tests/runs/{name}.rs"))).unwrap())
        .concat();
    let own = std::fs::read_to_string(folder.join("tests/runs/conformance.rs")).unwrap();
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
    for test in tests.filter(|test| !test.starts_with("each_row_of")) {
        assert!(document.contains(&format!("`{test}`")), "no row for {test}");
    }
}

#[test]
fn a_response_that_is_cut_in_pieces_or_pipelined_is_one_response() {
    let server = TruthServer::start(Manner::ByteByByte(OK.to_vec()));
    let run = load_with("-t1 -c1 -d30s -R50 --requests 4", &server.url(), "");
    assert_eq!(run.number("requests"), 4.0);
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::ZERO));
    let run =
        run_script("function request() return wrk.format():rep(3) end", "-t1 -c1 -d30s -R90 --requests 9", &server);
    assert_eq!((run.number("requests"), run.number("latency_us.count")), (9.0, 9.0));
}
