//! A gate in front of a service: it passes requests on, and treats those to `POST /urls/bulk` as a test says.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::cli::support::{Service, eventually};

/// The treatment of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Treatment {
    /// The service sees it, and so does the client its response.
    Pass,
    /// The gate answers by itself: a status line, further headers, and a detail.
    Refuse(&'static str, &'static str, &'static str),
    /// The service carries it out, and the response is lost.
    LoseResponse,
    /// The service carries it out, and the client waits for a response that never comes.
    KeepWaiting,
}

/// A gate that stands as long as the test.
pub(crate) struct Gate {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    service: String,
    treatments: Mutex<VecDeque<Treatment>>,
    /// Look-ups of single links that are still to be refused.
    refused_look_ups: AtomicUsize,
    /// Requests to `POST /urls/bulk` that the service has carried out, or the gate refused.
    treated: AtomicUsize,
}

impl Gate {
    /// A gate that treats the first requests like this, and passes all others.
    pub(crate) fn before(service: &Service, treatments: &[Treatment]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            service: service.address().to_owned(),
            treatments: Mutex::new(treatments.iter().copied().collect()),
            refused_look_ups: AtomicUsize::new(0),
            treated: AtomicUsize::new(0),
        });
        let gate = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let gate = Arc::clone(&gate);
                thread::spawn(move || gate.serve(client));
            }
        });
        Self { url, shared }
    }

    /// Answers so many look-ups of single links as a busy service does.
    pub(crate) fn refuse_look_ups(&self, look_ups: usize) {
        self.shared
            .refused_look_ups
            .store(look_ups, Ordering::SeqCst);
    }

    /// Waits until so many requests to `POST /urls/bulk` are treated.
    pub(crate) fn wait_for(&self, requests: usize) {
        let treated = || self.treated() >= requests;
        eventually(Duration::from_mins(1), treated);
    }

    /// Requests to `POST /urls/bulk` up to now.
    pub(crate) fn treated(&self) -> usize {
        self.shared.treated.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, mut client: TcpStream) {
        let request = read_request(&mut client);
        let is_refused = |left: usize| left.checked_sub(1);
        if request.starts_with(b"GET /urls/")
            && self
                .refused_look_ups
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_refused)
                .is_ok()
        {
            let busy = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 17\r\nconnection: close\r\n\r\n{\"detail\":\"Busy\"}";
            client.write_all(busy).unwrap();
            return;
        }
        if !request.starts_with(b"POST /urls/bulk") {
            client.write_all(&self.pass(&request)).unwrap();
            return;
        }
        let treatment = self.treatments.lock().unwrap().pop_front();
        let treatment = treatment.unwrap_or(Treatment::Pass);
        let response = match treatment {
            Treatment::Refuse(status, headers, detail) => {
                let body = format!("{{\"detail\":\"{detail}\"}}");
                let length = body.len();
                format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
            }
            _ => self.pass(&request),
        };
        self.treated.fetch_add(1, Ordering::SeqCst);
        match treatment {
            Treatment::Pass | Treatment::Refuse(..) => client.write_all(&response).unwrap(),
            Treatment::LoseResponse => {}
            // Until the client goes away.
            Treatment::KeepWaiting => drop(client.read(&mut [0])),
        }
    }

    fn pass(&self, request: &[u8]) -> Vec<u8> {
        let mut service = TcpStream::connect(&self.service).unwrap();
        let line = request.windows(2).position(|end| end == b"\r\n").unwrap() + 2;
        service.write_all(&request[..line]).unwrap();
        service.write_all(b"connection: close\r\n").unwrap();
        service.write_all(&request[line..]).unwrap();
        let mut response = Vec::new();
        service.read_to_end(&mut response).unwrap();
        response
    }
}

/// A request with its body.
fn read_request(client: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    let mut part = [0; 16 * 1024];
    loop {
        let end = request.windows(4).position(|end| end == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(request[..end].to_vec())
                .unwrap()
                .to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if request.len() >= end + 4 + length {
                return request;
            }
        }
        let read = client.read(&mut part).unwrap();
        assert!(read > 0, "a client that breaks off");
        request.extend_from_slice(&part[..read]);
    }
}
