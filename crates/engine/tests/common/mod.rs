//! The parts that comparisons with the model share: the duel of engine and model, the counts of its situations, and the
//! run of many markets. Tests and an example include it.

mod amended;
pub mod bounded;
mod charged;
pub mod duel;
mod funded;
mod grouped;
mod killed;
mod mass_canceled;
pub mod mirror;
mod moved;
mod order_terms;
mod parts;
mod pended;
mod phased;
mod protected;
mod reached;
pub mod ruled;
mod shared_log;
pub mod situations;
mod trails;
mod transferred;

use model::workload::{Random, Workload};
use terms::{CancelBounds, ExecutionBounds};

use duel::Duel;
use situations::Situations;

/// One market, in which the seed decides everything.
#[derive(Clone, Copy, Debug)]
pub struct Market {
    pub seed: u64,
    pub ops: u64,
    /// The number of commands after which the whole state is compared.
    pub check_every: u64,
}

impl Market {
    /// Makes the market of a seed: one in eight is long and checked less often.
    pub fn of_seed(seed: u64) -> Market {
        if seed.is_multiple_of(8) {
            Market { seed, ops: 20_000, check_every: 16 }
        } else {
            Market { seed, ops: 1_500, check_every: 1 }
        }
    }

    /// Runs the market to its end. Panics where engine and model differ.
    pub fn run(self, situations: &mut Situations) {
        let mut workload =
            Workload::with_client_orders(self.seed).with_all_kinds().with_own_commands().with_terms().with_links();
        // Half of the markets have these, so that the others stay as they were.
        if self.seed & 4 == 0 {
            workload = workload.with_icebergs();
        }
        // Every other market has none, so that the situations that these prevent occur, too.
        if self.seed & 2 == 0 {
            workload = workload.with_rules();
        }
        if self.seed & 24 == 8 {
            workload = workload.with_fees();
        }
        if self.seed & 32 == 32 {
            workload = workload.with_phases();
        }
        if self.seed & 96 == 64 || self.seed & 224 == 96 {
            workload = workload.with_groups();
        }
        if self.seed & 192 != 0 {
            workload = workload.with_trails();
        }
        if self.seed & 128 == 128 {
            workload = workload.with_pendings();
        }
        if self.seed & 768 == 256 {
            workload = workload.with_mass_cancels();
        }
        if self.seed & 768 == 768 {
            workload = workload.with_kills().with_kills_together();
        }
        if self.seed & 1792 == 512 {
            workload = workload.with_protections();
        }
        if self.seed & 3072 == 1024 || self.seed & 3200 == 2176 {
            workload = workload.with_limits();
        }
        if self.seed & 12288 == 4096 {
            workload = workload.with_messages();
        }
        if self.seed & 3072 == 3072 {
            workload = workload.with_funding().with_closings();
        }
        // Fewer of the markets in which a turn may do little have these: they keep orders from waiting for their turn.
        if self.seed >> 40 & 1 == 1 && (self.seed & 49_152 != 16_384 || self.seed >> 41 & 1 == 1) {
            workload = workload.with_amendments();
        }
        // In half of the markets a command may make few executions, and in most of a quarter so may a turn.
        let mut duel = match self.seed & 49_152 {
            16_384 => Duel::with_cancel_bounds(
                self.seed,
                self.check_every,
                small_bounds(self.seed >> 16),
                CancelBounds { command: 3, turn: (self.seed >> 16) as usize % 8, small: 1 },
            ),
            32_768 => {
                let cancels = CancelBounds::of_command(if self.seed >> 16 & 1 == 0 { 2 } else { 5 });
                Duel::with_cancel_bounds(self.seed, self.check_every, ExecutionBounds::ALL, cancels)
            }
            _ => Duel::new(self.seed, self.check_every),
        };
        for _ in 0..self.ops {
            workload.next_request(duel.model()).into_iter().for_each(|op| duel.play(op));
            // Where there are kills, orders stay under way until they are killed.
            if self.seed & 768 != 768 {
                duel.go_on();
            }
            duel.keep_house();
        }
        duel.end();
        situations.add(duel.situations());
    }
}

/// The bounds of a market in which commands may make few executions.
fn small_bounds(seed: u64) -> ExecutionBounds {
    let mut random = Random::new(seed);
    let command = 1 + random.below(8) as u32;
    match random.below(8) {
        0 => ExecutionBounds::of_command(command),
        _ => ExecutionBounds {
            command,
            turn: random.below(2 * command as usize) as u32,
            small: random.below(1 + command as usize / 2) as u32,
            share: 1 + random.below(command as usize) as u32,
            turns: if random.below(2) == 0 { random.below(60) as u32 } else { ExecutionBounds::ALL.turns },
        },
    }
}

/// Runs markets until `ops` commands and queries were compared. Calls `progress` with their number.
pub fn run(seed: u64, ops: u64, progress: &mut impl FnMut(u64)) -> Situations {
    let mut random = Random::new(seed);
    let mut situations = Situations::new();
    let mut done = 0;
    while done < ops {
        let market = Market::of_seed(random.any());
        market.run(&mut situations);
        done += market.ops;
        progress(done);
    }
    situations
}
