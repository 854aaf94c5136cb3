// Text that operators write for all visitors, saved with hostile HTML and put into a real page: nothing acts (requirements H01).
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostileHtml, together } from "#test/seeds/hostile-html.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { launchBrowser } from "#test/worlds/browser.ts";

const FIELDS = [
  ["Notice", "/api/notice"],
  ["About", "/api/about"],
  ["HomePageContent", "/api/home_page_content"],
  ["Footer", "/api/status"],
] as const;

/** Texts with a NUL are refused as a whole. */
const storable = hostileHtml.filter((text) => !text.includes("\0"));

describe("operators' text", () => {
  let app: TestApp;
  let browser: Browser;
  let page: Page;
  const foreign: string[] = [];
  const dialogs: string[] = [];

  beforeAll(async () => {
    app = await createTestApp();
    browser = await launchBrowser();
    page = await browser.newPage();
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await page.route("**", (route) => {
      const url = route.request().url();
      if (url.includes("evil")) foreign.push(url);
      return route.fulfill({ status: 200, contentType: "text/html", body: "<!doctype html><main></main>" });
    });
    await page.goto("http://console.example/");
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  /** What of a text acts once it stands in a page without any further cleaning. */
  function inspect(texts: readonly string[]): Promise<string[]> {
    return page.evaluate(async (dirty) => {
      const tags = /^(script|iframe|object|embed|svg|math|style|link|meta|base|form|input|template)$/i;
      const main = document.querySelector("main");
      if (!main) return ["no page"];
      const elements = dirty.flatMap((text) => {
        main.innerHTML = text;
        return [...main.querySelectorAll("*")];
      });
      const attributes = elements.flatMap((element) => [...element.attributes]);
      const links = elements.filter(
        (element) => element instanceof HTMLAnchorElement && element.hasAttribute("href"),
      );
      // Time for what a handler or a request would do.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return [
        ...elements.filter(({ tagName }) => tags.test(tagName)).map(({ outerHTML }) => outerHTML),
        ...attributes.filter(({ name }) => /^on|^(id|name|class)$/.test(name)).map(({ name }) => name),
        ...attributes
          .map(({ value }) => value)
          .filter((value) => /^\s*(javascript|vbscript|data:text)/i.test(value)),
        ...links
          .map(({ outerHTML }) => outerHTML)
          .filter((html) => /href="(?!https?:|mailto:|tel:|\/(?![/\\])|#)/i.test(html)),
      ];
    }, texts);
  }

  test("a text with a NUL is not stored at all", async () => {
    const value = hostileHtml.find((text) => text.includes("\0"));
    expect((await app.call(asRoot, "PUT", "/api/option/", { key: "Notice", value })).success).toBe(false);
  });

  test("the inspector itself finds the raw corpus active", async () => {
    // Without `main.innerHTML` running it: a payload is only looked at, in a page of its own.
    const found = await inspect(
      storable.filter((text) => !/alert|evil|eval|onbegin/.test(text)).slice(0, 50),
    );
    expect(found.length).toBeGreaterThan(5);
    dialogs.length = 0;
    foreign.length = 0;
  });

  test.each(FIELDS)(
    `%s: none of ${storable.length} forms acts after it was saved`,
    async (key, path) => {
      const saved: string[] = [];
      // Many in one text as well as one by one: the ends of one must not open the next.
      for (let start = 0; start < storable.length; start += 60) {
        const value = together(storable.slice(start, start + 60));
        const answer = await app.call(asRoot, "PUT", "/api/option/", { key, value });
        expect(answer.success).toBe(true);
        const { data } = await app.call({}, "GET", path);
        saved.push(typeof data === "string" ? data : data.footer_html);
      }
      for (const value of storable.slice(0, 40)) {
        await app.call(asRoot, "PUT", "/api/option/", { key, value });
        const { data } = await app.call({}, "GET", path);
        saved.push(typeof data === "string" ? data : data.footer_html);
      }
      expect(await inspect(saved)).toEqual([]);
      expect({ dialogs, foreign }).toEqual({ dialogs: [], foreign: [] });
    },
    60_000,
  );
});
