//! Checks that the rows agree with each other: by the engine made of them, and by sums that PostgreSQL computes.

use engine::{DoneOrders, Engine};
use terms::Money;

use crate::error::StoreError;
use crate::fields::Fields;
use crate::load::{self, Loaded};
use crate::session::Session;
use crate::standing::Standing;

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The standing of the rows.
    pub standing: Standing,
    /// The hash of the state that the rows make, equal to that of an engine that applied the same commands.
    pub state_hash: u64,
    /// The number of orders: all that were ever placed, unless retention removed some.
    pub orders: u64,
    /// The number of executions: all since the rows began, unless retention removed some.
    pub executions: u64,
    /// All money: balances and the holds of open buys.
    pub money: Money,
}

const ACTION: &str = "verify the market";

/// Selects, for orders and for executions: the first one from which all are kept, how many there are from it on, how
/// many before it, and the last one.
const COUNTS: &str = "
    SELECT k.first_order, k.first_execution,
        (SELECT count(*) FROM pricetime.orders WHERE id >= k.first_order),
        (SELECT count(*) FROM pricetime.executions WHERE id >= k.first_execution),
        (SELECT count(*) FROM pricetime.orders WHERE id < k.first_order),
        (SELECT count(*) FROM pricetime.executions WHERE id < k.first_execution),
        (SELECT coalesce(max(id), 0) FROM pricetime.orders), (SELECT coalesce(max(id), 0) FROM pricetime.executions),
        (SELECT coalesce(sum(balance), 0) FROM pricetime.accounts)
            + (SELECT coalesce(sum(o.limit_price * r.open), 0)
               FROM pricetime.resting r JOIN pricetime.present_orders o ON o.id = r.order_id
               LEFT JOIN pricetime.pending p ON p.order_id = r.order_id
               WHERE o.side = 'buy' AND o.kind <> 'market' AND p.order_id IS NULL)
            - (SELECT coalesce(sum(least(o.limit_price * r.open, p.limit_price * r.open)), 0)
               FROM pricetime.links l JOIN pricetime.resting r ON r.order_id = l.order_id
               JOIN pricetime.present_orders o ON o.id = l.order_id JOIN pricetime.present_orders p ON p.id = l.partner
               WHERE o.side = 'buy' AND o.kind <> 'market' AND p.kind <> 'market')
    FROM pricetime.kept k";
/// Selects symbols whose shares differ from those that were issued. Two linked orders hold theirs once, and pending
/// ones none.
const SHARES: &str = "
    SELECT s.name FROM pricetime.symbols s
    LEFT JOIN (SELECT symbol, sum(shares) AS shares FROM pricetime.positions GROUP BY symbol) p ON p.symbol = s.number
    LEFT JOIN (
        SELECT o.symbol, sum(r.open) AS shares FROM pricetime.resting r
        JOIN pricetime.present_orders o ON o.id = r.order_id LEFT JOIN pricetime.links l ON l.partner = r.order_id
        LEFT JOIN pricetime.pending p ON p.order_id = r.order_id
        WHERE o.side = 'sell' AND l.partner IS NULL AND p.order_id IS NULL GROUP BY o.symbol
    ) h ON h.symbol = s.number
    WHERE s.issued <> coalesce(p.shares, 0) + coalesce(h.shares, 0) LIMIT 1";
/// Selects orders whose shares differ from the sum of their open, executed and canceled ones and those taken off.
const ORDERS: &str = "
    SELECT o.id FROM pricetime.present_orders o
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN (
        SELECT id, sum(shares) AS shares FROM (
            SELECT buy_order AS id, shares FROM pricetime.executions
            UNION ALL SELECT sell_order, shares FROM pricetime.executions
            UNION ALL SELECT order_id, shares FROM pricetime.imported_executions
        ) each_side GROUP BY id
    ) e ON e.id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    WHERE o.shares <> coalesce(r.open, 0) + coalesce(c.shares, 0) + coalesce(e.shares, 0) + coalesce(d.shares, 0)
        OR (r.open IS NOT NULL AND c.shares IS NOT NULL)
    LIMIT 1";
