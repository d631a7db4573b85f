use super::*;
use crate::part::Part;
use proptest::prelude::*;

const HOUR: u64 = 3600 * SECOND;

fn constant(requests: u64, seconds: u64, duration_ns: u64) -> Schedule {
    Schedule::constant(Rate { requests, seconds }, duration_ns)
}

fn plan(text: &str) -> Schedule {
    let steps: Vec<Step> = text.split(',').map(|step| Step::parse(step).unwrap()).collect();
    Schedule::of_steps(&steps)
}

#[test]
fn an_hour_at_an_odd_rate_does_not_drift() {
    let odd = constant(70_001, 1, 2 * HOUR);
    assert_eq!(odd.due_ns(70_001 * 3600), HOUR);
    assert_eq!(constant(5, 10, HOUR).due_ns(3), 6 * SECOND);
    assert_eq!(constant(1_000_000_000, 1, HOUR).due_ns(1 << 40), 1 << 40);
    assert_eq!(odd.rate_per_s(), 70_001.0);
}

#[test]
fn requests_beyond_the_end_are_not_due_within_the_run() {
    let schedule = constant(10, 1, 3 * SECOND);
    assert_eq!(
        (schedule.due_ns(29), schedule.due_ns(30), schedule.due_ns(31)),
        (2_900_000_000, 3 * SECOND, 3 * SECOND)
    );
}

#[test]
fn a_plan_goes_from_step_to_step() {
    let steps = plan("10:2s,100:1s,0.5:4s");
    assert_eq!(steps.duration_ns(), 7 * SECOND);
    assert_eq!(steps.due_before(2 * SECOND), 20);
    assert_eq!(steps.due_before(3 * SECOND), 120);
    assert_eq!(steps.due_before(7 * SECOND), 122);
    assert_eq!((steps.due_ns(19), steps.due_ns(20), steps.due_ns(21)), (1_900_000_000, 2 * SECOND, 2_010_000_000));
    assert_eq!((steps.due_ns(120), steps.due_ns(121)), (3 * SECOND, 5 * SECOND));
    assert!((steps.rate_per_s() - 122.0 / 7.0).abs() < 1e-9);
}

#[test]
fn a_ramp_reaches_half_of_its_requests_at_the_root_of_a_half() {
    let up = plan("0-1000:10s");
    assert_eq!(up.due_before(10 * SECOND), 5000);
    let half_s = up.due_ns(2500) as f64 / SECOND as f64;
    assert!((half_s - 10.0 * 0.5f64.sqrt()).abs() < 1e-6, "{half_s}");
    let down = plan("1000-0:10s");
    assert_eq!(down.due_before(10 * SECOND), 5000);
    // By symmetry, the first second of the ramp up has as many requests as the last second of the ramp down.
    assert_eq!(down.due_before(SECOND), 950);
    assert_eq!(up.due_before(10 * SECOND) - up.due_before(9 * SECOND), 950);
}

