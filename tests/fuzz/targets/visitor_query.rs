#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shunt_fuzz::visitor_query(data));
