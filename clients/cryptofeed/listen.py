"""cryptofeed, as it comes from PyPI, follows a market here over https and wss, which it insists on: the book, trades, the ticker.

Usage: listen.py PROGRAM, the path of pricetime. It starts a server with a certificate of its own, and has two users trade over
XML with TLS.
"""

import asyncio
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE_S = 60
OF_EACH = 5


def frame(body):
    return b"%d\n%s" % (len(body), body)


class User:
    """Speaks XML over TLS."""

    def __init__(self, address, context):
        host, port = address.rsplit(":", 1)
        plain = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.stream = context.wrap_socket(plain, server_hostname="localhost")

    def ask(self, body):
        self.stream.sendall(frame(body.encode()))
        reply = b""
        while not reply.endswith(b"</results>\n"):
            part = self.stream.recv(65536)
            assert part, f"the server ended the connection after {reply}"
            reply += part
        return reply.decode()


def trade(address, context):
    user = User(address, context)
    user.ask(
        '<create><account id="2" balance="1000000"/><account id="3" balance="1000000"/>'
        '<symbol sym="SPY"><account id="2">1000000</account></symbol></create>'
    )
    turn = 0
    while True:
        turn += 1
        limit = 100 + turn % 5
        sell = f'<transactions id="2"><order sym="SPY" amount="-2" limit="{limit}"/></transactions>'
        buys = '<order sym="SPY" amount="1" limit="110"/><order sym="SPY" amount="1" limit="90"/>'
        assert "<opened" in user.ask(sell)
        assert "<opened" in user.ask(f'<transactions id="3">{buys}</transactions>')
        time.sleep(0.02)


def listen(address, certificate):
    # What it verifies certificates with; it reads these when it is imported.
    os.environ["REQUESTS_CA_BUNDLE"] = os.environ["SSL_CERT_FILE"] = str(certificate)
    from cryptofeed import FeedHandler
    from cryptofeed.connection import RestEndpoint, Routes, WebsocketEndpoint
    from cryptofeed.defines import L2_BOOK, TICKER, TRADES
    from cryptofeed.exchanges import Binance

    class Here(Binance):
        context = ssl.create_default_context(cafile=certificate)
        websocket_endpoints = [WebsocketEndpoint(f"wss://{address}", options={"ssl": context})]
        routes = Routes("/api/v3/exchangeInfo", l2book="/api/v3/depth?symbol={}&limit={}")
        rest_endpoints = [RestEndpoint(f"https://{address}", routes=routes)]

    heard = dict.fromkeys([L2_BOOK, TRADES, TICKER], 0)

    def hears(channel):
        async def note(_, __):
            heard[channel] += 1
            if min(heard.values()) >= OF_EACH and not finished.is_set():
                print(f"heard {heard}", flush=True)
                finished.set()

        return note

    finished = threading.Event()
    handler = FeedHandler()
    # It takes the thread's loop, and has just chosen another kind of them.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    callbacks = {channel: hears(channel) for channel in heard}
    handler.add_feed(Here(symbols=["SPY-USD"], channels=list(heard), callbacks=callbacks))
    handler.run(start_loop=False, install_signal_handlers=False)
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return finished.wait(PATIENCE_S), heard


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([program, "tls", "self-signed", folder], check=True, stdout=subprocess.DEVNULL)
        certificate = folder / "cert.pem"
        addresses = ["--xml", "127.0.0.1:0", "--http", "127.0.0.1:0", "--binance-at", "127.0.0.1:0"]
        files = ["--data", folder / "data", "--tls-cert", certificate, "--tls-key", folder / "key.pem"]
        server = subprocess.Popen([program, "serve", *addresses, *files], stdout=subprocess.PIPE, text=True)
        try:
            said = {}
            for line in server.stdout:
                word, _, rest = line.strip().partition(" ")
                said[word] = rest.strip()
                if word == "try":
                    break
            xml = said["XML"].split(" ")[0]
            compatible = said["Binance"].removeprefix("https://").split("/")[0]
            context = ssl.create_default_context(cafile=certificate)
            threading.Thread(target=trade, args=(xml, context), daemon=True).start()
            time.sleep(1)
            done, heard = listen(compatible.replace("127.0.0.1", "localhost"), certificate)
            assert done, f"waited in vain: {heard}"
        finally:
            # Whoever still listens is told nothing more.
            server.kill()
            server.wait()


main(sys.argv[1])
# Its threads have no end of their own.
sys.stdout.flush()
os._exit(0)
