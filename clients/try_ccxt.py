"""ccxt, its Binance class with nothing but the addresses changed, trades against a user of XML."""

import ccxt

from market import HTTP, KEY, SECRET, XmlUser, refused


def client(key=KEY, secret=SECRET):
    exchange = ccxt.binance({
        "apiKey": key,
        "secret": secret,
        "options": {"defaultType": "spot", "fetchMarkets": {"types": ["spot"]}},
    })
    for api in ["public", "private"]:
        exchange.urls["api"][api] = f"http://{HTTP}/binance/api/v3"
    exchange.urls["api"]["v1"] = f"http://{HTTP}/binance/api/v1"
    exchange.urls["api"]["sapi"] = f"http://{HTTP}/binance/sapi/v1"
    return exchange


exchange, other = client(), XmlUser(2)

# Markets.
markets = exchange.load_markets()
market = markets["SPY/USD"]
assert (market["id"], market["base"], market["quote"], market["active"]) == ("SPYUSD", "SPY", "USD", True), market
assert market["precision"]["price"] == market["precision"]["amount"] == 1e-8, market["precision"]
assert exchange.price_to_precision("SPY/USD", 145.67) == "145.67"
assert not market["margin"] and market["limits"]["market"] == {"min": 1e-8, "max": 92233720368.54776}, market
assert exchange.fetch_status()["status"] == "ok"
assert (exchange.fetch_trading_fee("SPY/USD")["taker"], exchange.fetch_trading_fees()["QQQ/USD"]["maker"]) == (0, 0)
currency = exchange.currencies["SPY"]
assert (currency["name"], currency["networks"]) == ("SPY", {}), currency
assert abs(exchange.fetch_time() - exchange.milliseconds()) < 60_000

# The book is that of XML.
other.order(-10, "145.67")
other.order(-5, "145.68000001")
other.order(7, "140.5")
book = exchange.fetch_order_book("SPY/USD")
assert book["asks"] == [[145.67, 10.0], [145.68000001, 5.0]] and book["bids"] == [[140.5, 7.0]], book
assert book["nonce"] > 0

# Balance.
balance = exchange.fetch_balance()
assert balance["USD"] == {"free": 100000.0, "used": 0.0, "total": 100000.0}, balance["USD"]
assert balance["SPY"] == {"free": 500.0, "used": 0.0, "total": 500.0}, balance["SPY"]

# An order that executes at once, at the price of the order that was there first.
bought = exchange.create_limit_buy_order("SPY/USD", 4, 150)
assert (bought["status"], bought["filled"], bought["average"], bought["cost"]) == ("closed", 4.0, 145.67, 582.68), bought
assert [(fill["price"], fill["amount"]) for fill in bought["trades"]] == [(145.67, 4.0)], bought["trades"]

# One that rests, and that a user of XML sells into.
resting = exchange.create_order("SPY/USD", "limit", "buy", 3.5, 141.25, {"clientOrderId": "mine-1"})
assert (resting["status"], resting["filled"], resting["clientOrderId"]) == ("open", 0.0, "mine-1"), resting
assert exchange.fetch_balance()["USD"]["used"] == 3.5 * 141.25
sold = other.order("-1.25", "141")
assert '<executed shares="1.25" price="141.25"' in other.query(sold), other.query(sold)
[still] = exchange.fetch_open_orders("SPY/USD")
assert (still["id"], still["filled"], still["remaining"], still["status"]) == (resting["id"], 1.25, 2.25, "open"), still
assert exchange.fetch_order(resting["id"], "SPY/USD")["filled"] == 1.25
by_name = exchange.fetch_order(None, "SPY/USD", {"clientOrderId": "mine-1"})
assert by_name["id"] == resting["id"], by_name

