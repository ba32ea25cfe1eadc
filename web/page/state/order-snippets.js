// Orders as text in each protocol of the exchange, which does, when it is run, what the page does. What a protocol has no word for it
// says, and leaves out nothing in silence.

import { exact } from "../decimal.js";
import { isForAuction, isMarket } from "./kinds.js";

/** @import { ListKind, NewOrder, Order, Side } from "../types.js" */

/**
 * The terms of an order, whether it is a draft, open or done.
 * @typedef {object} Terms
 * @property {string} account
 * @property {string} symbol
 * @property {Side} side
 * @property {string} kind
 * @property {string|undefined} [shares]
 * @property {string|undefined} [funds] in place of shares, of a market order
 * @property {string|null|undefined} [limit]
 * @property {string|null|undefined} [stop]
 * @property {string|null|undefined} [take_profit]
 * @property {string|undefined} [trail]
 * @property {number|undefined} [trail_bips]
 * @property {string|undefined} [self_trade]
 * @property {number|null|undefined} [until]
 * @property {"DAY"|undefined} [tif]
 * @property {string|undefined} [display]
 */

/** Orders that are placed, or one that is there. @typedef {{act: "place", kind: ListKind, orders: Terms[]}|{act: "query"|"cancel", order: Order}} SnippetRequest */

/** The target of a snippet: the page's host and address, the ports of XML and FIX, and whether clients have to log in. @typedef {{host: string, hostname: string, secure: boolean, xml_port: number|null, fix_port: number|null, members: boolean}} Where */

/** A protocol's words, or why it has none. @typedef {{id: string, name: string, run: string, text: string|null, why: string|null}} Snippet */

/** The error for an order that a protocol cannot express. */
class NoWords extends Error {}

/** @type {{id: string, name: string, run: string, say: (said: SnippetRequest, where: Where) => string}[]} */
export const PROTOCOLS = [
  { id: "xml", name: "XML", run: "in a shell, with the program pricetime", say: xml },
  { id: "curl", name: "curl", run: "in a shell", say: curl },
  { id: "websocket", name: "WebSocket", run: "in a shell, with Node.js 20 or newer", say: websocket },
  { id: "ccxt", name: "ccxt", run: "with Python, and ccxt installed", say: ccxt },
  { id: "binance", name: "Binance REST", run: "in a shell", say: binance },
  { id: "fix", name: "FIX", run: "with Python", say: fix },
];

/** Names and values of a request, in order. @typedef {[string, string][]} Pairs */

/**
 * @param {SnippetRequest} said
 * @param {Where} where
 * @returns {Snippet[]}
 */
export function words(said, where) {
  return PROTOCOLS.map(({ say, ...protocol }) => {
    try {
      return { ...protocol, text: say(said, where), why: null };
    } catch (error) {
      if (!(error instanceof NoWords)) throw error;
      return { ...protocol, text: null, why: error.message };
    }
  });
}

/** An order that is there, as one to be placed again. @param {Order} order @returns {Terms} */
export function termsOf({ account, symbol, side, kind, shares, limit, stop, take_profit, trail, trail_bips, self_trade, until, display }) {
  const follows = trail !== undefined || trail_bips !== undefined;
  return { account, symbol, side, kind, shares, limit, stop: follows ? null : stop, take_profit, trail, trail_bips, self_trade, until, display };
}

/** A draft's terms: its name is left out, so that each run places another order. @param {NewOrder} order @returns {Terms} */
export function unnamed({ client_order_id: _, ...terms }) {
  return terms;
}

// --- XML

/** @param {SnippetRequest} said @param {Where} where */
function xml(said, { hostname, secure, xml_port, members }) {
  if (xml_port === null) throw new NoWords("This server does not speak XML");
  const login = members ? ' --login "$API_KEY:$API_SECRET_FILE"' : "";
  const trust = secure ? ' --tls-ca "$CA_FILE"' : "";
  return `echo '${xmlRequest(said)}' | pricetime send --to ${hostname}:${xml_port}${trust}${login}`;
}

/** @param {SnippetRequest} said */
function xmlRequest(said) {
  if (said.act !== "place") return element("transactions", [["id", said.order.account]], element(said.act, [["id", String(said.order.order_id)]]));
  const orders = said.orders.map((order) => element("order", xmlOrder(order))).join("");
  const together = said.orders.length === 1 ? orders : element(said.kind === "oco" ? "oco" : "oto", [], orders);
  return element("transactions", [["id", said.orders[0].account]], together);
}

