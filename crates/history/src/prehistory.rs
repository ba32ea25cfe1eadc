//! Prehistory: the facts from before the history's begin, if it does not begin with the market. There are two files:
//! the orders that were open then, with records in which they end, and the known facts of older orders (account,
//! canceled shares, executions so far). The first is changed in place, the second never. This file does not know where
//! the orders come from.

use std::io;
use std::sync::Arc;

use journal::{File, decode_order, encode_order};
use terms::{
    AccountId, AccountIndex, ClientOrderId, DoneOrder, Executed, Execution, MarketState, NewOrder, OrderId, Sequence,
    StateItem, Time,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::carried::{BEGUN, Carried};
use crate::checkpoint::Begun;
use crate::codec::{Put, Take};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::record::{self, PastOrder, order_record};
use crate::table::Sizes;

pub(crate) const OLD_NAME: &str = "earlier-orders.tab";
pub(crate) const BEGUN_NAME: &str = "earlier-open.tab";

/// The magic number, whose last byte is the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"pt-done\x01");
/// The number of bytes at which a block ends. A longer order has a block of its own.
const BLOCK_BYTES: usize = 4096;
const WRITTEN_AT_ONCE: usize = 64 * 1024;
/// Bytes in front of an order in a block: its id and its length.
const ORDER_HEAD_BYTES: usize = 12;
/// The length of an index entry: the first order, the offset of the block, its length, its checksum.
const ENTRY_BYTES: usize = 24;
/// The length of the trailer: the magic number, the numbers of blocks and orders, and the checksum of these and of the
/// index.
const TRAILER_BYTES: u64 = 32;

/// A function that visits all known done orders, by id.
pub(crate) type EachDone<'a> =
    dyn FnMut(&mut dyn FnMut(DoneOrder) -> Result<(), HistoryError>) -> Result<(), HistoryError> + 'a;

#[derive(Debug)]
pub(crate) struct Prehistory {
    pub(crate) begun: Carried,
    pub(crate) old: OldOrders,
}

/// The known facts of older orders.
#[derive(Debug)]
pub(crate) struct OldOrders {
    file: Arc<dyn File>,
    index: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    first: OrderId,
    at: u64,
    length: u32,
    sum: u32,
}

/// An open order of a market.
struct OpenOrder {
    order: OrderId,
    account: AccountIndex,
    placed: NewOrder<terms::SymbolIndex>,
    client_id: Option<ClientOrderId>,
    executions: Vec<Execution>,
    /// The sum of its executions, if there are more than the engine keeps.
    elsewhere: Option<Executed>,
}

impl OpenOrder {
    fn placed(order: OrderId, account: AccountIndex, placed: NewOrder<terms::SymbolIndex>) -> OpenOrder {
        OpenOrder { order, account, placed, client_id: None, executions: Vec::new(), elsewhere: None }
    }
}

impl Prehistory {
    /// Writes the files for a history that begins at `market`: its open orders, and the done ones, by id. Returns the
    /// number of open orders.
    pub(crate) fn write(
        folder: &Arc<dyn Folder>,
        market: &dyn MarketState,
        done: &mut EachDone<'_>,
        sizes: &Sizes,
    ) -> Result<u64, HistoryError> {
        for name in [BEGUN_NAME, OLD_NAME] {
            folder.remove(name).map_err(failed(name))?;
        }
        let (accounts, open) = open_orders(market);
        // The file is made even if it stays empty.
        folder.open(BEGUN_NAME).map_err(failed(BEGUN_NAME))?;
        let mut begun = Carried::open_as(&BEGUN, folder, 0, sizes)?;
        for OpenOrder { order, account, placed, client_id, .. } in &open {
            let past = PastOrder::placed(*order, *account, *placed, Time::ZERO, Sequence::ZERO);
            let mut record = order_record(order.0, &past, None);
            if let Some(id) = client_id {
                record::name(order.0, &mut record, *id);
            }
            begun.append(order.0, &record)?;
        }
        begun.sync()?;
        let mut writer = Writer::new(folder.open(OLD_NAME).map_err(failed(OLD_NAME))?.into());
        let open_order = |order: OrderId| open.binary_search_by_key(&order, |open| open.order).ok().map(|at| &open[at]);
        // An open order that is listed without executions has lost them: the snapshot has only their sum.
        let has_executed = |open: &&OpenOrder| !open.executions.is_empty() || open.elsewhere.is_some();
        let mut known = open.iter().filter(has_executed).map(|open| DoneOrder {
            order: open.order,
            account: accounts[open.account.0 as usize],
            canceled: None,
            executions: open.executions.clone(),
        });
        let mut next = known.next();
        done(&mut |done: DoneOrder| {
            while let Some(open) = next.take_if(|open| open.order < done.order) {
                writer.add(&open)?;
                next = known.next();
            }
            match open_order(done.order).map(|open| open.elsewhere) {
                None => writer.add(&done),
                // An order that is open again, because its command comes again, may have too many facts here.
                Some(None) => Ok(()),
                Some(Some(executed)) => {
                    next = known.next();
                    let mut executions = done.executions;
                    executions.truncate(usize::try_from(executed.executions).unwrap_or(usize::MAX));
                    if Executed::of(&executions) != executed {
                        executions.clear();
                    }
                    writer.add(&DoneOrder { canceled: None, executions, ..done })
                }
            }
        })?;
        next.into_iter().chain(known).try_for_each(|open| writer.add(&open))?;
        writer.finish()?;
        folder.sync().map_err(crate::error::in_folder)?;
        Ok(open.len() as u64)
    }

    /// Opens the two files that the checkpoint counts. Errors: a file is missing or too short.
    pub(crate) fn open(
        folder: &Arc<dyn Folder>,
        counted: Begun,
        sizes: &Sizes,
    ) -> Result<Option<Prehistory>, HistoryError> {
        let Begun::Orders(orders) = counted else { return Ok(None) };
        folder.existing(BEGUN_NAME).map_err(unopened(BEGUN_NAME))?;
        Ok(Some(Prehistory {
            begun: Carried::open_as(&BEGUN, folder, orders, sizes)?,
            old: OldOrders::open(&**folder)?,
        }))
    }
}

/// The accounts of a market, and its open orders by id.
fn open_orders(market: &dyn MarketState) -> (Vec<AccountId>, Vec<OpenOrder>) {
    let (mut accounts, mut open) = (Vec::new(), Vec::<OpenOrder>::new());
    let mut named = Vec::new();
    market.export(&mut |item| match item {
        StateItem::Account { id, .. } => accounts.push(id),
        StateItem::Order { order, account, symbol, side, limit, open: shares } => {
            open.push(OpenOrder::placed(order, account, NewOrder::limit(symbol, side, limit, shares)));
        }
        StateItem::Kind { kind, self_trade } => {
            let order = open.last_mut().expect("invariant: a kind follows its order");
            (order.placed.kind, order.placed.self_trade) = (kind, self_trade);
        }
        StateItem::Execution(execution) => {
            let order = open.last_mut().expect("invariant: an execution follows its order");
            order.placed.shares = order.placed.shares.plus(execution.shares);
            order.executions.push(execution);
        }
        StateItem::Executed(executed) => {
            let order = open.last_mut().expect("invariant: what its executions come to follows its order");
            order.placed.shares = order.placed.shares.plus(executed.shares);
            order.elsewhere = Some(executed);
        }
        StateItem::Delayed { order, account, placed, .. } => {
            open.push(OpenOrder::placed(order, account, placed.as_placed()));
        }
        StateItem::Stop { order, account, placed, .. } | StateItem::Pending { order, account, placed, .. } => {
            open.push(OpenOrder::placed(order, account, placed));
        }
        StateItem::ClientOrder { order, id, done: None, .. } => named.push((order, id)),
        StateItem::Head { .. }
        | StateItem::Symbol { .. }
        | StateItem::Position { .. }
        | StateItem::Watch { .. }
        | StateItem::Deadline { .. }
        | StateItem::Link { .. }
        | StateItem::Rules { .. }
        | StateItem::Iceberg { .. }
        | StateItem::Fees { .. }
        | StateItem::Tier { .. }
        | StateItem::Group { .. }
        | StateItem::AccountStatus { .. }
        | StateItem::Kill { .. }
        | StateItem::Protection { .. }
        | StateItem::Calendar { .. }
        | StateItem::Limits { .. }
        | StateItem::Message(_)
        | StateItem::PhaseChanged { .. }
        | StateItem::Phase { .. }
        | StateItem::ClientOrder { .. } => {}
    });
    open.sort_unstable_by_key(|open| open.order);
    for (order, id) in named {
        if let Ok(at) = open.binary_search_by_key(&order, |open| open.order) {
            open[at].client_id = Some(id);
        }
    }
    (accounts, open)
}

struct Writer {
    file: Arc<dyn File>,
    index: Vec<u8>,
    blocks: u64,
    orders: u64,
    /// The block that is being filled, and its first order.
    block: Vec<u8>,
    first: OrderId,
    waiting: Vec<u8>,
    position: u64,
}

impl Writer {
    fn new(file: Arc<dyn File>) -> Writer {
        let (index, block, waiting) = (Vec::new(), Vec::new(), Vec::new());
        Writer { file, index, blocks: 0, orders: 0, block, first: OrderId(0), waiting, position: 0 }
    }

    fn add(&mut self, done: &DoneOrder) -> Result<(), HistoryError> {
        let mut bytes = Vec::new();
        encode_order(done, &mut bytes);
        if self.block.len() + bytes.len() > BLOCK_BYTES {
            self.end_block()?;
        }
        if self.block.is_empty() {
            self.first = done.order;
        }
        Put(&mut self.block).u64(done.order.0).u32(bytes.len() as u32);
        self.block.extend_from_slice(&bytes);
        self.orders += 1;
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), HistoryError> {
        if self.block.is_empty() {
            return Ok(());
        }
        let at = self.position + self.waiting.len() as u64;
        let sum = xxh3_64_with_seed(&self.block, self.first.0) as u32;
        Put(&mut self.index).u64(self.first.0).u64(at).u32(self.block.len() as u32).u32(sum);
        self.blocks += 1;
        self.waiting.append(&mut self.block);
        if self.waiting.len() >= WRITTEN_AT_ONCE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), HistoryError> {
        self.file.write_all_at(&self.waiting, self.position).map_err(failed(OLD_NAME))?;
        self.position += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), HistoryError> {
        self.end_block()?;
        self.write()?;
        Put(&mut self.index).u64(MAGIC).u64(self.blocks).u64(self.orders);
        let sum = xxh3_64(&self.index);
        Put(&mut self.index).u64(sum);
        self.file.write_all_at(&self.index, self.position).and_then(|()| self.file.sync()).map_err(failed(OLD_NAME))
    }
}

impl OldOrders {
    pub(crate) fn open(folder: &dyn Folder) -> Result<OldOrders, HistoryError> {
        let file: Arc<dyn File> = folder.existing(OLD_NAME).map_err(unopened(OLD_NAME))?.into();
        let damaged = |fault: &str| HistoryError::Damaged { name: OLD_NAME.to_owned(), fault: fault.to_owned() };
        let length = file.len().map_err(failed(OLD_NAME))?;
        let mut trailer = [0; TRAILER_BYTES as usize];
        let at = length.checked_sub(TRAILER_BYTES).ok_or_else(|| damaged("it is too short"))?;
        file.read_exact_at(&mut trailer, at).map_err(failed(OLD_NAME))?;
        let mut take = Take(&trailer);
        let (magic, blocks) = (take.u64(), take.u64());
        let index_bytes = blocks.and_then(|blocks| blocks.checked_mul(ENTRY_BYTES as u64)).filter(|bytes| *bytes <= at);
        let (Some(MAGIC), Some(index_bytes)) = (magic, index_bytes) else {
            return Err(damaged("its end is not what was written"));
        };
        let mut bytes = vec![0; (index_bytes + TRAILER_BYTES) as usize];
        file.read_exact_at(&mut bytes, at - index_bytes).map_err(failed(OLD_NAME))?;
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return Err(damaged("the checksum of its index is wrong"));
        }
        let entries = body[..index_bytes as usize].as_chunks::<ENTRY_BYTES>().0.iter();
        let index: Option<Vec<Block>> = entries.map(Block::decode).collect();
        Ok(OldOrders { file, index: index.ok_or_else(|| damaged("its index is too short"))? })
    }

    /// Finds the known facts of an order.
    pub(crate) fn find(&self, order: OrderId) -> Result<Option<DoneOrder>, HistoryError> {
        let Some(at) = self.index.partition_point(|block| block.first <= order).checked_sub(1) else { return Ok(None) };
        let bytes = self.read(at)?;
        let mut left = &bytes[..];
        while !left.is_empty() {
            let (id, order_bytes, rest) = split(left).ok_or_else(|| self.damaged(at))?;
            if id == order {
                return decode_order(id, order_bytes).map(Some).map_err(|_| self.damaged(at));
            }
            left = rest;
        }
        Ok(None)
    }

    /// Reads everything, and passes damage to `fault`.
    pub(crate) fn verify(&self, fault: &mut dyn FnMut(HistoryError)) -> Result<(), HistoryError> {
        for at in 0..self.index.len() {
            match self.read(at) {
                Ok(_) => {}
                Err(error) if error.is_damage() => fault(error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&self, at: usize) -> Result<Vec<u8>, HistoryError> {
        let Block { first, at: offset, length, sum } = self.index[at];
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, offset).map_err(failed(OLD_NAME))?;
        if xxh3_64_with_seed(&bytes, first.0) as u32 != sum {
            return Err(self.damaged(at));
        }
        Ok(bytes)
    }

    fn damaged(&self, at: usize) -> HistoryError {
        HistoryError::Block { name: OLD_NAME.to_owned(), block: at as u64, byte: self.index[at].at }
    }
}

impl Block {
    fn decode(entry: &[u8; ENTRY_BYTES]) -> Option<Block> {
        let mut take = Take(entry);
        Some(Block { first: OrderId(take.u64()?), at: take.u64()?, length: take.u32()?, sum: take.u32()? })
    }
}

/// The first order of a block, its bytes, and the rest.
fn split(block: &[u8]) -> Option<(OrderId, &[u8], &[u8])> {
    let mut take = Take(block);
    let (order, length) = (OrderId(take.u64()?), take.u32()? as usize);
    let rest = block.get(ORDER_HEAD_BYTES..)?;
    Some((order, rest.get(..length)?, &rest[length..]))
}

fn failed(name: &'static str) -> impl FnOnce(io::Error) -> HistoryError {
    move |source| HistoryError::Io { name: name.to_owned(), source }
}

/// The error for a file that cannot be opened. A missing file is reported as one that the history lacks.
fn unopened(name: &'static str) -> impl FnOnce(io::Error) -> HistoryError {
    move |source| {
        if source.kind() == io::ErrorKind::NotFound {
            return HistoryError::Damaged { name: name.to_owned(), fault: "it is missing".to_owned() };
        }
        failed(name)(source)
    }
}
