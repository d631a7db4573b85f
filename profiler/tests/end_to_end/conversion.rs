//! The files that `convert` makes of a recording.

use crate::support::{
    Jvm, command, expect_success, jdk, json, lib, profile, record, record_new_jvm, room, samples_of, text_of,
};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const FILES: [&str; 6] = [".html", "-threads.html", "-heatmap.html", ".collapsed", ".svg", ".png"];

fn assert_png_and_svg(out: &Path, event: &str) {
    let png = fs::read(out.join(format!("{event}.png"))).unwrap();
    let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).expect("the PNG decodes");
    assert!(pixels.width() == 1600 && pixels.height() >= 100);
    let svg = fs::read_to_string(out.join(format!("{event}.svg"))).unwrap();
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(&svg, options).expect("the SVG is XML");
}

/// Number of samples in a heatmap's page: the last number of its data, five digits of six bits, the lowest first.
fn samples_in_heatmap(html: &str) -> u64 {
    let (_, data) = html.split_once("<pre id=\"executionsHeatmap\">S").expect("the page has its data");
    let (data, _) = data.split_once("E</pre>").expect("the data ends");
    let digit = |byte: &u8| match byte {
        // substitutes for bytes that HTML would change
        123..=127 => [62, 60, 38, 13, 0][usize::from(byte - 123)],
        _ => u64::from(*byte),
    };
    data.as_bytes()[data.len() - 5..].iter().rev().fold(0, |number, byte| number << 6 | digit(byte))
}

/// The collapsed stacks, both flame graphs, the SVG and the categories show the same whole.
fn assert_the_same_total_everywhere(out: &Path, event: &str, total: u64) {
    let collapsed = fs::read_to_string(out.join(format!("{event}.collapsed"))).unwrap();
    let values = collapsed.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(values.sum::<u64>(), total, "{event}.collapsed");
    for page in ["", "-threads"] {
        let html = fs::read_to_string(out.join(format!("{event}{page}.html"))).unwrap();
        // the first frame that the page draws is the root: the number of its name and its width
        let root = html.lines().find_map(|line| line.strip_prefix("n(")).expect("the page draws its root");
        let width = root.trim_end_matches(')').split(',').nth(1).expect("the root has a width");
        assert_eq!(width.parse::<u64>().unwrap(), total, "{event}{page}.html");
    }
    let factor = match event {
        "alloc" | "nativemem" => 1024,
        "lock" => 1000,
        _ => 1,
    };
    let svg = fs::read_to_string(out.join(format!("{event}.svg"))).unwrap();
    let (_, root) = svg.split_once("<title>all (").expect("the SVG has its root");
    let digits: String = root.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect();
    assert!(digits.parse::<u64>().unwrap().abs_diff(total / factor) <= 1, "{event}.svg: {digits} of {total}");
    let table = json(&out.join("categories.json"));
    for (of, name) in [("events", "categories"), ("groups", "groups")] {
        let rows = table[of][event].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row["value"].as_u64().unwrap()).sum();
        assert_eq!(sum, total, "{name} of {event}");
    }
}

