"""python-binance, with nothing but the addresses changed, trades against users of XML and follows streams."""

import asyncio
from decimal import Decimal

from binance import AsyncClient, BinanceSocketManager, Client, DepthCacheManager
from binance.exceptions import BinanceAPIException

from market import HTTP, KEY, SECRET, Crowd, XmlUser, refused, soon

for kind in [Client, AsyncClient]:
    kind.API_URL = f"http://{HTTP}/binance/api"
    kind.MARGIN_API_URL = f"http://{HTTP}/binance/sapi"
    kind.WS_API_URL = f"ws://{HTTP}/binance/ws-api/v3"
BinanceSocketManager.STREAM_URL = f"ws://{HTTP}/binance/"


def rest():
    client, other = Client(KEY, SECRET), XmlUser(2)
    assert client.get_symbol_info("SPYUSD")["baseAsset"] == "SPY"
    assert int(client.response.headers["x-mbx-used-weight-1m"]) > 0, client.response.headers
    assert client.get_system_status() == {"status": 0, "msg": "normal"}
    assert client.get_trade_fee(symbol="SPYUSD") == [{"symbol": "SPYUSD", "makerCommission": "0", "takerCommission": "0"}]
    assert not client.get_asset_details()["SPY"]["withdrawStatus"]
    assert {coin["coin"]: coin["free"] for coin in client.get_all_coins_info()} == {
        "USD": "100000.00000000", "SPY": "500.00000000", "QQQ": "0.00000000"}
    assert client.v3_get_account_commission(symbol="SPYUSD")["standardCommission"]["maker"] == "0.00000000"
    quotes = [other.order(-10, "145.67"), other.order(2, "140")]
    depth = client.get_order_book(symbol="SPYUSD")
    assert (depth["bids"], depth["asks"]) == ([["140.00000000", "2.00000000"]], [["145.67000000", "10.00000000"]])
    assert client.get_asset_balance("USD") == {"asset": "USD", "free": "100000.00000000", "locked": "0.00000000"}
    client.create_test_order(symbol="SPYUSD", side="BUY", type="LIMIT", timeInForce="GTC", quantity="4", price="150")
    bought = client.order_limit_buy(symbol="SPYUSD", quantity="4", price="150")
    assert bought["status"] == "FILLED" and bought["cummulativeQuoteQty"] == "582.68000000", bought
    assert [(fill["price"], fill["qty"]) for fill in bought["fills"]] == [("145.67000000", "4.00000000")], bought
    resting = client.order_limit_sell(symbol="SPYUSD", quantity="3.5", price="141.25", newClientOrderId="mine")
    # The resting bid of 140 is not enough.
    assert resting["status"] == "NEW" and resting["clientOrderId"] == "mine", resting
    buy = other.order("1.25", "142")
    assert '<executed shares="1.25" price="141.25"' in other.query(buy)
    [still] = client.get_open_orders(symbol="SPYUSD")
    assert (still["orderId"], still["executedQty"], still["status"]) == (resting["orderId"], "1.25000000", "PARTIALLY_FILLED")
    assert client.get_order(symbol="SPYUSD", origClientOrderId="mine")["orderId"] == resting["orderId"]
    canceled = client.cancel_order(symbol="SPYUSD", orderId=resting["orderId"])
    assert (canceled["status"], canceled["executedQty"]) == ("CANCELED", "1.25000000"), canceled
    assert [order["status"] for order in client.get_all_orders(symbol="SPYUSD")] == ["FILLED", "CANCELED"]
    mine = client.get_my_trades(symbol="SPYUSD")
    assert [(trade["isBuyer"], trade["isMaker"], trade["qty"]) for trade in mine] == [
        (True, False, "4.00000000"), (False, True, "1.25000000")], mine
    assert [trade["price"] for trade in client.get_recent_trades(symbol="SPYUSD")] == ["145.67000000", "141.25000000"]
    assert len(client.get_aggregate_trades(symbol="SPYUSD")) == 2
    candles = client.get_klines(symbol="SPYUSD", interval=Client.KLINE_INTERVAL_1MINUTE)
    assert sum(Decimal(candle[5]) for candle in candles) == Decimal("5.25"), candles
    intervals = [getattr(Client, name) for name in dir(Client) if name.startswith("KLINE_INTERVAL_")]
    assert len(intervals) == 16, intervals
    for interval in intervals:
        # Where it begins is looked for first.
        longer = client.get_historical_klines("SPYUSD", interval, "1 hour ago UTC" if interval == "1s" else "1 Jan, 2020")
        assert sum(Decimal(candle[5]) for candle in longer) == Decimal("5.25"), (interval, longer)
        assert client.get_ui_klines(symbol="SPYUSD", interval=interval) == longer, interval
    rolling = client.get_symbol_ticker_window(symbol="SPYUSD", windowSize="1h")
    assert (rolling["volume"], rolling["firstId"], rolling["lastId"]) == ("5.25000000", mine[0]["id"], mine[1]["id"]), rolling
    today = client.v3_get_ticker_trading_day(symbol="SPYUSD", timeZone="0")
    assert today["closeTime"] - today["openTime"] == 86_399_999, today
    assert len(client.get_historical_trades(symbol="SPYUSD")) == 2
    assert client.get_ticker(symbol="SPYUSD")["lastPrice"] == "141.25000000"
    assert client.get_symbol_ticker(symbol="SPYUSD")["price"] == "141.25000000"
    assert client.get_orderbook_ticker(symbol="SPYUSD")["bidPrice"] == "140.00000000"
    assert client.get_avg_price(symbol="SPYUSD")["mins"] == 5

    def code(expected, call):
        error = refused(BinanceAPIException, call)
        assert error.code == expected, (error.code, error)

    buy = dict(symbol="SPYUSD", side="BUY", quantity="1", price="1")
    code(-2010, lambda: client.order_limit_buy(symbol="SPYUSD", quantity="100000", price="150"))
    code(-2011, lambda: client.cancel_order(symbol="SPYUSD", orderId=resting["orderId"]))
    code(-2013, lambda: client.get_order(symbol="SPYUSD", orderId=999999))
    code(-1121, lambda: client.get_order_book(symbol="NONEUSD"))
    code(-1116, lambda: client.create_order(**buy, type="TRAILING_STOP", timeInForce="GTC", stopPrice="1"))
    code(-1115, lambda: client.create_order(**buy, type="LIMIT", timeInForce="GTD"))
    code(-2010, lambda: client.create_order(**{**buy, "price": "150"}, type="LIMIT_MAKER"))
    # Orders of other kinds: 6 of the 10 shares at 145.67 are left.
    market = client.order_market_buy(symbol="SPYUSD", quantity="1")
    assert (market["status"], market["executedQty"], market["type"]) == ("FILLED", "1.00000000", "MARKET"), market
    for_money = client.order_market_buy(symbol="SPYUSD", quoteOrderQty="291.34")
    assert (for_money["status"], for_money["executedQty"]) == ("FILLED", "2.00000000"), for_money
    at_once = client.order_limit_buy(symbol="SPYUSD", quantity="9", price="145.67", timeInForce=Client.TIME_IN_FORCE_FOK)
    assert (at_once["status"], at_once["executedQty"]) == ("EXPIRED", "0.00000000"), at_once
    some = client.order_limit_buy(symbol="SPYUSD", quantity="1", price="145.67", timeInForce=Client.TIME_IN_FORCE_IOC)
    assert (some["status"], some["timeInForce"]) == ("FILLED", "IOC"), some
    maker = client.create_order(symbol="SPYUSD", side="BUY", type="LIMIT_MAKER", quantity="1", price="100")
    assert maker["status"] == "NEW" and client.cancel_order(symbol="SPYUSD", orderId=maker["orderId"])["type"] == "LIMIT_MAKER"
    # Self-trade prevention, and fewer shares for an order that keeps its place: the library has no method of its own for that.
    own = client.order_limit_buy(symbol="SPYUSD", quantity="3", price="141")
    met = client.order_limit_sell(symbol="SPYUSD", quantity="1", price="141", selfTradePreventionMode="EXPIRE_TAKER")
    assert (met["status"], met["executedQty"], met["selfTradePreventionMode"]) == ("EXPIRED_IN_MATCH", "0.00000000", "EXPIRE_TAKER"), met
    fewer = dict(symbol="SPYUSD", orderId=own["orderId"], newQty="2")
    amended = client._put("order/amend/keepPriority", True, data=dict(fewer))["amendedOrder"]
    assert (amended["qty"], amended["status"], amended["clientOrderId"]) == ("2.00000000", "NEW", own["clientOrderId"]), amended
    code(-2038, lambda: client._put("order/amend/keepPriority", True, data=dict(fewer)))
    code(-1020, lambda: client.get_prevented_matches(symbol="SPYUSD", orderId=met["orderId"]))
    assert client.cancel_order(symbol="SPYUSD", orderId=own["orderId"])["status"] == "CANCELED"
    counts = [limit["count"] for limit in client.get_current_order_count()]
    assert len(counts) == 2 and counts[0] <= counts[1], counts
    # An order in the stead of another one.
    old = client.order_limit_buy(symbol="SPYUSD", quantity="1", price="100")
    instead = dict(buy, type="LIMIT", timeInForce="GTC", cancelOrderId=old["orderId"])
    both = client.cancel_replace_order(**instead, cancelReplaceMode="STOP_ON_FAILURE")
    assert (both["cancelResponse"]["orderId"], both["cancelResponse"]["status"]) == (old["orderId"], "CANCELED"), both
    assert (both["newOrderResponse"]["price"], both["newOrderResponse"]["status"]) == ("1.00000000", "NEW"), both
    code(-2022, lambda: client.cancel_replace_order(**instead, cancelReplaceMode="STOP_ON_FAILURE"))
    code(-2021, lambda: client.cancel_replace_order(**instead, cancelReplaceMode="ALLOW_FAILURE"))
    assert len(client.cancel_all_open_orders(symbol="SPYUSD")) == 2
    # Orders that wait for a price: the last execution was at 145.67.
    for order_type, price in [("STOP_LOSS", None), ("STOP_LOSS_LIMIT", "139"), ("TAKE_PROFIT", None), ("TAKE_PROFIT_LIMIT", "151")]:
        stop = "140" if order_type.startswith("STOP") else "150"
        limit = {"price": price, "timeInForce": "GTC"} if price else {}
        waiting = client.create_order(symbol="SPYUSD", side="SELL", type=order_type, quantity="1", stopPrice=stop, **limit)
        waiting = client.get_order(symbol="SPYUSD", orderId=waiting["orderId"])
        assert (waiting["type"], waiting["status"], waiting["isWorking"]) == (order_type, "NEW", False), waiting
        assert float(waiting["stopPrice"]) == float(stop), waiting
        assert client.cancel_order(symbol="SPYUSD", orderId=waiting["orderId"])["status"] == "CANCELED"
    code(-2010, lambda: client.create_order(symbol="SPYUSD", side="SELL", type="STOP_LOSS", quantity="1", stopPrice="150"))
    code(-1022, lambda: Client(KEY, "wrong").get_account())
    code(-2015, lambda: Client("wrong", SECRET).get_account())
    listen_key = client.stream_get_listen_key()
    client.stream_keepalive(listen_key)
    client.stream_close(listen_key)
    for quote in quotes:
        other.cancel(quote)
    print("python-binance: REST is as it should be")


