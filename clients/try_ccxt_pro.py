"""ccxt.pro follows books, trades and its own orders while users of XML trade."""

import asyncio

import ccxt.pro

from market import HTTP, KEY, SECRET, Crowd, XmlUser, soon


def client():
    exchange = ccxt.pro.binance({
        "apiKey": KEY,
        "secret": SECRET,
        "options": {"defaultType": "spot", "fetchMarkets": {"types": ["spot"]}},
    })
    api = exchange.urls["api"]
    api["public"] = api["private"] = f"http://{HTTP}/binance/api/v3"
    api["sapi"] = f"http://{HTTP}/binance/sapi/v1"
    api["ws"]["spot"] = f"ws://{HTTP}/binance/ws"
    api["ws"]["ws-api"]["spot"] = f"ws://{HTTP}/binance/ws-api/v3"
    return exchange


def levels(book):
    return [[list(level[:2]) for level in book[side]] for side in ["bids", "asks"]]


async def follows_the_book(exchange):
    updates = 0
    book = await soon("the book", exchange.watch_order_book("SPY/USD"))
    # What the crowd does last may be in an update that came before the crowd says that it is done: then no other one comes.
    update = None
    with Crowd(1500) as crowd:
        while crowd.busy:
            update = update or asyncio.ensure_future(exchange.watch_order_book("SPY/USD"))
            await asyncio.wait([update], timeout=0.1)
            if update.done():
                # A gap in the numbers of updates would be an exception here.
                book, update = update.result(), None
                updates += 1
    asked = await exchange.fetch_order_book("SPY/USD", 5000)
    while levels(book) != levels(asked):
        update = update or asyncio.ensure_future(exchange.watch_order_book("SPY/USD"))
        book, update = await soon("the followed book to be that of the server", update), None
    if update:
        update.cancel()
    assert updates > 3 and len(asked["bids"]) > 3, (updates, asked)
    print(f"ccxt.pro: after {updates} updates the book is that of the server: {len(asked['bids'])} bids, {len(asked['asks'])} asks")


async def follows_trades(exchange):
    watching = asyncio.ensure_future(exchange.watch_trades("QQQ/USD"))
    seen = []
    other = XmlUser(2)
    # The first trade may come before the subscription: it is made until one is seen.
    while not watching.done():
        other.order(-1, 120, "QQQ")
        other.order(1, 120, "QQQ")
        await asyncio.sleep(0.05)
    seen += await watching
    sold = other.order("-2.5", "119", "QQQ")
    buyer = XmlUser(3).order("2.5", "119", "QQQ")
    while not any(trade["amount"] == 2.5 and trade["price"] == 119 for trade in seen):
        seen = await soon("a trade of XML users", exchange.watch_trades("QQQ/USD"))
    last = [trade for trade in seen if trade["amount"] == 2.5][-1]
    assert last["side"] == "buy", (last, sold, buyer)
    assert all(trade["price"] == 120 for trade in seen if trade["amount"] == 1)
    print(f"ccxt.pro: {len(seen)} trades of XML users")


async def follows_its_own_orders(exchange):
    statuses, balances = [], []

    async def watch_orders():
        while "canceled" not in statuses:
            for order in await exchange.watch_orders("SPY/USD"):
                statuses.append(order["status"])
                orders.append(order)

    async def watch_balance():
        while True:
            balances.append(await exchange.watch_balance())

    orders = []
    watching = [asyncio.ensure_future(watch_orders()), asyncio.ensure_future(watch_balance())]
    # Both of them subscribe before they wait for anything.
    await exchange.authenticate({"type": "spot"})
    placed = await exchange.create_order("SPY/USD", "limit", "buy", 3, 90, {"clientOrderId": "watched"})
    XmlUser(2).order(-1, 90)
    await exchange.cancel_order(placed["id"], "SPY/USD")
    await soon("the order's reports", watching[0])
    while not any(balance["SPY"]["total"] == 501 and balance["USD"]["used"] == 0 for balance in balances if "SPY" in balance):
        await soon("the balance", asyncio.sleep(0.01))
    watching[1].cancel()
    assert orders[-1]["id"] == placed["id"] and orders[-1]["filled"] == 1, orders
    assert orders[-1]["clientOrderId"] == "watched", orders[-1]
    print(f"ccxt.pro: its own order was reported as {', '.join(statuses)}")


