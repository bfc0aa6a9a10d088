#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shunt_fuzz::own_path(data));
