//! What earlier systems with this protocol reported, on their hardware: reference lines, in requests a second or in
//! seconds. It knows nothing of how they are repeated.

use crate::record::{Published, PublishedPoint};

/// In front of every label: nobody shall take them for figures of this machine.
const MARK: &str = "published, other hardware";

/// A line of figures: place on the axis, mean, deviation.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub label: &'static str,
    pub points: &'static [(u64, f64, Option<f64>)],
}

impl Line {
    /// As it stands in the raw files.
    pub fn record(&self) -> Published {
        let point = |&(value, mean, deviation): &(u64, f64, Option<f64>)| PublishedPoint {
            value: value as f64,
            mean,
            deviation,
        };
        Published { label: format!("{MARK}: {}", self.label), points: self.points.iter().map(point).collect() }
    }
}

pub const ONE_SHOT: Line = Line {
    label: "4 server processes",
    points: &[(1, 419.0, Some(40.0)), (2, 836.0, Some(72.0)), (3, 1022.0, Some(64.0)), (4, 1022.0, Some(59.0))],
};

pub const ACCOUNTS: Line =
    Line { label: "0.051, 0.071, 0.127 queries/ms", points: &[(1, 51.0, None), (2, 71.0, None), (4, 127.0, None)] };

pub const CONNECT_SEND_RECEIVE: Line = Line {
    label: "execution time; dropped connections from 40,000",
    points: &[
        (2_000, 9.86, None),
        (4_000, 9.71, None),
        (8_000, 10.95, None),
        (16_000, 13.50, None),
        (32_000, 23.85, None),
        (48_000, 126.0, None),
        (64_000, 185.0, None),
        (128_000, 455.0, None),
        (256_000, 1019.0, None),
        (512_000, 2164.0, None),
        (1_024_000, 4387.0, None),
    ],
};

pub const LIFECYCLE_CORES: Line =
    Line { label: "1 server worker", points: &[(1, 176.0, None), (2, 181.0, None), (4, 184.0, None)] };

/// Reported as a range, so it is drawn as its two ends.
pub const LIFECYCLE_WORKERS: [Line; 2] = [
    Line {
        label: "120 to 200 requests/s, lower end",
        points: &[(1, 120.0, None), (2, 120.0, None), (4, 120.0, None), (8, 120.0, None)],
    },
    Line {
        label: "120 to 200 requests/s, upper end",
        points: &[(1, 200.0, None), (2, 200.0, None), (4, 200.0, None), (8, 200.0, None)],
    },
];

pub const MANY_CLIENTS: Line =
    Line { label: "saturates from 5,000 clients", points: &[(5_000, 550.0, None), (10_000, 550.0, None)] };
