// The groups of imported tokens: the order in which they are tried, what of it changes, and that nothing is opened that was closed
// (requirements C51).
import { describe, expect, onTestFinished, test } from "vitest";
import { newApi, oneHub } from "#test/seeds/new-api.ts";
import type { OneApi } from "#test/seeds/one-api-files.ts";
import { databases } from "#test/worlds/app.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { buildSource, engines, importInto, openImported } from "#test/worlds/import-world.ts";

const KEY = "k".repeat(46);
/** Users of the seed: alice is vip, bob default. */
const [alice, bob] = [2, 3];

function token(id: number, userId: number, more: Record<string, string | boolean | null>) {
  return { id, user_id: userId, key: `${KEY}${id}`, name: `t${id}`, ...more };
}

const NEW_API = newApi({
  tokens: [
    token(10, bob, {}),
    token(11, bob, { group: "pro" }),
    token(12, bob, { group: "auto", cross_group_retry: true }),
    token(13, bob, { group: "auto" }),
    token(14, alice, { group: "auto", cross_group_retry: true }),
    token(15, bob, { group: "auto", cross_group_retry: true, auto_groups: '["pro","default","pro","gone"]' }),
    token(16, bob, { group: "gone" }),
    token(17, alice, { group: "inner" }),
    token(18, bob, { group: "inner" }),
    token(19, alice, { group: "cheap" }),
    token(20, bob, { group: "a,b" }),
  ],
  options: {
    // Users are in vip all the same.
    GroupRatio: '{"default":1,"pro":2,"cheap":0.5,"inner":1}',
    GroupGroupRatio: '{"vip":{"pro":1.5}}',
    UserUsableGroups: '{"default":"默认","pro":"专业","cheap":"便宜","auto":"自动","a,b":"逗号"}',
    AutoGroups: '["cheap","inner","default","pro","nowhere"]',
    "group_ratio_setting.group_special_usable_group": '{"vip":{"+:inner":"内部","-:cheap":""}}',
    DefaultUseAutoGroup: "true",
  },
});

const ONE_HUB = oneHub({
  groups: [
    { symbol: "default", name: "默认", ratio: 1 },
    { symbol: "vip", name: "VIP", ratio: 0.8, public: false },
    { symbol: "pro", name: "专业", ratio: 2, api_rate: 60 },
    { symbol: "old", name: "旧", ratio: 1, enable: false },
  ],
  tokens: [
    token(10, bob, { group: "pro", backup_group: "default" }),
    token(11, alice, { group: "vip", backup_group: "pro" }),
    token(12, bob, { backup_group: "pro" }),
    token(13, bob, { group: "pro", backup_group: "pro" }),
    token(14, bob, { group: "vip" }),
    token(15, bob, { group: "old" }),
    token(16, bob, {
      setting: JSON.stringify({
        limits: {
          limit_model_setting: { enabled: true, models: ["gpt-4o", "gpt-4o-mini"] },
          limits_ip_setting: { enabled: true, whitelist: ["10.0.0.1", "10.1.0.0/16"] },
        },
      }),
    }),
    token(17, bob, { setting: '{"limits":{"limit_model_setting":{"enabled":true,"models":[]}}}' }),
  ],
});

/** What became of the tokens: `id status groups`, and the report. */
async function imported(
  source: string,
  where: { readonly dataDir: string; readonly url: string | undefined },
) {
  const { report, isExact } = await importInto(source, where);
  expect(isExact).toBe(true);
  const { ctx } = await openImported(where);
  const rows = await ctx.db
    .selectFrom("tokens")
    .select(["id", "status", "groups", "models", "subnet"])
    .orderBy("id")
    .execute();
  const options = { usable: ctx.options.get("UserUsableGroups"), ratios: ctx.options.get("GroupRatio") };
  return { report, rows, options, tokens: rows.map(({ id, status, groups }) => `${id} ${status} ${groups}`) };
}

const cases = databases.flatMap((database) => engines.map((engine) => ({ database, engine })));

