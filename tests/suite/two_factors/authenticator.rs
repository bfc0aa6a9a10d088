//! A device with a passkey, as a browser at `http://localhost` uses it: ES256, without attestation (sections 6.1 and 6.5 of the standard).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// Flags of what the device saw: a person, who was verified; and that a key is sent along.
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const WITH_KEY: u8 = 0x40;

pub(crate) struct Authenticator {
    key: EcdsaKeyPair,
    id: [u8; 32],
    /// By which name the service knows the account.
    handle: String,
    /// Signatures that were made.
    pub(crate) counter: u32,
    pub(crate) origin: &'static str,
    /// Whether it asks for a finger or a PIN.
    pub(crate) verifies: bool,
}

impl Authenticator {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let id = digest(&SHA256, key.public_key().as_ref());
        Self {
            key,
            id: id.as_ref().try_into().unwrap(),
            handle: String::new(),
            counter: 0,
            origin: "http://localhost",
            verifies: true,
        }
    }

    fn client_data(&self, kind: &str, options: &Value) -> String {
        let data = json!({
            "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false,
        });
        data.to_string()
    }

    fn data(&self, with_key: bool) -> Vec<u8> {
        let mut flags = PRESENT;
        flags |= if self.verifies { VERIFIED } else { 0 };
        flags |= if with_key { WITH_KEY } else { 0 };
        let mut data = digest(&SHA256, b"localhost").as_ref().to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        if with_key {
            data.extend([0; 16]);
            data.extend([0, 32]);
            data.extend(self.id);
            // A key of COSE: kind 2, algorithm -7, curve 1, x, y.
            let point = self.key.public_key().as_ref();
            data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
            data.extend(&point[1..33]);
            data.extend([0x22, 0x58, 0x20]);
            data.extend(&point[33..]);
        }
        data
    }

    /// Makes a passkey, and answers to the options of a page.
    pub(crate) fn create(&mut self, options: &Value) -> String {
        options["user"]["id"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.handle);
        let data = self.data(true);
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(data.len().try_into().unwrap());
        object.extend(data);
        let response = json!({
            "attestationObject": BASE64.encode(object),
            "clientDataJSON": BASE64.encode(self.client_data("webauthn.create", options)),
        });
        self.answer(&response)
    }

    /// Signs the challenge of a page.
    pub(crate) fn sign(&mut self, options: &Value) -> String {
        self.counter += 1;
        let (data, client_data) = (self.data(false), self.client_data("webauthn.get", options));
        let mut signed = data.clone();
        signed.extend(digest(&SHA256, client_data.as_bytes()).as_ref());
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        let response = json!({
            "authenticatorData": BASE64.encode(data),
            "clientDataJSON": BASE64.encode(client_data),
            "signature": BASE64.encode(signature),
            "userHandle": self.handle,
        });
        self.answer(&response)
    }

    fn answer(&self, response: &Value) -> String {
        let id = BASE64.encode(self.id);
        json!({ "id": id, "rawId": id, "type": "public-key", "response": response }).to_string()
    }
}
