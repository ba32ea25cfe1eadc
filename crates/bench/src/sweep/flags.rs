//! The command line of a sweep: its flags, what they may not be together, and how to say it again.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::axis::Axis;
use super::presets;
use crate::flags::{LoadFlags, Mode, at_least_one};
use crate::run::{NO_DURABILITY_BESIDE_DATABASE, Store, Target};

/// What a run is when neither its requests nor its length are given.
const SECONDS_DEFAULT: f64 = 5.0;
const DURABILITY_DEFAULT: &str = "synced";
/// Repetitions of each point, as published experiments have them.
pub const RUNS_DEFAULT: u32 = 10;

#[derive(Args, Clone, Debug)]
pub struct SweepArgs {
    /// What is varied
    #[arg(long, value_enum, requires = "values", conflicts_with_all = ["preset", "list"])]
    pub axis: Option<Axis>,
    /// Its values, with commas: 1,2,4
    #[arg(long, value_delimiter = ',', requires = "axis", value_parser = at_least_one())]
    pub values: Vec<u64>,
    /// Repeat a published experiment, or `all` of them
    #[arg(long, value_parser = preset_names(), conflicts_with = "list")]
    pub preset: Option<String>,
    /// Show the presets: what each does, and what was published
    #[arg(long)]
    pub list: bool,
    /// Folder of the results; new or empty [default: benchmarks/NAME-DATE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs of each point [default: 10, or what the preset says]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub runs: Option<u32>,
    /// Run a preset at the published size, or scaled up so that a run lasts at least 5 s [default: both]
    #[arg(long, value_enum)]
    pub scale: Option<Scale>,
    /// Only the first values of a preset, few runs, the published size: an impression within a minute
    #[arg(long)]
    pub quick: bool,
    /// Where the server keeps its market: journal, in its data folder, or postgres://USER:PASSWORD@HOST:5432/DATABASE, in a
    /// database that each run creates there and drops again (its role needs CREATEDB)
    #[arg(long, value_name = "journal|URL", default_value = "journal")]
    store: String,
    /// When the server's replies may leave: synced to the disk, or only written to the operating system [default: synced];
    /// with a database when it has committed
    #[arg(long, value_parser = ["synced", "written"])]
    durability: Option<String>,
    /// Of the requests and of the order of runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub load: LoadFlags,
}

/// Which sizes of a preset are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    Published,
    Scaled,
    Both,
}

/// What one may choose of a preset.
#[derive(Clone, Debug)]
pub struct Choice {
    pub runs: Option<u32>,
    pub scale: Scale,
    pub quick: bool,
    pub keeping: Keeping,
    pub seed: u64,
}

/// Where the servers of a sweep keep their markets, and when their replies may leave.
#[derive(Clone, Debug)]
pub struct Keeping {
    pub store: Store,
    /// `synced`, `written`, or `committed to PostgreSQL`.
    pub durability: String,
}

impl SweepArgs {
    /// Errors: flags that do not go together, with what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.axis.is_none() && self.preset.is_none() && !self.list {
            let names = presets::ALL.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
            return Err(format!("say what to vary (--axis cores --values 1,2) or to repeat (--preset {names}, all)"));
        }
        if self.preset.is_none() && (self.scale.is_some() || self.quick) {
            return Err("--scale and --quick are for presets; an axis has the sizes that you give it".to_string());
        }
        if self.preset.is_some() && self.load != LoadFlags::default() {
            return Err("a preset sets the load: --preset cannot be used with flags of it".to_string());
        }
        let mut values = self.values.clone();
        values.sort_unstable();
        if let Some(pair) = values.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--values has {} twice; --runs says how often each value is run", pair[0]));
        }
        self.read_keeping()?;
        self.axis.map_or(Ok(()), |axis| check_load(&self.load, axis))
    }

    /// Read here and not by clap, whose errors show what was given, and so the password.
    fn read_keeping(&self) -> Result<Keeping, String> {
        let store: Store = self.store.parse()?;
        let durability = match (&store, &self.durability) {
            (Store::Postgres(_), Some(_)) => return Err(NO_DURABILITY_BESIDE_DATABASE.to_string()),
            (Store::Postgres(_), None) => "committed to PostgreSQL".to_string(),
            (Store::Journal, durability) => durability.clone().unwrap_or_else(|| DURABILITY_DEFAULT.to_string()),
        };
        Ok(Keeping { store, durability })
    }

    /// Of flags that were checked.
    pub fn keeping(&self) -> Keeping {
        self.read_keeping().expect("invariant: flags are checked before they are used")
    }

    /// What applies to presets.
    pub fn choice(&self) -> Choice {
        let scale = self.scale.unwrap_or(if self.quick { Scale::Published } else { Scale::Both });
        Choice { runs: self.runs, scale, quick: self.quick, keeping: self.keeping(), seed: self.seed }
    }
}

