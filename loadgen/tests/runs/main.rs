//! Runs of the generator whose outcomes are counted. They mostly wait, so they are one program, which runs many at once.

mod conformance;
mod endurance;
mod golden;
mod kernels;
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
