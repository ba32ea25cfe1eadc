// The browser of tests, and pictures of what it shows: Chromium, or with BROWSER=firefox a Firefox as it is, driven by WebDriver BiDi.

import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, firefox } from "playwright-core";

/** @import { Page } from "playwright-core" */

export const in_firefox = process.env.BROWSER === "firefox";
/** The folder of pictures. */
export const out = process.env.OUT ?? mkdtempSync(join(tmpdir(), "pricetime-page-"));
mkdirSync(out, { recursive: true });

/** A name that leads here, as a name server of others could have it. */
export const rebound = "rebound.example";

/** @param {string[]} args of Chromium's command line */
export function launch(args = []) {
  if (!in_firefox)
    return chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", `--host-resolver-rules=MAP ${rebound} 127.0.0.1`, ...args],
    });
  return firefox.launch({
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    channel: "moz-firefox",
    downloadsPath: out,
    firefoxUserPrefs: {
      // The driver cannot tell Firefox which colours the system has: it begins with dark ones, as tests in Chromium do.
      "layout.css.prefers-color-scheme.content-override": 0,
      "network.dns.localDomains": rebound,
    },
  });
}

/** @param {Page} page @param {string} name */
export const look = (page, name) => page.screenshot({ path: join(out, `${name}.png`) });
