//! The costs of stored bytes on this machine: `cargo bench -p journal`, or with words to run only the parts of these
//! names. Prints medians, and writes into `TMPDIR`.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use journal::{
    Caller, CallerWriter, Disk, Durability, File, Journal, JournalPoint, Options, Storage, encode, read, snapshot,
};
use terms::{
    AccountId, AccountIndex, Command, NewOrder, OrderId, Place, Price, Shares, Side, StateItem, Symbol, SymbolIndex,
    Time,
};

const MIB: u64 = 1 << 20;

/// A part of the bench and its name.
type Part = (&'static str, fn(&Disk));

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [Part; 5] = [
        ("sync", sync_latency),
        ("append", append_latency),
        ("callers", callers),
        ("replay", replay),
        ("snapshot", snapshots),
    ];
    for (name, run) in parts {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            let folder = tempfile::tempdir().unwrap();
            run(&Disk::open(folder.path()).unwrap());
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn percentile_99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}

fn place_order(number: u64) -> Command {
    Command::Place(Place::order(
        AccountId::parse(format!("{:06}", number * 7919 % 100_000).as_bytes()).unwrap(),
        NewOrder::limit(
            Symbol::parse(["SPY", "BTC", "AAPL", "T5asdf"][number as usize % 4].as_bytes()).unwrap(),
            if number.is_multiple_of(2) { Side::Buy } else { Side::Sell },
            Price::from_units(10_000_000_000 + (number * 31 % 1000) as i64 * 1_000_000).unwrap(),
            Shares::from_units((1 + number as i64 % 500) * 100_000_000).unwrap(),
        ),
    ))
}

/// One write and one sync at the end of a file, with its room reserved and without.
fn sync_latency(disk: &Disk) {
    for (words, allocated) in [("file preallocated 64 MiB", 64 * MIB), ("file growing", 0)] {
        let file = disk.create(words).unwrap();
        file.allocate(allocated.max(1)).unwrap();
        file.sync().unwrap();
        let times: Vec<_> = (0..2000)
            .map(|number| {
                let start = Instant::now();
                file.write_all_at(&[7; 1024], number * 1024).unwrap();
                file.sync().unwrap();
                start.elapsed()
            })
            .collect();
        println!(
            "write 1 KiB + fdatasync, {words}: median {:?}, p99 {:?}",
            median(times.clone()),
            percentile_99(times)
        );
    }
}

/// The journal's own append.
fn append_latency(disk: &Disk) {
    for (words, durability) in [("synced", Durability::Synced), ("written", Durability::Written)] {
        for count in [1u32, 50, 1000] {
            let folder = tempfile::tempdir_in(disk.path()).unwrap();
            let disk = Disk::open(folder.path()).unwrap();
            let mut journal = fresh(&disk, durability);
            let mut payload = Vec::new();
            (0..u64::from(count)).for_each(|number| encode(&place_order(number), &mut payload));
            let times: Vec<_> = (0..1000)
                .map(|_| {
                    let start = Instant::now();
                    journal.append(journal.point().sequence.next(), Time(1), count, &payload).unwrap();
                    start.elapsed()
                })
                .collect();
            println!(
                "append a batch of {count} commands ({} bytes), {words}: median {:?}, p99 {:?}",
                payload.len(),
                median(times.clone()),
                percentile_99(times)
            );
        }
    }
}

/// The costs of noting the callers of a batch's commands.
fn callers(_: &Disk) {
    const BATCHES: u32 = 10_000;
    for (count, callers) in [(1u32, 1u64), (50, 50), (1000, 50), (1000, 1000)] {
        let (mut writer, mut bytes, mut payload) = (CallerWriter::default(), 0, Vec::new());
        (0..u64::from(count)).for_each(|number| encode(&place_order(number), &mut payload));
        let start = Instant::now();
        for batch in 0..BATCHES {
            writer.begin(batch == 0);
            (0..u64::from(count)).for_each(|number| writer.add(1, Some(number % callers), || caller(number % callers)));
            bytes += writer.section().len() + 4;
        }
        println!(
            "whose the commands are, batches of {count} by {callers} callers: {:.1} ns and {:.2} bytes a command, which has {:.1}",
            start.elapsed().as_nanos() as f64 / f64::from(BATCHES) / f64::from(count),
            bytes as f64 / f64::from(BATCHES) / f64::from(count),
            payload.len() as f64 / f64::from(count)
        );
    }
}

fn caller(number: u64) -> Caller {
    let (member, key) = (format!("member-{number}"), format!("member-{number}-desk"));
    let session = 1_763_690_000_000_000 + number;
    Caller { protocol: "xml".to_owned(), session, member, key, address: "192.0.2.117".to_owned() }
}

fn fresh(disk: &Disk, durability: Durability) -> Journal<Disk> {
    let options = Options { durability, ..Options::default() };
    Journal::recover(disk.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).unwrap().0
}

/// Decoding all commands of several segments.
fn replay(disk: &Disk) {
    const COMMANDS: u64 = 10_000_000;
    let commands: Vec<_> = (0..100_000).map(place_order).collect();
    for per_batch in [20u64, 500] {
        let folder = tempfile::tempdir_in(disk.path()).unwrap();
        let disk = Disk::open(folder.path()).unwrap();
        let mut journal = fresh(&disk, Durability::Written);
        let mut payload = Vec::new();
        let mut bytes = 0;
        for chunk in commands.chunks(per_batch as usize).cycle().take((COMMANDS / per_batch) as usize) {
            payload.clear();
            chunk.iter().for_each(|command| encode(command, &mut payload));
            bytes += payload.len();
            journal.append(journal.point().sequence.next(), Time(1), per_batch as u32, &payload).unwrap();
        }
        let times: Vec<_> = (0..5)
            .map(|_| {
                let start = Instant::now();
                let mut sum = 0;
                let end = read(&disk, JournalPoint::ZERO, None, &mut |entry| {
                    sum += entry.sequence.0;
                    Ok(())
                });
                assert_eq!((end.unwrap().commands, sum), (COMMANDS, COMMANDS * (COMMANDS + 1) / 2));
                start.elapsed()
            })
            .collect();
        let millions = COMMANDS as f64 / 1e6 / median(times).as_secs_f64();
        println!(
            "replay, {per_batch} commands a batch, {} bytes a command: {millions:.1} M/s",
            bytes as u64 / COMMANDS
        );
    }
}

/// Writing (with its sync and reading back) and reading a snapshot of five million open orders.
fn snapshots(disk: &Disk) {
    const ORDERS: u64 = 5_000_000;
    let item = |number: u64| StateItem::Order {
        order: OrderId(20_000_000 + number),
        account: AccountIndex((number * 7919 % 100_000) as u32),
        symbol: SymbolIndex(number as u32 % 500),
        side: Side::Buy,
        limit: Price::from_units(10_000_000_000 + (number * 31 % 1000) as i64 * 1_000_000).unwrap(),
        open: Shares::from_units((1 + number as i64 % 500) * 100_000_000).unwrap(),
    };
    let (mut writes, mut reads, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..3 {
        let start = Instant::now();
        let info =
            snapshot::write(disk, JournalPoint::ZERO, 0, &mut |sink| (0..ORDERS).for_each(|number| sink(item(number))))
                .unwrap();
        writes.push(start.elapsed());
        let start = Instant::now();
        let head = snapshot::read(disk, &info, &mut |_| Ok(())).unwrap();
        reads.push(start.elapsed());
        assert_eq!(head.items, ORDERS);
        bytes = info.bytes;
    }
    println!(
        "snapshot of {} M orders, {} MB: written, synced and verified in {:?}, read in {:?}",
        ORDERS / 1_000_000,
        bytes / 1_000_000,
        median(writes),
        median(reads)
    );
}