/// Selects executions that their orders could not have agreed to. The aggressor is the younger order, unless it waited
/// for a price, for another order, or for its turn; none of these executes with an order that is being placed. The
/// price is the limit that the other order had then, or, if both rested, the auction price. Removed rows are no fault.
const EXECUTIONS: &str = "
    SELECT e.id FROM pricetime.executions e
    LEFT JOIN pricetime.orders b ON b.id = e.buy_order LEFT JOIN pricetime.orders o ON o.id = e.sell_order
    LEFT JOIN pricetime.amended_orders c ON c.order_id = b.id LEFT JOIN pricetime.amended_orders p ON p.order_id = o.id
    CROSS JOIN LATERAL (
        SELECT CASE WHEN c.kind IS NULL THEN b.limit_price ELSE LIMIT_OF_BUY END,
            CASE WHEN p.kind IS NULL THEN o.limit_price ELSE LIMIT_OF_SELL END
    ) l (buy, sell)
    WHERE b.side <> 'buy' OR o.side <> 'sell' OR b.symbol <> o.symbol OR e.price > l.buy OR e.price < l.sell
        OR e.symbol <> b.symbol OR e.buyer <> b.account OR e.seller <> o.account
        OR (CASE e.aggressor WHEN 'buy' THEN b.trigger_price IS NULL AND b.id < e.sell_order AND o.sequence = e.sequence
            ELSE o.trigger_price IS NULL AND o.id < e.buy_order AND b.sequence = e.sequence END AND NOT EXISTS (SELECT FROM pricetime.notes n
            WHERE n.order_id = CASE e.aggressor WHEN 'buy' THEN b.id ELSE o.id END AND n.kind = 'released'))
        OR (e.price <> CASE e.aggressor WHEN 'buy' THEN l.sell ELSE l.buy END
            AND NOT (coalesce(b.sequence, 0) < e.sequence AND coalesce(o.sequence, 0) < e.sequence))
    LIMIT 1";
/// The limit that an order had at execution `e`: that of its last amendment before, or the one with which it was
/// placed.
const LIMIT_THEN: &str = "coalesce(
    (SELECT n.new_limit FROM pricetime.notes n
        WHERE n.order_id = WHICH.id AND n.new_limit IS NOT NULL AND n.next_execution <= e.id
        ORDER BY n.sequence DESC, n.place DESC LIMIT 1),
    WHICH.limit_price)";
/// Selects cancellations with another account than the order's, or because of a deadline (4) that had not passed.
const CANCELLATIONS: &str = "
    SELECT c.order_id FROM pricetime.cancellations c JOIN pricetime.present_orders o ON o.id = c.order_id
    WHERE c.account <> o.account OR (c.why = 4 AND (o.until > c.time) IS NOT FALSE) LIMIT 1";
/// Selects notes with another account than the order's, of a trigger of an order that still waits, of a link that the
/// other order does not have, as far as that is kept.
const NOTES: &str = "
    SELECT n.order_id FROM pricetime.notes n JOIN pricetime.orders o ON o.id = n.order_id
    LEFT JOIN pricetime.waiting w ON w.order_id = n.order_id
    WHERE n.account <> o.account OR (n.kind = 'triggered' AND ((w.order_id IS NOT NULL AND w.delayed IS NULL) OR o.trigger_price IS NULL))
        OR (n.kind = 'linked' AND n.partner >= (SELECT first_order FROM pricetime.kept) AND NOT EXISTS (
            SELECT FROM pricetime.notes m WHERE m.order_id = n.partner AND m.partner = n.order_id
        ))
    LIMIT 1";
