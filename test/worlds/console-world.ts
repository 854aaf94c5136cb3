// The console in a real browser: the real server with users that can log in, and windows signed in as one of them.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContext, Download, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { launchBrowser, openContext } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { manage, type ServerProcess, startServer, temporaryDir } from "./process.ts";

/** The super administrator, a user (id 2) and an administrator (id 3), with their passwords. */
const PASSWORDS = { root: "123456", lihua: "river-stone-42", wangfang: "quiet-lantern-7" } as const;
export type Person = keyof typeof PASSWORDS;

export interface Window {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Addresses of everything the page has asked for. */
  readonly asked: readonly string[];
  /** What the page could not catch, and what the browser printed as an error, refusals by the content policy among it. */
  readonly complaints: readonly string[];
}

export interface WindowKind {
  /** Without the content policy, to see what would run if that were all there is. */
  readonly isUnprotected?: boolean;
  /** What the browser prefers; absent = Chinese. */
  readonly locale?: string;
}

export interface ConsoleWorld {
  readonly server: ServerProcess;
  readonly browser: Browser;
  /** Where the server keeps its database. */
  readonly dataDir: string;
  /** Addresses of everything that any page has asked for. */
  readonly asked: readonly string[];
  /** Opens a window of its own, signed in as `person` or as a guest; the test closes its context. */
  visit(person?: Person, size?: { width: number; height: number }, kind?: WindowKind): Promise<Window>;
  setOption(key: string, value: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Builds the console, starts the server with its users and a browser. */
export async function openConsoleWorld(env: Record<string, string> = {}): Promise<ConsoleWorld> {
  buildConsole();
  const dir = temporaryDir();
  const server = await startServer(dir.path, env);
  const browser = await launchBrowser();
  for (const username of ["lihua", "wangfang"] as const)
    await manage(server.url, "POST", "/api/user/", { username, password: PASSWORDS[username] });
  await manage(server.url, "POST", "/api/user/manage", { username: "wangfang", action: "promote" });
  const askedByAll: string[] = [];
  return {
    server,
    browser,
    dataDir: dir.path,
    asked: askedByAll,
    async visit(person, size = { width: 1440, height: 900 }, kind = {}) {
      const bypassCSP = kind.isUnprotected === true;
      const { locale = "zh-CN" } = kind;
      const context = await openContext(browser, server.url, { viewport: size, bypassCSP, locale });
      const page = await context.newPage();
      const asked: string[] = [];
      page.on("request", (request) => {
        asked.push(request.url());
        askedByAll.push(request.url());
      });
      const complaints = listen(page);
      if (person !== undefined) await signIn(context, page, person);
      return { context, page, asked, complaints };
    },
    setOption: (key, value) => manage(server.url, "PUT", "/api/option/", { key, value }),
    async close() {
      await browser.close();
      await server.kill();
      dir.remove();
    },
  };
}

/** Opens it before the tests of a file, and before hooks that come after this; closes it after them. */
export function createConsoleWorld(env: Record<string, string> = {}): ConsoleWorld {
  let opened: ConsoleWorld | undefined;
  beforeAll(async () => {
    opened = await openConsoleWorld(env);
  }, 180_000);
  afterAll(() => opened?.close());
  const world = (): ConsoleWorld => {
    if (!opened) throw new Error("the world opens before the tests");
    return opened;
  };
  return {
    get server() {
      return world().server;
    },
    get browser() {
      return world().browser;
    },
    get dataDir() {
      return world().dataDir;
    },
    get asked() {
      return world().asked;
    },
    visit: (...asked) => world().visit(...asked),
    setOption: (...option) => world().setOption(...option),
    close: () => world().close(),
  };
}

/** What goes wrong in a page from now on. */
function listen(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return complaints;
}

/** As the login page does, without it: the session's cookie and the stored user. */
async function signIn(context: BrowserContext, page: Page, username: Person): Promise<void> {
  const data = { username, password: PASSWORDS[username] };
  const answer: { data: unknown } = await (await context.request.post("/api/user/login", { data })).json();
  // Frames of other origins do not count; a page that signs out stays so.
  await page.addInitScript((text) => {
    if (window === window.top && localStorage.getItem("user") === null) localStorage.setItem("user", text);
  }, JSON.stringify(answer.data));
}

/** The text of a downloaded file. */
export async function contentOf(download: Download): Promise<string> {
  return (await bytesOf(download)).toString("utf8");
}

export async function bytesOf(download: Download): Promise<Buffer> {
  const dir = temporaryDir();
  const path = join(dir.path, "download");
  // The browser is another process: it hands the file over.
  await download.saveAs(path);
  const bytes = await readFile(path);
  dir.remove();
  return bytes;
}
