//! A server that speaks Redis's protocol and answers whatever it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The life that it says to be in.
pub(crate) const LIFE: &str = "0123456789abcdef";

/// An answer.
#[derive(Clone, Debug)]
pub(crate) enum Lie {
    Nil,
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
    Status(String),
    Error(String),
    List(Vec<Lie>),
}

impl Lie {
    /// As it is sent.
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
            Self::List(lies) => {
                out.extend(line('*', &lies.len().to_string()));
                for lie in lies {
                    lie.write(out);
                }
            }
        }
    }

    /// Whether this text is somewhere in it.
    pub(crate) fn says(&self, wanted: &str) -> bool {
        match self {
            Self::Text(text) => text == wanted,
            Self::List(lies) => lies.iter().any(|lie| lie.says(wanted)),
            _ => false,
        }
    }
}

/// Anything, and what is nearly the answer that somebody waits for.
pub(crate) fn lies() -> impl Strategy<Value = Vec<Lie>> {
    vec(prop_oneof![2 => anything(), 5 => nearly_right()], 1..6)
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![3 => -2_i64..6, 1 => any::<i64>(), 1 => Just(i64::MAX)]
}

/// A number as Redis sends it: as one, or as text.
fn told_number() -> impl Strategy<Value = Lie> {
    prop_oneof![
        1 => number().prop_map(Lie::Number),
        3 => number().prop_map(|number| Lie::Text(number.to_string())),
        1 => any::<u64>().prop_map(|number| Lie::Text(number.to_string())),
    ]
}

fn text() -> impl Strategy<Value = Lie> {
    let location = "https?://[a-z]{1,5}\\.example/[!-~]{0,5}";
    prop_oneof![
        "\\PC{0,12}".prop_map(Lie::Text),
        "[0-9a-f]{4}-[0-9]{1,6}".prop_map(Lie::Text),
        (number(), "[01x]", location).prop_map(|(id, active, location)| Lie::Text(format!(
            "{LIFE} {id} {active} {location}"
        ))),
        "[A-Za-z0-9]{7}".prop_map(Lie::Text),
        vec(any::<u8>(), 0..8).prop_map(Lie::Bytes),
    ]
}

fn anything() -> impl Strategy<Value = Lie> {
    let leaf = prop_oneof![
        Just(Lie::Nil),
        told_number(),
        text(),
        "[A-Z]{2,6}( [a-z ]{0,9})?".prop_map(Lie::Status),
        "(ERR|MOVED|ASK|LOADING|READONLY|NOSCRIPT|OOM)( [0-9]{1,3})?( [a-z.:0-9]{0,9})?"
            .prop_map(Lie::Error),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| vec(inner, 0..4).prop_map(Lie::List))
}

fn nearly_right() -> impl Strategy<Value = Lie> {
    let list = |lies: Vec<Lie>| Lie::List(lies);
    let some = |size| {
        vec(
            prop_oneof![4 => told_number(), 1 => Just(Lie::Nil)],
            0..size,
        )
    };
    let fields = vec((text(), text()), 0..3)
        .prop_map(|pairs| Lie::List(pairs.into_iter().flat_map(<[Lie; 2]>::from).collect()));
    prop_oneof![
        // `HMGET`, the state, a new change, an admission
        (text(), told_number()).prop_map(move |(epoch, number)| list(vec![epoch, number])),
        (text(), told_number(), text()).prop_map(move |(a, b, c)| list(vec![a, b, c])),
        // `MGET`
        vec(prop_oneof![3 => text(), 1 => Just(Lie::Nil)], 0..3).prop_map(Lie::List),
        // `XRANGE`
        vec((text(), fields), 0..3).prop_map(move |entries| {
            list(
                entries
                    .into_iter()
                    .map(|(id, fields)| Lie::List(vec![id, fields]))
                    .collect(),
            )
        }),
        // What is flushed; fields and values of `HSCAN`
        (text(), some(3)).prop_map(move |(epoch, numbers)| list(vec![epoch, Lie::List(numbers)])),
        (told_number(), some(7))
            .prop_map(move |(cursor, found)| list(vec![cursor, Lie::List(found)])),
        some(7).prop_map(move |found| list(vec![Lie::Text("0".into()), Lie::List(found)])),
        // Counts
        (text(), told_number(), some(3), vec(some(3), 0..4)).prop_map(
            move |(epoch, newest, flushing, counts)| {
                let counts = counts.into_iter().map(Lie::List).collect();
                list(vec![epoch, newest, Lie::List(flushing), Lie::List(counts)])
            }
        ),
    ]
}

/// Answers with what lies in store, and with an error once nothing does.
#[derive(Clone)]
pub(crate) struct LyingRedis {
    port: u16,
    store: Arc<Mutex<VecDeque<Lie>>>,
}

impl LyingRedis {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let store = Arc::default();
        let server = Self { port, store };
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

    /// What is answered from now on.
    pub(crate) fn tell(&self, lies: Vec<Lie>) {
        *self.store.lock().unwrap() = lies.into();
    }

    async fn serve(self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        while let Some([command, last]) = read_command(&mut reader).await {
            let response = match command.as_str() {
                // How a connection begins, and is found to be alive; without it nothing is ever asked.
                "CLIENT" | "SET" | "UNWATCH" => Lie::Status("OK".into()),
                "PING" => Lie::Text(last),
                "INFO" => Lie::Text(format!("master_replid:{LIFE}0000\r\n")),
                _ => self.next(),
            };
            let mut bytes = Vec::new();
            response.write(&mut bytes);
            if writer.write_all(&bytes).await.is_err() {
                return;
            }
        }
    }

    fn next(&self) -> Lie {
        let lie = self.store.lock().unwrap().pop_front();
        lie.unwrap_or_else(|| Lie::Error("ERR nothing more to say".into()))
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
