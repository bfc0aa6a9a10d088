//! Rows of `class_days` and `class_quarters`, read and written many at once.

use serde_json::json;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Sqlite, SqliteConnection};

use crate::store::class_day::{ClassDay, PackedDay};
use crate::store::class_merge::parsed;
use crate::store::summing::DayOf;

/// How many rows a statement writes. It is prepared once, and a value is bound where JSON would be read.
const ROWS: usize = 32;

/// An account that is deleted meanwhile gets no rows any more. Rows past the last one are NULL.
macro_rules! write_days {
    () => {
        concat!(
            "INSERT OR REPLACE INTO class_days (day, whose, bots, ended, quarters) SELECT * FROM (VALUES ",
            write_days!(@eight), ",", write_days!(@eight), ",", write_days!(@eight), ",", write_days!(@eight),
            ") WHERE column1 IS NOT NULL AND (column2 > 0 OR EXISTS (SELECT 1 FROM users WHERE id = -column2))"
        )
    };
    (@eight) => {
        "(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?),(?,?,?,?,?)"
    };
}

pub(super) use write_days;

const WRITE_DAYS: &str = write_days!();

/// A statement with values that are bound to it.
type Bound<'q> = Query<'q, Sqlite, SqliteArguments>;

const WRITE_QUARTERS: &str = "
    INSERT INTO class_quarters (day, whose, number, quarters)
    SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3 FROM class_quarters WHERE day = ?1 AND whose = ?2
    HAVING ?2 > 0 OR EXISTS (SELECT 1 FROM users WHERE id = -?2)";

/// The days from `?1` to `?2` that there may be rows of. The key begins with the day, so a reader looks each of them up.
macro_rules! days {
    () => {
        "WITH RECURSIVE days (day) AS (
             SELECT max(?1, (SELECT min(day) FROM class_days))
             UNION ALL
             SELECT day + 96 FROM days WHERE day + 96 <= min(?2, (SELECT max(day) FROM class_days))
         )"
    };
}

pub(super) use days;

/// Rows as one text, from which numbers and hexadecimal digits are taken: each row of an answer is two switches of threads.
macro_rules! in_one_text {
    ($from:literal) => {
        concat!(
            "SELECT group_concat(format('%d,%d,%s,%s,%s', class_days.day, class_days.whose, hex(bots), hex(ended), hex(quarters)), ';')
             FROM ",
            $from
        )
    };
}

pub(super) use in_one_text;

const READ_DAYS: &str = in_one_text!(
    "json_each(?1) AS asked CROSS JOIN json_each(asked.value) AS whose_asked
     CROSS JOIN class_days ON class_days.day = CAST(asked.key AS INTEGER) AND class_days.whose = whose_asked.value"
);

/// Days that are ready to be written.
#[derive(Default)]
pub(super) struct DayRows {
    days: Vec<(DayOf, PackedDay)>,
    /// Days without clicks, which have no row.
    empty: Vec<DayOf>,
    /// Quarters that leave the row of their day.
    left: Vec<(DayOf, Vec<u8>)>,
}

impl DayRows {
    pub(super) fn of(days: Vec<(DayOf, ClassDay)>, left: Vec<(DayOf, Vec<u8>)>) -> Self {
        let mut rows = Self {
            left,
            ..Self::default()
        };
        for (key, day) in days {
            if day.is_empty() {
                rows.empty.push(key);
            } else {
                rows.days.push((key, day.packed()));
            }
        }
        rows
    }

    pub(super) async fn write(
        &self,
        transaction: &mut SqliteConnection,
    ) -> Result<(), sqlx::Error> {
        self.write_with(sqlx::query(WRITE_DAYS), transaction).await
    }

    /// Writes the first rows with a statement that ends with [`write_days`].
    pub(super) async fn write_with<'q>(
        &'q self,
        first: Bound<'q>,
        transaction: &mut SqliteConnection,
    ) -> Result<(), sqlx::Error> {
        let mut chunks = self.days.chunks(ROWS);
        let rows = chunks.next().unwrap_or_default();
        bound(first, rows).execute(&mut *transaction).await?;
        for rows in chunks {
            let write = bound(sqlx::query(WRITE_DAYS), rows);
            write.execute(&mut *transaction).await?;
        }
        for ((day, whose), quarters) in &self.left {
            sqlx::query(WRITE_QUARTERS)
                .bind(day)
                .bind(whose)
                .bind(&quarters[..])
                .execute(&mut *transaction)
                .await?;
        }
        if !self.empty.is_empty() {
            sqlx::query(
                "DELETE FROM class_days WHERE (day, whose) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))",
            )
            .bind(json!(self.empty).to_string())
            .execute(transaction)
            .await?;
        }
        Ok(())
    }
}

/// With values for all rows of [`write_days`].
fn bound<'q>(mut write: Bound<'q>, rows: &'q [(DayOf, PackedDay)]) -> Bound<'q> {
    for place in 0..ROWS {
        let row = rows.get(place);
        let packed = row.map(|(_, packed)| packed);
        write = write
            .bind(row.map(|((day, _), _)| day))
            .bind(row.map(|((_, whose), _)| whose))
            .bind(packed.map(|packed| &packed.bots[..]))
            .bind(packed.map(|packed| &packed.ended[..]))
            .bind(packed.map(|packed| &packed.quarters[..]));
    }
    write
}

/// The rows of these days, which are in rising order.
pub(super) async fn read_days(
    reader: &mut SqliteConnection,
    days: &[DayOf],
) -> Result<Vec<(DayOf, PackedDay)>, sqlx::Error> {
    let mut by_day = serde_json::Map::new();
    for of_day in days.chunk_by(|one, other| one.0 == other.0) {
        let whose: Vec<_> = of_day.iter().map(|(_, whose)| *whose).collect();
        by_day.insert(of_day[0].0.to_string(), whose.into());
    }
    let found = sqlx::query_scalar(READ_DAYS).bind(json!(by_day).to_string());
    rows(found.fetch_one(reader).await?)
}

/// The rows in such a text.
pub(super) fn rows(text: Option<String>) -> Result<Vec<(DayOf, PackedDay)>, sqlx::Error> {
    let text = text.unwrap_or_default();
    let rows = text.split(';').filter(|row| !row.is_empty());
    rows.map(|text| row(text).ok_or_else(|| sqlx::Error::Decode("a row of days is invalid".into())))
        .collect()
}

/// The same as days.
pub(super) fn parsed_rows(text: Option<String>) -> Result<Vec<(DayOf, ClassDay)>, sqlx::Error> {
    let rows = rows(text)?.into_iter();
    Ok(rows.map(|(key, packed)| (key, parsed(&packed))).collect())
}

fn row(text: &str) -> Option<(DayOf, PackedDay)> {
    let mut columns = text.split(',');
    let key = (columns.next()?.parse().ok()?, columns.next()?.parse().ok()?);
    let packed = PackedDay {
        bots: bytes(columns.next()?)?,
        ended: bytes(columns.next()?)?,
        quarters: bytes(columns.next()?)?,
    };
    Some((key, packed))
}

/// The bytes of hexadecimal digits.
pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| u8::try_from(value(*high)? << 4 | value(*low)?).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<_>>();
    bytes.filter(|_| rest.is_empty())
}