/** @param {Terms} order @returns {Pairs} */
function xmlOrder({ symbol, side, kind, shares, funds, limit, stop, take_profit, trail, trail_bips, self_trade, until, tif, display }) {
  const in_force =
    /** @type {Record<string, string>} */ ({ immediate_or_cancel: "IOC", fill_or_kill: "FOK", auction_limit: "GFA", auction_market: "GFA" })[kind] ?? tif;
  return present([
    ["sym", symbol],
    ["amount", signed(side, shares)],
    ["funds", signed(side, funds)],
    ["limit", isMarket(kind) ? null : limit],
    ["type", isMarket(kind) ? "market" : null],
    ["post-only", kind === "post_only" ? "true" : kind === "post_only_move" ? "move" : null],
    ["tif", in_force],
    ["stop", stop],
    ["take-profit", take_profit],
    ["trail", trail],
    ["trail-bips", trail_bips?.toString()],
    ["until", until ? seconds(until) : null],
    ["display", display],
    ["self-trade", unusual(self_trade)?.replaceAll("_", "-")],
  ]);
}

/** @param {Side} side @param {string|undefined} amount */
function signed(side, amount) {
  return amount === undefined || side === "buy" ? amount : `-${amount}`;
}

/** @param {string} name @param {Pairs} attributes @param {string} [content] */
function element(name, attributes, content) {
  const open = `${name}${attributes.map(([key, value]) => ` ${key}="${value}"`).join("")}`;
  return content === undefined ? `<${open}/>` : `<${open}>${content}</${name}>`;
}