async def calls():
    """Over one connection to the WebSocket API: what it answers is what REST answers."""
    client, other = await AsyncClient.create(KEY, SECRET), XmlUser(2)
    qqq = {"symbol": "QQQUSD"}
    quotes = [other.order(-3, "145.67", "QQQ"), other.order(2, "140", "QQQ")]
    try:
        test = dict(qqq, side="BUY", type="LIMIT", timeInForce="GTC", quantity="1", price="1")
        assert await client.ws_create_test_order(**test) == {}
        bought = await client.ws_order_limit_buy(**qqq, quantity=1.5, price=145.67)
        assert (bought["status"], bought["fills"][0]["price"]) == ("FILLED", "145.67000000"), bought
        market = await client.ws_order_market_buy(**qqq, quoteOrderQty="145.67")
        assert (market["status"], market["executedQty"]) == ("FILLED", "1.00000000"), market
        # Its name has characters that are written otherwise behind a `?`.
        resting = await client.ws_create_order(**{**test, "newClientOrderId": "ws/mine:1"})
        assert (resting["status"], resting["clientOrderId"]) == ("NEW", "ws/mine:1"), resting
        for name in [{"orderId": resting["orderId"]}, {"origClientOrderId": "ws/mine:1"}]:
            assert (await client.ws_get_order(**qqq, **name))["orderId"] == resting["orderId"]
        # Side by side, on one connection.
        asked = await asyncio.gather(*[client.ws_get_order(**qqq, orderId=resting["orderId"]) for _ in range(50)])
        assert all(order == asked[0] for order in asked), asked
        for shown, rest in [
            (client.ws_get_open_orders(**qqq), client.get_open_orders(**qqq)),
            (client.ws_get_all_orders(**qqq), client.get_all_orders(**qqq)),
            (client.ws_get_my_trades(**qqq), client.get_my_trades(**qqq)),
            (client.ws_get_account(), client.get_account()),
            (client.ws_get_commission_rates(**qqq), client.v3_get_account_commission(**qqq)),
            (client.ws_get_order_book(**qqq, limit=5), client.get_order_book(**qqq, limit=5)),
            (client.ws_get_recent_trades(**qqq), client.get_recent_trades(**qqq)),
            (client.ws_get_historical_trades(**qqq), client.get_historical_trades(**qqq)),
            (client.ws_get_aggregate_trades(**qqq), client.get_aggregate_trades(**qqq)),
            (client.ws_get_klines(**qqq, interval="1m"), client.get_klines(**qqq, interval="1m")),
            (client.ws_get_uiKlines(**qqq, interval="1d"), client.get_ui_klines(**qqq, interval="1d")),
            (client.ws_get_avg_price(**qqq), client.get_avg_price(**qqq)),
            (client.ws_get_symbol_ticker(), client.get_symbol_ticker()),
            (client.ws_get_orderbook_ticker(symbols=["SPYUSD", "QQQUSD"]), client.get_orderbook_ticker()),
        ]:
            shown, rest = await shown, await rest
            assert shown == rest, (shown, rest)
        assert (await client.ws_get_ticker(**qqq))["lastPrice"] == "145.67000000"
        assert (await client.ws_get_trading_day_ticker(**qqq))["lastPrice"] == "145.67000000"
        assert (await client.ws_get_symbol_ticker_window(**qqq, windowSize="1d"))["lastPrice"] == "145.67000000"
        assert [pair["symbol"] for pair in (await client.ws_get_exchange_info(**qqq))["symbols"]] == ["QQQUSD"]
        assert await client.ws_ping() == {} and (await client.ws_get_time())["serverTime"] > 0
        canceled = await client.ws_cancel_order(**qqq, orderId=resting["orderId"])
        assert canceled["status"] == "CANCELED", canceled
        either = await client.ws_create_oco_order(
            **qqq, side="BUY", quantity="1", aboveType="STOP_LOSS", aboveStopPrice="900", belowType="LIMIT_MAKER", belowPrice="1"
        )
        assert [order["type"] for order in either["orderReports"]] == ["STOP_LOSS", "LIMIT_MAKER"], either
        await client.ws_cancel_order(**qqq, orderId=either["orderReports"][1]["orderId"])
        assert await client.ws_get_open_orders(**qqq) == [], either
        again = await client.ws_order_limit_sell(**qqq, quantity="1", price="999")
        [last] = await client.ws_cancel_all_open_orders(**qqq)
        assert (last["orderId"], last["status"]) == (again["orderId"], "CANCELED"), last
        for expected, refused_call in [
            (-2011, client.ws_cancel_order(**qqq, orderId=resting["orderId"])),
            (-2010, client.ws_order_limit_buy(**qqq, quantity="100000", price="150")),
            (-1121, client.ws_get_order_book(symbol="NONEUSD")),
            (-1106, client.ws_create_oco_order(**test)),
        ]:
            try:
                raise AssertionError(await refused_call)
            except BinanceAPIException as error:
                assert error.code == expected, error
    finally:
        await client.close_connection()
    for quote in quotes:
        other.cancel(quote)
    print("python-binance: the WebSocket API is as it should be")