/// Selects orders whose last amendment does not end with the shares that they have, or does not give the terms with
/// which they were placed again; and amended orders without one.
const AMENDED: &str = "
    WITH last AS MATERIALIZED (
        SELECT DISTINCT ON (n.order_id) n.order_id, n.shares_after FROM pricetime.notes n WHERE n.kind = 'amended'
        ORDER BY n.order_id, n.sequence DESC, n.place DESC
    ), anew AS MATERIALIZED (
        SELECT DISTINCT ON (n.order_id) n.* FROM pricetime.notes n WHERE n.kind = 'amended' AND NOT n.keeps_place
        ORDER BY n.order_id, n.sequence DESC, n.place DESC
    )
    SELECT l.order_id FROM last l JOIN pricetime.present_orders o ON o.id = l.order_id
        LEFT JOIN pricetime.reductions d ON d.order_id = l.order_id
        WHERE l.shares_after <> o.shares - coalesce(d.shares, 0)
    UNION ALL SELECT coalesce(m.order_id, n.order_id) FROM anew n
        FULL JOIN (SELECT * FROM pricetime.amended_orders WHERE sequence IS NOT NULL) m ON m.order_id = n.order_id
        WHERE (n.sequence, n.new_kind, n.new_limit, n.shares_after, n.price, n.from_below)
            IS DISTINCT FROM (m.sequence, m.kind, m.limit_price, m.shares, m.trigger_price, m.trigger_from_below)
    UNION ALL SELECT m.order_id FROM pricetime.amended_orders m LEFT JOIN last l ON l.order_id = m.order_id
        WHERE l.order_id IS NULL
    LIMIT 1";
/// Selects waiting orders that are not open, that have executions although they were never active, or whose trigger is
/// not theirs; trailing stops that cannot be; and orders under way behind another one.
const WAITING: &str = "
    SELECT w.order_id FROM pricetime.waiting w
    LEFT JOIN pricetime.present_orders o ON o.id = w.order_id
    LEFT JOIN pricetime.resting r ON r.order_id = w.order_id
    LEFT JOIN pricetime.symbols s ON s.number = w.symbol
    LEFT JOIN pricetime.reductions d ON d.order_id = w.order_id
    LEFT JOIN pricetime.trails t ON t.order_id = w.order_id
    WHERE r.open IS NULL OR (o.shares - coalesce(d.shares, 0) IS DISTINCT FROM r.open AND w.delayed IS DISTINCT FROM 'under_way'
            AND (w.delayed IS NULL OR (o.placed_again IS NULL AND o.sequence IS NOT NULL)))
        OR o.symbol IS DISTINCT FROM w.symbol OR s.number IS NULL
        OR (o.trigger_price IS DISTINCT FROM w.trigger_price AND t.order_id IS NULL)
        OR o.trigger_from_below IS DISTINCT FROM w.from_below
        OR (o.kind <> 'market' AND w.goes_to <> o.limit_price)
        OR (w.follows AND (t.order_id IS NULL OR w.reached_sequence IS NOT NULL OR w.from_below <> (o.side = 'buy')))
        OR (r.queued_sequence > 0 AND w.delayed IS NULL AND o.placed_again IS NULL AND (t.order_id IS NULL OR w.follows) AND NOT EXISTS (
            SELECT FROM pricetime.notes n WHERE n.order_id = w.order_id AND n.kind = 'released'
        ))
    LIMIT 1";
/// Selects pending orders that are not open, that have another account or symbol than their working orders, or that
/// notes call released.
const PENDING: &str = "
    SELECT p.order_id FROM pricetime.pending p
    LEFT JOIN pricetime.orders o ON o.id = p.order_id
    LEFT JOIN pricetime.resting r ON r.order_id = p.order_id
    LEFT JOIN pricetime.orders w ON w.id = p.working
    LEFT JOIN pricetime.waiting t ON t.order_id = p.order_id
    WHERE o.shares IS DISTINCT FROM r.open OR t.order_id IS NOT NULL OR r.queued_sequence > 0
        OR (p.working >= (SELECT first_order FROM pricetime.kept) AND (w.account IS DISTINCT FROM o.account
            OR coalesce(w.symbol, o.symbol) IS DISTINCT FROM o.symbol))
    LIMIT 1";

