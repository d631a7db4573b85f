use super::{Received, Session, Tls};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use std::io::{Read, Write};
use std::sync::Arc;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn server(versions: &[&'static SupportedProtocolVersion]) -> ServerConnection {
    let own = CertificateDer::from(&include_bytes!("../../tests/support/localhost.cert.der")[..]);
    let key = PrivateKeyDer::try_from(&include_bytes!("../../tests/support/localhost.key.der")[..]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own], key)
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn client() -> Session {
    Tls::new("localhost").unwrap().session().unwrap()
}

/// Returns what `server` has to send.
fn sent_by(server: &mut ServerConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut bytes).unwrap();
    }
    bytes
}

/// Passes the output of `client` to `server`.
fn tell(client: &mut Session, server: &mut ServerConnection) {
    let mut bytes = Vec::new();
    assert!(client.flush(&mut bytes).unwrap());
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        server.read_tls(&mut rest).unwrap();
        server.process_new_packets().unwrap();
    }
}

/// Completes the handshake.
fn shake_hands(client: &mut Session, server: &mut ServerConnection) {
    let mut plain = Vec::new();
    while client.is_handshaking() || server.is_handshaking() {
        tell(client, server);
        assert_eq!(client.receive(&sent_by(server), &mut plain), Received::Open);
    }
    assert!(plain.is_empty());
}

