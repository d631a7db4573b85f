//! A TLS server by rustls, with a certificate of its own, valid until the year 4096, that misbehaves on request.

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, Stream, SupportedProtocolVersion};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The server's behaviour on each connection.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Responds to each request.
    Respond(Vec<u8>),
    /// Like `Respond`, in records of this many bytes.
    Records(Vec<u8>, usize),
    /// Like `Respond`, in two records: the first response is cut after its first byte, the next after its second, ….
    CutAtEvery(Vec<u8>),
    /// Like `Respond`, in TCP segments of this many bytes.
    Torn(Vec<u8>, usize),
    /// Responds to one request and sends close_notify.
    RespondAndClose(Vec<u8>, Farewell),
    /// Writes this, then bytes that are not TLS.
    Garbage(Vec<u8>),
    /// Ends the connection when it has sent this many bytes of its part of the handshake.
    DieInHandshake(usize, Death),
    /// Never sends anything.
    Silent,
    /// Asks for a client certificate, which the generator lacks: the alert comes after the handshake.
    WantCertificate,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// The socket is closed.
    None,
    /// close_notify, then the socket is closed.
    Notify,
    /// close_notify, and the socket stays open until the client closes it.
    NotifyOnly,
}

/// The end of a connection whose server dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// With a FIN, unless the client sends more.
    Close,
    /// With a reset, which drops what the client has not read yet.
    Reset,
}

/// The server; it stops when dropped.
pub struct TlsServer {
    pub address: SocketAddr,
    names: Arc<Mutex<Vec<Option<String>>>>,
    stop: Arc<AtomicBool>,
    streams: Arc<Mutex<HashMap<usize, TcpStream>>>,
}

/// Returns the one certificate and remembers the requested name.
#[derive(Debug)]
struct OneKey(Arc<CertifiedKey>, Arc<Mutex<Vec<Option<String>>>>);

impl ResolvesServerCert for OneKey {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.1.lock().unwrap().push(hello.server_name().map(str::to_owned));
        Some(self.0.clone())
    }
}

impl TlsServer {
    pub fn start(manner: Manner) -> Self {
        Self::with_versions(manner, rustls::ALL_VERSIONS)
    }

    pub fn with_versions(manner: Manner, versions: &[&'static SupportedProtocolVersion]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            names: Arc::default(),
            stop: Arc::default(),
            streams: Arc::default(),
        };
        let config = config(&manner, versions, server.names.clone());
        let (stop, streams) = (server.stop.clone(), server.streams.clone());
        thread::spawn(move || {
            for number in 0.. {
                let (stream, _) = listener.accept().unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                stream.set_nodelay(true).unwrap();
                streams.lock().unwrap().insert(number, stream.try_clone().unwrap());
                let (config, manner, streams) = (config.clone(), manner.clone(), streams.clone());
                thread::spawn(move || {
                    // An error means that the peer has gone away.
                    let _ = serve(&stream, config, &manner);
                    streams.lock().unwrap().remove(&number);
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("https://{}/path", self.address)
    }

    /// The name that each handshake requested.
    pub fn names(&self) -> Vec<Option<String>> {
        self.names.lock().unwrap().clone()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        for stream in self.streams.lock().unwrap().values() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn config(
    manner: &Manner,
    versions: &[&'static SupportedProtocolVersion],
    names: Arc<Mutex<Vec<Option<String>>>>,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = CertificateDer::from(&include_bytes!("localhost.cert.der")[..]);
    let key = PrivateKeyDer::try_from(&include_bytes!("localhost.key.der")[..]).unwrap();
    let key = CertifiedKey::new(vec![own.clone()], provider.key_provider.load_private_key(key).unwrap());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions).unwrap();
    let builder = if matches!(manner, Manner::WantCertificate) {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(own).unwrap();
        let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    Arc::new(builder.with_cert_resolver(Arc::new(OneKey(Arc::new(key), names))))
}

fn serve(mut socket: &TcpStream, config: Arc<ServerConfig>, manner: &Manner) -> io::Result<()> {
    if matches!(manner, Manner::Silent) {
        return until_closed(socket);
    }
    let mut tls = ServerConnection::new(config).unwrap();
    while tls.is_handshaking() {
        if tls.read_tls(&mut socket)? == 0 {
            return Ok(());
        }
        let processed = tls.process_new_packets();
        let sent = unsent(&mut tls);
        if let Manner::DieInHandshake(bytes, death) = manner {
            if *death == Death::Reset {
                socket2::SockRef::from(socket).set_linger(Some(Duration::ZERO))?;
            }
            return socket.write_all(&sent[..sent.len().min(*bytes)]);
        }
        socket.write_all(&sent)?;
        processed.map_err(io::Error::other)?;
    }
    let (mut pending, mut buffer) = (Vec::new(), [0; 65536]);
    let mut served = 0;
    loop {
        let length = Stream::new(&mut tls, &mut socket).read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&buffer[..length]);
        let Ok(batch) = loadgen::http::Batch::of(&pending) else { continue };
        pending.clear();
        for _ in 0..batch.count() {
            answer(&mut tls, socket, manner, served)?;
            served += 1;
        }
        if let Manner::RespondAndClose(_, farewell) = manner {
            if *farewell != Farewell::None {
                tls.send_close_notify();
                socket.write_all(&unsent(&mut tls))?;
            }
            return if *farewell == Farewell::NotifyOnly { until_closed(socket) } else { Ok(()) };
        }
    }
}

/// Returns what `tls` has to send to the peer.
fn unsent(tls: &mut ServerConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut bytes).unwrap();
    }
    bytes
}

fn until_closed(mut socket: &TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while socket.read(&mut buffer)? > 0 {}
    Ok(())
}

fn answer(tls: &mut ServerConnection, mut socket: &TcpStream, manner: &Manner, served: usize) -> io::Result<()> {
    let mut record = |tls: &mut ServerConnection, text: &[u8]| Stream::new(tls, &mut socket).write_all(text);
    match manner {
        Manner::Respond(text) | Manner::RespondAndClose(text, _) => record(tls, text),
        Manner::Records(text, bytes) => text.chunks(*bytes).try_for_each(|piece| record(tls, piece)),
        Manner::CutAtEvery(text) => {
            let (first, second) = text.split_at(1 + served % (text.len() - 1));
            record(tls, first)?;
            thread::sleep(Duration::from_micros(50));
            record(tls, second)
        }
        Manner::Torn(text, bytes) => {
            tls.writer().write_all(text)?;
            unsent(tls).chunks(*bytes).try_for_each(|piece| {
                thread::sleep(Duration::from_micros(20));
                socket.write_all(piece)
            })
        }
        Manner::Garbage(text) => {
            record(tls, text)?;
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        Manner::DieInHandshake(..) | Manner::Silent | Manner::WantCertificate => unreachable!("never answers"),
    }
}