/// Selects references to missing rows: the hot tables have no foreign keys.
const REFERENCES: &str = "
    SELECT o.id FROM pricetime.orders o LEFT JOIN pricetime.accounts a ON a.number = o.account
        LEFT JOIN pricetime.symbols s ON s.number = o.symbol
        WHERE a.number IS NULL OR (o.symbol IS NOT NULL AND s.number IS NULL)
    UNION ALL SELECT r.order_id FROM pricetime.resting r LEFT JOIN pricetime.orders o ON o.id = r.order_id WHERE o.id IS NULL
    UNION ALL SELECT c.order_id FROM pricetime.cancellations c LEFT JOIN pricetime.orders o ON o.id = c.order_id
        WHERE o.id IS NULL
    UNION ALL SELECT n.order_id FROM pricetime.notes n LEFT JOIN pricetime.orders o ON o.id = n.order_id WHERE o.id IS NULL
    UNION ALL SELECT e.buy_order FROM pricetime.executions e LEFT JOIN pricetime.orders o ON o.id = e.buy_order
        WHERE o.id IS NULL AND e.buy_order >= (SELECT first_order FROM pricetime.kept)
    UNION ALL SELECT e.sell_order FROM pricetime.executions e LEFT JOIN pricetime.orders o ON o.id = e.sell_order
        WHERE o.id IS NULL AND e.sell_order >= (SELECT first_order FROM pricetime.kept)
    UNION ALL SELECT d.order_id FROM pricetime.reductions d LEFT JOIN pricetime.orders o ON o.id = d.order_id WHERE o.id IS NULL
    UNION ALL SELECT m.order_id FROM pricetime.amended_orders m LEFT JOIN pricetime.orders o ON o.id = m.order_id WHERE o.id IS NULL
    UNION ALL SELECT b.order_id FROM pricetime.icebergs b LEFT JOIN pricetime.orders o ON o.id = b.order_id WHERE o.id IS NULL
    UNION ALL SELECT t.order_id FROM pricetime.trails t LEFT JOIN pricetime.orders o ON o.id = t.order_id WHERE o.id IS NULL
    UNION ALL SELECT i.order_id FROM pricetime.imported_executions i LEFT JOIN pricetime.orders o ON o.id = i.order_id
        WHERE o.id IS NULL
    LIMIT 1";
/// Selects executions of two orders that executed with each other before, where both are kept and neither is an
/// iceberg, or was amended and may have been one. (In an auction, an iceberg that is the younger order may execute with
/// the other one again and again, too.)
const TWICE: &str = "
    SELECT max(e.id) FROM pricetime.executions e
    JOIN pricetime.orders o ON o.id = CASE e.aggressor WHEN 'buy' THEN e.sell_order ELSE e.buy_order END
    JOIN pricetime.orders a ON a.id = CASE e.aggressor WHEN 'buy' THEN e.buy_order ELSE e.sell_order END
    LEFT JOIN pricetime.icebergs i ON i.order_id IN (o.id, a.id)
    LEFT JOIN pricetime.amended_orders m ON m.order_id IN (o.id, a.id)
    WHERE i.order_id IS NULL AND m.order_id IS NULL GROUP BY e.buy_order, e.sell_order HAVING count(*) > 1 LIMIT 1";