async def next_of(stream, what, wanted):
    """Reads on until a message is as wanted; a client that reads is never refused."""
    while True:
        message = await soon(what, stream.recv())
        assert message.get("e") != "error", message
        if wanted(message):
            return message


async def streams():
    client = await AsyncClient.create(KEY, SECRET)
    manager = BinanceSocketManager(client)
    other, third = XmlUser(2), XmlUser(3)
    try:
        async with manager.user_socket() as user, manager.trade_socket("SPYUSD") as trades:
            placed = await client.order_limit_buy(symbol="SPYUSD", quantity="2", price="90", newClientOrderId="watched")
            other.order("-0.5", "90")
            await client.cancel_order(symbol="SPYUSD", orderId=placed["orderId"])
            reports = []
            while not reports or reports[-1]["X"] != "CANCELED":
                reports.append(await next_of(user, "a report", lambda event: event["e"] == "executionReport"))
            told = [(report["x"], report["X"], report["z"]) for report in reports]
            assert told == [("NEW", "NEW", "0.00000000"), ("TRADE", "PARTIALLY_FILLED", "0.50000000"),
                            ("CANCELED", "CANCELED", "0.50000000")], told
            assert {report["i"] for report in reports} == {placed["orderId"]} and reports[0]["c"] == "watched", reports
            dollars = {"a": "USD", "f": "98966.20250000", "l": "0.00000000"}
            await next_of(user, "the balance", lambda event: dollars in event.get("B", []))
            trade = await next_of(trades, "a trade", lambda event: event["q"] == "0.50000000")
            assert (trade["e"], trade["p"], trade["m"]) == ("trade", "90.00000000", True), trade
        names = ["spyusd@depth@100ms", "spyusd@kline_1m", "spyusd@bookTicker", "spyusd@ticker", "spyusd@trade",
                 "spyusd@kline_3d", "spyusd@ticker_4h", "spyusd@avgPrice", "!ticker@arr", "!miniTicker@arr"]
        seen = set()
        async with manager.multiplex_socket(names) as many:
            price = 100
            while seen != set(names):
                price = 210 - price
                resting = other.order(-1, price + 30)
                other.order(-1, price)
                third.order(1, price)
                message = await next_of(many, "all streams", lambda message: "stream" in message)
                seen.add(message["stream"])
                other.cancel(resting)
        async with DepthCacheManager(client, symbol="SPYUSD", ws_interval=100) as depth:
            await follow(client, depth)
        print("python-binance: streams are as they should be")
    finally:
        await client.close_connection()


async def follow(client, depth):
    """What the client builds of the stream is the book of the server, when nobody trades any more."""
    cache = update = None
    with Crowd(1500, seed=2) as crowd:
        while crowd.busy:
            update = update or asyncio.ensure_future(depth.recv())
            await asyncio.wait([update], timeout=0.1)
            if update.done():
                cache, update = update.result(), None
    other = XmlUser(2)
    asked = await client.get_order_book(symbol="SPYUSD", limit=5000)

    def numbers(sides):
        return [[[float(part) for part in level] for level in side] for side in sides]

    wanted = numbers([asked["bids"], asked["asks"]])
    while cache is None or numbers([cache.get_bids(), cache.get_asks()]) != wanted:
        # Something that leaves the book as it is, and tells that it is so.
        other.cancel(other.order(1, 1))
        update = update or asyncio.ensure_future(depth.recv())
        cache, update = await soon("the followed book to be that of the server", update), None
    print(f"python-binance: the followed book has {len(wanted[0])} bids and {len(wanted[1])} asks, as that of the server")


rest()
asyncio.run(streams())
asyncio.run(calls())
