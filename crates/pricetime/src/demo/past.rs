//! Hours of trading before the demo's server starts, so that there are candles to look at: the same commands as later, with
//! times that have passed.

use std::time::Duration;

use engine::{Op, Time};
use exchange::{Answer, Batch};
use journal::{DataLock, Disk, Durability, Options};

use super::Plan;
use super::crowd::{Crowd, Pace};
use super::venue::Venue;
use crate::admission::Conditions;
use crate::recovery;
use crate::sequencer::Sequencer;
use crate::settings::Settings;
use crate::timekeeper::system_time;

/// Between two turns of the crowd.
const STEP: Duration = Duration::from_millis(2_500);

/// Makes the market in an empty data folder, and lets the crowd trade in it up to now.
pub fn make(settings: &Settings, plan: Plan, past: Duration) -> Result<Crowd, String> {
    let _lock = DataLock::take(&settings.data).map_err(|error| error.to_string())?;
    let storage = Disk::open(&settings.data).map_err(|error| format!("{}: {error}", settings.data.display()))?;
    let options = Options { segment_bytes: settings.segment_size.0, durability: Durability::Written };
    let recovered = recovery::open(&storage, options).map_err(|error| error.to_string())?;
    let end = system_time();
    let mut then = Then {
        sequencer: Sequencer::new(recovered.engine, recovered.journal, settings.answer_limits()),
        time: Time(end.0.saturating_sub(past.as_micros() as u64)),
        failed: None,
    };
    let mut crowd = Crowd::new(plan.seed, Pace::of_steps(STEP, plan.rate));
    let mut goes_on = crowd.open(&mut then).is_some();
    while goes_on && then.time < end {
        goes_on = crowd.turn(&mut then).is_some();
        then.time = Time(then.time.0 + STEP.as_micros() as u64);
    }
    then.failed.map_or(Ok(crowd), Err)
}

/// A market at a time that has passed.
struct Then {
    sequencer: Sequencer<Disk>,
    time: Time,
    failed: Option<String>,
}

impl Venue for Then {
    fn send(&mut self, ops: &[Op]) -> Option<Vec<Answer>> {
        // It is answered at once and goes back to nobody.
        let mut batch = [Batch::calling(drop)];
        batch[0].requests.push(ops);
        match self.sequencer.turn(&mut batch, self.time, Conditions::default(), || (), &mut |_, _| {}) {
            Ok(()) => Some(std::mem::take(&mut batch[0].answers)),
            Err(error) => {
                self.failed = Some(error.to_string());
                None
            }
        }
    }
}
