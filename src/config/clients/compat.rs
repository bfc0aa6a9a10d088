//! The APIs of other shorteners that are served.

use clap::Args;

use super::super::setting::setting;

/// The APIs of other shorteners.
#[derive(Args, Clone, Debug)]
pub struct CompatSettings {
    /// APIs of other shorteners that are served, for the clients that exist: `yourls`, `kutt`, `shlink`, with commas between, or `none`.
    ///
    /// They take API keys of this service (`deploy/compat.md`).
    #[arg(id = "compat", long = "compat", env = "COMPAT", value_name = "APIS")]
    #[arg(default_value = "yourls,kutt,shlink", value_parser = setting(Compat::parse))]
    pub wanted: Compat,
}

/// Which of them are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// `/yourls-api.php`.
    pub yourls: bool,
    /// `/api/v2/*`.
    pub kutt: bool,
    /// `/rest/*`.
    pub shlink: bool,
}

impl Compat {
    fn parse(raw: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        if raw == "none" {
            return Ok(wanted);
        }
        for word in raw.split(',').map(str::trim) {
            match word {
                "yourls" => wanted.yourls = true,
                "kutt" => wanted.kutt = true,
                "shlink" => wanted.shlink = true,
                _ => {
                    return Err(
                        "must be of yourls, kutt and shlink, with commas between, or none".into(),
                    );
                }
            }
        }
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_read_in_any_order() {
        assert_eq!(Compat::parse("none"), Ok(Compat::default()));
        let all = Compat {
            yourls: true,
            kutt: true,
            shlink: true,
        };
        assert_eq!(Compat::parse("kutt, yourls,shlink"), Ok(all));
        let rest = Compat { kutt: false, ..all };
        assert_eq!(Compat::parse("yourls,shlink"), Ok(rest));
        for raw in ["", "all", "yourls,none", "yourls,,"] {
            assert!(Compat::parse(raw).is_err(), "{raw}");
        }
    }
}
