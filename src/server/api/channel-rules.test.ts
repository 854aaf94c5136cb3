// Rules and tables of statuses of a channel as they are saved (requirements C35, C36, C38), and what becomes of those that were saved before
// something was refused.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";

const CHANNEL = {
  ...{ type: 8, name: "rules", key: "sk-canary-of-rules-0123", models: "gpt-4o", group: "default" },
  base_url: "https://up.example",
};
const ruled = (...actions: readonly unknown[]) =>
  JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", do: actions }] } });
const LEAK = { op: "refuse", status: 422, code: "no", message: "{{key}}" };
const RAISE = { op: "set", path: "/generationConfig", value: { maxOutputTokens: 65_536 } };

describe("a channel's rules", () => {
  let app: TestApp;
  let id = 0;
  beforeAll(async () => {
    app = await createTestApp();
    expect(await create({})).toMatchObject({ success: true });
    [{ id }] = (await app.call(asRoot, "GET", "/api/channel/")).data;
  });
  afterAll(() => app.close());

  const create = (more: object) => app.call(asRoot, "POST", "/api/channel/", { ...CHANNEL, ...more });
  const update = (more: object) => app.call(asRoot, "PUT", "/api/channel/", { id, ...more });

  it.each<[string, string]>([
    ["the key in a refusal", ruled(LEAK)],
    ["the key in a prompt", ruled({ op: "system", text: "{{key}}" })],
    ["a credential of the client", ruled({ op: "setHeader", name: "x-a", value: "{{header:cookie}}" })],
    ["a limit of output in an object", ruled(RAISE)],
    ["a limit of output that is a text", ruled({ op: "set", path: "/max_tokens", value: "65536" })],
    ["200 in the table", '{"status_map":{"200":500}}'],
    ["200 told", '{"status_map":{"429":200}}'],
    ["a status that is a word", '{"status_map":{"429":"abc"}}'],
    ["a word that is mapped", '{"status_map":{"abc":500}}'],
    ["99", '{"status_map":{"429":99}}'],
    ["99 that is mapped", '{"status_map":{"99":500}}'],
  ])("are refused when they are saved: %s", async (_, config) => {
    const before = (await app.call(asRoot, "GET", `/api/channel/${id}`)).data;
    for (const answer of [await create({ name: "new", config }), await update({ config })])
      expect(answer).toMatchObject({ success: false, message: expect.stringContaining("请求改写有误") });
    expect((await app.call(asRoot, "GET", `/api/channel/${id}`)).data).toEqual(before);
  });

  it("go on where they were saved before, and what else there is of the channel can be edited", async () => {
    const { db, candidates } = app.ctx;
    const config = ruled(LEAK, RAISE);
    await db.updateTable("channels").set({ config }).where("id", "=", id).execute();
    await candidates.reload();
    expect(candidates.byId(id)?.rewrite?.raisesTo).toBe(65_536);
    expect(await update({ name: "renamed", base_url: "https://other.example" })).toMatchObject({
      success: true,
    });
    expect(candidates.byId(id)).toMatchObject({ name: "renamed", config });
    expect(await update({ config })).toMatchObject({ success: false });
    // What they may never do ends the channel.
    const barred = ruled({ op: "set", path: "/model", value: "x" });
    await db.updateTable("channels").set({ config: barred }).where("id", "=", id).execute();
    await candidates.reload();
    expect(candidates.byId(id)).toBeUndefined();
  });
});
