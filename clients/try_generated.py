"""A client that openapi-python-client generates from the served description places an order and reads it again.

Usage: try_generated.py ADDRESS, of a server with accounts 1 and 2, and shares of SPY in account 1.
"""

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

address = f"http://{sys.argv[1]}"

with tempfile.TemporaryDirectory() as folder:
    generate = [Path(sys.executable).parent / "openapi-python-client", "generate", "--url", f"{address}/api/v1/openapi.json"]
    (Path(folder) / "config.yml").write_text("post_hooks: []\n")
    options = ["--meta", "none", "--output-path", "generated", "--config", "config.yml", "--fail-on-warning"]
    generated = subprocess.run([*generate, *options], cwd=folder, capture_output=True, text=True)
    assert generated.returncode == 0, generated.stdout + generated.stderr
    sys.path.insert(0, folder)

    def operation(name):
        return importlib.import_module(f"generated.api.{name}").sync

    models = importlib.import_module("generated.models")
    client = importlib.import_module("generated").Client(base_url=address)

    def place(account, side, shares):
        order = models.PlaceOrder(account=account, symbol="SPY", side=side, limit="145.67", shares=shares)
        return operation("orders.place_order")(client=client, body=order)

    resting, bought = place("1", models.Side.SELL, "10"), place("2", models.Side.BUY, "4")
    find = operation("orders.get_order")
    orders = [find(placed.order_id, client=client, account=placed.account) for placed in [resting, bought]]
    assert [(order.status, order.executed, order.open_) for order in orders] == [
        (models.OrderStatus.OPEN, "4", "6"), (models.OrderStatus.EXECUTED, "4", "0")], orders
    assert orders[0].time > 2**31, orders
    book = operation("symbols.get_book")("SPY", client=client)
    assert book.asks[0] == ["145.67", "6", 1], book
    refused = place("1", models.Side.SELL, "1000000")
    assert (refused.status, refused.code) == (422, "insufficient-shares"), refused
    print("a generated client traded")