#[test]
fn a_recording_becomes_every_file_and_names_the_methods_that_ran() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    let options = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"];
    record_new_jvm(&options, out, &["--events", "cpu,alloc,lock,wall"]);
    let words = ["convert", "--out", out.to_str().unwrap(), "--title", "an <experiment> & its title"];
    expect_success(&profile(&words));

    let description = json(&out.join("profile.json"));
    assert_eq!(description["format"], "lsmlab-profile");
    assert_eq!(description["interval_us"], 500.0);
    let engine = description["engine"].as_str().unwrap();
    assert!(["perf_events", "ctimer"].contains(&engine), "{engine}");
    let kernel = fs::read_to_string(out.join("cpu.collapsed")).unwrap().contains("_[k]");
    assert_eq!(description["kernel_frames"], kernel, "as in the stacks");
    assert_eq!(description["truncated"], false);
    for (event, methods) in [
        ("cpu", ["Busy.compute", "java/lang/Thread.run"]),
        ("alloc", ["Busy.allocate", "byte[]"]),
        ("lock", ["Busy.contend", "java.util.concurrent.locks.ReentrantLock$NonfairSync"]),
        ("wall", ["Busy.compute", "java/lang/Thread.sleep"]),
    ] {
        for end in FILES {
            let file = out.join(format!("{event}{end}"));
            assert!(fs::metadata(&file).is_ok_and(|file| file.len() > 0), "{}", file.display());
        }
        assert_png_and_svg(out, event);
        let samples = description["events"][event]["samples"].as_u64().unwrap();
        assert!(samples >= 20, "{event}: {samples}");
        assert_eq!(description["events"][event]["empty"], false);
        let collapsed = fs::read_to_string(out.join(format!("{event}.collapsed"))).unwrap();
        let svg = fs::read_to_string(out.join(format!("{event}.svg"))).unwrap();
        for method in methods {
            assert!(collapsed.contains(method), "{method} is not in {event}.collapsed");
            assert!(svg.contains(method), "{method} is not in {event}.svg");
        }
        // tiers of the JIT, and the addresses in names of hidden classes: both differ between two starts of a JVM
        for mark in ["_[j]", "_[i]", "_[0]", "_[1]", "0x"] {
            assert!(!collapsed.contains(mark), "{mark} in {event}.collapsed");
        }
        assert!(svg.contains("an &lt;experiment&gt; &amp; its title · "), "{event}.svg has no title");
        for end in &FILES[..3] {
            let html = fs::read_to_string(out.join(format!("{event}{end}"))).unwrap();
            assert!(html.contains("<title>an &lt;experiment&gt; &amp; its title · "), "{event}{end} has no title");
        }
        assert_the_same_total_everywhere(out, event, description["events"][event]["total"].as_u64().unwrap());
        let heatmap = fs::read_to_string(out.join(format!("{event}-heatmap.html"))).unwrap();
        assert_eq!(samples_in_heatmap(&heatmap), samples, "{event}-heatmap.html");
        let html = fs::read_to_string(out.join(format!("{event}-threads.html"))).unwrap();
        assert!(html.contains("busy-worker-"), "{event}-threads.html is not split by thread");
    }

    let stacks = fs::read_to_string(out.join("cpu.collapsed")).unwrap();
    assert!(stacks.contains(";Busy$$Lambda.run;"), "the lambda of the workers");
    let counts = json(&out.join("recorder.json"));
    assert_eq!(description["samples_lost"], counts["lost"]);
    assert!(description["cpu_s"].as_f64().is_some_and(|seconds| seconds > 0.1), "{description}");
    let picture = fs::read_to_string(out.join("cpu.svg")).unwrap();
    assert!(picture.contains(" UTC"), "the picture has a date");
    let had = format!("by {engine}, one per {} µs of CPU time", description["interval_had_us"].as_f64().unwrap());
    assert!(picture.contains(&had), "the picture says {had:?}");

    let table = json(&out.join("categories.json"));
    for (event, rows) in table["events"].as_object().unwrap() {
        let rows = rows.as_array().unwrap();
        let samples: u64 = rows.iter().map(|row| row["samples"].as_u64().unwrap()).sum();
        assert_eq!(samples, description["events"][event]["samples"], "{event}");
        let shares: f64 = rows.iter().map(|row| row["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{event}: {shares}");
    }
    assert!(fs::read_dir(out).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with('.')));
}

#[test]
fn a_thread_that_sleeps_has_its_wall_clock_samples_in_each_of_its_seconds() {
    let directory = tempfile::tempdir().unwrap();
    record_new_jvm(&[], directory.path(), &["--events", "wall"]);
    expect_success(&profile(&["convert", "--out", directory.path().to_str().unwrap()]));
    let text = samples_of(directory.path(), "wall");
    let main =
        text.lines().filter(|line| line.starts_with("T\t")).position(|line| line.contains("main tid")).unwrap() + 1;
    let mut of_second = [0; 10];
    for line in text.lines() {
        if let ["S", tenth, thread, _, samples, _] = *line.split('\t').collect::<Vec<_>>() {
            let (tenth, count): (usize, u32) = (tenth.parse().unwrap(), samples.parse().unwrap());
            of_second[tenth / 10] += if thread == main.to_string() { count } else { 0 };
        }
    }
    // one sample every 20 ms, a few less on a busy machine
    assert!(of_second[..2].iter().all(|count| (20..=55).contains(count)), "{of_second:?}");
}

#[test]
fn a_recording_has_the_requested_depth_native_memory_and_pprof() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record_new_jvm(&[], out, &["--events", "cpu,nativemem", "--depth", "3", "--nativemem-interval", "1k"]);
    expect_success(&profile(&["convert", "--out", out.to_str().unwrap(), "--pprof"]));
    let stacks = fs::read_to_string(out.join("cpu.collapsed")).unwrap();
    // the kernel's frames are no part of the depth
    let frames = |line: &str| line.split(';').filter(|frame| !frame.contains("_[k]")).count();
    assert_eq!(stacks.lines().map(frames).max(), Some(3), "{stacks}");
    let description = json(&out.join("profile.json"));
    for event in ["cpu", "nativemem"] {
        let found = &description["events"][event];
        assert!(found["samples"].as_u64().is_some_and(|samples| samples > 0), "{event}: {found}");
        assert!(fs::metadata(out.join(format!("{event}.pprof"))).is_ok_and(|file| file.len() > 100), "{event}.pprof");
        assert_the_same_total_everywhere(out, event, found["total"].as_u64().unwrap());
    }
}