# Canceling.
canceled = exchange.cancel_order(resting["id"], "SPY/USD")
assert (canceled["status"], canceled["filled"], canceled["remaining"]) == ("canceled", 1.25, 2.25), canceled
assert exchange.fetch_order(resting["id"], "SPY/USD")["status"] == "canceled"
assert exchange.fetch_open_orders("SPY/USD") == []
refused(ccxt.OrderNotFound, lambda: exchange.cancel_order(resting["id"], "SPY/USD"))
own = exchange.create_limit_buy_order("SPY/USD", 1, 141.25)
met = exchange.create_limit_sell_order("SPY/USD", 1, 141.25, {"selfTradePreventionMode": "EXPIRE_TAKER"})
assert (met["status"], met["filled"], met["info"]["status"]) == ("expired", 0.0, "EXPIRED_IN_MATCH"), met
exchange.cancel_order(own["id"], "SPY/USD")
sells = [exchange.create_limit_sell_order("SPY/USD", 1, 200 + step) for step in range(3)]
assert [order["id"] for order in exchange.fetch_open_orders("SPY/USD")] == [order["id"] for order in sells]
assert len(exchange.cancel_all_orders("SPY/USD")) == 3
assert len(exchange.fetch_orders("SPY/USD")) == 7

# Trades, one's own and all.
mine = exchange.fetch_my_trades("SPY/USD")
told = [(trade["side"], trade["price"], trade["amount"], trade["takerOrMaker"]) for trade in mine]
assert told == [("buy", 145.67, 4.0, "taker"), ("buy", 141.25, 1.25, "maker")], told
trades = exchange.fetch_trades("SPY/USD")
assert [(trade["side"], trade["price"], trade["amount"]) for trade in trades] == [
    ("buy", 145.67, 4.0),
    ("sell", 141.25, 1.25),
], trades
assert len(exchange.fetch_trades("SPY/USD", since=trades[1]["timestamp"])) >= 1
assert exchange.fetch_my_trades("SPY/USD", params={"fromId": mine[1]["id"]}) == mine[1:]

# Candles, and the last day.
candles = exchange.fetch_ohlcv("SPY/USD", "1m")
assert sum(candle[5] for candle in candles) == 5.25, candles
assert (candles[0][1], max(c[2] for c in candles), min(c[3] for c in candles), candles[-1][4]) == (
    145.67, 145.67, 141.25, 141.25), candles
assert exchange.fetch_ohlcv("SPY/USD", "1m", since=0) == candles
assert exchange.fetch_ohlcv("SPY/USD", "1m", since=candles[-1][0] + 1) == []
for timeframe in exchange.timeframes:
    longer = exchange.fetch_ohlcv("SPY/USD", timeframe)
    assert (sum(candle[5] for candle in longer), longer[0][1], longer[-1][4]) == (5.25, 145.67, 141.25), (timeframe, longer)
    assert exchange.fetch_ohlcv("SPY/USD", timeframe, since=longer[-1][0], limit=5) == longer[-1:], timeframe
rolling = exchange.public_get_ticker({"symbol": "SPYUSD", "windowSize": "7d"})
assert (rolling["count"], rolling["volume"]) == (2, "5.25000000"), rolling
ticker = exchange.fetch_ticker("SPY/USD")
assert (ticker["last"], ticker["baseVolume"], ticker["bid"], ticker["ask"]) == (141.25, 5.25, 140.5, 145.67), ticker
assert exchange.fetch_tickers(["SPY/USD"])["SPY/USD"]["last"] == 141.25
assert exchange.fetch_bids_asks(["SPY/USD"])["SPY/USD"]["bid"] == 140.5

# What is refused is refused with what this client knows it by.
refused(ccxt.InsufficientFunds, lambda: exchange.create_limit_buy_order("SPY/USD", 100000, 150))
refused(ccxt.InsufficientFunds, lambda: exchange.create_limit_sell_order("SPY/USD", 100000, 150))
refused(ccxt.OrderNotFound, lambda: exchange.fetch_order(999999, "SPY/USD"))
refused(ccxt.AuthenticationError, lambda: client(secret="wrong").fetch_balance())
refused(ccxt.AuthenticationError, lambda: client(key="wrong").fetch_balance())
refused(ccxt.BadSymbol, lambda: exchange.public_get_depth({"symbol": "NONEUSD"}))
refused(ccxt.OrderImmediatelyFillable, lambda: exchange.create_limit_buy_order("SPY/USD", 1, 150, {"postOnly": True}))
refused(ccxt.InvalidNonce, lambda: exchange.private_get_account({"timestamp": 1}))

