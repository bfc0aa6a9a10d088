//! A fake Redis that speaks the protocol and sends generated replies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The first half of the replication ID that it reports.
const REPLICATION_ID: &str = "0123456789abcdef";

/// The first word of cached links that it reports.
pub(crate) const GENERATION: &str = "7.8";

/// A reply of Redis.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Nil,
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
    Status(String),
    Error(String),
    List(Vec<Reply>),
}

impl Reply {
    /// Writes the reply in Redis's protocol.
    fn write(&self, out: &mut Vec<u8>) {
        let line = |kind: char, text: &str| format!("{kind}{text}\r\n").into_bytes();
        match self {
            Self::Nil => out.extend(line('$', "-1")),
            Self::Number(number) => out.extend(line(':', &number.to_string())),
            Self::Text(text) => Self::Bytes(text.clone().into_bytes()).write(out),
            Self::Bytes(bytes) => {
                out.extend(line('$', &bytes.len().to_string()));
                out.extend(bytes);
                out.extend(b"\r\n");
            }
            Self::Status(text) => out.extend(line('+', text)),
            Self::Error(text) => out.extend(line('-', text)),
            Self::List(replies) => {
                out.extend(line('*', &replies.len().to_string()));
                for reply in replies {
                    reply.write(out);
                }
            }
        }
    }

    /// Whether this text is somewhere in the reply.
    pub(crate) fn contains(&self, wanted: &str) -> bool {
        match self {
            Self::Text(text) => text == wanted,
            Self::List(replies) => replies.iter().any(|reply| reply.contains(wanted)),
            _ => false,
        }
    }
}

/// Random replies, and some that are nearly the expected ones.
pub(crate) fn replies() -> impl Strategy<Value = Vec<Reply>> {
    vec(prop_oneof![2 => anything(), 5 => nearly_valid()], 1..6)
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![3 => -2_i64..6, 1 => any::<i64>(), 1 => Just(i64::MAX)]
}

/// A number as Redis sends it: as an integer, or as text.
fn encoded_number() -> impl Strategy<Value = Reply> {
    prop_oneof![
        1 => number().prop_map(Reply::Number),
        3 => number().prop_map(|number| Reply::Text(number.to_string())),
        1 => any::<u64>().prop_map(|number| Reply::Text(number.to_string())),
    ]
}

fn text() -> impl Strategy<Value = Reply> {
    let location = "https?://[a-z]{1,5}\\.example/[!-~]{0,5}";
    prop_oneof![
        "\\PC{0,12}".prop_map(Reply::Text),
        "[0-9a-f]{4}-[0-9]{1,6}".prop_map(Reply::Text),
        (number(), "[01x]", location).prop_map(|(id, active, location)| Reply::Text(format!(
            "{GENERATION} {id} {active} {location}"
        ))),
        "[A-Za-z0-9]{7}".prop_map(Reply::Text),
        vec(any::<u8>(), 0..8).prop_map(Reply::Bytes),
    ]
}

fn anything() -> impl Strategy<Value = Reply> {
    let leaf = prop_oneof![
        Just(Reply::Nil),
        encoded_number(),
        text(),
        "[A-Z]{2,6}( [a-z ]{0,9})?".prop_map(Reply::Status),
        "(ERR|MOVED|ASK|LOADING|READONLY|NOSCRIPT|OOM|TERM)( [0-9]{1,3})?( [a-z.:0-9]{0,9})?"
            .prop_map(Reply::Error),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| vec(inner, 0..4).prop_map(Reply::List))
}