/** @param {number} micros exactly, in seconds */
function seconds(micros) {
  const part = String(micros % 1_000_000)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${Math.floor(micros / 1_000_000)}${part === "" ? "" : `.${part}`}`;
}

// --- REST

/** @param {SnippetRequest} said @param {Where} where */
function curl(said, { host, secure, members }) {
  const proof = members ? ' -u "$API_KEY:$API_SECRET"' : "";
  const at = (/** @type {string} */ path) => `'${secure ? "https" : "http"}://${host}/api/v1${path}'`;
  if (said.act !== "place") {
    const path = `/orders/${said.order.order_id}?account=${said.order.account}`;
    return `curl -s${said.act === "cancel" ? " -X DELETE" : ""} ${at(path)}${proof}`;
  }
  const orders = said.orders.map(restOrder);
  const [path, body] = orders.length === 1 ? ["/orders", orders[0]] : ["/order-lists", { kind: said.kind, orders }];
  return `curl -s ${at(path)}${proof} \\\n  -H 'content-type: application/json' \\\n  -d '${JSON.stringify(body)}'`;
}

/** @param {Terms} order */
function restOrder({ account, symbol, side, kind, shares, funds, limit, stop, take_profit, trail, trail_bips, self_trade, until, tif, display }) {
  const all = {
    account,
    symbol,
    side,
    kind,
    limit: isMarket(kind) ? null : limit,
    shares,
    funds,
    stop,
    take_profit,
    trail,
    trail_bips,
    until,
    tif,
    display,
    self_trade: unusual(self_trade),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== undefined));
}

// --- The interface for clients written for Binance: REST, its WebSocket, and ccxt, which speaks it

/** @param {SnippetRequest} said @param {Where} where */
function binance(said, { host, secure }) {
  const { verb, path, pairs } = signedCall(said);
  const query = pairs.map(([name, value]) => `${name}=${value}`).join("&");
  return [
    `query="${query}&timestamp=$(date +%s%3N)"`,
    `signature=$(printf %s "$query" | openssl dgst -sha256 -hmac "$API_SECRET" -hex | sed 's/.* //')`,
    `curl -s -X ${verb} -H "X-MBX-APIKEY: $API_KEY" \\`,
    `  "${secure ? "https" : "http"}://${host}/binance/api/v3/${path}?$query&signature=$signature"`,
  ].join("\n");
}

/** @param {SnippetRequest} said @param {Where} where */
function websocket(said, { host, secure }) {
  const { method, pairs } = signedCall(said);
  return [
    "node --experimental-websocket --input-type=module <<'END'",
    'import { createHmac } from "node:crypto";',
    "const { API_KEY: apiKey, API_SECRET: secret } = process.env;",
    `const params = { ${pairs.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")}, apiKey, timestamp: Date.now() };`,
    'const signed = Object.keys(params).sort().map((name) => `${name}=${params[name]}`).join("&");',
    'params.signature = createHmac("sha256", secret).update(signed).digest("hex");',
    `const socket = new WebSocket("${secure ? "wss" : "ws"}://${host}/binance/ws-api/v3");`,
    `socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: "${method}", params }));`,
    "socket.onmessage = ({ data }) => { console.log(data); socket.close(); };",
    "END",
  ].join("\n");
}

/** @param {SnippetRequest} said @param {Where} where */
function ccxt(said, { host, secure }) {
  const api = `${secure ? "https" : "http"}://${host}/binance`;
  return [
    "import os",
    "import ccxt",
    "",
    "exchange = ccxt.binance({",
    '    "apiKey": os.environ["API_KEY"],',
    '    "secret": os.environ["API_SECRET"],',
    '    "options": {"defaultType": "spot", "fetchMarkets": {"types": ["spot"]}},',
    "})",
    `exchange.urls["api"]["public"] = exchange.urls["api"]["private"] = "${api}/api/v3"`,
    `exchange.urls["api"]["sapi"] = "${api}/sapi/v1"`,
    // Here a list is called as one of its orders; the library would give each a name of its own.
    ...(said.act === "place" && said.orders.length > 1 ? ["name = exchange.uuid22()"] : []),
    `print(exchange.${ccxtCall(said)})`,
  ].join("\n");
}

/** @param {SnippetRequest} said */
function ccxtCall(said) {
  if (said.act !== "place") return `${said.act === "query" ? "fetch" : "cancel"}_order("${said.order.order_id}", "${said.order.symbol}/USD")`;
  const { path, pairs } = signedCall(said);
  const written = (/** @type {Pairs} */ of) => of.map(([name, value]) => `"${name}": "${value}"`).join(", ");
  const raw = (/** @type {string} */ more) => `private_post_${path.toLowerCase().replaceAll("/", "_")}({${written(pairs)}${more}})`;
  if (said.orders.length > 1) return raw(`, "listClientOrderId": name, "${said.kind === "oco" ? "above" : "working"}ClientOrderId": name`);
  // The library has no words of its own for these: its stop that follows the market wants an activation price.
  if (said.orders[0].trail_bips !== undefined || said.orders[0].funds !== undefined) return raw("");
  const [{ symbol, side, kind, shares, limit, stop, take_profit }] = said.orders;
  const own = pairs.filter(([name]) => ["icebergQty", "selfTradePreventionMode"].includes(name));
  const in_force = pairs.filter(([name, value]) => name === "timeInForce" && value !== "GTC");
  const params = [
    ...in_force,
    ...present([
      ["stopLossPrice", stop],
      ["takeProfitPrice", take_profit],
    ]),
    ...own,
  ];
  const terms = [...(kind === "post_only" ? ['"postOnly": True'] : []), ...(params.length > 0 ? [written(params)] : [])].join(", ");
  const price = kind === "market" ? "None" : `"${limit}"`;
  return `create_order("${symbol}/USD", "${kind === "market" ? "market" : "limit"}", "${side}", "${shares}", ${price}${terms === "" ? "" : `, {${terms}}`})`;
}

/**
 * @param {SnippetRequest} said
 * @returns {{verb: string, path: string, method: string, pairs: Pairs}} of REST and of the WebSocket
 */
function signedCall(said) {
  if (said.act !== "place") {
    const pairs = /** @type {Pairs} */ ([
      ["symbol", `${said.order.symbol}USD`],
      ["orderId", String(said.order.order_id)],
    ]);
    return { verb: said.act === "query" ? "GET" : "DELETE", path: "order", method: said.act === "query" ? "order.status" : "order.cancel", pairs };
  }
  const { kind, orders } = said;
  const [first, ...others] = orders;
  const all = present([["symbol", `${first.symbol}USD`]]);
  const mode =
    first.self_trade === undefined
      ? null
      : /** @type {Record<string, string>} */ ({
          cancel_newest: "EXPIRE_TAKER",
          cancel_oldest: "EXPIRE_MAKER",
          cancel_both: "EXPIRE_BOTH",
          decrement: "DECREMENT",
        })[first.self_trade];
  const prevention = present([["selfTradePreventionMode", mode]]);
  if (orders.length === 1) {
    return { verb: "POST", path: "order", method: "order.place", pairs: [...all, ["side", upper(first.side)], ...leg(first, (name) => name), ...prevention] };
  }
  const call = { verb: "POST", path: `orderList/${kind}`, method: `orderList.place.${kind}` };
  const common = (/** @type {string} */ side, /** @type {string} */ quantity, /** @type {Terms} */ of) =>
    /** @type {Pairs} */ ([
      [side, upper(of.side)],
      [quantity, of.shares ?? ""],
    ]);
  const both = (/** @type {string} */ prefix, /** @type {Terms[]} */ two) => {
    const [above, below] = two.toSorted((a, b) => (reference(a) > reference(b) ? -1 : 1));
    return [...leg(above, named(`${prefix}Above`), false), ...leg(below, named(`${prefix}Below`), false)];
  };
  if (kind === "oco") return { ...call, pairs: [...all, ...common("side", "quantity", first), ...both("", orders), ...prevention] };
  const working = [...common("workingSide", "workingQuantity", first), ...leg(first, named("working"), false)];
  const pending = common("pendingSide", "pendingQuantity", others[0]);
  const then = kind === "oto" ? leg(others[0], named("pending"), false) : both("pending", others);
  return { ...call, pairs: [...all, ...working, ...pending, ...then, ...prevention] };
}

/** The names of the parameters of one of several orders. @param {string} prefix @returns {(name: string) => string} */
function named(prefix) {
  return (name) => {
    const whole = prefix + name[0].toUpperCase() + name.slice(1);
    return whole[0].toLowerCase() + whole.slice(1);
  };
}

/** The price by which of two orders one is above the other. @param {Terms} order */
function reference({ stop, take_profit, limit }) {
  return exact(stop ?? take_profit ?? limit ?? "0");
}

/**
 * The parameters of an order that are not its side.
 * @param {Terms} order
 * @param {(name: string) => string} called
 * @param {boolean} [quantity] whether they say how many shares
 * @returns {Pairs}
 */
function leg({ kind, shares, funds, limit, stop, take_profit, trail, trail_bips, until, tif, display }, called, quantity = true) {
  if (until || tif) throw new NoWords("Binance's interface has no orders that end at a time, or with the day: say it in XML or with curl");
  if (isForAuction(kind)) throw new NoWords("Binance's interface has no orders for an auction: say it in XML or with curl");
  if (trail !== undefined)
    throw new NoWords(
      "Binance's interface has stops that follow the market by a part of the price, and none that follow by dollars: say it in XML or with curl",
    );
  const waits = Boolean(stop ?? take_profit) || trail_bips !== undefined;
  if (kind === "post_only_move" || (kind === "post_only" && waits))
    throw new NoWords("Binance's interface has no post-only orders that move or wait: say it in XML or with curl");
  const trigger = take_profit ? "TAKE_PROFIT" : "STOP_LOSS";
  const type = kind === "market" ? (waits ? trigger : "MARKET") : waits ? `${trigger}_LIMIT` : kind === "post_only" ? "LIMIT_MAKER" : "LIMIT";
  const in_force = { limit: "GTC", immediate_or_cancel: "IOC", fill_or_kill: "FOK" }[kind];
  const all = present([
    ["type", type],
    ["timeInForce", in_force],
    ["quantity", quantity ? shares : null],
    ["quoteOrderQty", funds],
    ["price", kind === "market" ? null : limit],
    ["stopPrice", trail_bips === undefined ? (stop ?? take_profit) : null],
    ["trailingDelta", trail_bips?.toString()],
    ["icebergQty", display],
  ]);
  return all.map(([name, value]) => [called(name), value]);
}

/** @param {string} text */
function upper(text) {
  return text.toUpperCase();
}

// --- FIX

/** @param {SnippetRequest} said @param {Where} where */
function fix(said, { hostname, secure, fix_port, members }) {
  if (fix_port === null) throw new NoWords("This server does not speak FIX: started with --fix 127.0.0.1:12346, it does");
  const [kind, pairs] = fixMessage(said);
  const fields = pairs.map(([tag, value]) => `, ${JSON.stringify(`${tag}=${value}`)}`).join("");
  const proof = members ? ', "553=" + os.environ["API_KEY"], "554=" + os.environ["API_SECRET"]' : "";
  const socket = `socket.create_connection(("${hostname}", ${fix_port}))`;
  return [
    `import ${members || secure ? "os, " : ""}socket, ${secure ? "ssl, " : ""}time`,
    "",
    "def message(kind, number, *fields):",
    '    now = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime())',
    '    head = [f"35={kind}", "49=PAGE", "56=PRICETIME", f"34={number}", f"52={now}"]',
    '    body = "".join(field + "\\x01" for field in [*head, *fields])',
    '    whole = f"8=FIX.4.4\\x019={len(body)}\\x01{body}".encode()',
    '    return whole + f"10={sum(whole) % 256:03}\\x01".encode()',
    "",
    'now = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime())',
    secure ? `server = ssl.create_default_context(cafile=os.environ["CA_FILE"]).wrap_socket(${socket}, server_hostname="${hostname}")` : `server = ${socket}`,
    `server.sendall(message("A", 1, "98=0", "108=30", "141=Y"${proof}))`,
    `server.sendall(message("${kind}", 2, f"11={time.time_ns()}", f"60={now}"${fields}))`,
    'told = b""',
    "# A report or a refusal is the answer.",
    'while not any(b"\\x0135=" + answer + b"\\x01" in told for answer in [b"8", b"9", b"3", b"5"]) and (came := server.recv(4096)):',
    "    told += came",
    'print(told.replace(b"\\x01", b"|").decode())',
  ].join("\n");
}

/** The FIX message: MsgType, and the fields beside the message's own name. @param {SnippetRequest} said @returns {[string, [number, string][]]} */
function fixMessage(said) {
  if (said.act !== "place") {
    const { account, order_id, symbol, side, shares } = said.order;
    const named = /** @type {[number, string][]} */ ([
      [37, String(order_id)],
      [1, account],
      [55, symbol],
      [54, side === "buy" ? "1" : "2"],
    ]);
    return said.act === "query" ? ["H", named] : ["F", [...named, [41, "NONE"], [38, shares]]];
  }
  if (said.orders.length > 1) throw new NoWords("FIX has no orders here of which one cancels or follows another: say it in XML or with curl");
  const [{ account, symbol, side, kind, shares, funds, limit, stop, take_profit, trail, trail_bips, self_trade, until, tif, display }] = said.orders;
  if (trail !== undefined || trail_bips !== undefined) throw new NoWords("FIX has no stops here that follow the market: say it in XML or with curl");
  if (unusual(self_trade)) throw new NoWords("FIX 4.4 does not say what becomes of an order that meets its own account: say it in XML or with curl");
  if (kind === "post_only_move" || (take_profit && kind !== "market"))
    throw new NoWords("FIX 4.4 has no post-only orders that move, and no limit for orders that take a profit: say it in XML or with curl");
  const type = isMarket(kind) ? (stop ? "3" : take_profit ? "J" : "1") : stop ? "4" : "2";
  const in_force =
    { immediate_or_cancel: "3", fill_or_kill: "4", auction_limit: "2", auction_market: "2" }[kind] ??
    (tif === "DAY" ? "0" : until ? "6" : type === "1" ? "3" : "1");
  return [
    "D",
    present([
      [1, account],
      [55, symbol],
      [54, side === "buy" ? "1" : "2"],
      [38, shares],
      [152, funds],
      [40, type],
      [44, isMarket(kind) ? null : limit],
      [99, stop ?? take_profit],
      [59, in_force],
      [126, until ? fixTime(until) : null],
      [18, kind === "post_only" ? "6" : null],
      [111, display],
    ]),
  ];
}

/** @param {number} micros */
function fixTime(micros) {
  const [date, clock] = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19).split("T");
  return `${date.replaceAll("-", "")}-${clock}.${String(micros % 1_000_000).padStart(6, "0")}`;
}

/** The mode of self-trade prevention, unless it is the default. @param {string|undefined} self_trade */
function unusual(self_trade) {
  return self_trade === "allowed" ? undefined : self_trade;
}

/** The pairs that have a value. @template {string|number} Name @param {[Name, string|null|undefined][]} pairs @returns {[Name, string][]} */
function present(pairs) {
  return pairs.flatMap(([name, value]) => (value === null || value === undefined ? [] : [/** @type {[Name, string]} */ ([name, value])]));
}
