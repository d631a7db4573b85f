//! Runs of the generator whose outcomes are counted: most of their time is waiting, so many go at once, in one program.

mod endurance;
mod golden;
mod merge;
#[allow(dead_code, missing_docs)]
#[path = "../../examples/noop_server.rs"]
mod noop_server;
mod outputs;
mod parts;
mod peers;
mod scripts;
mod shapes;
mod stock_scripts;
#[path = "../support/mod.rs"]
mod support;
mod tls;
