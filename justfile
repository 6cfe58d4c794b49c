# What README.md and CONTRIBUTING.md name. `just` alone lists the recipes.

[private]
default:
    @just --list --unsorted

# Build and run the main job: a session recorded, crashed, recovered, forked and rewound
tour:
    cargo run --release -- tour

# Everything that must hold before a change goes in; or only the named steps
test *steps:
    ./test {{ steps }}

# Measure against limits and peers: a table of ratios, all from one run; or only the named rows
bench *rows:
    cargo build --release -p samite-cli
    cargo run --release -p samite-bench -- {{ rows }}

# Find the turns that answer a file of conversations' questions, for a scorer of evidence retrieval on LoCoMo
bench-locomo data run:
    cargo run --release -p samite-bench -- --locomo {{ data }} --run {{ run }}

# Format
fmt:
    cargo fmt --all

# Clippy with warnings denied
lint:
    ./test lint

# The library's documentation
doc:
    cargo doc --no-deps --workspace --open

# Take the new golden files after looking at their differences (`git diff`)
golden:
    INSTA_UPDATE=always cargo nextest run -p samite-cli --features samite-cli/kill-points golden

# Install the command
install:
    cargo install --path crates/samite-cli --locked
