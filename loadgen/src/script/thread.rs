//! The thread as scripts see it: `thread.addr`, `thread:get`, `thread:set`, `thread:stop`.

use super::address::Address;
use mlua::{Lua, UserData, UserDataFields, UserDataMethods, Value, WeakLua};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum depth of tables that are passed between threads.
const DEPTH_MAX: usize = 100;

/// A handle to a thread's state, given to that state and to the main state.
#[derive(Clone)]
pub(super) struct ThreadHandle {
    lua: WeakLua,
    stopped: Arc<AtomicBool>,
    address: Arc<Mutex<Option<SocketAddr>>>,
}

impl ThreadHandle {
    pub(super) fn new(lua: &Lua, address: Option<SocketAddr>) -> Self {
        Self { lua: lua.weak(), stopped: Arc::default(), address: Arc::new(Mutex::new(address)) }
    }

    pub(super) fn stopped(&self) -> Arc<AtomicBool> {
        self.stopped.clone()
    }

    pub(super) fn address(&self) -> Arc<Mutex<Option<SocketAddr>>> {
        self.address.clone()
    }

    fn state(&self) -> mlua::Result<Lua> {
        self.lua.try_upgrade().ok_or_else(|| mlua::Error::runtime("the thread has ended"))
    }
}

impl UserData for ThreadHandle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, this| {
            Ok(this.address.lock().expect("held for a copy only").map(Address))
        });
        fields.add_field_method_set("addr", |_, this, address: Address| {
            *this.address.lock().expect("held for a copy only") = Some(address.0);
            Ok(())
        });
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, this, name: String| {
            let value = this.state()?.globals().get(name)?;
            transfer(&value, lua, 0)
        });
        methods.add_method("set", |_, this, (name, value): (String, Value)| {
            let state = this.state()?;
            let value = transfer(&value, &state, 0)?;
            state.globals().set(name, value)
        });
        methods.add_method("stop", |_, this, ()| {
            this.stopped.store(true, Ordering::Relaxed);
            Ok(())
        });
    }
}

/// Copies a value into another state. The value may be nil, a boolean, a number, a string, an address, or a table of
/// these.
fn transfer(value: &Value, to: &Lua, depth: usize) -> mlua::Result<Value> {
    if depth > DEPTH_MAX {
        return Err(mlua::Error::runtime("cannot pass a table that contains itself to a thread"));
    }
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(value) => Value::Boolean(*value),
        Value::Integer(value) => Value::Integer(*value),
        Value::Number(value) => Value::Number(*value),
        Value::String(text) => Value::String(to.create_string(text.as_bytes())?),
        Value::Table(table) => {
            let copy = to.create_table()?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                copy.raw_set(transfer(&key, to, depth + 1)?, transfer(&value, to, depth + 1)?)?;
            }
            Value::Table(copy)
        }
        Value::UserData(data) => match data.borrow::<Address>() {
            Ok(address) => Value::UserData(to.create_userdata(*address)?),
            Err(_) => return Err(not_transferable(value)),
        },
        other => return Err(not_transferable(other)),
    })
}

fn not_transferable(value: &Value) -> mlua::Error {
    let kind = value.type_name();
    mlua::Error::runtime(format!(
        "cannot pass a {kind} between threads: only nil, booleans, numbers, strings and tables of these"
    ))
}
