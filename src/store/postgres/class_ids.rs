//! The numbers of visitor classes in Postgres.

use std::sync::{Arc, Mutex, PoisonError};

use super::session::Session;
use crate::domain::{ClickClass, Dimension};
use crate::store::details::MAX_CLASSES;
use crate::store::rows::Tuples as _;
use crate::store::summing::{ClassIds, ClassRow, ClassesById, columns, numbered};

/// How many are remembered. Beyond, all of them are forgotten, and read again when they are needed.
const MAX_REMEMBERED: usize = 65_536;

/// One by one: a plan that was made while classes were few would read all of them.
const KNOWN: &str = "SELECT class.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::text[], $8::text[]) AS asked (referrer, country, browser, os, device, rule, code, bot)
    CROSS JOIN LATERAL (
        SELECT id, known.referrer, known.country, known.browser, known.os, known.device, known.rule, known.code,
            known.bot FROM click_classes AS known
        WHERE known.referrer = asked.referrer AND known.country = asked.country AND known.browser = asked.browser
          AND known.os = asked.os AND known.device = asked.device AND known.rule = asked.rule
          AND known.code = asked.code AND known.bot = asked.bot LIMIT 1
    ) AS class";

/// In the order of the classes, so that two writers of the same classes do not wait for each other in a circle.
const NEW: &str = "INSERT INTO click_classes (referrer, country, browser, os, device, rule, code, bot)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    WHERE (SELECT coalesce(max(id), 0) FROM click_classes) < $9
    ON CONFLICT DO NOTHING RETURNING id, referrer, country, browser, os, device, rule, code, bot";

const BY_ID: &str = "SELECT class.* FROM unnest($1::integer[]) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT known.id, referrer, country, browser, os, device, rule, code, bot FROM click_classes AS known WHERE known.id = asked.id LIMIT 1
    ) AS class";

/// Numbers that were read. A number that is committed stays, unless the server crashes, or another one takes its place: a merge need not be
/// durable. So they are of one start of one server.
#[derive(Default)]
pub(in crate::store) struct RememberedClasses(Mutex<Remembered>);

/// What is remembered of the server that a session is of.
pub(super) struct OfServer<'a> {
    remembered: &'a RememberedClasses,
    started: String,
}

#[derive(Default)]
struct Remembered {
    /// When the server started.
    started: String,
    ids: ClassIds,
    by_id: ClassesById,
}

impl RememberedClasses {
    /// Forgets everything if the session's server started since.
    pub(super) async fn of_server(
        &self,
        session: &mut Session,
    ) -> Result<OfServer<'_>, sqlx::Error> {
        let started: String = sqlx::query_scalar("SELECT pg_postmaster_start_time()::text")
            .fetch_one(session)
            .await?;
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.started != started {
            *remembered = Remembered {
                started: started.clone(),
                ..Remembered::default()
            };
        }
        drop(remembered);
        Ok(OfServer {
            remembered: self,
            started,
        })
    }
}

impl OfServer<'_> {
    /// The numbers of those classes that have one.
    pub(super) async fn ids(
        &self,
        session: &mut Session,
        classes: &[Arc<ClickClass>],
    ) -> Result<ClassIds, sqlx::Error> {
        let mut ids = ClassIds::default();
        let mut asked = Vec::new();
        self.with(&mut |remembered| {
            for class in classes {
                match remembered.ids.get_key_value(class) {
                    Some((class, id)) => drop(ids.insert(Arc::clone(class), *id)),
                    None => asked.push(Arc::clone(class)),
                }
            }
        });
        if !asked.is_empty() {
            let found = by_values(session, KNOWN, &asked, None).await?;
            self.remember(&found);
            ids.extend(found.into_iter().map(|(id, class)| (class, id)));
        }
        Ok(ids)
    }

    /// The classes with these numbers.
    pub(super) async fn classes(
        &self,
        session: &mut Session,
        ids: Vec<i32>,
    ) -> Result<ClassesById, sqlx::Error> {
        let mut classes = ClassesById::default();
        let mut asked = Vec::new();
        self.with(&mut |remembered| {
            for id in &ids {
                match remembered.by_id.get(id) {
                    Some(class) => drop(classes.insert(*id, Arc::clone(class))),
                    None => asked.push(*id),
                }
            }
        });
        if !asked.is_empty() {
            let found: Vec<ClassRow> = sqlx::query(BY_ID)
                .bind(asked)
                .fetch_all(session)
                .await?
                .tuples()?;
            let found: Vec<_> = found.into_iter().map(numbered).collect();
            self.remember(&found);
            classes.extend(found);
        }
        Ok(classes)
    }

    fn remember(&self, found: &[(i32, Arc<ClickClass>)]) {
        self.with(&mut |remembered| {
            if remembered.ids.len() + found.len() > MAX_REMEMBERED {
                remembered.ids.clear();
                remembered.by_id.clear();
            }
            for (id, class) in found {
                remembered.ids.insert(Arc::clone(class), *id);
                remembered.by_id.insert(*id, Arc::clone(class));
            }
        });
    }

    /// Nothing, if another session has seen a newer server.
    fn with(&self, call: &mut dyn FnMut(&mut Remembered)) {
        let remembered = &self.remembered.0;
        let mut remembered = remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.started == self.started {
            call(&mut remembered);
        } else {
            call(&mut Remembered::default());
        }
    }
}

/// Gives a number to each of these classes, as far as there is room. Another writer may have done so meanwhile.
pub(super) async fn new_ids(
    session: &mut Session,
    classes: &[Arc<ClickClass>],
) -> Result<ClassIds, sqlx::Error> {
    let made = by_values(session, NEW, classes, Some(MAX_CLASSES)).await?;
    let mut ids: ClassIds = made.into_iter().map(|(id, class)| (class, id)).collect();
    let mut missing = classes.to_vec();
    missing.retain(|class| !ids.contains_key(class));
    if !missing.is_empty() {
        let found = by_values(session, KNOWN, &missing, None).await?;
        ids.extend(found.into_iter().map(|(id, class)| (class, id)));
    }
    Ok(ids)
}

async fn by_values(
    session: &mut Session,
    statement: &'static str,
    classes: &[Arc<ClickClass>],
    most: Option<i32>,
) -> Result<Vec<(i32, Arc<ClickClass>)>, sqlx::Error> {
    let mut values: [Vec<String>; Dimension::COUNT] = Default::default();
    for class in classes {
        for (column, value) in values.iter_mut().zip(columns(class)) {
            column.push(value);
        }
    }
    let mut asked = sqlx::query(statement);
    for column in values {
        asked = asked.bind(column);
    }
    if let Some(most) = most {
        asked = asked.bind(most);
    }
    let found: Vec<ClassRow> = asked.fetch_all(session).await?.tuples()?;
    Ok(found.into_iter().map(numbered).collect())
}
