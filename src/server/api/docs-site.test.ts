// The API reference: the printed document over HTTP, and the page that draws it in a real browser.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { launchBrowser, screenshot } from "#test/worlds/browser.ts";

const endpoints = Object.values(api).flatMap((resource) => Object.values<Endpoint>(resource));

describe("the API reference", () => {
  let app: TestApp;
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    app = await createTestApp();
    url = await app.listen();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  test("the document is OpenAPI 3.1 of this version, public", async () => {
    const response = await app.request("/api/openapi.json");
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    const document = await response.json();
    expect(document).toMatchObject({ openapi: "3.1.0", info: { version: app.ctx.version } });
    expect(Object.keys(document.paths).length).toBeGreaterThan(30);
  });

  test("both speak English to who reads it", async () => {
    const headers = { "accept-language": "en" };
    const page = await (await app.request("/api/docs", { headers })).text();
    expect(page).toContain('<html lang="en">');
    const document = await (await app.request("/api/openapi.json", { headers })).text();
    expect((page + document).match(/[^"]{0,20}[\u3400-\u9fff]+/g) ?? []).toEqual([]);
  });

  test.each(["/api/docs", "/api/docs/", "/api/docs/docs.css", "/api/docs/docs.js"])(
    "%s may load nothing but its own files",
    async (path) => {
      const response = await app.request(path);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-security-policy")).toContain(
        "default-src 'none'; script-src 'self'",
      );
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(await response.text()).not.toMatch(/https?:\/\/|\son\w+=|innerHTML|<script>/);
    },
  );

  test("the page draws every endpoint, filters them, and breaks none of its own rules", async () => {
    const page = await browser.newPage({ viewport: { width: 1100, height: 800 } });
    const complaints: string[] = [];
    const foreign: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(url)) foreign.push(request.url());
    });
    await page.goto(`${url}/api/docs#token.create`);
    await page.locator("details").first().waitFor();
    expect(await page.locator("details").count()).toBe(endpoints.length);
    expect(await page.locator("details[open]").getAttribute("id")).toBe("token.create");
    await page.locator("details[open] pre").waitFor();
    await screenshot(page, "api-docs");
    await page.fill("#filter", "delete channel");
    const shown = await page.locator("details:visible .path").allTextContents();
    expect(shown.sort()).toEqual([
      "/api/channel/disabled",
      "/api/channel/{id}",
      "/api/channel/{id}/keys/delete",
    ]);
    expect({ complaints, foreign }).toEqual({ complaints: [], foreign: [] });
    await page.close();
  });
});
