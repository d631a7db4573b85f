//! Makes a recording: drives `asprof`, and answers what the JVM and the kernel allow.

pub mod asprof;
pub mod jvm;
pub mod perf;
pub mod recorder;
