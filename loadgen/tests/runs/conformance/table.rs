//! The table `wrk`, and the thread that `setup` gets.

use super::{FIVE, and_print_seen, assert_prints, error_of, five, run_script};
use crate::support::{is_installed, quick_server};

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
fn wrk_resolve_finds_the_addresses_that_accept_connections_and_may_be_replaced() {
    let script = "function init()
        wrk.resolve(wrk.host, wrk.port)
        print('found', #wrk.addrs, wrk.addrs[1] == wrk.thread.addr)
        wrk.resolve('127.0.0.1', '1')
        print('none', #wrk.addrs)
    end";
    let (run, _) = five(script);
    assert_prints(&run, "found\t1\ttrue");
    assert_prints(&run, "none\t0");
    let (server, other) = (quick_server(), quick_server());
    let port = other.address.port();
    let script = format!("function wrk.resolve() wrk.addrs = wrk.lookup('127.0.0.1', '{port}') end");
    run_script(&script, FIVE, &server);
    assert_eq!((server.seen().len(), other.seen().len()), (0, 5));
}

#[test]
fn wrk_setup_gives_each_thread_its_address_and_calls_setup() {
    let script = "local default, threads = wrk.setup, 0
        function wrk.setup(thread) threads = threads + 1; default(thread) end
        function setup(thread) print('setup', threads, thread.addr == wrk.addrs[1]) end";
    let run = run_script(script, "-t2 -c2 -d30s -R100 --requests 4", &quick_server());
    assert_prints(&run, "setup\t1\ttrue");
    assert_prints(&run, "setup\t2\ttrue");
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
