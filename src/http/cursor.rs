//! The cursor of a list: a position in it, and the order to which the position belongs.

use super::ApiError;
use crate::domain::{LinkId, LinkOrder};
use crate::store::Position;

/// Keys of cursors end here: as times in the year 8815. Far beyond, numbers are not timestamps for the database.
const KEYS_END: i64 = 0x0300_0000_0000_0000;

/// The letter of an order, before the digits; the default order has no letter.
fn letter(order: LinkOrder) -> &'static str {
    match order {
        LinkOrder::Newest => "",
        LinkOrder::Oldest => "o",
        LinkOrder::MostClicks => "m",
        LinkOrder::FewestClicks => "l",
    }
}

/// A position as text: 32 hexadecimal digits, after the letter of the order.
#[must_use]
pub fn cursor(order: LinkOrder, position: Position) -> String {
    let (letter, key, id) = (letter(order), position.key, position.id.number());
    format!("{letter}{key:016x}{id:016x}")
}

/// The position of a cursor of this order.
///
/// # Errors
/// 422, with a sentence that names the field.
pub fn parse_cursor(order: LinkOrder, raw: &str) -> Result<Position, ApiError> {
    let refused = || ApiError::invalid("cursor: must be the cursor of a page's Link header");
    let digits = raw.trim_start_matches(['o', 'm', 'l']);
    let position = parse_position(digits).ok_or_else(refused)?;
    let of_orders = LinkOrder::ALL.map(|order| cursor(order, position));
    if raw == cursor(order, position) {
        return Ok(position);
    }
    Err(if of_orders.iter().any(|known| known == raw) {
        ApiError::invalid("cursor: belongs to another sort; begin without a cursor")
    } else {
        refused()
    })
}

fn parse_position(raw: &str) -> Option<Position> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = raw.len() == 32 && raw.bytes().all(is_digit);
    let (key, id) = digits.then(|| raw.split_at(16))?;
    let parse = |digits| i64::from_str_radix(digits, 16).ok();
    Some(Position {
        key: parse(key).filter(|key| *key < KEYS_END)?,
        id: LinkId::parse(parse(id)?)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn orders() -> impl Strategy<Value = LinkOrder> {
        select(LinkOrder::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_position_in_its_order_alone(
            of in orders(), with in orders(), key in 0..KEYS_END, id in 0..=LinkId::LAST.number(),
        ) {
            let position = Position { key, id: LinkId::parse(id).unwrap() };
            let parsed = parse_cursor(with, &cursor(of, position)).ok();
            prop_assert_eq!(parsed, (of == with).then_some(position));
        }

        #[test]
        fn a_cursor_that_is_accepted_is_the_one_of_its_position(
            order in orders(),
            raw in prop_oneof![1 => "\\PC*", 6 => "[oml]?0?[0-3]?[0-9a-f]{13,15}0{0,3}[0-9a-f]{13,15}[g-z+A-F-]?"],
        ) {
            match parse_cursor(order, &raw) {
                Ok(position) => prop_assert_eq!(cursor(order, position), raw),
                Err(error) => {
                    prop_assert!(error.to_string().starts_with("422 "));
                    prop_assert!(order != LinkOrder::Newest || !is_documented(&raw));
                }
            }
        }
    }

    /// As the document describes it, without the letter: `^0[0-2][0-9a-f]{14}00[0-9a-f]{14}$`.
    fn is_documented(raw: &str) -> bool {
        let digits = raw
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let digit = |at: usize, max: u8| (b'0'..=max).contains(&raw.as_bytes()[at]);
        raw.len() == 32
            && digits
            && digit(0, b'0')
            && digit(1, b'2')
            && digit(16, b'0')
            && digit(17, b'0')
    }
}
