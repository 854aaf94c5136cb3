// One API's console is a client too: it parses texts, lists and numbers without checking that they are there, and its form saves as
// empty what it could not read. So no answer that it reads holds a null, whatever was left out when a row was made or stored.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

/** Where the family itself answers null: OpenAI's own list of models. */
const NULL_THERE = /\.(parent|permission\.\d+\.group)$/;

/** Paths of all nulls in a value. */
function nullsIn(value: unknown, path = ""): string[] {
  if (value === null) return [path];
  if (typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) => nullsIn(inner, `${path}.${name}`));
}

describe.each(databases)("answers to One API's console on $name", (database) => {
  let app: TestApp;
  let lihua: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database);
    lihua = await seedUser(app.ctx, "lihua");
    // With as few fields as each allows.
    await app.call(lihua.who, "POST", "/api/token/", { name: "bare" });
    await app.call(lihua.who, "POST", "/api/token/", { name: "null", models: null });
    const channel = { type: 1, name: "bare", key: "k", models: "gpt-4", group: "default" };
    await app.call(asRoot, "POST", "/api/channel/", {
      ...channel,
      base_url: null,
      other: null,
      model_mapping: null,
      weight: null,
    });
    await app.call(asRoot, "POST", "/api/redemption/", { name: "bare", quota: 1, count: 1 });
    await app.call(asRoot, "POST", "/api/user/", {
      username: "newcomer",
      password: "a long password 1",
      display_name: "",
    });
  });
  afterAll(() => app.close());

  test.each([
    ...["/api/token/", "/api/token/1", "/api/token/2", "/api/token/search?keyword="],
    ...[
      "/api/user/self",
      "/api/log/self/",
      "/api/log/self/stat",
      "/api/user/aff",
      "/api/user/available_models",
    ],
  ])("a user's %s has no null", async (path) => {
    const { success, data } = await app.call(lihua.who, "GET", path);
    expect(success).toBe(true);
    expect(nullsIn(data)).toEqual([]);
  });

  test.each([
    ...[
      "/api/channel/",
      "/api/channel/1",
      "/api/channel/search?keyword=",
      "/api/channel/models",
      "/api/models",
    ],
    ...["/api/user/", "/api/user/search?keyword=", "/api/user/1", "/api/redemption/", "/api/redemption/1"],
    ...[
      "/api/log/",
      "/api/log/stat",
      "/api/option/",
      "/api/group/",
      "/api/status",
      "/api/notice",
      "/api/about",
    ],
  ])("an administrator's %s has no null", async (path) => {
    const { success, data } = await app.call(asRoot, "GET", path);
    expect(success).toBe(true);
    expect(nullsIn(data).filter((found) => !NULL_THERE.test(found))).toEqual([]);
  });

  test("a token that is read and saved as it was keeps its quota and its models", async () => {
    const { data } = await app.call(lihua.who, "GET", "/api/token/1");
    // As One API's form does with what it has read.
    const models: string[] = data.models === "" ? [] : data.models.split(",");
    const saved = { ...data, models: models.join(",") };
    expect((await app.call(lihua.who, "PUT", "/api/token/", saved)).data).toMatchObject({
      models: "",
      remain_quota: 500_000,
    });
  });
});
