//! Days of classes in the file of an embedded instance, compared without the code that writes them.

use std::collections::BTreeMap;

use shunt::store::ClickDetails;
use sqlx::SqliteConnection;

/// The clicks of bots by owner and interval that are missing in the days of the owner, or too many there.
pub(crate) async fn owners_with_other_bots(
    connection: &mut SqliteConnection,
) -> Vec<((i64, i64), i64)> {
    // Rows of deleted links are in the days of their owner until they are removed. Accounts that are deleted are removed as a whole.
    let days: Vec<(i64, i64, bool, Vec<u8>)> = sqlx::query_as(
        "SELECT owner_id, day, whose < 0, bots FROM class_days JOIN (
             SELECT id, coalesce(made_by, owner_id) AS owner_id FROM links UNION SELECT link_id, owner_id FROM deleted_details UNION SELECT -id, id FROM users
         ) AS owned ON owned.id = whose WHERE owner_id IN (SELECT id FROM users)",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let (of_owners, added): (bool, Option<i64>) =
        sqlx::query_as("SELECT of_owners, added FROM click_details_summing")
            .fetch_one(&mut *connection)
            .await
            .unwrap();
    // Some owners have what waits for them, and others do not.
    if of_owners && added.is_some_and(|added| added > 0 && added < i64::MAX) {
        return Vec::new();
    }
    let mut sums = BTreeMap::<(i64, i64), i64>::new();
    for (owner, day, is_of_owner, bots) in days {
        for (quarter, clicks) in bots_of(&bots) {
            *sums.entry((owner, day + quarter)).or_default() +=
                if is_of_owner { clicks } else { -clicks };
        }
    }
    let waiting = added.is_some_and(|added| added < i64::MAX);
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT interval, details FROM click_details_of_owners WHERE ?1")
            .bind(waiting)
            .fetch_all(connection)
            .await
            .unwrap();
    for (interval, details) in rows {
        for part in ClickDetails::parse(&details).unwrap().of_links() {
            if part.class.is_bot() {
                *sums.entry((part.link.number(), interval)).or_default() +=
                    part.clicks.cast_signed();
            }
        }
    }
    sums.into_iter()
        .filter(|(_, clicks)| *clicks != 0)
        .collect()
}

/// Quarters of a day, and clicks in them: a byte, then a number in LEB128 whose lowest bit is the sign.
fn bots_of(packed: &[u8]) -> Vec<(i64, i64)> {
    let (mut bytes, mut bots) = (packed.iter(), Vec::new());
    while let Some(quarter) = bytes.next() {
        let (mut number, mut shift) = (0_u64, 0);
        for byte in bytes.by_ref() {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let clicks = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
        bots.push((i64::from(*quarter), clicks));
    }
    bots
}
