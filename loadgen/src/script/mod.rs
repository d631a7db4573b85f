//! Lua scripts with wrk's interface, on LuaJIT.
//!
//! Each thread has its own Lua state, and there is another one for `setup` and `done`, as in wrk. [`MainScript`] makes
//! all of them before the run. During the run a thread uses only its own state.

mod address;
mod state;
mod statistics;
mod thread;

use crate::http::{Batch, Capture};
use crate::target::Target;
use mlua::{Function, Value};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use thiserror::Error;

use state::State;
pub use statistics::{LuaDistribution, Summary};
use thread::ThreadHandle;

/// The longest delay, 292 years: a longer one would overflow the clock, and no run is as long.
const DELAY_NS_MAX: u64 = i64::MAX as u64;

/// A failure of a script. The text names the file and the line.
#[derive(Debug, Clone, Error)]
#[error("{0}")]
pub struct ScriptError(String);

impl ScriptError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Makes an error with the name of the script's function that failed.
    fn in_function(name: &str, error: &mlua::Error) -> Self {
        Self(format!("script: {name}: {}", state::message(error)))
    }
}

/// The inputs of a script.
#[derive(Debug, Clone)]
pub struct ScriptOptions {
    /// The script's file; without a file, wrk's defaults apply.
    pub file: Option<PathBuf>,
    /// The URL, whose parts become the table `wrk`.
    pub target: Target,
    /// Headers from the command line.
    pub headers: Vec<(String, String)>,
    /// Arguments after the URL, for `init`.
    pub arguments: Vec<String>,
}

/// The Lua state that runs `setup` for each thread before the run and `done` after it.
#[derive(Debug)]
pub struct MainScript {
    state: State,
    options: ScriptOptions,
    /// The script's text. It is read once, because a pipe such as `<(…)` can be read only once.
    source: Option<Vec<u8>>,
    addresses: Vec<SocketAddr>,
}

impl MainScript {
    /// Loads the script and resolves the host.
    pub fn load(options: ScriptOptions) -> Result<Self, ScriptError> {
        let read = |file: &PathBuf| {
            std::fs::read(file)
                .map_err(|error| ScriptError::new(format!("script: cannot read {}: {error}", file.display())))
        };
        let source = options.file.as_ref().map(read).transpose()?;
        let state = State::new(&options, source.as_deref())?;
        let service = options.target.port.map_or(options.target.scheme.clone(), |port| port.to_string());
        let resolve = || -> mlua::Result<Vec<SocketAddr>> {
            let wrk = state.wrk()?;
            wrk.get::<Function>("resolve")?.call::<()>((options.target.host.as_str(), service))?;
            address::list(wrk.get("addrs")?)
        };
        let addresses = resolve().map_err(|error| ScriptError::in_function("wrk.resolve", &error))?;
        Ok(Self { state, options, source, addresses })
    }

    /// The script's text.
    pub fn text(&self) -> Option<String> {
        self.source.as_ref().map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// The addresses that accept connections, the default one first; empty if none does.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Makes the state of the next thread. Runs `setup(thread)` in this state and `init(args)` in the new one.
    pub fn start_thread(&self) -> Result<ThreadScript, ScriptError> {
        let (state, handle) = self.set_up_thread()?;
        let arguments = std::iter::once(self.options.target.url.clone()).chain(self.options.arguments.clone());
        let init = || -> mlua::Result<()> {
            let args = state.lua.create_table()?;
            for (index, argument) in arguments.enumerate() {
                args.set(index, argument)?;
            }
            state.wrk()?.get::<Function>("init")?.call(args)
        };
        init().map_err(|error| ScriptError::in_function("init", &error))?;
        state.end_line();
        ThreadScript::new(state, &handle, &self.options)
    }

    /// Runs `setup(thread)` for a thread that another generator runs, so that the script counts that thread too.
    pub fn skip_thread(&self) -> Result<RemoteThread, ScriptError> {
        Ok(RemoteThread { _state: self.set_up_thread()?.0 })
    }

    fn set_up_thread(&self) -> Result<(State, ThreadHandle), ScriptError> {
        let state = State::new(&self.options, self.source.as_deref())?;
        let handle = ThreadHandle::new(&state.lua, self.addresses.first().copied());
        let setup = || -> mlua::Result<()> {
            state.wrk()?.set("thread", handle.clone())?;
            self.state.wrk()?.get::<Function>("setup")?.call::<()>(handle.clone())
        };
        setup().map_err(|error| ScriptError::in_function("setup", &error))?;
        self.state.end_line();
        Ok((state, handle))
    }

    /// Calls `done(summary, latency, requests)` if the script defines it.
    pub fn done(
        &self,
        summary: &Summary,
        latency: LuaDistribution,
        requests: LuaDistribution,
    ) -> Result<(), ScriptError> {
        let call = || -> mlua::Result<()> {
            match self.state.lua.globals().get("done")? {
                Value::Function(done) => done.call((summary.to_table(&self.state.lua)?, latency, requests)),
                _ => Ok(()),
            }
        };
        call().map_err(|error| ScriptError::in_function("done", &error))
    }
}

/// A thread that another generator runs. The script may set its variables as long as this value exists.
#[derive(Debug)]
pub struct RemoteThread {
    _state: State,
}

/// The Lua state of one thread. Only that thread uses it during the run.
#[derive(Debug)]
pub struct ThreadScript {
    state: State,
    request: Function,
    response: Function,
    delay: Function,
    wants_responses: bool,
    delays: bool,
    /// The request that every connection sends if the script has no `request` function.
    fixed: Option<Vec<u8>>,
    stopped: Arc<AtomicBool>,
    address: Arc<Mutex<Option<SocketAddr>>>,
}

impl ThreadScript {
    fn new(state: State, handle: &ThreadHandle, options: &ScriptOptions) -> Result<Self, ScriptError> {
        let prepare = || -> mlua::Result<Self> {
            let fixed = match state.hook("is_dynamic")?.call::<bool>(())? {
                true => None,
                false => {
                    let text: mlua::String = state.wrk()?.get::<Function>("format")?.call(())?;
                    Some(text.as_bytes().to_vec())
                }
            };
            Ok(Self {
                request: state.hook("request")?,
                response: state.hook("response")?,
                delay: state.hook("delay")?,
                wants_responses: state.defines("response"),
                delays: state.defines("delay"),
                fixed,
                stopped: handle.stopped(),
                address: handle.address(),
                state,
            })
        };
        let script = prepare().map_err(|error| ScriptError::in_function("request", &error))?;
        if let Some(text) = &script.fixed {
            let file = options.file.as_deref().unwrap_or(Path::new("no file"));
            let wrong = |error| format!("script: {}: the request of the table wrk: {error}", file.display());
            Batch::of(text).map_err(|error| ScriptError::new(wrong(error)))?;
        }
        Ok(script)
    }

