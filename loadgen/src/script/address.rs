//! `wrk.lookup`, `wrk.connect`, and the addresses that scripts pass between them.

use crate::target;
use mlua::{AnyUserData, FromLua, Lua, MetaMethod, Table, UserData, UserDataMethods, Value};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// An address as a script sees it. `tostring` formats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(pub(super) SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.0.to_string()));
        methods.add_meta_method(MetaMethod::Eq, |_, this, other: Address| Ok(*this == other));
    }
}

impl FromLua for Address {
    fn from_lua(value: Value, lua: &Lua) -> mlua::Result<Self> {
        let wrong = || mlua::Error::runtime("expected an address from wrk.lookup");
        let data = AnyUserData::from_lua(value, lua).map_err(|_| wrong())?;
        data.borrow::<Self>().map(|address| *address).map_err(|_| wrong())
    }
}

/// The addresses of `host`. `service` is a port or the name of a service, `http` if it is missing.
pub(super) fn lookup(host: String, service: Option<String>) -> mlua::Result<Vec<Address>> {
    let service = service.as_deref().unwrap_or("http");
    let port = service.parse().ok().or_else(|| port_of(service)).ok_or_else(|| {
        mlua::Error::runtime(format!(
            "wrk.lookup: unknown service '{service}': give a port, http, https or a name of /etc/services"
        ))
    })?;
    let found = (host.as_str(), port)
        .to_socket_addrs()
        .map_err(|error| mlua::Error::runtime(format!("wrk.lookup: cannot resolve {host}: {error}")))?;
    Ok(found.map(Address).collect())
}

/// The TCP port of a service, by `/etc/services`, which small images do not have.
fn port_of(service: &str) -> Option<u16> {
    let services = std::fs::read_to_string("/etc/services").unwrap_or_default();
    let known = services.lines().chain(["http 80/tcp", "https 443/tcp"]);
    known.filter_map(|line| line.split('#').next()).find_map(|line| {
        let mut words = line.split_whitespace();
        let (name, port) = (words.next()?, words.next()?.strip_suffix("/tcp")?);
        (name == service || words.any(|alias| alias == service)).then(|| port.parse().ok())?
    })
}

/// Whether the address accepts connections.
pub(super) fn connect(address: Address) -> bool {
    target::accepts(address.0, Duration::from_secs(2)).is_ok()
}

/// Converts a Lua list of addresses to a vector.
pub(super) fn list(table: Table) -> mlua::Result<Vec<SocketAddr>> {
    table.sequence_values::<Address>().map(|address| address.map(|address| address.0)).collect()
}
