//! A Lua state with the table `wrk` and the user's script loaded.

use super::{ScriptError, ScriptOptions, address};
use mlua::{Lua, Table};
use std::path::Path;

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

/// Makes a state and runs the script's top-level code in it.
pub(super) fn create(options: &ScriptOptions) -> Result<Lua, ScriptError> {
    // SAFETY: scripts are code that the user chose to run with all of this process's rights, as in wrk,
    // ffi and debug included; a script that breaks memory through them breaks its own run.
    let lua = unsafe { Lua::unsafe_new() };
    define_wrk(&lua, options).map_err(|error| ScriptError::new(format!("script: {}", message(&error))))?;
    if let Some(file) = &options.file {
        let source = std::fs::read(file)
            .map_err(|error| ScriptError::new(format!("script: cannot read {}: {error}", file.display())))?;
        let run = || -> mlua::Result<()> {
            search_modules_beside(&lua, file)?;
            lua.load(source).set_name(format!("@{}", file.display())).exec()
        };
        run().map_err(|error| ScriptError::new(format!("script: {}", message(&error))))?;
    }
    Ok(lua)
}

fn define_wrk(lua: &Lua, options: &ScriptOptions) -> mlua::Result<()> {
    let wrk = lua.create_table()?;
    let target = &options.target;
    wrk.set("scheme", target.scheme.as_str())?;
    wrk.set("host", target.host.as_str())?;
    wrk.set("port", target.port.map(|port| port.to_string()))?;
    wrk.set("path", target.path.as_str())?;
    let headers = lua.create_table()?;
    for (name, value) in &options.headers {
        headers.set(name.as_str(), value.as_str())?;
    }
    wrk.set("headers", headers)?;
    wrk.set("lookup", lua.create_function(|_, (host, service)| address::lookup(host, service))?)?;
    wrk.set("connect", lua.create_function(|_, address| Ok(address::connect(address)))?)?;
    lua.globals().set("wrk", wrk)?;
    lua.load(include_str!("wrk.lua")).set_name("=wrk.lua").exec()
}

/// Makes `require` find modules in the directory of the script.
fn search_modules_beside(lua: &Lua, file: &Path) -> mlua::Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.display().to_string(),
        _ => ".".to_owned(),
    };
    let package: Table = lua.globals().get("package")?;
    let path: String = package.get("path")?;
    package.set("path", format!("{folder}/?.lua;{folder}/?/init.lua;{path}"))?;
    let native: String = package.get("cpath")?;
    package.set("cpath", format!("{folder}/?.so;{native}"))
}
