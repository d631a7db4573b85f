//! The functions of a script and their arguments.

use super::{and_print_seen, assert_prints, error_of, five};
use crate::support::OK;

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
    for returned in ["", "nil", "false", "true", "0", "'1'", "0.5", "'soon'", "{}", "print", "0, 5"] {
        five(&format!("function delay() return {returned} end"));
    }
    for (returned, wanted) in [("-1", "got -1"), ("'-1'", "got -1"), ("0/0", "got NaN"), ("1/0", "got inf")] {
        let error = error_of(&format!("\nfunction delay() return {returned} end"));
        assert!(error.contains("script: delay: ") && error.contains("script.lua:2: expected milliseconds from 0, "));
        assert!(error.contains(wanted), "{error}");
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
