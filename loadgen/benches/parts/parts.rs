//! Measures each part of the hot path alone.

use criterion::{Criterion, criterion_group, criterion_main};
use loadgen::clock::{SECOND, now_ns};
use loadgen::http::{Batch, Operation, ResponseParser};
use loadgen::schedule::{Arrivals, Schedule};
use loadgen::script::{MainScript, ScriptOptions};
use loadgen::stats::{Interval, Sample};
use loadgen::target::Target;
use loadgen::units::parse_rate;
use std::hint::black_box;
use std::path::Path;

fn parts(criterion: &mut Criterion) {
    criterion.bench_function("clock", |bencher| bencher.iter(now_ns));

    let body = "x".repeat(500);
    let sized = format!("HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: Keep-Alive\r\n\r\n{body}");
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n{body}\r\n0\r\n\r\n");
    for (name, text) in [("parse a sized response", &sized), ("parse a chunked response", &chunked)] {
        let mut parser = ResponseParser::default();
        criterion.bench_function(name, |bencher| bencher.iter(|| parser.feed(black_box(text.as_bytes()), false, None)));
    }

    let constant = Schedule::constant(parse_rate("70k").expect("a rate"), 3600 * SECOND);
    for (name, schedule) in
        [("next due time, even", constant.clone()), ("next due time, Poisson", constant.with_poisson_arrivals(1))]
    {
        let mut arrivals = Arrivals::new(&schedule, 0, 64);
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                arrivals.take(&schedule, 1);
                arrivals.due_ns()
            })
        });
    }

    let mut interval = Interval::default();
    let mut value = 1u64;
    criterion.bench_function("record a response", |bencher| {
        bencher.iter(|| {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let latency_ns = 50_000 + (value >> 44);
            interval.latencies.record(Sample {
                latency_ns,
                uncorrected_ns: latency_ns,
                own_error_ns: latency_ns >> 4,
                operation: Operation::Get,
                served: true,
            });
            interval.latencies.send_lag.saturating_record(latency_ns >> 4);
            interval.count_response(200, true);
        })
    });

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    for (name, file, words) in [
        ("Lua request, get.lua", "get.lua", "pairs=2000000"),
        ("Lua request, put.lua", "put.lua", "pairs=2000000 value_bytes=500"),
    ] {
        let main = MainScript::load(ScriptOptions {
            file: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(file)),
            target: Target::parse(&url).expect("a URL"),
            headers: Vec::new(),
            arguments: words.split(' ').map(str::to_owned).collect(),
        });
        let main = main.expect("a shipped script");
        let thread = main.start_thread().expect("a shipped script");
        let mut batch = Batch::default();
        criterion.bench_function(name, |bencher| bencher.iter(|| thread.request(&mut batch, <[u8]>::len)));
    }
}

criterion_group!(benches, parts);
criterion_main!(benches);
