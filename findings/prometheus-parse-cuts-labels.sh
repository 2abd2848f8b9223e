#!/bin/bash
# prometheus-parse 0.2.5 (crates.io): it cuts a label value at a comma, leaves escapes in it, and skips a sample with `}` in a value or a blank before the labels, without an error.
#
# Guess before it was run: values of labels may have any character, with \", \\ and \n for a quote, a backslash and a line break (Prometheus' text format), so "a, b", "a}b" and "C:\\dir" are read
# as they were meant, and blanks between tokens do not matter.
# Seen: note="a, b" is "a"; say \"hi\" keeps its backslashes and loses the last quote; the samples with a}b and `press_state { line="8" }` are not there, without an error. A metric with a file
# name, a message or a list of alarms in a label counts as another series, or is missing from a report and from what is judged by it.
# Needs Rust 1.85 or newer and crates.io. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=0.2.5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
printf '[package]\nname = "reads"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nprometheus-parse = "=%s"\n' "$VERSION" > Cargo.toml
cat > src/main.rs << 'RUST'
fn main() {
    let text = std::fs::read_to_string("metrics").unwrap();
    let read = prometheus_parse::Scrape::parse(text.lines().map(|line| Ok(line.to_string()))).unwrap();
    for sample in read.samples {
        print!("{:?} [{}] ", sample.value, sample.labels.get("note").unwrap_or("-"));
    }
}
RUST
cat > metrics << 'TEXT'
press_state{note="plain"} 1
press_state{note="a, b"} 2
press_state{note="say \"hi\""} 3
press_state{note="C:\\dir"} 4
press_state{note="a}b"} 5
press_state { note="blanks" } 6
TEXT
cargo build --quiet 2> build || { cat build; exit 1; }
seen=$(target/debug/reads)
echo "prometheus-parse $VERSION, six samples: $seen"
[ "$seen" = 'Untyped(1.0) [plain] Untyped(2.0) [a] Untyped(3.0) [say \"hi\] Untyped(4.0) [C:\\dir] ' ]
