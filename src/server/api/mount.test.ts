import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { api } from "#contract/index.ts";
import { unlockSecrets } from "#server/accounts/master-key.ts";
import { MIGRATIONS } from "#server/store/migrations/list.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { asGuest, asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { createTestDatabase, engines } from "#test/worlds/stores.ts";
import { createApi } from "./mount.ts";

describe("every answer", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  test("has a request id, is not stored, and is JSON in the envelope", async () => {
    for (const path of ["/api/status", "/api/user/self", "/api/channel/"]) {
      const response = await app.request(path);
      expect(response.headers.get("x-oneapi-request-id")).toMatch(/^\d{31}$/);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
      const body = await response.json();
      expect(Object.keys(body as object)).toEqual(expect.arrayContaining(["success", "message", "data"]));
    }
  });

  test("unknown paths below /api are 404 in OpenAI's shape", async () => {
    for (const path of ["/api/nothing", "/api", "/api/token/5/extra"]) {
      const response = await app.request(path, { method: "POST", body: "{}" });
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        error: { message: `Invalid URL (POST ${path})`, type: "invalid_request_error", param: "", code: "" },
      });
    }
  });

  test("odd spellings of a protected path are never weaker", async () => {
    for (const path of [
      "/api/%6fption/",
      "/api/option%2f",
      "//api/option/",
      "/api//option/",
      "/api/./option/",
      "/API/option/",
      "/api/option/;x",
      "/api/option/.",
      "/api/channel/../option/",
    ]) {
      const response = await app.request(path);
      const text = await response.text();
      expect(text).not.toContain("ModelRatio");
      expect([200, 401, 404]).toContain(response.status);
    }
  });

  test("method overrides have no effect", async () => {
    const response = await app.request("/api/token/1?_method=DELETE", {
      headers: { ...asRoot, "x-http-method-override": "DELETE" },
    });
    expect(await response.json()).toMatchObject({ success: false, message: "找不到该令牌" });
  });

  test("an unreadable id is a wrong parameter", async () => {
    for (const id of ["abc", "0", "-1", "1.5", "1e99"]) {
      expect(await app.call(asRoot, "GET", `/api/token/${id}`)).toMatchObject({
        success: false,
        message: "请求参数有误",
      });
    }
  });

  test.each([undefined, "", "staff", "toString"])(
    "is of an endpoint with a level: level %s stops the start",
    (level) => {
      const probe = { ...api.option, list: { ...api.option.list, level } };
      // A table as a careless build could have it.
      const table = { ...api, option: probe } as unknown as typeof api;
      expect(() => createApi(app.ctx, table)).toThrow(/option\.list does not say who may call it/);
    },
  );

  test("a handler that fails unexpectedly is a 500 without internals", async () => {
    const broken = { ...app.ctx, options: undefined };
    // A context without options causes a fault inside a handler.
    const response = await createApi(broken as never).request("/api/notice");
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      success: false,
      message: "服务器内部错误，请联系管理员",
      data: null,
    });
  });
});

describe("bodies", () => {
  let app: TestApp;
  let url = "";
  beforeAll(async () => {
    app = await createTestApp();
    url = await app.listen();
  });
  afterAll(() => app.close());

  test("of visitors may have 64 KiB, of users 1 MiB", async () => {
    const login = (size: number) =>
      app.call(asGuest, "POST", "/api/user/login", { username: "x", password: "p".repeat(size) });
    expect((await login(60_000)).status).toBe(200);
    expect((await login(70_000)).status).toBe(413);
    const token = (size: number) =>
      app.call(asRoot, "POST", "/api/token/", { name: "n", models: "m".repeat(size) });
    expect((await token(500_000)).status).toBe(200);
    expect((await token(1_100_000)).status).toBe(413);
  });

  test("too large ones are refused without being read", async () => {
    const sent = await new Promise<{ status: number; bytes: number }>((resolve) => {
      let bytes = 0;
      const call = httpRequest(`${url}/api/user/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
      });
      const chunk = Buffer.alloc(64 * 1024, "x");
      let status = 0;
      const pump = () => {
        while (bytes < 256 * 1024 * 1024 && !call.destroyed) {
          bytes += chunk.length;
          if (!call.write(chunk)) {
            call.once("drain", pump);
            return;
          }
        }
      };
      call.on("response", (response) => {
        status = response.statusCode ?? 0;
        response.resume();
      });
      call.on("error", () => undefined);
      call.on("close", () => resolve({ status, bytes }));
      pump();
    });
    expect(sent.status).toBe(413);
    expect(sent.bytes).toBeLessThan(16 * 1024 * 1024);
  });
});

describe("limits", () => {
  test("the critical budget is shared per address; beyond it 429 without a body", async () => {
    const app = await createTestApp({ env: { CRITICAL_RATE_LIMIT: "3" } });
    const login = () =>
      app.request("/api/user/login", {
        method: "POST",
        body: JSON.stringify({ username: "nobody", password: "nothing" }),
      });
    for (let index = 0; index < 3; index += 1) expect((await login()).status).toBe(200);
    const refused = await login();
    expect(refused.status).toBe(429);
    expect(await refused.text()).toBe("");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await app.request("/api/status")).status).toBe(200);
    await app.close();
  });

  test("forwarded addresses count only from a trusted proxy", async () => {
    const count = async (env: Record<string, string>) => {
      const app = await createTestApp({ env: { GLOBAL_API_RATE_LIMIT: "2", ...env } });
      const statuses: number[] = [];
      for (let index = 0; index < 4; index += 1) {
        const response = await app.request("/api/status", {
          headers: { "x-forwarded-for": `198.51.100.${index}` },
        });
        statuses.push(response.status);
      }
      await app.close();
      return statuses;
    };
    expect(await count({})).toEqual([200, 200, 429, 429]);
    expect(await count({ TRUSTED_PROXIES: "127.0.0.0/8" })).toEqual([200, 200, 200, 200]);
  });
});

describe("the master key", () => {
  test("another one ends the start and leaves the database as it was", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "tollgate-key-"));
    const env = { MASTER_KEY: "first master key of the test, 32+" };
    const first = await createTestApp({ dataDir, env });
    await seedUser(first.ctx, "alice");
    const dump = async (app: TestApp) =>
      JSON.stringify(await app.ctx.db.selectFrom("options").selectAll().execute());
    const before = await dump(first);
    await first.close();
    await expect(
      createTestApp({ dataDir, env: { MASTER_KEY: "second master key of the test, 32+" } }),
    ).rejects.toThrow("MASTER_KEY is not the key this database was made with");
    await expect(createTestApp({ dataDir })).rejects.toThrow(/master\.key is missing/);
    const again = await createTestApp({ dataDir, env });
    expect(await dump(again)).toBe(before);
    await again.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test.each(engines)("another one does not migrate a database either, on %s", async (engine) => {
    const database = await createTestDatabase(engine, "nothing");
    const { dataDir, databaseUrl } = database.options;
    const older = await database.open({ migrations: MIGRATIONS.slice(0, -1) });
    const bytes = Buffer.from("first master key of the test, 32+");
    await unlockSecrets(older.db, { bytes, file: undefined, isNew: false });
    await older.close();
    const start = (key: string) => createTestApp({ dataDir, databaseUrl, env: { MASTER_KEY: key } });
    await expect(start("second master key of the test, 32+")).rejects.toThrow("is not the key");
    const same = await database.open({ migrations: MIGRATIONS.slice(0, -1) });
    await same.close();
    expect(readdirSync(dataDir).filter((name) => name.includes("before"))).toEqual([]);
    await (await start(bytes.toString())).close();
    await database.drop();
  });
});
