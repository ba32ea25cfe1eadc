// A market of a test's own on a running server, over REST.

import assert from "node:assert/strict";

const base = process.env.PRICETIME_HTTP?.replace(/\/$/, "");

/**
 * A request to the interface; anything but success is a failure of the test.
 * @param {string} method @param {string} path @param {object} [body]
 * @returns {Promise<any>}
 */
export async function ask(method, path, body) {
  const options = body ? { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : { method };
  const response = await fetch(`${base}/api/v1${path}`, options);
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** A market of one's own: a maker with shares and money, a trader with money, ten levels and a few trades. */
export class OwnMarket {
  symbol = "";
  maker = "";
  trader = "";

  /** @param {number} number keeps the markets of one run apart */
  async make(number) {
    const unique = Date.now() * 10 + number;
    this.symbol = `T${unique.toString(36).toUpperCase()}`;
    this.maker = String(unique * 10);
    this.trader = String(unique * 10 + 1);
    await ask("POST", "/accounts", { account: this.maker, balance: "100000000" });
    await ask("POST", "/accounts", { account: this.trader, balance: "50000" });
    await ask("POST", `/symbols/${this.symbol}/shares`, { account: this.maker, shares: "1000000" });
    await ask("POST", `/symbols/${this.symbol}/shares`, { account: this.trader, shares: "500" });
    for (let step = 1; step <= 5; step += 1) {
      await this.place("buy", (145 - step * 0.05).toFixed(2), String(100 * step));
      await this.place("sell", (145 + step * 0.05).toFixed(2), String(120 * step));
    }
    await this.trade();
    await this.trade();
  }

  /** @param {"buy"|"sell"} side @param {string} limit @param {string} shares */
  place(side, limit, shares) {
    return ask("POST", "/orders", { account: this.maker, symbol: this.symbol, side, limit, shares });
  }

  /** One share changes hands between the maker and itself, inside the spread. */
  async trade() {
    await this.place("sell", "145", "1");
    await this.place("buy", "145", "1");
  }
}
