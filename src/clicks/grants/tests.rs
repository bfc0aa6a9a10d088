//! Grants over a database that loses answers.

use std::collections::VecDeque;
use std::future::{pending, ready};

use async_trait::async_trait;
use futures_util::future::join_all;

use super::*;
use crate::domain::{Shard, SystemClock};

/// What becomes of a question; usually it is answered.
enum Fault {
    /// It is granted, and the answer is lost.
    AnswerLost,
    /// There is no connection.
    NotSent,
}

/// A database with one link.
#[derive(Default)]
struct Database(Mutex<Limit>);

#[derive(Default)]
struct Limit {
    left: i64,
    faults: VecDeque<Fault>,
    newest: Option<(u64, Grant)>,
    /// How many clicks each batch that came asked for.
    asked: Vec<u64>,
}

impl Database {
    fn with(left: i64, faults: impl IntoIterator<Item = Fault>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Limit {
            left,
            faults: faults.into_iter().collect(),
            ..Limit::default()
        })))
    }

    fn limit(&self) -> MutexGuard<'_, Limit> {
        self.0.lock().unwrap()
    }
}

#[async_trait]
impl ClickLimits for Database {
    async fn grant(&self, batch: &ClickBatch) -> Result<Vec<(LinkId, Grant)>, StoreError> {
        let mut limit = self.limit();
        let fault = limit.faults.pop_front();
        if let Some(Fault::NotSent) = fault {
            return Err(StoreError::Unreachable("no connection".into()));
        }
        let (link, asked) = batch.clicks[0].of_link();
        limit.asked.push(asked);
        let grant = match limit.newest {
            Some((number, grant)) if number == batch.number => grant,
            _ => {
                let clicks = asked.min(limit.left.max(0).unsigned_abs());
                limit.left -= clicks.cast_signed();
                let left = limit.left;
                Grant::Granted { clicks, left }
            }
        };
        limit.newest = Some((batch.number, grant));
        match fault {
            Some(_) => Err(StoreError::Unavailable("the connection broke".into())),
            None => Ok(vec![(link, grant)]),
        }
    }

    async fn begin_counting(&self, _: LinkId, _: u64) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    async fn set_clicks_before(&self, _: LinkId, _: u64, _: u64) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn admit(&self, _: LinkId) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// Attempts that fail until past the deadline of a visitor.
fn faults() -> u128 {
    DEADLINE.as_millis() / RETRY_PAUSE.as_millis() + 2
}

fn click() -> Click {
    Click::new(LinkId::parse(1).unwrap(), UserId(1), Shard::ONLY)
}

fn running(database: &Arc<Database>) -> Arc<Grants> {
    let grants = Grants::new(
        Arc::clone(database) as Arc<dyn ClickLimits>,
        Arc::new(SystemClock),
    );
    tokio::spawn(Arc::clone(&grants).run(pending()));
    grants
}

/// How many of so many visits at once are granted, refused as used up, and not answered in time.
async fn visits(grants: &Grants, count: usize) -> (usize, usize, usize) {
    let visits = (0..count).map(|_| grants.ask(click(), Wanted::Click, None));
    let answers = join_all(visits).await;
    let of = |is: fn(&Option<GrantAnswer>) -> bool| answers.iter().filter(|one| is(one)).count();
    (
        of(|answer| matches!(answer, Some(GrantAnswer::Click(_)))),
        of(|answer| matches!(answer, Some(GrantAnswer::UsedUp))),
        of(Option::is_none),
    )
}

/// A visitor that leaves at once.
async fn begun(grants: &Grants) {
    tokio::select! {
        biased;
        _ = grants.ask(click(), Wanted::Click, None) => {}
        () = ready(()) => {}
    }
}

#[tokio::test]
async fn as_many_visits_are_granted_as_are_left_and_the_others_are_refused() {
    let grants = running(&Database::with(10, []));
    assert_eq!(visits(&grants, 7).await, (7, 0, 0));
    assert_eq!(visits(&grants, 7).await, (3, 4, 0));
}

#[tokio::test]
async fn a_preview_says_whether_a_click_is_left_and_uses_none_up() {
    let grants = running(&Database::with(1, []));
    let preview = async || grants.ask(click(), Wanted::Preview, None).await;
    assert!(matches!(preview().await, Some(GrantAnswer::Left)));
    assert_eq!(visits(&grants, 1).await, (1, 0, 0));
    assert!(matches!(preview().await, Some(GrantAnswer::UsedUp)));
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_reaches_the_visitors_that_wait() {
    let database = Database::with(10, [Fault::AnswerLost, Fault::NotSent]);
    let grants = running(&database);
    assert_eq!(visits(&grants, 7).await, (7, 0, 0));
    assert_eq!(database.limit().left, 3);
}

#[tokio::test]
async fn grants_of_visitors_that_left_are_for_the_next_ones() {
    let lost = (0..faults()).map(|_| Fault::AnswerLost);
    let grants = running(&Database::with(10, lost));
    assert_eq!(visits(&grants, 7).await, (0, 0, 7), "no answer in time");
    let became_known = async {
        while !grants.has_unused(click().link()) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(5), became_known).await.unwrap();
    assert_eq!(visits(&grants, 4).await, (4, 0, 0));
    assert_eq!(visits(&grants, 9).await, (6, 3, 0));
    assert!(!grants.has_unused(click().link()));
}

#[tokio::test]
async fn grants_of_visitors_that_left_are_void_once_the_limit_was_lowered() {
    let database = Database::with(10, []);
    let grants = running(&database);
    grants.keep_unused(click().link(), 3);
    database.limit().left = -2;
    assert_eq!(visits(&grants, 5).await, (0, 5, 0));
    database.limit().left = 1;
    assert_eq!(visits(&grants, 5).await, (1, 4, 0));
}

#[tokio::test]
async fn nothing_is_asked_for_visitors_that_left_before_there_was_a_connection() {
    let away = (0..faults()).map(|_| Fault::NotSent);
    let database = Database::with(10, away);
    let grants = running(&database);
    assert_eq!(visits(&grants, 7).await, (0, 0, 7));
    while !database.limit().faults.is_empty() {
        visits(&grants, 1).await;
    }
    assert_eq!(visits(&grants, 2).await, (2, 0, 0));
    let asked: u64 = database.limit().asked.iter().sum();
    assert!(asked <= 3, "{asked} asked for");
}

#[tokio::test]
async fn a_grant_that_its_visitor_does_not_take_is_for_the_next_one() {
    let grants = running(&Database::with(1, []));
    for _ in 0..100 {
        begun(&grants).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(visits(&grants, 2).await, (1, 1, 0));
}

#[tokio::test]
async fn visits_whose_visitors_left_take_no_memory() {
    let database = Database::with(10, []);
    // Its task does not run.
    let grants = Grants::new(database as Arc<dyn ClickLimits>, Arc::new(SystemClock));
    for _ in 0..10_000 {
        begun(&grants).await;
    }
    assert!(grants.state().visits.len() < 10);
}