/// Errors: a flag that says again what the axis varies, or that the mode has no use for.
fn check_load(load: &LoadFlags, axis: Axis) -> Result<(), String> {
    let varied = |flag: &str, given: bool| match given {
        true => Err(format!("--axis {} sets {flag} itself: leave {flag} out", axis.name())),
        false => Ok(()),
    };
    match axis {
        Axis::Cores => varied("--server-cores", load.server_cores.is_some())?,
        Axis::Clients => {
            varied("--connections", load.connections.is_some())?;
            varied("--mode", !matches!(load.mode, None | Some(Mode::PerRequest)))?;
        }
        Axis::Connections => varied("--connections", load.connections.is_some())?,
        Axis::Requests => {
            varied("--requests", load.requests.is_some())?;
            varied("--duration", load.duration.is_some())?;
        }
        Axis::Workers => varied("--workers", load.workers.is_some())?,
        Axis::Depth => varied("--depth", load.depth.is_some())?,
    }
    if (load.depth.is_some() || axis == Axis::Depth) && mode_on(load, axis) != Mode::Pipelined {
        return Err("a depth is for --mode pipelined: the other modes have one request in flight".to_string());
    }
    Ok(())
}

/// The mode in force.
pub fn mode_on(load: &LoadFlags, axis: Axis) -> Mode {
    load.mode.unwrap_or(match axis {
        Axis::Clients => Mode::PerRequest,
        Axis::Depth => Mode::Pipelined,
        Axis::Cores | Axis::Connections | Axis::Requests | Axis::Workers => Mode::Persistent,
    })
}

/// Requests or seconds of a run.
pub fn length(load: &LoadFlags) -> (Option<u64>, Option<f64>) {
    match load.requests {
        Some(requests) => (Some(requests), None),
        None => (None, Some(load.duration.unwrap_or(SECONDS_DEFAULT))),
    }
}

/// A server of the run's own that keeps its market so.
pub fn own_server(cores: Vec<usize>, workers: Option<u64>, keeping: &Keeping, further: &[&str]) -> Target {
    let mut arguments = match keeping.store {
        Store::Journal => vec!["--durability".to_string(), keeping.durability.clone()],
        Store::Postgres(_) => Vec::new(),
    };
    arguments.extend(further.iter().map(|argument| argument.to_string()));
    Target::Own { cores, workers, store: keeping.store.clone(), arguments }
}

/// The command line that repeats a sweep: as it was given, without the folder, which is taken now, and without a database's
/// password; with one preset's name where all were asked for.
pub fn command_line(words: &[String], preset: Option<&str>) -> String {
    let mut line = "pricetime-bench".to_string();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "--out" {
            words.next();
        } else if !word.starts_with("--out=") {
            let word = match preset {
                Some(name) if word == "all" => name.to_string(),
                Some(name) if word == "--preset=all" => format!("--preset={name}"),
                _ => without_password(word),
            };
            line.push(' ');
            line += &quoted(&word);
        }
    }
    line
}

