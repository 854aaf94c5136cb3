// The switches of New API's channels, member by member: what becomes a rule, and what is named because it has no place (requirements C37).
import { describe, expect, it, test } from "vitest";
import { openProxy } from "#server/channels/proxies.ts";
import { newApi, oneHub } from "#test/seeds/new-api.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { buildSource, importInto, openImported } from "#test/worlds/import-world.ts";
import { rulesOf } from "./channel-rewrites.ts";
import { settingsOf } from "./channel-settings.ts";
import type { SourceRow } from "./row.ts";

const ALL_OUT = [
  "/service_tier",
  "/inference_geo",
  "/speed",
  "/safety_identifier",
  "/stream_options/include_obfuscation",
];
const row = (settings: unknown, setting: unknown = {}): SourceRow => ({
  settings: JSON.stringify(settings),
  setting: JSON.stringify(setting),
});

describe("what is taken out of bodies", () => {
  it.each<[string, SourceRow, readonly string[]]>([
    ["everything, where nothing is allowed", row({}), ALL_OUT],
    ["everything, where the column is empty", { settings: null }, ALL_OUT],
    ["nothing by releases without the column", {}, []],
    [
      "what is not allowed",
      row({ allow_safety_identifier: true, allow_speed: false }),
      ALL_OUT.toSpliced(3, 1),
    ],
    ["nothing where bodies pass", row({}, { pass_through_body_enabled: true }), []],
  ])("%s", (_name, source, takenOut) => {
    expect(settingsOf(source).takenOut).toEqual(takenOut);
  });

  it("nothing where the bodies of all channels pass", () => {
    expect(settingsOf(row({}), true)).toEqual({
      passesBody: true,
      takenOut: [],
      takesStoreOut: false,
      left: [],
    });
  });

  it("store, of Chat alone", () => {
    expect(rulesOf(row({ disable_store: true })).rewrite?.rules[1]).toEqual({
      id: "disable_store",
      when: { formats: ["chat"], has: ["/messages"] },
      do: [{ op: "remove", path: "/store" }],
    });
  });
});

describe("what has no place here is named", () => {
  it.each<[string, SourceRow, readonly string[]]>([
    [
      "answers that are changed",
      row({}, { force_format: true, thinking_to_content: true, force_stream: true }),
      ["force_format", "thinking_to_content", "force_stream"],
    ],
    [
      "of vendors",
      row({ azure_responses_version: "preview", openrouter_enterprise: true, claude_beta_query: true }),
      ["azure_responses_version", "openrouter_enterprise", "claude_beta_query"],
    ],
    [
      "what costs more",
      row({ allow_service_tier: true, allow_speed: true, allow_inference_geo: true }),
      ["allow_service_tier", "allow_speed", "allow_inference_geo"],
    ],
    [
      "lists of models that change by themselves",
      row({ upstream_model_update_auto_sync_enabled: true, upstream_model_update_ignored_models: ["x"] }),
      ["upstream_model_update_auto_sync_enabled", "upstream_model_update_ignored_models"],
    ],
    ["what a fork has added", row({ some_switch: 1 }), ["some_switch"]],
    ["never disabled by itself", { auto_ban: 0 }, ["auto_ban"]],
    ["one-hub's columns", { only_chat: true, disabled_stream: "gpt-4" }, ["disabled_stream", "only_chat"]],
    [
      "nothing of what is off or said by the key",
      row(
        {
          vertex_key_type: "api_key",
          aws_key_type: "ak_sk",
          openrouter_enterprise: false,
          azure_responses_version: "",
          upstream_model_update_ignored_models: [],
          upstream_model_update_check_enabled: true,
        },
        {
          force_format: false,
          proxy: "http://p.example:1",
          system_prompt: "S",
          system_prompt_override: true,
        },
      ),
      [],
    ],
  ])("%s", (_name, source, left) => {
    expect(settingsOf(source).left).toEqual(left);
  });
});

test("the report has each channel with each switch by name, and rules too many disable theirs", async () => {
  const operations = Array.from({ length: 51 }, (_, at) => ({ mode: "set", path: `f${at}`, value: at }));
  const channel = (id: number, more: Record<string, string | number>) => ({
    id,
    key: "k",
    name: `c${id}`,
    models: "gpt-4o",
    ...more,
  });
  const data = newApi({
    channels: [
      channel(1, { setting: '{"thinking_to_content":true,"force_format":true}', tag: "eu", auto_ban: 0 }),
      channel(2, {
        setting: '{"pass_through_body_enabled":true,"system_prompt":"S"}',
        param_override: '{"temperature":0}',
        header_override: '{"X-A":"1"}',
        model_mapping: '{"a":"b"}',
      }),
      // Its address names the deployment.
      channel(3, {
        type: 3,
        base_url: "https://x.openai.azure.com",
        setting: '{"pass_through_body_enabled":true}',
        model_mapping: '{"a":"b"}',
      }),
      channel(4, { settings: '{"disable_store":true}', open_ai_organization: "org-1" }),
      channel(5, { param_override: JSON.stringify({ operations }) }),
    ],
  });
  const where = { dataDir: testDirectory(), url: undefined };
  const { report } = await importInto(await buildSource("SQLite file", data), where);
  const { ctx } = await openImported(where);
  const rows = await ctx.db.selectFrom("channels").selectAll().orderBy("id").execute();
  const rules = rows.map(({ config }) =>
    (JSON.parse(config || "{}").rewrite?.rules ?? []).map(({ id }: { id: string }) => id),
  );
  expect(rules).toEqual([
    ["settings"],
    ["header_override 1"],
    [],
    ["settings", "disable_store", "open_ai_organization"],
    [],
  ]);
  expect(rows.map(({ model_mapping, status }) => [model_mapping, status])).toEqual([
    ["", 1],
    ["", 1],
    ['{"a":"b"}', 1],
    ["", 1],
    ["", 2],
  ]);
  for (const line of [
    "settings of channels that have no place here were left out (3): c1 (thinking_to_content), c1 (force_format), c1 (auto_ban)",
    "labels of channels have no place here: c1 (tag)",
    "c2 (pass_through_body_enabled), c3 (pass_through_body_enabled)",
    "model mappings that did nothing, since bodies passed as they were, were left out: c2",
    "channels with disable_store take it out of Chat; what is kept of Responses is decided here: c4",
    "c5: 最多 50 条规则",
  ])
    expect(report).toContain(line);
});

test("one-hub's proxies go on, with an exit for each key", async () => {
  const data = oneHub({
    channels: [
      { id: 1, key: "k", name: "c1", models: "gpt-4o", proxy: "socks5://user-%s:p@proxy.example:1080" },
    ],
  });
  const where = { dataDir: testDirectory(), url: undefined };
  await importInto(await buildSource("SQLite file", data), where);
  const { ctx } = await openImported(where);
  const [found] = await ctx.db.selectFrom("channels").select("proxy_sealed").execute();
  expect(openProxy(ctx.secrets, found?.proxy_sealed ?? "")).toBe(
    "socks5h://user-%7Bkey_hash%7D:p@proxy.example:1080",
  );
});
