//! Where a market is kept, as a setting: in the data folder's journal, or in a PostgreSQL database.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use store::StoreUrl;

/// Where a market is kept. Shown without the password of a URL.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Place {
    /// In the data folder.
    #[default]
    Journal,
    /// In this database.
    Database(Box<StoreUrl>),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        match text {
            "journal" => Ok(Place::Journal),
            url => match url.parse::<StoreUrl>() {
                Ok(url) => Ok(Place::Database(Box::new(url))),
                Err(error) => Err(format!("{error}; or `journal`, for the data folder")),
            },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Journal => f.write_str("journal"),
            Place::Database(url) => url.fmt(f),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> String {
        place.to_string()
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Place, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_read_and_not_shown() {
        let place: Place = "postgres://trader:s3cret@db.example:5432/market".parse().expect("a URL");
        let shown = place.to_string();
        assert!(shown.contains("db.example") && !shown.contains("s3cret"), "{shown}");
        assert!(!format!("{place:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_no_place_says_what_is_one() {
        let error = "mysql://x".parse::<Place>().map(|_| ()).expect_err("no place");
        assert!(error.contains("postgres://") && error.contains("journal"), "{error}");
    }
}
