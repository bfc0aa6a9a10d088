//! A server in front of a service: it passes requests on, and treats pages of links as a test says.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The treatment of a request.
#[derive(Clone, Copy)]
pub(super) enum Treatment {
    Pass,
    /// It is answered with this status line and these headers.
    Answer(&'static str),
    /// It is never answered.
    Wait,
    /// The connection ends without an answer.
    HangUp,
}

pub(super) struct Front {
    pub(super) url: String,
    /// The first lines and the bodies of all requests.
    pub(super) requests: Arc<Mutex<Vec<String>>>,
    treatments: Arc<Mutex<VecDeque<Treatment>>>,
}

impl Front {
    /// Treats the first requests like this, and passes all others on.
    pub(super) fn before(base: &str, treatments: &[Treatment]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let treatments = Arc::new(Mutex::new(
            treatments.iter().copied().collect::<VecDeque<_>>(),
        ));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (service, left, seen) = (
            base.trim_start_matches("http://").to_owned(),
            Arc::clone(&treatments),
            Arc::clone(&requests),
        );
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (service, left, seen) = (service.clone(), Arc::clone(&left), Arc::clone(&seen));
                thread::spawn(move || serve(client, &service, &left, &seen));
            }
        });
        Self {
            url,
            requests,
            treatments,
        }
    }

    /// How many treatments are left.
    pub(super) fn left(&self) -> usize {
        self.treatments.lock().unwrap().len()
    }
}

/// One request of a connection.
fn serve(
    mut client: TcpStream,
    service: &str,
    left: &Mutex<VecDeque<Treatment>>,
    seen: &Mutex<Vec<String>>,
) {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    let head = loop {
        let read = client.read(&mut part).unwrap_or(0);
        if read == 0 {
            return;
        }
        request.extend(&part[..read]);
        if let Some(at) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let text = String::from_utf8_lossy(&request[..head]).into_owned();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    while request.len() < head + length.unwrap_or(0) {
        let read = client.read(&mut part).unwrap();
        request.extend(&part[..read]);
    }
    let body = String::from_utf8_lossy(&request[head..]).into_owned();
    seen.lock()
        .unwrap()
        .push(format!("{}\n{body}", text.lines().next().unwrap()));
    let treatment = left.lock().unwrap().pop_front().unwrap_or(Treatment::Pass);
    match treatment {
        Treatment::Answer(head) => {
            let answer =
                format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            client.write_all(answer.as_bytes()).unwrap();
        }
        // Until the client gives up.
        Treatment::Wait => while client.read(&mut part).is_ok_and(|read| read > 0) {},
        Treatment::HangUp => {}
        Treatment::Pass => {
            let mut upstream = TcpStream::connect(service).unwrap();
            let mut lines: Vec<_> = text
                .trim_end()
                .lines()
                .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
                .collect();
            lines.push("Connection: close");
            let head = format!("{}\r\n\r\n", lines.join("\r\n"));
            upstream.write_all(head.as_bytes()).unwrap();
            upstream.write_all(body.as_bytes()).unwrap();
            let mut answer = Vec::new();
            upstream.read_to_end(&mut answer).unwrap();
            // A client that was killed does not read it.
            let _ = client.write_all(&answer);
        }
    }
}
