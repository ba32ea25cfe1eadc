// The reference: what the server says of its interfaces, in openapi.json and asyncapi.json, for people to read.

import { find, make, setText } from "./dom.js";
import { Theme } from "./theme.js";

/** @typedef {Record<string, any>} Json */

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Text in which `code` stands between backticks. @param {string} text @returns {(Node|string)[]} */
function prose(text) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? make("code", {}, part) : part));
}

/** The last part of a reference, the name of what it is to. @param {string} reference */
const named = (reference) => reference.slice(reference.lastIndexOf("/") + 1);

/** The values that a schema allows, in short. @param {Json} schema @returns {(Node|string)[]} */
function kind(schema) {
  if (schema.$ref) {
    const name = named(schema.$ref);
    return [make("a", { href: `#schema-${name}` }, name)];
  }
  const choices = schema.oneOf ?? schema.allOf;
  if (choices) return choices.flatMap((/** @type {Json} */ one, /** @type {number} */ at) => (at ? [" or ", ...kind(one)] : kind(one)));
  if (schema.const !== undefined) return [make("code", {}, JSON.stringify(schema.const))];
  if (schema.enum) return [schema.enum.map(String).join(", ")];
  if (schema.type === "array" && schema.items) return ["list of ", ...kind(schema.items)];
  if (schema.type === "array") return ["list"];
  const type = [schema.type ?? "anything"].flat().join(" or ");
  const bounds = [schema.minimum !== undefined ? `from ${schema.minimum}` : "", schema.maximum !== undefined ? `to ${schema.maximum}` : ""];
  const otherwise = schema.default !== undefined ? `; ${schema.default} if not given` : "";
  return [[type, ...bounds].filter(Boolean).join(" ") + otherwise];
}

/** The fields of an object as a table. @param {Json} schema */
function fields(schema) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const needed = schema.required?.includes(name) ?? false;
    const about = field.description ? [make("br"), make("span", { class: "muted" }, ...prose(field.description))] : [];
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, name), needed ? "" : make("span", { class: "muted" }, " optional")),
      make("td", {}, ...kind(field), ...about),
    );
  });
  return make("table", {}, make("tbody", {}, ...rows));
}

/** The schema behind a reference. */
class Documents {
  /** @param {Json} document @param {Record<string, string>} known a symbol and an account that exist, by the names of their schemas */
  constructor(document, known) {
    this.document = document;
    this.known = known;
  }

  /** @param {Json} schema @returns {Json} */
  resolve(schema) {
    return schema.$ref ? this.document.components.schemas[named(schema.$ref)] : schema;
  }

  /** A value of this schema. @param {Json} schema @returns {unknown} */
  example(schema) {
    const there = this.known[named(schema.$ref ?? "")];
    if (there) return there;
    const found = this.resolve(schema);
    if (found.examples) return existing(found.examples[0], this.known);
    if (found.default !== undefined) return found.default;
    if (found.enum) return found.enum[0];
    if (found.const !== undefined) return found.const;
    const choices = found.oneOf ?? found.allOf;
    if (choices) return this.example(choices.find((/** @type {Json} */ one) => one.type !== "null"));
    if (found.type === "object") {
      const entries = Object.entries(found.properties ?? {}).map(([name, field]) => [name, this.example(field)]);
      return Object.fromEntries(entries);
    }
    if (found.type === "array") return [this.example(found.items)];
    if (found.type === "boolean") return false;
    return found.type === "string" ? "…" : 1;
  }
}

/** An example with the symbol and the account that exist. @param {unknown} value @param {Record<string, string>} known @returns {unknown} */
function existing(value, known) {
  const here = /** @type {Record<string, string|undefined>} */ ({ symbol: known.SymbolName, account: known.AccountId });
  return JSON.parse(JSON.stringify(value), (key, part) => (typeof part === "string" && here[key]) || part);
}

/** The command that sends the request from a terminal. @param {Documents} all @param {string} method @param {string} path @param {Json} operation */
function command(all, method, path, operation) {
  let url = path;
  const query = [];
  for (const parameter of operation.parameters ?? []) {
    const value = encodeURIComponent(String(all.example(parameter.schema)));
    if (parameter.in === "path") url = url.replace(`{${parameter.name}}`, value);
    else if (parameter.required) query.push(`${parameter.name}=${value}`);
  }
  if (query.length) url += `?${query.join("&")}`;
  const body = operation.requestBody?.content["application/json"].schema;
  const parts = ["curl", method === "delete" ? "-X DELETE" : "", `'${location.origin}${url}'`];
  if (body) parts.push(`-H 'content-type: application/json' \\\n  -d '${JSON.stringify(all.example(body))}'`);
  return make("pre", {}, make("code", {}, parts.filter(Boolean).join(" ")));
}