fn agreed(versions: &[&'static SupportedProtocolVersion]) -> (Session, ServerConnection) {
    let (mut client, mut server) = (client(), server(versions));
    shake_hands(&mut client, &mut server);
    (client, server)
}

#[test]
fn both_versions_carry_a_request_and_its_response() {
    for version in [&version::TLS12, &version::TLS13] {
        let (mut client, mut server) = agreed(&[version]);
        let mut bytes = Vec::new();
        assert!(client.write(b"GET / HTTP/1.1\r\n\r\n", &mut bytes).unwrap());
        server.read_tls(&mut &bytes[..]).unwrap();
        server.process_new_packets().unwrap();
        let mut request = [0; 18];
        server.reader().read_exact(&mut request).unwrap();
        assert_eq!(&request, b"GET / HTTP/1.1\r\n\r\n");
        server.writer().write_all(RESPONSE).unwrap();
        let mut plain = Vec::new();
        assert_eq!(client.receive(&sent_by(&mut server), &mut plain), Received::Open);
        assert_eq!(plain, RESPONSE);
    }
}

#[test]
fn a_response_may_be_cut_at_every_byte_of_its_records() {
    let (mut client, mut server) = agreed(&[&version::TLS13]);
    let mut cut = 0;
    loop {
        // Two records.
        server.writer().write_all(&RESPONSE[..9]).unwrap();
        server.writer().write_all(&RESPONSE[9..]).unwrap();
        let bytes = sent_by(&mut server);
        if cut > bytes.len() {
            return;
        }
        let mut plain = Vec::new();
        assert_eq!(client.receive(&bytes[..cut], &mut plain), Received::Open);
        assert_eq!(client.receive(&bytes[cut..], &mut plain), Received::Open);
        assert_eq!(plain, RESPONSE, "cut at {cut}");
        cut += 1;
    }
}

#[test]
fn a_body_longer_than_a_record_and_than_the_buffers_arrives_whole() {
    let (mut client, mut server) = agreed(&[&version::TLS13]);
    server.set_buffer_limit(None);
    let body: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
    server.writer().write_all(&body).unwrap();
    let mut plain = Vec::new();
    for piece in sent_by(&mut server).chunks(64 * 1024) {
        assert_eq!(client.receive(piece, &mut plain), Received::Open);
    }
    assert!(plain == body);
}

#[test]
fn a_request_that_the_socket_does_not_take_at_once_waits_in_order() {
    /// Takes a few bytes at a time, and none on every second call.
    struct Narrow(Vec<u8>, bool);
    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(std::io::ErrorKind::WouldBlock.into());
            }
            let length = bytes.len().min(1000);
            self.0.extend_from_slice(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (mut client, mut server) = agreed(&[&version::TLS13]);
    let text: Vec<u8> = (0..100_000u32).map(|i| (i * 7) as u8).collect();
    let mut socket = Narrow(Vec::new(), false);
    assert!(!client.write(&text, &mut socket).unwrap());
    let mut times = 0;
    while !client.flush(&mut socket).unwrap() {
        times += 1;
    }
    assert!(times > 50, "{times}");
    let (mut rest, mut received) = (&socket.0[..], Vec::new());
    while !rest.is_empty() {
        server.read_tls(&mut rest).unwrap();
        let waiting = server.process_new_packets().unwrap().plaintext_bytes_to_read();
        let at = received.len();
        received.resize(at + waiting, 0);
        server.reader().read_exact(&mut received[at..]).unwrap();
    }
    assert!(received == text);
}

#[test]
fn close_notify_ends_the_stream_and_later_bytes_are_ignored() {
    let (mut client, mut server) = agreed(&[&version::TLS13]);
    server.writer().write_all(RESPONSE).unwrap();
    server.send_close_notify();
    let mut bytes = sent_by(&mut server);
    bytes.extend_from_slice(&[0x55; 20_000]);
    let mut plain = Vec::new();
    assert_eq!(client.receive(&bytes, &mut plain), Received::Closed);
    assert_eq!(plain, RESPONSE);
    assert_eq!(client.receive(b"more", &mut plain), Received::Closed);
}

#[test]
fn our_close_notify_is_sent_once_and_no_request_follows_it() {
    let (mut client, mut server) = agreed(&[&version::TLS13]);
    let mut bytes = Vec::new();
    client.close(&mut bytes);
    server.read_tls(&mut &bytes[..]).unwrap();
    assert!(server.process_new_packets().unwrap().peer_has_closed());
}

#[test]
fn a_peer_that_does_not_speak_tls_is_reported() {
    let mut plain = Vec::new();
    let received = client().receive(b"HTTP/1.1 400 Bad Request\r\n\r\n", &mut plain);
    assert!(matches!(&received, Received::Violation(reason) if reason.contains("does not send TLS")), "{received:?}");
    // A record longer than any may be.
    let received = client().receive(&[&[0x16, 3, 3, 0xff, 0xff][..], &[0; 70_000]].concat(), &mut plain);
    assert!(matches!(received, Received::Violation(_)), "{received:?}");
    // A fatal alert, handshake_failure.
    let received = client().receive(&[0x15, 3, 3, 0, 2, 2, 40], &mut plain);
    assert_eq!(received, Received::Alert("HandshakeFailure".to_owned()));
    assert!(plain.is_empty());
}

#[test]
fn responses_before_garbage_count() {
    let (mut client, mut server) = agreed(&[&version::TLS13]);
    server.writer().write_all(RESPONSE).unwrap();
    let mut bytes = sent_by(&mut server);
    bytes.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\n");
    let mut plain = Vec::new();
    assert!(matches!(client.receive(&bytes, &mut plain), Received::Violation(_)));
    assert_eq!(plain, RESPONSE);
}

#[test]
fn a_changed_byte_never_gives_a_response() {
    let (_, mut server) = agreed(&[&version::TLS13]);
    server.writer().write_all(RESPONSE).unwrap();
    let length = sent_by(&mut server).len();
    // The version in a record's header is ignored (RFC 8446 §5.1).
    for at in (0..length).filter(|at| !(1..=2).contains(at)) {
        let (mut client, mut server) = agreed(&[&version::TLS13]);
        server.writer().write_all(RESPONSE).unwrap();
        let mut bytes = sent_by(&mut server);
        bytes[at] ^= 0x40;
        let mut plain = Vec::new();
        let received = client.receive(&bytes, &mut plain);
        assert!(plain.is_empty(), "byte {at}: {received:?}");
        assert!(received == Received::Open || matches!(received, Received::Violation(_)), "byte {at}: {received:?}");
    }
}

#[test]
fn a_host_is_a_name_or_an_address() {
    for good in ["localhost", "example.org", "a_b.example", "127.0.0.1", "::1"] {
        assert!(Tls::new(good).is_ok(), "{good}");
    }
    let error = Tls::new("-no-").unwrap_err();
    assert!(error.contains("'-no-'") && error.contains("https://HOST"), "{error}");
}
