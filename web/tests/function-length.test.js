// A function of the page fits a screen; the functions within it count with it.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import ts from "typescript";

const LINES_MAX = 60;
const PAGE = new URL("../page/", import.meta.url);

/** The functions of a script that have too many lines. @param {string} name @param {string} text @returns {string[]} */
function longFunctions(name, text) {
  const script = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  /** @type {string[]} */
  const long = [];
  const lineOf = (/** @type {number} */ at) => script.getLineAndCharacterOfPosition(at).line + 1;
  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const first = lineOf(node.getStart(script));
      const lines = lineOf(node.getEnd()) - first + 1;
      if (lines > LINES_MAX) long.push(`${name}:${first}: ${node.name?.getText(script) ?? "a function"} has ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  }
  visit(script);
  return long;
}

test("a function of the page has at most 60 lines", () => {
  const scripts = readdirSync(PAGE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js") && !name.startsWith("vendor"));
  assert.ok(scripts.length > 100, `${scripts.length} scripts`);
  assert.deepEqual(
    scripts.flatMap((name) => longFunctions(name, readFileSync(new URL(name, PAGE), "utf8"))),
    [],
  );
});

test("a long function is found, also as a method and within another one", () => {
  const lines = "  1;\n".repeat(LINES_MAX - 1);
  assert.deepEqual(longFunctions("a.js", `function fits() {\n${lines.slice(5)}}\n`), []);
  assert.deepEqual(longFunctions("a.js", `\nfunction long() {\n${lines}}\n`), ["a.js:2: long has 61 lines"]);
  assert.deepEqual(longFunctions("a.js", `class A {\nlong() {\n${lines}}\n}\n`), ["a.js:2: long has 61 lines"]);
  assert.equal(longFunctions("a.js", `const outer = () => {\nf(() => {\n${lines}});\n};\n`).length, 2);
});