async def trades_over_one_connection(exchange):
    other = XmlUser(2)
    quote = other.order(-2, 99)
    bought = await exchange.create_order_ws("SPY/USD", "limit", "buy", 1.5, 99)
    assert (bought["status"], bought["filled"], bought["cost"]) == ("closed", 1.5, 148.5), bought
    market = await exchange.create_order_ws("SPY/USD", "market", "buy", 0.5)
    assert (market["status"], market["filled"]) == ("closed", 0.5), market
    resting = await exchange.create_order_ws("SPY/USD", "limit", "buy", 2, 50.5, {"newClientOrderId": "ws"})
    assert (resting["status"], resting["clientOrderId"]) == ("open", "ws"), resting
    shown = await exchange.fetch_order_ws(resting["id"], "SPY/USD")
    assert (shown["id"], shown["price"], shown["remaining"]) == (resting["id"], 50.5, 2), shown
    assert [order["id"] for order in await exchange.fetch_open_orders_ws("SPY/USD")] == [resting["id"]]
    assert [order["id"] for order in await exchange.fetch_orders_ws("SPY/USD", None, 3)] == [
        bought["id"], market["id"], resting["id"]]
    mine = await exchange.fetch_my_trades_ws("SPY/USD", None, 2)
    assert [(trade["order"], trade["amount"]) for trade in mine] == [(bought["id"], 1.5), (market["id"], 0.5)], mine
    # The client reads the balances of a spot account in no other answer but REST's: they are in `info`.
    held = {balance["asset"]: balance["locked"] for balance in (await exchange.fetch_balance_ws())["info"]["balances"]}
    assert held["USD"] == "101.00000000", held
    assert [trade["amount"] for trade in await exchange.fetch_trades_ws("SPY/USD", None, 2)] == [1.5, 0.5]
    assert (await exchange.fetch_ohlcv_ws("SPY/USD", "1d"))[-1][4] == 99
    canceled = await exchange.cancel_order_ws(resting["id"], "SPY/USD")
    assert canceled["status"] == "canceled", canceled
    for price in [40, 41]:
        await exchange.create_order_ws("SPY/USD", "limit", "buy", 1, price)
    assert len(await exchange.cancel_all_orders_ws("SPY/USD")) == 2
    for refused, call in [
        (ccxt.pro.InsufficientFunds, exchange.create_order_ws("SPY/USD", "limit", "buy", 100_000, 99)),
        (ccxt.pro.OrderNotFound, exchange.cancel_order_ws(resting["id"], "SPY/USD")),
    ]:
        try:
            raise AssertionError(await call)
        except refused:
            pass
    print("ccxt.pro: orders over one connection do as they should")


async def follows_the_rest(exchange):
    other, third = XmlUser(2), XmlUser(3)
    for what, watch in [
        ("candles", lambda: exchange.watch_ohlcv("QQQ/USD", "1m")),
        ("candles of four hours", lambda: exchange.watch_ohlcv("QQQ/USD", "4h")),
        ("ticker", lambda: exchange.watch_ticker("QQQ/USD")),
        ("tickers", lambda: exchange.watch_tickers(["QQQ/USD"])),
        ("all tickers", lambda: exchange.watch_tickers()),
        ("best prices", lambda: exchange.watch_bids_asks(["QQQ/USD"])),
    ]:
        watching = asyncio.ensure_future(watch())
        price = 95
        while not watching.done():
            # Alternating best prices, and a trade each time.
            price = 185 - price
            other.cancel(other.order(-3, price + 20, "QQQ"))
            other.order(-1, price, "QQQ")
            third.order(1, price, "QQQ")
            await asyncio.sleep(0.05)
        got = await soon(what, watching)
        assert got, what
    print("ccxt.pro: candles, ticker and best prices come")


async def main():
    exchange = client()
    try:
        await exchange.load_markets()
        await follows_its_own_orders(exchange)
        await trades_over_one_connection(exchange)
        await follows_the_book(exchange)
        await follows_trades(exchange)
        await follows_the_rest(exchange)
    finally:
        await exchange.close()


asyncio.run(main())
