//! The URL under test and its parts.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The destination of the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The URL as written.
    pub url: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Host name or address. An IPv6 address has no brackets.
    pub host: String,
    /// The port, if the URL names one.
    pub port: Option<u16>,
    /// Path and query; `/` if the URL has none.
    pub path: String,
}

impl Target {
    /// Parses `url`. An error says what to write instead.
    pub fn parse(url: &str) -> Result<Self, String> {
        if !url.contains("://") {
            return Err(format!("no scheme; write http://{url}"));
        }
        let after_scheme = url.find("://").map_or(0, |at| at + 3);
        let path_at = url[after_scheme..].find(['/', '?', '#']).map_or(url.len(), |at| after_scheme + at);
        let uri: http::Uri = url[..path_at].parse().map_err(|error| format!("{error}"))?;
        let Some(scheme @ ("http" | "https")) = uri.scheme_str() else {
            return Err("unknown scheme; only http:// and https:// are supported".to_owned());
        };
        let authority = uri.authority().ok_or("no host; write http://HOST:PORT/PATH")?;
        if authority.as_str().contains('@') {
            return Err(
                "user and password in the URL are not supported; send them with -H 'Authorization: …'".to_owned()
            );
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let after_host = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        let port = uri.port_u16();
        if host.is_empty() || port == Some(0) || (port.is_none() && !after_host.is_empty()) {
            return Err("no valid host and port; write http://HOST:PORT/PATH, the port from 1 to 65535".to_owned());
        }
        // Sent as written, as by wrk2. Browsers encode more, such as quotes; servers take either.
        let path = url[path_at..].split('#').next().unwrap_or_default();
        if let Some(wrong) = path.chars().find(|char| char.is_ascii_whitespace() || char.is_ascii_control()) {
            return Err(format!("{wrong:?} cannot be in a URL; write %{:02X}", u32::from(wrong)));
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { url: url.to_owned(), scheme: scheme.to_owned(), host: host.to_owned(), port, path })
    }

    /// The port to connect to.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    /// Whether requests are sent over TLS.
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// The addresses of the host, in the resolver's order.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port_or_default()).to_socket_addrs()?.collect())
    }
}

/// Tries to connect to `address`. Returns why it does not accept connections.
pub fn accepts(address: SocketAddr, timeout: Duration) -> io::Result<()> {
    TcpStream::connect_timeout(&address, timeout).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        let target = Target::parse("http://localhost:8080/v0/entity?id=k1").unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.path.as_str()),
            ("localhost", Some(8080), "/v0/entity?id=k1")
        );
        let target = Target::parse("http://[::1]:9").unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("::1", Some(9), "/"));
        assert_eq!(Target::parse("http://example.org").unwrap().port_or_default(), 80);
        assert_eq!(Target::parse("http://example.org?q=1").unwrap().path, "/?q=1");
        for path in ["/q?f={\"a\":1}", "/q?f=<x>", "/q?f=a|b^c`d", "/ü", "/a//b?c/d?e"] {
            assert_eq!(Target::parse(&format!("http://h:1{path}#part")).unwrap().path, path);
        }
        assert_eq!(Target::parse("http://h#part").unwrap().path, "/");
        let secure = Target::parse("https://example.org/a").unwrap();
        assert_eq!((secure.scheme.as_str(), secure.port, secure.port_or_default()), ("https", None, 443));
        assert_eq!(Target::parse("HTTPS://example.org:8443/").unwrap().port_or_default(), 8443);
    }

    #[test]
    fn a_bad_url_says_what_to_write() {
        let error = |url: &str| Target::parse(url).unwrap_err();
        assert_eq!(error("localhost:8080"), "no scheme; write http://localhost:8080");
        assert!(error("ftp://localhost").contains("only http:// and https://"));
        assert_eq!(error("http://localhost/a b"), "' ' cannot be in a URL; write %20");
        assert_eq!(error("http://localhost/?a=\n"), "'\\n' cannot be in a URL; write %0A");
        assert!(error("http://u:p@localhost").contains("Authorization"));
        for bad in
            ["http://", "http://:8080", "http://localhost:0", "http://localhost:99999", "http://a b/", "http://h:x/"]
        {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