#[test]
fn the_files_of_an_event_that_was_not_recorded_state_that() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record_new_jvm(&[], out, &["--events", "lock"]);
    expect_success(&profile(&["convert", "--out", out.to_str().unwrap()]));
    for end in ["html", "svg", "collapsed"] {
        let text = fs::read_to_string(out.join(format!("alloc.{end}"))).unwrap();
        assert!(text.contains("does not contain allocated memory"), "{text}");
    }
    assert_png_and_svg(out, "alloc");
    let description = json(&out.join("profile.json"));
    assert_eq!(description["engine"], Value::Null);
    assert_eq!(description["kernel_frames"], Value::Null);
    assert_eq!(description["events"]["cpu"]["empty"], true);
    assert_eq!(description["events"]["cpu"]["recorded"], false);
    assert_eq!(description["events"]["lock"]["empty"], false);
    assert!(!out.join("wall.html").exists(), "wall was neither recorded nor asked for");
}

#[test]
fn a_truncated_recording_gives_its_complete_part() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record_new_jvm(&[], out, &[]);
    let file = out.join("profile.jfr");
    let whole = fs::read(&file).unwrap();

    fs::write(&file, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
    let converted = profile(&["convert", "--out", out.to_str().unwrap()]);
    expect_success(&converted);
    assert!(text_of(&converted).contains("is cut off"), "{}", text_of(&converted));
    let description = json(&out.join("profile.json"));
    assert_eq!(description["truncated"], true);
    assert_eq!(description["events"]["cpu"]["empty"], false);

    let before = fs::read(out.join("cpu.svg")).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let refused = profile(&["convert", "--out", out.to_str().unwrap()]);
    assert!(!refused.status.success());
    assert!(text_of(&refused).contains("cut off"), "{}", text_of(&refused));
    assert_eq!(fs::read(out.join("cpu.svg")).unwrap(), before, "a refused recording changes nothing");
}

#[test]
fn names_that_end_lines_or_scripts_are_text_in_every_file_and_emoji_stay() {
    let mut java = Command::new(jdk().join("bin/java"));
    java.arg(room().join("tests/data/Hostile.java"));
    let jvm = Jvm::run(java);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record(&jvm, out, &["--events", "cpu,alloc,lock"]);
    drop(jvm); // the conversion needs the CPUs
    let convert = ["convert", "--out", out.to_str().unwrap(), "--title", "a </h1></script>\n\u{1b} title", "--pprof"];
    expect_success(&profile(&convert));
    for event in ["cpu", "alloc", "lock"] {
        for page in ["", "-threads", "-heatmap"] {
            let html = fs::read_to_string(out.join(format!("{event}{page}.html"))).unwrap();
            assert_eq!(html.matches("</script>").count(), html.matches("<script").count(), "{event}{page}.html");
            assert_eq!(html.matches("</h1>").count(), 1, "{event}{page}.html");
            // a heatmap keeps the names of a method and its class apart
            let method = if page == "-heatmap" { "a< /script> b \u{1d49c}" } else { "script> b \u{1d49c}.run" };
            assert!(html.contains(method), "{event}{page}.html: a method");
            assert!(event == "cpu" || html.contains("a< .script> b \u{1d49c}"), "{event}{page}.html: a class");
        }
        let threads = fs::read_to_string(out.join(format!("{event}-threads.html"))).unwrap();
        assert!(threads.contains("first second < /script> \u{1f600} tid="), "{event}-threads.html");
        let stacks = fs::read_to_string(out.join(format!("{event}.collapsed"))).unwrap();
        assert!(stacks.contains(";a< /script> b \u{1d49c}.run;Hostile.work"), "{stacks}");
        assert!(samples_of(out, event).contains("first second < /script> \u{1f600} tid="), "{event}.samples.gz");
        assert_png_and_svg(out, event);
    }
}

#[test]
fn a_path_may_have_an_umlaut_without_a_locale_and_a_colon() {
    let directory = tempfile::tempdir().unwrap();
    let (out, its_lib) = (directory.path().join("Größe: 1"), directory.path().join("Bücher: 2"));
    fs::create_dir(&out).unwrap();
    fs::create_dir(&its_lib).unwrap();
    for jar in ["profile-convert.jar", "jfr-converter.jar"] {
        fs::copy(lib().join(jar), its_lib.join(jar)).unwrap();
    }
    record_new_jvm(&[], &out, &["--events", "cpu"]);
    let mut convert = command(&["--lib", "Bücher: 2", "convert", "--out", "Größe: 1"]);
    expect_success(&convert.env("LC_ALL", "C").current_dir(&directory).output().unwrap());
    assert!(out.join("cpu.html").exists());
}