/// The URL of a database as it is shown; any other word as it is.
fn without_password(word: &str) -> String {
    let (flag, value) = match word.strip_prefix("--store=") {
        Some(value) => ("--store=", value),
        None => ("", word),
    };
    match value.parse() {
        Ok(Store::Postgres(url)) => format!("{flag}{url}"),
        Ok(Store::Journal) | Err(_) => word.to_string(),
    }
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=,./:+@".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn preset_names() -> PossibleValuesParser {
    PossibleValuesParser::new(presets::ALL.iter().map(|preset| preset.name).chain(["all"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial::{args, try_args};

    #[test]
    fn what_does_not_go_together_is_refused_with_what_to_do() {
        let refused = [
            ("", "--preset one-shot"),
            ("--axis cores", "--values"),
            ("--axis cores --values 0", "0 is not in 1.."),
            ("--axis cores --values 1,1", "twice"),
            ("--axis cores --values 1 --server-cores 0", "leave --server-cores out"),
            ("--axis requests --values 1 -z 5s", "leave --duration out"),
            ("--axis clients --values 1 --mode pipelined", "leave --mode out"),
            ("--axis depth --values 1 --mode persistent", "--mode pipelined"),
            ("--axis workers --values 1 --depth 4", "--mode pipelined"),
            ("--axis workers --values 1 --client-cores x", "0,2-4"),
            ("--axis workers --values 1 -n 5 -z 5s", "cannot be used with"),
            ("--preset one-shot -c 4", "cannot be used with"),
            ("--preset two-shot", "many-clients"),
            ("--preset all --store postgres", "say `journal`"),
            ("--preset all --store postgres://me@db/x --durability written", "leave --durability out"),
            ("--axis cores --values 1 --scale both", "for presets"),
            ("--axis cores --values 1 --quick", "for presets"),
        ];
        for (line, why) in refused {
            let told = try_args(line).expect_err(line);
            assert!(told.contains(why), "{line}: {told}");
        }
    }

    #[test]
    fn the_mode_follows_the_axis() {
        let mode = |line: &str| {
            let args = args(line);
            mode_on(&args.load, args.axis.expect("an axis"))
        };
        assert_eq!(mode("--axis clients --values 1"), Mode::PerRequest);
        assert_eq!(mode("--axis depth --values 1"), Mode::Pipelined);
        assert_eq!(mode("--axis cores --values 1"), Mode::Persistent);
        assert_eq!(mode("--axis cores --values 1 --mode pipelined"), Mode::Pipelined);
    }

    #[test]
    fn a_run_has_requests_or_a_length() {
        assert_eq!(length(&args("--axis cores --values 1 -n 7").load), (Some(7), None));
        assert_eq!(length(&args("--axis cores --values 1 -z 500ms").load), (None, Some(0.5)));
        assert_eq!(length(&args("--axis cores --values 1").load), (None, Some(5.0)));
    }

    #[test]
    fn the_command_that_repeats_it_names_a_new_folder_and_one_preset() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        let line = command_line(&words("/bin/x sweep --preset all --out d --runs 2"), Some("one-shot"));
        assert_eq!(line, "pricetime-bench sweep --preset one-shot --runs 2");
        let line = command_line(
            &words("x sweep --preset all --store postgres://me:s3cret@db/x?connect_timeout=2 --quick"),
            None,
        );
        assert_eq!(line, "pricetime-bench sweep --preset all --store postgres://me@db:5432/x --quick");
        let line = command_line(&words("x sweep --preset all --store=postgres://me:s3cret@db/x"), None);
        assert_eq!(line, "pricetime-bench sweep --preset all --store=postgres://me@db:5432/x");
        let line = command_line(&words("x sweep --out=d --axis cores --values 1,2 --client-cores $1"), None);
        assert_eq!(line, "pricetime-bench sweep --axis cores --values 1,2 --client-cores '$1'");
    }

    #[test]
    fn quick_presets_stay_at_the_published_size_unless_asked() {
        assert_eq!(args("--preset one-shot").choice().scale, Scale::Both);
        assert_eq!(args("--preset one-shot --quick").choice().scale, Scale::Published);
        assert_eq!(args("--preset one-shot --quick --scale scaled").choice().scale, Scale::Scaled);
    }
}
