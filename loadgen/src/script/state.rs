//! A Lua state with the table `wrk` and the user's script loaded.

use super::{ScriptError, ScriptOptions, address};
use mlua::{Function, Lua, Table};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Folders in which Linux distributions keep Lua's modules; LuaJIT itself searches only those in `/usr/local`.
const SHARED_MODULES: &str = "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua";
const NATIVE_MODULES: [&str; 2] = ["/usr/lib64/lua/5.1/?.so", "/usr/lib/lua/5.1/?.so"];

/// The text of an error without Lua's stack trace, such as `get.lua:12: what was wrong`.
pub(super) fn message(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return message(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let end = text.find("\nstack traceback:").unwrap_or(text.len());
    text[..end].to_owned()
}

/// A Lua state, and the functions of `wrk.lua` that this program calls.
#[derive(Debug)]
pub(super) struct State {
    pub(super) lua: Lua,
    hooks: Table,
}

impl State {
    /// Makes a state and runs the script's top-level code, `source`, in it.
    pub(super) fn new(options: &ScriptOptions, source: Option<&[u8]>) -> Result<Self, ScriptError> {
        // SAFETY: scripts are code that the user chose to run with all of this process's rights, as in wrk,
        // ffi and debug included; a script that breaks memory through them breaks its own run.
        let lua = unsafe { Lua::unsafe_new() };
        let wrong = |error| ScriptError::new(format!("script: {}", message(&error)));
        let hooks = define_wrk(&lua, options).map_err(wrong)?;
        let state = Self { lua, hooks };
        let run = || -> mlua::Result<()> {
            search_modules_of_the_system(&state.lua)?;
            if let (Some(file), Some(source)) = (&options.file, source) {
                let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = state.lua.create_string(folder.as_os_str().as_bytes())?;
                state.hook("search_modules_in")?.call::<()>(folder)?;
                state.lua.load(source).set_name(format!("@{}", file.display())).exec()?;
            }
            Ok(())
        };
        run().map_err(wrong)?;
        state.end_line();
        Ok(state)
    }

    /// The table `wrk`.
    pub(super) fn wrk(&self) -> mlua::Result<Table> {
        self.lua.globals().get("wrk")
    }

    /// A function of `wrk.lua`.
    pub(super) fn hook(&self, name: &str) -> mlua::Result<Function> {
        self.hooks.get(name)
    }

    /// Whether the script defines the global function `name`.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.lua.globals().get::<Function>(name).is_ok()
    }

    /// Writes what the script has printed so far, and ends its last line.
    pub(super) fn end_line(&self) {
        // Output that cannot be written does not end a run.
        let _ = self.hook("end_line").and_then(|end_line| end_line.call::<()>(()));
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = self.hook("flush").and_then(|flush| flush.call::<()>(()));
    }
}

fn define_wrk(lua: &Lua, options: &ScriptOptions) -> mlua::Result<Table> {
    let wrk = lua.create_table()?;
    let target = &options.target;
    wrk.set("scheme", target.scheme.as_str())?;
    wrk.set("host", target.host.as_str())?;
    wrk.set("port", target.port.map(|port| port.to_string()))?;
    wrk.set("path", target.path.as_str())?;
    let headers = lua.create_table()?;
    for (name, value) in &options.headers {
        let same = options.headers.iter().filter(|(other, _)| other == name);
        let values: Vec<&str> = same.map(|(_, value)| value.as_str()).collect();
        match values.len() {
            1 => headers.set(name.as_str(), value.as_str())?,
            _ => headers.set(name.as_str(), values)?,
        }
    }
    wrk.set("headers", headers)?;
    wrk.set("lookup", lua.create_function(|_, (host, service)| address::lookup(host, service))?)?;
    wrk.set("connect", lua.create_function(|_, address| Ok(address::connect(address)))?)?;
    let time_us =
        |_: &Lua, ()| Ok(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_micros() as f64));
    wrk.set("time_us", lua.create_function(time_us)?)?;
    lua.globals().set("wrk", wrk)?;
    lua.load(include_str!("wrk.lua")).set_name("=wrk.lua").eval()
}

/// Makes `require` find the modules of the system's packages, after all others.
fn search_modules_of_the_system(lua: &Lua) -> mlua::Result<()> {
    let package: Table = lua.globals().get("package")?;
    let path: String = package.get("path")?;
    package.set("path", format!("{path};{SHARED_MODULES}"))?;
    let native: String = package.get("cpath")?;
    let debian = format!("/usr/lib/{}-linux-gnu/lua/5.1/?.so", std::env::consts::ARCH);
    package.set("cpath", format!("{native};{debian};{}", NATIVE_MODULES.join(";")))
}