describe.each(cases)("a $engine into $database.name", ({ database, engine }) => {
  async function into(data: OneApi) {
    const made = await database.create();
    onTestFinished(made.drop);
    return imported(await buildSource(engine, data), { dataDir: testDirectory(), url: made.url });
  }

  test("New API's: a name is the order, auto the order of its groups for that user as it was", async () => {
    const { report, tokens } = await into(NEW_API);
    expect(tokens).toEqual([
      "10 1 ",
      "11 1 pro",
      "12 1 cheap,default,pro",
      "13 1 cheap,default,pro",
      "14 1 inner,default,pro",
      "15 1 pro,default",
      "16 1 gone",
      "17 1 inner",
      "18 1 inner",
      // Closed to vip, which cannot be said here.
      "19 2 cheap",
      "20 2 ",
    ]);
    for (const line of [
      "in this order: cheap,default,pro (2): 12, 13",
      "in this order: inner,default,pro: 14",
      "in this order: pro,default: 15",
      "stayed in the first group with a channel for the model, and go on to the next here when its channels fail: cheap,default,pro: 13",
      "does not exist, calls in it are refused as there: gone: 16",
      "open to members of vip alone, calls in it are refused until it is open to all: inner (2): 14, 17",
      "their user may not use, calls in it are refused: inner: 18",
      "closed to their user's (-:cheap of vip): 19",
      "whose name cannot be one here: a,b: 20",
      "left without a group were disabled: calls with them were refused: 20",
      "members of vip in pro 2 instead of 1.5: 14",
      "users are in a group that has no ratio, which is 1 here: vip: 2",
      "options that do not exist here were left out",
    ])
      expect(report).toContain(line);
    expect(report).toMatch(/left out \(\d+\): .*DefaultUseAutoGroup/);
  });

  test("one-hub's: the group, then the one that stands in; its table of groups, and the limits of its tokens", async () => {
    const { report, rows, options, tokens } = await into(ONE_HUB);
    expect(options).toEqual({
      ratios: { default: 1, vip: 0.8, pro: 2 },
      usable: { default: "默认", pro: "专业" },
    });
    expect(tokens).toEqual([
      "10 1 pro,default",
      "11 1 vip,pro",
      "12 1 pro",
      "13 1 pro",
      "14 1 vip",
      "15 1 old",
      "16 1 ",
      "17 2 ",
    ]);
    expect(rows[6]).toMatchObject({ models: "gpt-4o,gpt-4o-mini", subnet: "10.0.0.1,10.1.0.0/16" });
    for (const line of [
      "their user may not use, calls in it are refused: vip: 14",
      "does not exist, calls in it are refused as there: old: 15",
      "groups that were off there are not here: calls in them are refused as there: old",
      "limits of groups were left out: set them here again: pro (api_rate)",
      "list of models is on and empty were disabled: it allows none: 17",
    ])
      expect(report).toContain(line);
    expect(report).not.toContain("tables that hold rows");
  });
});

test("New API's own groups and order hold until an administrator of the source has set them", async () => {
  const data = newApi({
    tokens: [
      token(10, bob, { group: "auto" }),
      token(11, bob, { group: "vip" }),
      token(12, bob, { group: "svip" }),
    ],
  });
  const where = { dataDir: testDirectory(), url: undefined };
  const { report, options, tokens } = await imported(await buildSource("SQLite file", data), where);
  expect(options.usable).toEqual({ default: "default", vip: "vip" });
  expect(tokens).toEqual(["10 1 default", "11 1 vip", "12 1 svip"]);
  expect(report).toContain("their user may not use, calls in it are refused: svip: 12");
});

test("a token keeps eight groups", async () => {
  const names = Array.from({ length: 10 }, (_, at) => `g${at}`);
  const all = Object.fromEntries(names.map((name) => [name, 1]));
  const data = newApi({
    tokens: [token(10, bob, { group: "auto", cross_group_retry: true })],
    options: {
      GroupRatio: JSON.stringify({ default: 1, ...all }),
      UserUsableGroups: JSON.stringify(Object.fromEntries(names.map((name) => [name, ""]))),
      AutoGroups: JSON.stringify(names),
    },
  });
  const where = { dataDir: testDirectory(), url: undefined };
  const { report, tokens } = await imported(await buildSource("SQLite file", data), where);
  expect(tokens).toEqual(["10 1 g0,g1,g2,g3,g4,g5,g6,g7"]);
  expect(report).toContain("tokens keep 8 groups, and lose g8: 10");
});
