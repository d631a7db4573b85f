//! A server that responds at once. The rest of the latency comes from the network and the generator.
//!
//!     noop_server [PORT [BODY_BYTES]]
//!
//! One thread, epoll, one read and one write a request; it answers each request that ends with an
//! empty line or a body, as `loadgen` and `wrk` send them, with 200.

use loadgen::http::Batch;
use loadgen::net::{Interest, Poller};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(default, |word| word.parse().expect("a number"));
    let (port, body_bytes) = (number(0), number(2));
    let listener = TcpListener::bind(("127.0.0.1", port as u16))?;
    println!("ready {}", listener.local_addr()?);
    serve(&listener, body_bytes)
}

/// Answers on `listener` until the process ends.
pub fn serve(listener: &TcpListener, body_bytes: usize) -> std::io::Result<()> {
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n{}", "x".repeat(body_bytes));
    let mut poller = Poller::new(256)?;
    poller.add(listener.as_raw_fd(), Interest::Read, 0)?;
    let mut connections: HashMap<u64, (TcpStream, Vec<u8>)> = HashMap::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        for index in 0..poller.wait(1_000_000_000)? {
            let token = poller.event(index).token;
            if token == 0 {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                let token = stream.as_raw_fd() as u64;
                poller.add(stream.as_raw_fd(), Interest::Read, token)?;
                connections.insert(token, (stream, Vec::new()));
                continue;
            }
            let Some((stream, pending)) = connections.get_mut(&token) else { continue };
            let requests = match stream.read(&mut buffer) {
                Ok(0) | Err(_) => {
                    connections.remove(&token);
                    continue;
                }
                Ok(length) if pending.is_empty() => Batch::of(&buffer[..length]).map_or_else(
                    |_| {
                        pending.extend_from_slice(&buffer[..length]);
                        0
                    },
                    |batch| batch.count(),
                ),
                Ok(length) => {
                    pending.extend_from_slice(&buffer[..length]);
                    let complete = Batch::of(pending).map_or(0, |batch| batch.count());
                    if complete > 0 {
                        pending.clear();
                    }
                    complete
                }
            };
            if requests > 0 && stream.write_all(response.repeat(requests as usize).as_bytes()).is_err() {
                connections.remove(&token);
            }
        }
    }
}
