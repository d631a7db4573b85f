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
use mlua::{Function, Lua, Table, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

pub use statistics::{LuaDistribution, Summary};
use thread::ThreadHandle;

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
    lua: Lua,
    options: ScriptOptions,
    addresses: Vec<SocketAddr>,
}

impl MainScript {
    /// Loads the script and resolves the host.
    pub fn load(options: ScriptOptions) -> Result<Self, ScriptError> {
        let lua = state::create(&options)?;
        let service = options.target.port.map_or(options.target.scheme.clone(), |port| port.to_string());
        let resolve = || -> mlua::Result<Vec<SocketAddr>> {
            let wrk: Table = lua.globals().get("wrk")?;
            wrk.get::<Function>("resolve")?.call::<()>((options.target.host.as_str(), service))?;
            address::list(wrk.get("addrs")?)
        };
        let addresses = resolve().map_err(|error| ScriptError::in_function("wrk.resolve", &error))?;
        Ok(Self { lua, options, addresses })
    }

    /// The addresses that accept connections, the default one first; empty if none does.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Makes the state of the next thread. Runs `setup(thread)` in this state and `init(args)` in the new one.
    pub fn start_thread(&self) -> Result<ThreadScript, ScriptError> {
        let (lua, handle) = self.set_up_thread()?;
        let (stopped, address) = (handle.stopped(), handle.address());
        let arguments = std::iter::once(self.options.target.url.clone()).chain(self.options.arguments.clone());
        let init = || -> mlua::Result<()> {
            let args = lua.create_table()?;
            for (index, argument) in arguments.enumerate() {
                args.set(index, argument)?;
            }
            let wrk: Table = lua.globals().get("wrk")?;
            wrk.get::<Function>("init")?.call(args)
        };
        init().map_err(|error| ScriptError::in_function("init", &error))?;
        let address = address.lock().expect("no thread panics while it holds the address").take();
        let address = address.ok_or_else(|| ScriptError::new("script: setup: thread.addr must be an address"))?;
        ThreadScript::new(lua, stopped, address)
    }

    /// Runs `setup(thread)` for a thread that another generator runs, so that the script counts that thread too.
    pub fn skip_thread(&self) -> Result<RemoteThread, ScriptError> {
        Ok(RemoteThread { _lua: self.set_up_thread()?.0 })
    }

    fn set_up_thread(&self) -> Result<(Lua, ThreadHandle), ScriptError> {
        let lua = state::create(&self.options)?;
        let handle = ThreadHandle::new(&lua, self.addresses.first().copied());
        let setup = || -> mlua::Result<()> {
            lua.globals().get::<Table>("wrk")?.set("thread", handle.clone())?;
            self.wrk_function("setup")?.call::<()>(handle.clone())
        };
        setup().map_err(|error| ScriptError::in_function("setup", &error))?;
        Ok((lua, handle))
    }

    /// Calls `done(summary, latency, requests)` if the script defines it.
    pub fn done(
        &self,
        summary: &Summary,
        latency: LuaDistribution,
        requests: LuaDistribution,
    ) -> Result<(), ScriptError> {
        let call = || -> mlua::Result<()> {
            match self.lua.globals().get("done")? {
                Value::Function(done) => done.call((summary.to_table(&self.lua)?, latency, requests)),
                _ => Ok(()),
            }
        };
        call().map_err(|error| ScriptError::in_function("done", &error))
    }

    fn wrk_function(&self, name: &str) -> mlua::Result<Function> {
        self.lua.globals().get::<Table>("wrk")?.get(name)
    }
}

/// A thread that another generator runs. The script may set its variables as long as this value exists.
#[derive(Debug)]
pub struct RemoteThread {
    _lua: Lua,
}

/// The Lua state of one thread. Only that thread uses it during the run.
#[derive(Debug)]
pub struct ThreadScript {
    lua: Lua,
    request: Option<Function>,
    response: Option<Function>,
    delay: Option<Function>,
    /// The request that every connection sends if the script has no `request` function.
    fixed: Vec<u8>,
    stopped: Arc<AtomicBool>,
    address: SocketAddr,
}

impl ThreadScript {
    fn new(lua: Lua, stopped: Arc<AtomicBool>, address: SocketAddr) -> Result<Self, ScriptError> {
        let global = |name: &str| lua.globals().get::<Value>(name).ok().and_then(|value| value.as_function().cloned());
        let prepare = || -> mlua::Result<(Option<Function>, Vec<u8>)> {
            let wrk: Table = lua.globals().get("wrk")?;
            let request: Option<Function> = wrk.get::<Function>("dynamic_request")?.call(())?;
            let fixed = match request {
                Some(_) => Vec::new(),
                None => wrk.get::<Function>("format")?.call::<mlua::String>(())?.as_bytes().to_vec(),
            };
            Ok((request, fixed))
        };
        let (request, fixed) = prepare().map_err(|error| ScriptError::in_function("request", &error))?;
        if request.is_none() {
            Batch::of(&fixed).map_err(|error| ScriptError::new(format!("request: {error}")))?;
        }
        let (response, delay) = (global("response"), global("delay"));
        Ok(Self { lua, request, response, delay, fixed, stopped, address })
    }

    /// The address to which this thread connects.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The request that every connection sends, or `None` if the script makes each request.
    pub fn fixed_request(&self) -> Option<&[u8]> {
        self.request.is_none().then_some(&self.fixed[..])
    }

    /// Whether the script wants to see responses.
    pub fn wants_responses(&self) -> bool {
        self.response.is_some()
    }

    /// Whether the script delays requests.
    pub fn delays(&self) -> bool {
        self.delay.is_some()
    }

    /// Whether the script has called `wrk.thread:stop()`.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Lets the script make the next request, counts the requests in it into `batch`, and passes its text to `send`.
    pub fn request<R>(&self, batch: &mut Batch, send: impl FnOnce(&[u8]) -> R) -> Result<R, ScriptError> {
        let function = self.request.as_ref().expect("called for scripts with a request function only");
        let text: mlua::String = function.call(()).map_err(|error| ScriptError::in_function("request", &error))?;
        let bytes = text.as_bytes();
        batch.set(&bytes).map_err(|error| ScriptError::new(format!("script: request: {error}")))?;
        Ok(send(&bytes))
    }

    /// Passes a response to the script.
    pub fn response(&self, status: u16, capture: &Capture) -> Result<(), ScriptError> {
        let Some(function) = &self.response else { return Ok(()) };
        let call = || -> mlua::Result<()> {
            let headers = self.lua.create_table_with_capacity(0, capture.headers.len())?;
            for (name, value) in &capture.headers {
                headers.set(self.lua.create_string(name)?, self.lua.create_string(value)?)?;
            }
            function.call((status, headers, self.lua.create_string(&capture.body)?))
        };
        call().map_err(|error| ScriptError::in_function("response", &error))
    }

    /// Nanoseconds by which the next request is delayed. The script returns milliseconds.
    pub fn delay_ns(&self) -> Result<u64, ScriptError> {
        let Some(function) = &self.delay else { return Ok(0) };
        let delay_ms: f64 = function.call(()).map_err(|error| ScriptError::in_function("delay", &error))?;
        if delay_ms.is_finite() && delay_ms >= 0.0 {
            Ok((delay_ms * 1e6) as u64)
        } else {
            Err(ScriptError::new(format!("script: delay: expected milliseconds from 0, got {delay_ms}")))
        }
    }
}

#[cfg(test)]
mod tests;