/// Selects client order ids whose order is missing or another account's, or was done at another time.
const CLIENT_ORDERS: &str = "
    SELECT c.order_id FROM pricetime.client_orders c
    LEFT JOIN pricetime.orders o ON o.id = c.order_id
    LEFT JOIN pricetime.resting r ON r.order_id = c.order_id
    LEFT JOIN (
        SELECT id, max(time) AS time FROM (
            SELECT buy_order AS id, time FROM pricetime.executions
            UNION ALL SELECT sell_order, time FROM pricetime.executions
            UNION ALL SELECT order_id, time FROM pricetime.imported_executions
            UNION ALL SELECT order_id, time FROM pricetime.cancellations
        ) changes GROUP BY id
    ) last ON last.id = c.order_id
    WHERE o.id IS NULL OR o.account <> c.account
        OR c.done IS DISTINCT FROM CASE WHEN r.order_id IS NULL THEN last.time END
    LIMIT 1";

/// Verifies everything at one moment; returns the engine, too.
pub(crate) async fn verify(session: &Session) -> Result<(Verified, Engine), StoreError> {
    load::begin_snapshot(session).await?;
    let Loaded { engine, standing } = load::load_here(session, 0, DoneOrders::Drop).await?;
    // Comparing whole tables is never right one row at a time, whatever the statistics of a young table say.
    session.run("SET LOCAL enable_nestloop = off", ACTION).await?;
    let limit_of = |order: &str| LIMIT_THEN.replace("WHICH", order);
    let executions = EXECUTIONS.replace("LIMIT_OF_BUY", &limit_of("b")).replace("LIMIT_OF_SELL", &limit_of("o"));
    for (sql, what) in [
        (REFERENCES, "an account, a symbol or the order itself is missing for order"),
        (SHARES, "positions and open sells are not the shares issued of symbol"),
        (ORDERS, "what is open, executed, canceled and taken off does not come to the shares of order"),
        (TWICE, "both orders had executed with each other before execution"),
        (executions.as_str(), "the two orders do not agree with execution"),
        (CANCELLATIONS, "whose it is or why it ended is not what cancellations says of order"),
        (NOTES, "whose it is, that it waits or what it is linked with is not what notes says of order"),
        (AMENDED, "what its last amendment says is not what there is of order"),
        (PENDING, "open, and of the account and symbol of its working order, is not what pending says of order"),
        (WAITING, "open and as it was placed is not what waiting says of order"),
        (CLIENT_ORDERS, "whose it is or when it was done is not what client_orders says of order"),
    ] {
        let wrong = session.client.query_opt(sql, &[]).await.map_err(|error| session.error(&error, ACTION))?;
        if let Some(row) = wrong {
            let which = row.try_get::<_, i64>(0).map_or_else(
                |_| Fields::of(&row).next::<&str>().map(str::to_owned).unwrap_or_default(),
                |number| number.to_string(),
            );
            return Err(StoreError::Inconsistent(format!("{what} {which}")));
        }
    }
    let row = session.client.query_one(COUNTS, &[]).await.map_err(|error| session.error(&error, ACTION))?;
    session.run("COMMIT", ACTION).await?;
    let mut fields = Fields::of(&row);
    let mut pair = || Ok::<[u64; 2], StoreError>([fields.next()?, fields.next()?]);
    let [firsts, counts, befores, lasts] = [pair()?, pair()?, pair()?, pair()?];
    let money = fields.next::<Money>()?;
    let nexts = [standing.head.next_order.0, standing.head.next_execution];
    for (at, what) in ["orders", "executions"].into_iter().enumerate() {
        let (first, count, last, next) = (firsts[at], counts[at], lasts[at], nexts[at]);
        if first.checked_add(count) != Some(next) || last.max(first - 1) + 1 != next {
            let fault =
                format!("there are {count} {what} from {first} on, the last is {last}, and the next was to be {next}");
            return Err(StoreError::Inconsistent(fault));
        }
    }
    let [orders, executions] = [counts[0] + befores[0], counts[1] + befores[1]];
    Ok((Verified { state_hash: engine.state_hash(), standing, orders, executions, money }, engine))
}