/** @param {Json} operation */
function parameters(operation) {
  const rows = (operation.parameters ?? []).map((/** @type {Json} */ parameter) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, parameter.name), parameter.required ? "" : make("span", { class: "muted" }, " optional")),
      make("td", {}, ...kind(parameter.schema), make("br"), make("span", { class: "muted" }, ...prose(parameter.description ?? ""))),
    ),
  );
  return rows.length ? [make("h4", {}, "Parameters"), make("table", {}, make("tbody", {}, ...rows))] : [];
}

/** @param {Json} operation */
function answers(operation) {
  const entries = /** @type {[string, Json][]} */ (Object.entries(operation.responses));
  const rows = entries.map(([status, response]) => {
    const content = Object.values(response.content ?? {})[0];
    const good = Number(status) < 300;
    const shape = good && content ? [...kind(content.schema), make("br")] : [];
    return make(
      "tr",
      {},
      make("th", { scope: "row", class: good ? "good" : "" }, status),
      make("td", {}, ...shape, make("span", { class: "muted" }, ...prose(response.description))),
    );
  });
  return [make("h4", {}, "Answers"), make("table", { class: "answers" }, make("tbody", {}, ...rows))];
}

/** @param {Documents} all @param {string} path @param {string} method @param {Json} operation */
function operationPart(all, path, method, operation) {
  const body = operation.requestBody?.content["application/json"].schema;
  return make(
    "article",
    { id: operation.operationId },
    make("h3", {}, make("span", { class: `method ${method}` }, method.toUpperCase()), " ", make("code", {}, path)),
    make("p", {}, ...prose([operation.summary, operation.description].filter(Boolean).join(" "))),
    ...parameters(operation),
    ...(body ? [make("h4", {}, "Body"), fields(all.resolve(body))] : []),
    ...answers(operation),
    command(all, method, path, operation),
  );
}

/** @param {string} id @param {string} title @param {string} about @param {Node[]} parts */
function section(id, title, about, parts) {
  return make("section", { id }, make("h2", {}, title), make("p", {}, ...prose(about)), ...parts);
}

/** @param {string} title @param {[string, string, string?][]} links target, text, method */
function indexPart(title, links) {
  const items = links.map(([target, text, method]) => {
    const mark = method ? [make("span", { class: `method ${method}` }, method === "delete" ? "DEL" : method.toUpperCase()), " "] : [];
    return make("li", {}, make("a", { href: `#${target}` }, ...mark, text));
  });
  return make("section", {}, make("h2", {}, title), make("ul", {}, ...items));
}

/** @param {Json} document @param {Record<string, string>} known @param {HTMLElement} content @param {HTMLElement} index */
function showRest(document, known, content, index) {
  const all = new Documents(document, known);
  content.append(section("introduction", "REST", document.info.description, []));
  for (const tag of document.tags) {
    /** @type {Node[]} */
    const parts = [];
    /** @type {[string, string, string?][]} */
    const links = [];
    for (const [path, item] of Object.entries(document.paths)) {
      for (const method of METHODS) {
        const operation = item[method];
        if (!operation?.tags?.includes(tag.name)) continue;
        parts.push(operationPart(all, path, method, operation));
        links.push([operation.operationId, path.replace("/api/v1", ""), method]);
      }
    }
    content.append(section(`tag-${tag.name}`, tag.name, tag.description, parts));
    index.append(indexPart(tag.name, links));
  }
}

