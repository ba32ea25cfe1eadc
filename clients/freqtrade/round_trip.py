"""freqtrade, as it comes from PyPI, trades with a demo's traders: it chooses a pair, enters and leaves, and the server says the same
of its orders as freqtrade does. proof/freqtrade runs this; a stop at the exchange stands and is canceled if STOP_AT_THE_EXCHANGE
is set. The only argument is the server's program.
"""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from os import environ
from pathlib import Path

HERE = Path(__file__).parent
PATIENCE_S = 120


def wait_for(what, found):
    """Looks until there is something, and gives it."""
    until = time.monotonic() + PATIENCE_S
    while not (it := found()):
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.2)
    return it


def settings(host, key, secret):
    """Of freqtrade: nothing but the addresses is unusual in them."""
    rest, streams = f"http://{host}/binance/api", f"ws://{host}/binance"
    api = {
        "public": f"{rest}/v3",
        "private": f"{rest}/v3",
        "v1": f"{rest}/v1",
        "sapi": f"http://{host}/binance/sapi/v1",
        "ws": {"spot": f"{streams}/ws", "ws-api": {"spot": f"{streams}/ws-api/v3"}},
    }
    price = {"price_side": "other", "use_order_book": True, "order_book_top": 1}
    return {
        "dry_run": False,
        "initial_state": "running",
        "trading_mode": "spot",
        "max_open_trades": 1,
        "stake_currency": "USD",
        "stake_amount": 1000,
        "entry_pricing": price,
        "exit_pricing": price,
        "exchange": {
            "name": "binance",
            "key": key,
            "secret": secret,
            "pair_whitelist": [".*/USD"],
            "ccxt_config": {
                "options": {"defaultType": "spot", "fetchMarkets": {"types": ["spot"]}},
                "urls": {"api": api},
            },
        },
        "pairlists": [
            {"method": "VolumePairList", "number_assets": 3, "sort_key": "quoteVolume"},
            {"method": "DelistFilter"},
            {"method": "PrecisionFilter"},
            {"method": "SpreadFilter", "max_spread_ratio": 0.02},
        ],
        "internals": {"process_throttle_secs": 1},
    }


def closed_trade(records):
    """What freqtrade has kept of its first trade, if that is over, and of its orders."""
    if not records.exists():
        return None
    with sqlite3.connect(f"file:{records}?mode=ro", uri=True) as database:
        database.row_factory = sqlite3.Row
        try:
            trade = database.execute("select * from trades where is_open = 0").fetchone()
            orders = database.execute("select * from orders where ft_trade_id = 1 order by order_date").fetchall()
        except sqlite3.OperationalError:
            # It makes its tables just now.
            return None
    return trade and (trade, orders)


def round_trip(folder, host, key, secret):
    (folder / "config.json").write_text(json.dumps(settings(host, key, secret)))
    records, log = folder / "trades.sqlite", folder / "freqtrade.log"
    trades = ["trade", "--config", "config.json", "--userdir", ".", "--db-url", f"sqlite:///{records}"]
    bot = subprocess.Popen(
        [Path(sys.executable).parent / "freqtrade", *trades, "--strategy", "RoundTrip", "--strategy-path", HERE],
        cwd=folder, stdout=log.open("w"), stderr=subprocess.STDOUT,
    )

    def over():
        assert bot.poll() is None, "freqtrade ended"
        return closed_trade(records)

    try:
        trade, orders = wait_for("a trade that is over", over)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{log.read_text()[-6000:]}") from None
    finally:
        bot.terminate()
        bot.wait(PATIENCE_S)
    faults = [line for line in log.read_text().splitlines() if re.search(" - (WARNING|ERROR|CRITICAL) - ", line)]
    assert not faults, "\n".join(faults)
    assert trade["exit_reason"] == "round trip", dict(trade)
    kinds = [(order["ft_order_side"], order["order_type"], order["status"]) for order in orders]
    stop = [("stoploss", "limit", "canceled")] if "STOP_AT_THE_EXCHANGE" in environ else []
    assert kinds == [("buy", "market", "closed"), *stop, ("sell", "market", "closed")], kinds
    for order in orders:
        with urllib.request.urlopen(f"http://{host}/api/v1/orders/{order['order_id']}?account=1") as reply:
            here = json.load(reply)
        assert float(here["shares"]) == order["amount"], (here, dict(order))
        print(f"  {here['kind']} {here['side']} of {here['shares']} {here['symbol']}: {here['status']}")


def main(program):
    with tempfile.TemporaryDirectory(prefix="freqtrade-") as name:
        folder = Path(name)
        log = folder / "server.log"
        demo = [program, "demo", "--xml", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        server = subprocess.Popen(demo, stdout=log.open("w"), stderr=subprocess.STDOUT)
        try:
            banner = re.compile(r"page +http://([^/]+)/.*key +(\S+) for [^\n]*secret (\S+)", re.DOTALL)
            said = wait_for("the demo", lambda: banner.search(log.read_text()))
            round_trip(folder, *said.groups())
        finally:
            server.terminate()
            server.wait(PATIENCE_S)
    print("freqtrade entered and left, and kept the same of its orders as the server")


main(sys.argv[1])