assert exchange.fetch_balance()["SPY"]["total"] == 505.25

# Orders of other kinds. There are 6 shares at 145.67 and 5 at 145.68000001.
kinds = lambda order: (order["type"], order["timeInForce"], order["postOnly"], order["status"], order["filled"])
for order, expected in [
    (exchange.create_market_buy_order("SPY/USD", 1), ("market", "GTC", False, "closed", 1.0)),
    (exchange.create_market_buy_order_with_cost("SPY/USD", 291.34), ("market", "GTC", False, "closed", 2.0)),
    (exchange.create_limit_buy_order("SPY/USD", 4, 145.67, {"timeInForce": "IOC"}), ("limit", "IOC", False, "expired", 3.0)),
    (exchange.create_limit_buy_order("SPY/USD", 6, 150, {"timeInForce": "FOK"}), ("limit", "FOK", False, "expired", 0.0)),
    (exchange.create_limit_buy_order("SPY/USD", 1, 120, {"postOnly": True}), ("limit", "GTC", True, "open", 0.0)),
]:
    assert kinds(order) == expected, order
    assert kinds(exchange.fetch_order(order["id"], "SPY/USD")) == expected, order
    if order["status"] == "open":
        exchange.cancel_order(order["id"], "SPY/USD")

# An order in the stead of another one, which held nearly all money there is.
shares = exchange.fetch_balance()["USD"]["free"] // 100
old = exchange.create_limit_buy_order("SPY/USD", shares, 100)
new = exchange.edit_order(old["id"], "SPY/USD", "limit", "buy", shares, 99, {"clientOrderId": "mine-2"})
assert (new["status"], new["price"], new["clientOrderId"]) == ("open", 99.0, "mine-2"), new
assert exchange.fetch_order(old["id"], "SPY/USD")["status"] == "canceled"
refused(ccxt.ExchangeError, lambda: exchange.edit_order(old["id"], "SPY/USD", "limit", "buy", 1, 1), "NOT_ATTEMPTED")
[still] = exchange.fetch_open_orders("SPY/USD")
exchange.cancel_order(still["id"], "SPY/USD")
assert still["id"] == new["id"], still

# Orders that wait for a price. The last execution was at 145.67.
waits = lambda order: (order["type"], order["status"], order["triggerPrice"], order["info"]["isWorking"])
stops = [
    (exchange.create_stop_loss_order("SPY/USD", "market", "sell", 1, None, 140), ("market", "open", 140.0, False)),
    (exchange.create_stop_limit_order("SPY/USD", "sell", 1, 139, 140), ("limit", "open", 140.0, False)),
    (exchange.create_take_profit_order("SPY/USD", "limit", "sell", 1, 151, 150), ("limit", "open", 150.0, False)),
    (exchange.create_order("SPY/USD", "STOP_LOSS_LIMIT", "buy", 1, 160, {"stopPrice": 155}), ("limit", "open", 155.0, False)),
]
for order, expected in stops:
    found = waits(exchange.fetch_order(order["id"], "SPY/USD"))
    assert found == expected, (found, expected)
assert len(exchange.fetch_open_orders("SPY/USD")) == len(stops)
refused(ccxt.InvalidOrder, lambda: exchange.create_stop_limit_order("SPY/USD", "buy", 1, 150, 140))
assert len(exchange.cancel_all_orders("SPY/USD")) == len(stops)
print("ccxt: markets, book, balance, orders, trades, candles and refusals are as they should be")
