//! The run: threads that send requests on schedule, and the messages between them.

mod connection;
mod idle;
mod idle_time;
mod polling;
mod protocol;
mod sampler;
mod stops;
mod system;
mod timers;
mod worker;

pub use protocol::{Gate, Message, ThreadResult, WorkerError, WorkerPlan, WorkerResult};
pub use sampler::RequestRate;
pub use stops::{STOPS_MAX, Stop};
pub use system::{Linux, Stream, System};
pub use worker::Worker;