fn nearly_valid() -> impl Strategy<Value = Reply> {
    let list = |replies: Vec<Reply>| Reply::List(replies);
    let some = |size| {
        vec(
            prop_oneof![4 => encoded_number(), 1 => Just(Reply::Nil)],
            0..size,
        )
    };
    let fields = vec((text(), text()), 0..3)
        .prop_map(|pairs| Reply::List(pairs.into_iter().flat_map(<[Reply; 2]>::from).collect()));
    let of_link = (number(), 0..3_i64);
    let of_link = of_link.prop_map(|(link, owner)| Reply::Text(format!("{link}:{owner}")));
    prop_oneof![
        // The newest change; change and generation; the state; a new term
        encoded_number(),
        encoded_number().prop_map(move |change| list(vec![change, Reply::Text(GENERATION.into())])),
        (text(), text(), encoded_number(), text())
            .prop_map(move |(a, b, c, d)| list(vec![a, b, c, d])),
        (encoded_number(), encoded_number()).prop_map(move |(a, b)| list(vec![a, b])),
        prop_oneof![Just("behind"), Just("moved")].prop_map(|text| Reply::Text(text.into())),
        // `MGET`
        vec(prop_oneof![3 => text(), 1 => Just(Reply::Nil)], 0..3).prop_map(Reply::List),
        // `XRANGE`
        vec((text(), fields), 0..3).prop_map(move |entries| {
            list(
                entries
                    .into_iter()
                    .map(|(id, fields)| Reply::List(vec![id, fields]))
                    .collect(),
            )
        }),
        // Flushes under way; fields and values of `HSCAN`
        some(3).prop_map(Reply::List),
        (some(2), some(2), vec(text(), 0..2), 0..2_i64).prop_map(
            move |(numbers, intervals, names, has_pending)| {
                let mut begun = [numbers, intervals, names].map(Reply::List).to_vec();
                begun.push(Reply::Number(has_pending));
                list(begun)
            }
        ),
        (encoded_number(), some(7))
            .prop_map(move |(cursor, found)| list(vec![cursor, Reply::List(found)])),
        some(7).prop_map(move |found| list(vec![Reply::Text("0".into()), Reply::List(found)])),
        (encoded_number(), vec((of_link, encoded_number()), 0..4)).prop_map(
            move |(cursor, found)| {
                let found = found.into_iter().flat_map(<[Reply; 2]>::from);
                list(vec![cursor, Reply::List(found.collect())])
            }
        ),
        // Counts
        (encoded_number(), some(3), vec(some(3), 0..4)).prop_map(
            move |(newest, flushing, counts)| {
                let counts = counts.into_iter().map(Reply::List).collect();
                list(vec![newest, Reply::List(flushing), Reply::List(counts)])
            }
        ),
    ]
}

/// Sends the queued replies in order, and an error once the queue is empty.
#[derive(Clone)]
pub(crate) struct FakeRedis {
    port: u16,
    queue: Arc<Mutex<VecDeque<Reply>>>,
}

impl FakeRedis {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let queue = Arc::default();
        let server = Self { port, queue };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Replaces the queued replies.
    pub(crate) fn will_reply(&self, replies: Vec<Reply>) {
        *self.queue.lock().unwrap() = replies.into();
    }

    async fn serve(self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        while let Some([command, last]) = read_command(&mut reader).await {
            let response = match command.as_str() {
                // The commands that open and check a connection; without these replies the client sends nothing more.
                "CLIENT" | "SET" | "UNWATCH" => Reply::Status("OK".into()),
                "PING" => Reply::Text(last),
                "INFO" => Reply::Text(format!("master_replid:{REPLICATION_ID}0000\r\n")),
                _ => self.next(),
            };
            let mut bytes = Vec::new();
            response.write(&mut bytes);
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    }

    fn next(&self) -> Reply {
        let reply = self.queue.lock().unwrap().pop_front();
        reply.unwrap_or_else(|| Reply::Error("ERR no reply is left".into()))
    }
}

/// The first and the last word of the next command; `None` at the end.
async fn read_command(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<[String; 2]> {
    let count = read_length(reader).await?;
    let (mut first, mut last) = (None, String::new());
    for _ in 0..count {
        let length = read_length(reader).await?;
        let mut word = vec![0; length + 2];
        reader.read_exact(&mut word).await.ok()?;
        word.truncate(length);
        last = String::from_utf8_lossy(&word).into_owned();
        first.get_or_insert_with(|| last.to_uppercase());
    }
    Some([first?, last])
}

async fn read_length(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    line.trim_end().get(1..)?.parse().ok()
}
