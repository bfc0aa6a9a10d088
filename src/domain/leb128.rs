//! Numbers in LEB128: seven bits in each byte, the lowest first, and a high bit where more follow.

/// Appends a number.
pub fn put_number(packed: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        packed.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    packed.push((number & 0x7f) as u8);
}

/// Takes a number from the front; `None` if there is no number, or a number of more than 64 bits.
pub fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return (number >> shift == bits).then_some(number);
        }
    }
    None
}
