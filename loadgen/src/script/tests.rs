use super::*;
use crate::stats::new_histogram;
use std::io::Write;
use std::net::TcpListener;

/// A folder with a script, and a listener, so that `wrk.resolve` finds an address that accepts connections.
struct Setting {
    _listener: TcpListener,
    folder: tempfile::TempDir,
    port: u16,
}

impl Setting {
    fn new(script: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let setting = Self { _listener: listener, folder: tempfile::tempdir().unwrap(), port };
        setting.file("script.lua", script);
        setting
    }

    fn file(&self, name: &str, text: &str) {
        let mut file = std::fs::File::create(self.folder.path().join(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn load(&self, arguments: &[&str]) -> Result<MainScript, ScriptError> {
        MainScript::load(self.options(arguments))
    }

    fn options(&self, arguments: &[&str]) -> ScriptOptions {
        ScriptOptions {
            file: Some(self.folder.path().join("script.lua")),
            target: Target::parse(&format!("http://127.0.0.1:{}/path?x=1", self.port)).unwrap(),
            headers: vec![("X-Line".to_owned(), "from the command line".to_owned())],
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        }
    }
}

fn request_of(script: &ThreadScript) -> String {
    let mut batch = Batch::default();
    match script.fixed_request() {
        Some(text) => String::from_utf8(text.to_vec()).unwrap(),
        None => script.request(&mut batch, |text| String::from_utf8(text.to_vec()).unwrap()).unwrap(),
    }
}

#[test]
fn a_host_header_from_the_command_line_is_the_only_one_whatever_its_case() {
    for name in ["host", "Host", "HOST"] {
        for script in ["", "function request() return wrk.format(nil, nil, {}) end", "wrk.headers['hoSt'] = 'other'"] {
            let setting = Setting::new(script);
            let mut options = setting.options(&[]);
            options.headers = vec![(name.to_owned(), "x.example".to_owned())];
            let text = request_of(&MainScript::load(options).unwrap().start_thread().unwrap());
            let hosts = text.lines().filter(|line| line.to_lowercase().starts_with("host:")).count();
            assert_eq!(hosts, 1, "{name}, {script:?}: {text}");
            if !script.contains("other") {
                assert!(text.to_lowercase().contains("host: x.example\r\n"), "{name}, {script:?}: {text}");
            }
        }
    }
}

/// The error of a script when its request, response or delay is called once.
fn error_of(text: &str) -> String {
    let setting = Setting::new(text);
    let used = || -> Result<(), ScriptError> {
        let main = setting.load(&[])?;
        let thread = main.start_thread()?;
        if thread.fixed_request().is_none() {
            thread.request(&mut Batch::default(), |_| ())?;
        }
        thread.response(200, &Capture::default())?;
        thread.delay_ns()?;
        let distribution = || LuaDistribution::new(new_histogram(), 1.0);
        let summary = Summary { duration_us: 1, requests: 0, bytes: 0, errors: Default::default() };
        main.done(&summary, distribution(), distribution())
    };
    used().expect_err(text).to_string()
}

#[test]
fn without_hooks_the_request_is_made_once_from_the_table_wrk() {
    let setting = Setting::new("wrk.method = 'POST'; wrk.body = 'abc'; wrk.headers['X-Mine'] = 'yes'");
    let main = setting.load(&[]).unwrap();
    let thread = main.start_thread().unwrap();
    let text = request_of(&thread);
    assert!(text.starts_with("POST /path?x=1 HTTP/1.1\r\n"), "{text}");
    for header in [
        format!("\r\nHost: 127.0.0.1:{}\r\n", setting.port),
        "\r\nX-Mine: yes\r\n".to_owned(),
        "\r\nX-Line: from the command line\r\n".to_owned(),
        "\r\nContent-Length: 3\r\n".to_owned(),
    ] {
        assert!(text.contains(&header), "{header:?} in {text}");
    }
    assert!(text.ends_with("\r\n\r\nabc"));
    assert!(!thread.wants_responses() && !thread.delays());
}

#[test]
fn format_prefers_its_arguments_to_the_table_wrk() {
    let script = "function request()
        return wrk.format('PUT', '/other', {['Host'] = 'h', ['A'] = 1, ['content-length'] = 99}, 'xy')
    end";
    let setting = Setting::new(script);
    let text = request_of(&setting.load(&[]).unwrap().start_thread().unwrap());
    assert!(text.starts_with("PUT /other HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("Host: h\r\n") && text.contains("A: 1\r\n") && text.contains("Content-Length: 2\r\n"));
    assert!(!text.contains("99") && !text.contains("X-Line"), "{text}");
}

#[test]
fn init_gets_the_url_and_the_words_and_may_call_wrk_init() {
    let script = "function init(args)
        wrk.init(args)
        wrk.path = '/' .. args[1] .. '-' .. args[2] .. '-' .. #args .. (args[0]:match('^http') or '?') .. wrk.headers['Host']
    end";
    let setting = Setting::new(script);
    let text = request_of(&setting.load(&["a", "b"]).unwrap().start_thread().unwrap());
    assert!(text.starts_with(&format!("GET /a-b-2http127.0.0.1:{} ", setting.port)), "{text}");
}

#[test]
fn setup_passes_values_to_threads_and_done_reads_them_back() {
    let script = "
        local threads = {}
        function setup(thread)
            threads[#threads + 1] = thread
            thread:set('id', #threads)
            thread:set('deep', { list = { 1, 'two', true }, address = thread.addr })
        end
        function init(args)
            count = id * 100
            assert(deep.list[2] == 'two' and deep.list[3] == true)
            assert(tostring(deep.address) == tostring(wrk.thread.addr))
            assert(wrk.thread:get('id') == id)
        end
        function done(summary, latency, requests)
            local sum = 0
            for _, thread in ipairs(threads) do sum = sum + thread:get('count') end
            assert(sum == 300, 'sum is ' .. sum)
            assert(threads[1]:get('nothing') == nil)
            assert(summary.duration == 5000000 and summary.requests == 7 and summary.bytes == 8)
            assert(summary.errors.connect == 1 and summary.errors.timeout == 4 and summary.errors.status == 5)
            assert(latency.min == 1 and latency.max == 3 and latency.mean == 2, latency.mean)
            assert(latency:percentile(50) == 2 and #latency == 3 and latency[3] == 3 and latency[4] == 3)
            local value, times = latency(1)
            assert(value == 1 and times == 1)
            assert(requests.stdev == 0)
        end";
    let setting = Setting::new(script);
    let main = setting.load(&[]).unwrap();
    let _threads = [main.start_thread().unwrap(), main.start_thread().unwrap()];
    let errors = crate::stats::Errors { connect: 1, read: 2, write: 3, timeout: 4, status: 5 };
    let summary = Summary { duration_us: 5_000_000, requests: 7, bytes: 8, errors };
    let mut latency = new_histogram();
    for value_us in [1, 2, 3] {
        latency.record(value_us * 1000).unwrap();
    }
    // Microseconds, to three digits.
    let mut rounded = hdrhistogram::Histogram::new(3).unwrap();
    for step in latency.iter_recorded() {
        rounded.record_n(step.value_iterated_to() / 1000, step.count_at_value()).unwrap();
    }
    let empty = LuaDistribution::new(new_histogram(), 1.0);
    main.done(&summary, LuaDistribution::new(rounded, 1.0), empty).unwrap();
}

#[test]
fn response_sees_status_headers_and_body_and_may_stop_its_thread() {
    let script = "function response(status, headers, body)
        assert(status == 404 and headers['X-A'] == 'b' and body == 'gone')
        wrk.thread:stop()
    end";
    let main = Setting::new(script);
    let main = main.load(&[]).unwrap();
    let thread = main.start_thread().unwrap();
    assert!(thread.wants_responses() && !thread.stopped());
    let capture = Capture { headers: vec![(b"X-A".to_vec(), b"b".to_vec())], body: b"gone".to_vec() };
    thread.response(404, &capture).unwrap();
    assert!(thread.stopped());
    assert!(thread.response(200, &capture).unwrap_err().to_string().contains("script.lua:2: assertion failed"));
}

#[test]
fn setup_may_choose_the_address_and_lookup_and_connect_work() {
    let script = "function setup(thread)
        local list = wrk.lookup('127.0.0.1', tostring(wrk.port))
        assert(#list == 1 and wrk.connect(list[1]) and tostring(list[1]) == tostring(thread.addr))
        assert(list[1] == thread.addr)
        assert(not wrk.connect(wrk.lookup('127.0.0.1', '1')[1]))
        thread.addr = wrk.lookup('127.0.0.1', 'http')[1]
    end";
    let setting = Setting::new(script);
    let thread = setting.load(&[]).unwrap().start_thread().unwrap();
    assert_eq!(thread.address().to_string(), "127.0.0.1:80");
}

#[test]
fn pipelined_requests_are_counted() {
    let setting = Setting::new("function request() return wrk.format() .. wrk.format('HEAD') end");
    let main = setting.load(&[]).unwrap();
    let thread = main.start_thread().unwrap();
    let mut batch = Batch::default();
    thread.request(&mut batch, |_| ()).unwrap();
    assert_eq!((batch.count(), batch.is_head(0), batch.is_head(1)), (2, false, true));
}

#[test]
fn require_and_ffi_work_and_modules_lie_beside_the_script() {
    let setting = Setting::new(
        "local helper = require('helper'); wrk.path = helper.path; assert(require('ffi').sizeof('int') == 4)",
    );
    setting.file("helper.lua", "return { path = '/helped' }");
    assert!(request_of(&setting.load(&[]).unwrap().start_thread().unwrap()).starts_with("GET /helped "));
}

#[test]
fn delay_is_in_milliseconds() {
    let main = Setting::new("function delay() return 1.5 end");
    let main = main.load(&[]).unwrap();
    assert_eq!(main.start_thread().unwrap().delay_ns().unwrap(), 1_500_000);
}

#[test]
fn errors_name_the_file_the_line_and_the_function() {
    for (script, wanted) in [
        ("x = = 1", "script.lua:1: unexpected symbol"),
        ("\nerror('top level')", "script.lua:2: top level"),
        ("function setup() nothing() end", "script: setup: "),
        ("function init() nothing() end", "script.lua:1: attempt to call global 'nothing'"),
        ("function request() return nil .. 'x' end", "script: request: "),
        ("function request() return 'GET /\\r\\n' end", "script.lua:1: request 1 is not an HTTP/1.1 request"),
        ("function request() return {} end", "script.lua:1: expected the text of a request, got table"),
        (
            "request = coroutine.wrap(function() coroutine.yield(true) end)",
            "script: request: a function in C: expected the text of a request, got boolean",
        ),
        ("wrk.method = 'A B'", "script.lua: the request of the table wrk: request 1 is not an HTTP/1.1 request"),
        ("function response() error('seen') end", "script: response: "),
        ("function delay() return -1 end", "expected milliseconds from 0, got -1"),
        ("function done() error('at the end') end", "script.lua:1: at the end"),
        ("function setup(thread) thread:set('f', print) end", "cannot pass a function between threads"),
        ("function setup(thread) local t = {}; t.t = t; thread:set('t', t) end", "contains itself"),
        ("function setup(thread) thread.addr = nil end", "expected an address"),
        ("function setup(thread) thread.addr = 'here' end", "expected an address"),
        ("wrk.lookup('127.0.0.1', 'no-such-service')", "unknown service 'no-such-service'"),
    ] {
        let error = error_of(script);
        assert!(error.contains(wanted), "{script}: {error}");
        assert!(!error.contains("stack traceback"), "{error}");
    }
}
