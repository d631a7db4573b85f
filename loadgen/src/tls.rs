//! TLS for `https://` targets, by rustls. It works on bytes in memory: the caller reads from and writes to the socket.

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use std::io::{self, BufRead, Write};
use std::sync::Arc;

/// The settings that all connections of a run share: TLS 1.2 or 1.3, no resumption, no ALPN, and the name for SNI.
///
/// As in wrk, the peer's certificate is not verified: a load test measures the peer's performance and not its identity.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// Makes the settings for the host of a URL, which is a name or an address. An error says what is wrong with the
    /// host.
    pub fn new(host: &str) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("'{host}' is not a valid host name for TLS; write https://HOST:PORT/PATH"))?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        // Each connection does the whole handshake, so that all connections cost the peer the same.
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), name })
    }

    /// Makes a new session. It begins with a handshake, so [`Session::flush`] has something to write.
    pub fn session(&self) -> io::Result<Session> {
        let mut connection = ClientConnection::new(self.config.clone(), self.name.clone()).map_err(io::Error::other)?;
        // A request is encrypted as a whole, however long its body; the rest waits until the socket takes it.
        connection.set_buffer_limit(None);
        Ok(Session { connection })
    }
}

/// The TLS session of one connection.
#[derive(Debug)]
pub struct Session {
    connection: ClientConnection,
}

/// The result of receiving bytes from the peer.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// The peer may send more.
    Open,
    /// The peer has sent close_notify and will send no more.
    Closed,
    /// The peer has sent a fatal alert.
    Alert(String),
    /// The bytes are not valid TLS.
    Violation(String),
}

impl Session {
    /// Whether no request can be sent yet.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Decrypts bytes that were read from the socket and appends the content to `plain`. Stops at the end of the bytes,
    /// at the end of the stream, or at an error.
    pub fn receive(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Received {
        while !bytes.is_empty() {
            match self.connection.read_tls(&mut bytes) {
                Ok(0) => {
                    return match self.connection.process_new_packets() {
                        Ok(state) if state.peer_has_closed() => Received::Closed,
                        _ => Received::Violation("the peer sent a TLS record that is too long".to_owned()),
                    };
                }
                Ok(_) => {}
                Err(error) => return Received::Violation(error.to_string()),
            }
            let processed = self.connection.process_new_packets();
            // Data that came before an error counts.
            self.take_plaintext(plain);
            match processed {
                Ok(state) if state.peer_has_closed() => return Received::Closed,
                Ok(_) => {}
                Err(rustls::Error::AlertReceived(alert)) => return Received::Alert(format!("{alert:?}")),
                Err(rustls::Error::InvalidMessage(error)) if self.is_handshaking() => {
                    return Received::Violation(format!("the peer does not send TLS ({error:?})"));
                }
                Err(error) => return Received::Violation(error.to_string()),
            }
        }
        Received::Open
    }

    fn take_plaintext(&mut self, plain: &mut Vec<u8>) {
        let mut reader = self.connection.reader();
        // "Would block" and "has ended" both mean that there is no more.
        while let Ok(chunk @ [_, ..]) = reader.fill_buf() {
            let length = chunk.len();
            plain.extend_from_slice(chunk);
            reader.consume(length);
        }
    }

    /// Encrypts `text` and writes it to `socket`. Returns whether the socket accepted all of it.
    #[inline]
    pub fn write(&mut self, text: &[u8], socket: impl Write) -> io::Result<bool> {
        self.connection.writer().write_all(text)?;
        self.flush(socket)
    }

    /// Writes pending requests, handshake messages and alerts. Returns whether `socket` accepted all of them.
    pub fn flush(&mut self, mut socket: impl Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Sends close_notify, as far as `socket` accepts it at once.
    pub fn close(&mut self, socket: impl Write) {
        self.connection.send_close_notify();
        // If the peer is gone, it need not be told.
        let _ = self.flush(socket);
    }
}

/// A verifier that accepts every certificate and every signature.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        // The peer may have a key that ring cannot verify, because nothing is verified.
        let unverified = [SignatureScheme::ECDSA_NISTP521_SHA512, SignatureScheme::ED448];
        self.0.signature_verification_algorithms.supported_schemes().into_iter().chain(unverified).collect()
    }
}

#[cfg(test)]
mod tests;
