//! Rule 9.