    /// The address to which this thread connects. The script may change it during the run, for later connections.
    pub fn address(&self) -> SocketAddr {
        let address = self.address.lock().expect("held for a copy only");
        address.expect("a run begins with an address, and a script can only set another one")
    }

    /// The request that every connection sends, or `None` if the script makes each request.
    pub fn fixed_request(&self) -> Option<&[u8]> {
        self.fixed.as_deref()
    }

    /// Whether the script wants to see responses.
    pub fn wants_responses(&self) -> bool {
        self.wants_responses
    }

    /// Whether the script delays requests.
    pub fn delays(&self) -> bool {
        self.delays
    }

    /// Whether the script has called `wrk.thread:stop()`.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Lets the script make the next request, counts the requests in it into `batch`, and passes its text to `send`.
    pub fn request<R>(&self, batch: &mut Batch, send: impl FnOnce(&[u8]) -> R) -> Result<R, ScriptError> {
        let failed = |error| ScriptError::in_function("request", &error);
        let returned: Value = self.request.call(()).map_err(failed)?;
        let kind = returned.type_name();
        let Some(text) = self.state.lua.coerce_string(returned).map_err(failed)? else {
            return Err(self.returned_wrong("request", format_args!("expected the text of a request, got {kind}")));
        };
        let bytes = text.as_bytes();
        batch.set(&bytes).map_err(|error| self.returned_wrong("request", format_args!("{error}")))?;
        Ok(send(&bytes))
    }

    /// Makes an error about what the script's function `name` has returned.
    fn returned_wrong(&self, name: &str, what: std::fmt::Arguments<'_>) -> ScriptError {
        let place = self.state.hook("place").and_then(|place| place.call::<String>(()));
        ScriptError(format!("script: {name}: {}: {what}", place.unwrap_or_default()))
    }

    /// Passes a response to the script.
    pub fn response(&self, status: u16, capture: &Capture) -> Result<(), ScriptError> {
        if !self.wants_responses {
            return Ok(());
        }
        let lua = &self.state.lua;
        let call = || -> mlua::Result<()> {
            let headers = lua.create_table_with_capacity(0, capture.headers.len())?;
            for (name, value) in &capture.headers {
                headers.set(lua.create_string(name)?, lua.create_string(value)?)?;
            }
            self.response.call((status, headers, lua.create_string(&capture.body)?))
        };
        call().map_err(|error| ScriptError::in_function("response", &error))
    }

    /// Nanoseconds by which the next request is delayed, at most [`DELAY_NS_MAX`]. The script returns milliseconds.
    pub fn delay_ns(&self) -> Result<u64, ScriptError> {
        if !self.delays {
            return Ok(0);
        }
        let delay_ms: f64 = self.delay.call(()).map_err(|error| ScriptError::in_function("delay", &error))?;
        if !delay_ms.is_finite() || delay_ms < 0.0 {
            return Err(self.returned_wrong("delay", format_args!("expected milliseconds from 0, got {delay_ms}")));
        }
        Ok(((delay_ms * 1e6) as u64).min(DELAY_NS_MAX))
    }

    /// Writes what the script has printed so far, and ends its last line.
    pub fn end_line(&self) {
        self.state.end_line();
    }
}

#[cfg(test)]
mod tests;
