//! Fees as rows: the changes of a batch of commands, and the fees in a row of an execution. This file knows neither
//! effects nor how rows are written.

use terms::{AccountIndex, Execution, Fee, FeeRate, Fees, Price, Shares, Side, SymbolIndex, Tier};

use crate::column::table;
use crate::error::StoreError;
use crate::fields::Fields;

/// Placeholders in statements for the fee that one order paid for an execution, and the two columns that replace each:
/// in a row of its own, and in its part of an execution.
const NAMED: [(&str, &str); 3] = [
    ("OF_IMPORTED", "i.share_fee_rate, i.money_fee_rate"),
    ("OF_BUY", "e.buyer_fee_rate, NULL::numeric"),
    ("OF_SELL", "NULL::numeric, e.seller_fee_rate"),
];

/// Replaces the placeholders of a statement.
pub(crate) fn named(sql: &str) -> String {
    NAMED.iter().fold(sql.to_owned(), |sql, (name, columns)| sql.replace(name, columns))
}

/// The changes of a batch. The last of several changes counts.
#[derive(Debug, Default)]
pub(crate) struct FeeRows {
    changed: Vec<FeesRow>,
    moved: Vec<TierRow>,
}

/// The fees that accounts of a tier now pay in a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeesRow {
    pub symbol: SymbolIndex,
    pub tier: Tier,
    pub fees: Option<Fees<AccountIndex>>,
}

/// An account and its new tier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TierRow {
    pub account: AccountIndex,
    pub tier: Tier,
}

impl FeeRows {
    pub(crate) fn change(&mut self, symbol: SymbolIndex, tier: Tier, fees: Option<Fees<AccountIndex>>) {
        self.changed.retain(|row| (row.symbol, row.tier) != (symbol, tier));
        self.changed.push(FeesRow { symbol, tier, fees });
    }

    pub(crate) fn move_to(&mut self, account: AccountIndex, tier: Tier) {
        self.moved.retain(|row| row.account != account);
        self.moved.push(TierRow { account, tier });
    }

    pub(crate) fn changed(&self) -> &[FeesRow] {
        &self.changed
    }

    pub(crate) fn moved(&self) -> &[TierRow] {
        &self.moved
    }

    pub(crate) fn len(&self) -> usize {
        self.changed.len() + self.moved.len()
    }

    pub(crate) fn clear(&mut self) {
        self.changed.clear();
        self.moved.clear();
    }
}

table! { fees: FeesRow, row =>
    symbol: row.symbol,
    tier: row.tier,
    maker: row.fees.map(|fees| fees.maker),
    taker: row.fees.map(|fees| fees.taker),
    account: row.fees.map(|fees| fees.account),
}

table! { account_tiers: TierRow, row => account: row.account, tier: row.tier }

/// A rate as a column: null for zero.
pub(crate) fn column(rate: FeeRate) -> Option<FeeRate> {
    Some(rate).filter(|&rate| rate != FeeRate::ZERO)
}

/// Takes the next two fields of a row: the rates of buyer and seller. Errors: `Unreadable`.
pub(crate) fn rates(fields: &mut Fields<'_>) -> Result<[FeeRate; 2], StoreError> {
    Ok([fields.maybe()?.unwrap_or_default(), fields.maybe()?.unwrap_or_default()])
}

/// Takes the next fields of a row: shares, price and time of one order's execution, and its fee. Errors: `Unreadable`.
pub(crate) fn execution(fields: &mut Fields<'_>) -> Result<Execution, StoreError> {
    let (shares, price, time): (Shares, Price, _) = (fields.next()?, fields.next()?, fields.next()?);
    let [of_shares, of_money] = rates(fields)?;
    let fee = match of_money {
        FeeRate::ZERO => Fee::on(Side::Buy, of_shares),
        rate => Fee::on(Side::Sell, rate),
    };
    Ok(Execution { shares, price, time, fee })
}

/// The share rate and the money rate of a fee, as columns.
pub(crate) fn columns_of(fee: Fee) -> [Option<FeeRate>; 2] {
    let rate = column(fee.rate());
    if fee == Fee::on(Side::Buy, fee.rate()) { [rate, None] } else { [None, rate] }
}

/// Takes the next fields of a row: a symbol, a tier, both rates, and the account. Errors: `Unreadable`.
pub(crate) fn take_fees(fields: &mut Fields<'_>) -> Result<(SymbolIndex, Tier, Fees<AccountIndex>), StoreError> {
    let symbol = SymbolIndex(fields.next()?);
    let tier = fields.next()?;
    let (maker, taker, account) = (fields.next()?, fields.next()?, AccountIndex(fields.next()?));
    Ok((symbol, tier, Fees { maker, taker, account }))
}