/** @param {Json} document @param {HTMLElement} content @param {HTMLElement} index */
function showWebSocket(document, content, index) {
  /** @type {[string, string, string?][]} */
  const links = [];
  /** @type {Node[]} */
  const parts = [];
  for (const [name, channel] of Object.entries(/** @type {Record<string, Json>} */ (document.channels))) {
    const messages = Object.keys(channel.messages).map((key) => {
      const message = document.components.messages[key];
      const about = message.payload.description ? ` ${message.payload.description}` : "";
      return make("details", {}, make("summary", {}, make("code", {}, key), about), fields(message.payload));
    });
    parts.push(
      make(
        "article",
        { id: `channel-${name}` },
        make("h3", {}, make("code", {}, name), " ", channel.title),
        make("p", {}, ...prose(channel.description)),
        ...messages,
      ),
    );
    links.push([`channel-${name}`, name]);
  }
  content.append(section("websocket", "WebSocket, /ws/v1", document.info.description, parts));
  index.append(indexPart("WebSocket", links));
}

/** Everything that has a name, of both documents. @param {Json[]} documents @param {HTMLElement} content @param {HTMLElement} index */
function showSchemas(documents, content, index) {
  const schemas = Object.assign({}, ...documents.map((document) => document.components.schemas));
  const names = Object.keys(schemas).sort();
  const parts = names.map((name) => {
    const schema = schemas[name];
    const detail = schema.properties
      ? [fields(schema)]
      : [make("p", {}, ...kind(schema), schema.pattern ? make("code", { class: "pattern" }, schema.pattern) : "")];
    const example = schema.examples ? [make("p", { class: "muted" }, "Such as ", make("code", {}, JSON.stringify(schema.examples[0])))] : [];
    return make(
      "article",
      { id: `schema-${name}`, class: "schema" },
      make("h3", {}, name),
      make("p", {}, ...prose(schema.description ?? "")),
      ...detail,
      ...example,
    );
  });
  content.append(section("schemas", "Values and shapes", "The parts of requests and answers.", parts));
  index.append(indexPart("Values and shapes", [["schemas", "All of them"]]));
}

/** @param {string} path @returns {Promise<Json>} */
async function read(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

/** A symbol and an account that exist, so that the examples can be tried; none where nobody may know. @returns {Promise<Record<string, string>>} */
async function thereIs() {
  const [symbols, accounts] = await Promise.allSettled([read("api/v1/symbols?limit=1"), read("api/v1/accounts?limit=1")]);
  const symbol = symbols.status === "fulfilled" && symbols.value.symbols[0]?.symbol;
  const account = accounts.status === "fulfilled" && accounts.value.accounts[0]?.account;
  return { ...(symbol && { SymbolName: symbol }), ...(account && { AccountId: account }) };
}

/** Shows only what holds every word that is typed. */
function search() {
  const words = /** @type {HTMLInputElement} */ (find("search")).value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const article of document.querySelectorAll("main article")) {
    const text = (article.textContent ?? "").toLowerCase();
    const fits = words.every((word) => text.includes(word));
    article.toggleAttribute("hidden", !fits);
    if (fits) found += 1;
    for (const link of document.querySelectorAll(`#index a[href="#${CSS.escape(article.id)}"]`)) link.closest("li")?.toggleAttribute("hidden", !fits);
  }
  for (const section of document.querySelectorAll("main section"))
    section.toggleAttribute("hidden", words.length > 0 && !section.querySelector("article:not([hidden])"));
  setText(find("found"), words.length > 0 ? `${found} found` : "");
}

async function show() {
  const content = find("content");
  const index = find("index");
  try {
    const documents = await Promise.all([read("api/v1/openapi.json"), read("api/v1/asyncapi.json")]);
    const parts = make("div");
    showRest(documents[0], await thereIs(), parts, index);
    showWebSocket(documents[1], parts, index);
    showSchemas(documents, parts, index);
    content.replaceChildren(parts);
  } catch (error) {
    setText(find("state"), `The descriptions cannot be read: ${error instanceof Error ? error.message : error}`);
    return;
  }
  // What the address names is there only now.
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) target.scrollIntoView();
}

const theme = new Theme();
const button = find("theme");
const label = () => setText(button, theme.name === "dark" ? "Light theme" : "Dark theme");
button.addEventListener("click", () => {
  theme.toggle();
  label();
});
label();

const contents = /** @type {HTMLDetailsElement} */ (find("contents"));
const narrow = matchMedia("(max-width: 800px)");
const fold = () => {
  contents.open = !narrow.matches;
};
narrow.addEventListener("change", fold);
fold();
// On a telephone the contents would hide what was chosen from them.
find("index").addEventListener("click", () => {
  if (narrow.matches) contents.open = false;
});

find("search").addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  contents.open = true;
  find("search").focus();
});

await show();
search();