#[test]
fn steps_that_make_no_sense_are_refused() {
    for bad in ["", "10k", "10k:", ":10s", "0:10s", "10k:0s", "5-5:1s", "a-b:1s", "1-2-3:1s", "-5:1s"] {
        assert!(Step::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn poisson_gaps_are_exponential_and_independent_of_the_number_of_connections() {
    // A Kolmogorov-Smirnov test of all gaps against the exponential distribution, at a level of 0.1%.
    for connections in [1, 8] {
        let schedule = constant(10_000, 1, 3 * SECOND).with_poisson_arrivals(7);
        let mut due = Vec::new();
        for g in 0..connections {
            let mut arrivals = Arrivals::new(&schedule, g, connections);
            while arrivals.due_ns() < schedule.duration_ns() {
                due.push(arrivals.due_ns());
                arrivals.take(&schedule, 1);
            }
        }
        due.sort_unstable();
        let mut gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 100_000.0).collect();
        gaps.sort_by(f64::total_cmp);
        let count = gaps.len() as f64;
        assert!((count - 30_000.0).abs() < 4.0 * 30_000f64.sqrt(), "{count} arrivals");
        let distance = gaps.iter().enumerate().map(|(rank, gap)| {
            let expected = 1.0 - (-gap).exp();
            (expected - rank as f64 / count).abs().max((expected - (rank + 1) as f64 / count).abs())
        });
        let largest = distance.fold(0.0, f64::max);
        assert!(largest < 1.95 / count.sqrt(), "{largest} with {connections} connections");
    }
}

#[test]
fn poisson_arrivals_repeat_with_their_seed_and_follow_the_plan() {
    let times = |schedule: &Schedule| {
        let mut arrivals = Arrivals::new(schedule, 0, 1);
        let mut times = Vec::new();
        while arrivals.due_ns() < schedule.duration_ns() {
            times.push(arrivals.due_ns());
            arrivals.take(schedule, 1);
        }
        times
    };
    let steps = plan("1000:10s,0-2000:10s");
    assert_eq!(times(&steps.clone().with_poisson_arrivals(1)), times(&steps.clone().with_poisson_arrivals(1)));
    let drawn = times(&steps.clone().with_poisson_arrivals(2));
    assert_ne!(drawn, times(&steps.clone().with_poisson_arrivals(1)));
    let before = |time_ns: u64| drawn.partition_point(|due| *due < time_ns) as f64;
    assert!((before(10 * SECOND) - 10_000.0).abs() < 400.0);
    assert!((before(15 * SECOND) - 12_500.0).abs() < 450.0);
    assert!((before(20 * SECOND) - 20_000.0).abs() < 570.0);
}

fn any_plan() -> impl Strategy<Value = Schedule> {
    let step = (1u64..20_000, 0u32..3, 1u64..4_000, 0u64..5_000, proptest::bool::ANY).prop_map(
        |(requests, power, length_ms, to, ramp)| {
            let rate = Rate { requests, seconds: 10u64.pow(power) };
            let length_ns = length_ms * 1_000_000;
            if ramp { Step::Ramp(rate.per_second(), to as f64, length_ns) } else { Step::Constant(rate, length_ns) }
        },
    );
    proptest::collection::vec(step, 1..5).prop_map(|steps| Schedule::of_steps(&steps))
}

proptest! {
    #[test]
    fn due_before_counts_exactly_what_is_due(schedule in any_plan(), share in 0.0f64..=1.0) {
        let time_ns = (schedule.duration_ns() as f64 * share) as u64;
        let count = schedule.due_before(time_ns);
        prop_assert!(schedule.due_ns(count) >= time_ns, "{} of {count}", schedule.due_ns(count));
        if count > 0 {
            prop_assert!(schedule.due_ns(count - 1) < time_ns);
        }
    }

    #[test]
    fn due_times_never_go_back(schedule in any_plan(), share in 0.0f64..1.0) {
        let index = (schedule.due_before(schedule.duration_ns()) as f64 * share) as u64;
        prop_assert!(schedule.due_ns(index) <= schedule.due_ns(index + 1));
    }

    #[test]
    fn every_request_belongs_to_one_connection_and_one_second(schedule in any_plan(), connections in 1u64..20, poisson: bool) {
        let schedule = if poisson { schedule.with_poisson_arrivals(3) } else { schedule };
        let end = schedule.duration_ns();
        let of_connections: u64 = (0..connections)
            .map(|g| Arrivals::new(&schedule, g, connections).waiting_before(&schedule, end))
            .sum();
        let mut counter = DueCounter::new(&schedule, connections, connections, Part::WHOLE);
        let of_seconds: u64 = (1..=end.div_ceil(SECOND)).map(|second| counter.advance(&schedule, (second * SECOND).min(end))).sum();
        prop_assert_eq!(of_connections, of_seconds);
        if !poisson {
            prop_assert_eq!(of_seconds, schedule.due_before(end));
        }
    }
}

#[test]
fn a_warmup_precedes_the_plan_and_does_not_change_it() {
    for plan in [&["70:3s"][..], &["10:1s", "10-50:2s"], &["30-10:2s"]] {
        let steps: Vec<Step> = plan.iter().map(|step| Step::parse(step).unwrap()).collect();
        let plain = Schedule::of_steps(&steps);
        let warm = plain.clone().with_warmup(2 * SECOND);
        assert_eq!((warm.warmup_ns(), warm.duration_ns()), (2 * SECOND, plain.duration_ns()));
        assert_eq!(warm.end_ns(), 2 * SECOND + plain.duration_ns());
        assert_eq!(warm.rate_per_s(), plain.rate_per_s());
        let before = warm.due_before(2 * SECOND);
        for index in 0..plain.due_before(plain.duration_ns()) {
            assert_eq!(warm.due_ns(before + index), 2 * SECOND + plain.due_ns(index), "{plan:?}");
        }
    }
    let ramp = Schedule::of_steps(&[Step::parse("30-10:2s").unwrap()]).with_warmup(2 * SECOND);
    assert_eq!(ramp.due_before(2 * SECOND), 60, "at the rate that the plan begins with");
    assert_eq!(Schedule::constant(parse_rate("5").unwrap(), SECOND).with_warmup(0).warmup_ns(), 0);
}

#[test]
fn a_limit_leaves_exactly_that_many_requests_due_after_the_warmup() {
    let plan = Schedule::constant(parse_rate("100").unwrap(), 10 * SECOND).with_warmup(SECOND);
    for (plan, parties) in [(plan.clone(), 7), (plan.with_poisson_arrivals(3), 7)] {
        let limited = plan.clone().limited_to(123, parties);
        assert!(limited.is_limited());
        let mut due = Vec::new();
        for party in 0..parties {
            let mut arrivals = Arrivals::new(&limited, party, parties);
            assert_eq!(
                arrivals.waiting_before(&limited, limited.end_ns()),
                Arrivals::new(&plan, party, parties).waiting_before(&plan, limited.sending_ns)
            );
            while arrivals.due_ns() < limited.end_ns() {
                due.push(arrivals.due_ns());
                arrivals.take(&limited, 1);
            }
        }
        assert_eq!(due.iter().filter(|due_ns| **due_ns >= SECOND).count(), 123);
        let mut counter = DueCounter::new(&limited, parties, parties, Part::WHOLE);
        counter.skip(&limited, SECOND);
        assert_eq!(counter.advance(&limited, limited.end_ns()), 123);
        assert!(!plan.limited_to(1_000_000, parties).is_limited(), "the time limit comes first");
    }
}

/// The due times of all `parties`, in order.
fn all_due(plan: &Schedule, parties: u64) -> Vec<u64> {
    let mut due = Vec::new();
    for party in 0..parties {
        let mut arrivals = Arrivals::new(plan, party, parties);
        while arrivals.due_ns() < plan.end_ns() {
            due.push(arrivals.due_ns());
            arrivals.take(plan, 1);
        }
    }
    due.sort_unstable();
    due
}

#[test]
fn poisson_arrivals_of_a_step_that_ends_between_two_requests_are_no_burst_in_the_next() {
    // 1.05 requests in the warm-up and 0.7 in the first step.
    let plan = plan("7:100ms,3-7:300ms").with_warmup(150_000_000);
    let mut total = 0;
    for seed in 0..1000 {
        let due = all_due(&plan.clone().with_poisson_arrivals(seed), 4);
        total += due.len();
        assert!(due.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {due:?}");
    }
    // The plan has 3.25 requests: 1.05, 0.7 and 1.5. The standard error of the mean of 1000 runs is 0.06.
    let mean = total as f64 / 1000.0;
    assert!((mean - 3.25).abs() < 0.24, "{mean}");
}

#[test]
fn a_limit_counts_poisson_arrivals_that_are_due_in_the_same_nanosecond_one_by_one() {
    // A thousand million a second: every other nanosecond or so has several.
    let plan = constant(1_000_000_000, 1, SECOND).with_poisson_arrivals(1);
    for requests in 1..300 {
        let limited = plan.clone().limited_to(requests, 3);
        assert_eq!(all_due(&limited, 3).len() as u64, requests);
    }
}
