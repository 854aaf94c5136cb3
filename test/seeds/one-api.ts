// What databases of One API hold, by its documented schema (requirements W7.1): release 0.6 and a later one. Invented users and
// keys; written as files and databases by one-api-files.ts.

import type { Cell, OneApi, Table } from "./one-api-files.ts";

export type Age = "0.6" | "later";

/** What `passwordHash` is the bcrypt hash of; made with libxcrypt. */
export const password = "imported-password-1";
export const passwordHash = "$2a$10$abcdefghijklmnopqrstuuhfRLkkXBJXwrQ4j5tcDIhWOTHnDcZs2";

/** Half random, half a UUID whose letters at even places are upper-case, as One API makes them. */
export const keys = {
  root: "4rT9kLmQ2xVb7NcZ0F8b2e6A4d1C9f3E5a7B0c2D8e4F6a1b",
  alice: "Zk3mP8qWs6RtY1uI9E3f5A7c2B8d4F0e6C1a3D5b9E7f2c4A",
  aliceOld: "aB1cD2eF3gH4iJ5k0A1b2C3d4E5f6A7b8C9d0E1f2A3b4C5d",
  orphan: "Xx9yYy8zZz7wWw6v1F2e3D4c5B6a7F8e9D0c1B2a3F4e5D6c",
} as const;

export const accessToken = "9f8e7d6c5b4a39281706f5e4d3c2b1a0";
export const channelKeys = {
  openai: "sk-upstream-canary-0001",
  deepseek: "sk-deepseek-canary-0002",
} as const;
export const optionSecret = "github-secret-canary-0003";
export const redemptionCode = "0123456789abcdef0123456789abcd77";
/** Every secret that must not be found in clear anywhere. */
export const secrets = [
  ...Object.values(keys),
  accessToken,
  ...Object.values(channelKeys),
  optionSecret,
  redemptionCode,
];

const NOON = 1_710_000_000;

function usersTable(age: Age): Table {
  const late = age === "later";
  const user = (fields: Record<string, Cell>) => ({
    password: passwordHash,
    display_name: fields["username"] ?? "",
    role: 1,
    status: 1,
    email: "",
    github_id: "",
    wechat_id: "",
    access_token: "",
    quota: 0,
    used_quota: 0,
    request_count: 0,
    group: "default",
    inviter_id: 0,
    ...(late ? { lark_id: "", oidc_id: "" } : {}),
    ...fields,
  });
  return {
    columns: {
      id: "id",
      username: "indexed",
      password: "text",
      display_name: "indexed",
      role: "int",
      status: "int",
      email: "indexed",
      github_id: "indexed",
      wechat_id: "indexed",
      ...(late ? { lark_id: "indexed", oidc_id: "indexed" } : {}),
      access_token: "char(32)",
      quota: late ? "bigint" : "int",
      used_quota: late ? "bigint" : "int",
      request_count: "int",
      group: "varchar(32)",
      aff_code: "varchar(32)",
      inviter_id: "int",
    },
    rows: [
      user({
        id: 1,
        username: "root",
        role: 100,
        access_token: accessToken,
        quota: 100_000_000,
        aff_code: "",
      }),
      user({
        id: 2,
        username: "alice",
        display_name: '爱丽丝 "A" o\'Neil \\ 100%',
        email: "Shared@Example.com",
        github_id: "alice-gh",
        access_token: "11112222333344445555666677778888",
        quota: 500_123,
        used_quota: 99_877,
        request_count: 42,
        group: "vip",
        aff_code: "aB3d",
      }),
      user({
        id: 3,
        username: "bob",
        email: "shared@example.com",
        access_token: "aaaabbbbccccddddeeeeffff00001111",
        quota: -250,
        used_quota: 1_000_250,
        request_count: 7,
        aff_code: "Xy9Z",
        inviter_id: 2,
      }),
      user({
        id: 5,
        username: "deleted_0123456789abcdef0123456789abcdef",
        status: 3,
        email: "shared@example.com",
        access_token: "ffff0000ffff0000ffff0000ffff0000",
        quota: 10,
        used_quota: 20,
        request_count: 1,
        aff_code: "Dd4d",
      }),
      user({
        id: 9,
        username: "banned",
        status: 2,
        role: 10,
        email: "Shared+Old@example.com",
        access_token: "77776666555544443333222211110000",
        quota: 1,
        aff_code: "Bn2d",
      }),
    ],
  };
}

function tokensTable(age: Age): Table {
  const late = age === "later";
  const token = (fields: Record<string, Cell>) => ({
    status: 1,
    created_time: NOON - 1000,
    accessed_time: NOON,
    expired_time: -1,
    remain_quota: 0,
    unlimited_quota: false,
    used_quota: 0,
    ...(late ? { models: null, subnet: "" } : {}),
    ...fields,
  });
  return {
    columns: {
      id: "id",
      user_id: "int",
      key: "char(48)",
      status: "int",
      name: "indexed",
      created_time: "bigint",
      accessed_time: "bigint",
      expired_time: "bigint",
      remain_quota: late ? "bigint" : "int",
      unlimited_quota: "bool",
      used_quota: late ? "bigint" : "int",
      ...(late ? { models: "text", subnet: "indexed" } : {}),
    },
    rows: [
      token({
        id: 1,
        user_id: 1,
        key: keys.root,
        name: "Initial Root Token",
        remain_quota: 500_000,
        unlimited_quota: true,
      }),
      token({
        id: 4,
        user_id: 2,
        key: keys.alice,
        name: "翻译",
        remain_quota: 300_000,
        used_quota: 90_000,
        ...(late ? { models: "gpt-4o-mini,gpt-4o", subnet: "127.0.0.0/8" } : {}),
      }),
      token({
        id: 7,
        user_id: 3,
        key: keys.aliceOld,
        name: "old",
        status: 4,
        remain_quota: -12,
        used_quota: 1_000_012,
      }),
      token({ id: 8, user_id: 77, key: keys.orphan, name: "orphan", remain_quota: 5 }),
      token({ id: 9, user_id: 5, key: "Q".repeat(48), name: "of a deleted user", remain_quota: 6 }),
    ],
  };
}

function channelsTable(age: Age): Table {
  const late = age === "later";
  const channel = (fields: Record<string, Cell>) => ({
    status: 1,
    weight: 0,
    created_time: NOON,
    test_time: NOON,
    response_time: 321,
    base_url: "",
    other: "",
    balance: 1.25,
    balance_updated_time: NOON,
    models: "gpt-4o-mini",
    group: "default",
    used_quota: 0,
    model_mapping: "",
    priority: 0,
    config: "",
    ...(late ? { system_prompt: null } : {}),
    ...fields,
  });
  return {
    columns: {
      id: "id",
      type: "int",
      key: "text",
      status: "int",
      name: "indexed",
      weight: "int",
      created_time: "bigint",
      test_time: "bigint",
      response_time: "int",
      base_url: "indexed",
      other: "text",
      balance: "float",
      balance_updated_time: "bigint",
      models: "text",
      group: "varchar(32)",
      used_quota: "bigint",
      model_mapping: "varchar(1024)",
      priority: "bigint",
      config: "text",
      ...(late ? { system_prompt: "text" } : {}),
    },
    rows: [
      channel({
        id: 1,
        type: 1,
        key: channelKeys.openai,
        name: "main",
        weight: null,
        priority: null,
        models: " gpt-4o-mini, gpt-4o,,gpt-4o-mini ",
        group: "default, vip ,",
        used_quota: 1_050_000,
        model_mapping: '{"gpt-4":"gpt-4o"}',
      }),
      channel({
        id: 2,
        type: 3,
        key: "azure-key",
        name: "azure",
        base_url: "https://x.openai.azure.com/",
        other: "2024-02-01",
        model_mapping: "not json",
      }),
      channel({
        id: 3,
        type: 18,
        key: "a|b|c",
        name: "spark",
        other: late ? "" : "v3.5",
        config: late ? '{"api_version":"v3.5"}' : "",
      }),
      channel({ id: 6, type: 36, key: channelKeys.deepseek, name: "deepseek", models: "deepseek-chat" }),
      channel({ id: 7, type: 40, key: "ark", name: "ark", status: 3 }),
      channel({ id: 8, type: 34, key: "coze", name: "coze" }),
    ],
  };
}

function redemptionsTable(): Table {
  const code = (fields: Record<string, Cell>) => ({
    user_id: 1,
    created_time: NOON,
    redeemed_time: 0,
    quota: 100_000,
    ...fields,
  });
  return {
    columns: {
      id: "id",
      user_id: "int",
      key: "char(32)",
      status: "int",
      name: "indexed",
      quota: "int",
      created_time: "bigint",
      redeemed_time: "bigint",
    },
    rows: [
      code({ id: 1, key: redemptionCode, status: 1, name: "spring" }),
      code({ id: 2, key: "f".repeat(32), status: 3, name: "spring", redeemed_time: NOON + 5 }),
    ],
  };
}

/** Calls of two users, and every tenth entry of another kind. */
function logEntry(index: number) {
  const isCall = index % 10 !== 9;
  const person =
    index % 2 === 0
      ? { user_id: 2, username: "alice", token_name: "翻译" }
      : { user_id: 3, username: "bob", token_name: "old" };
  return {
    ...person,
    created_at: NOON + index * 7,
    type: isCall ? 2 : 3,
    content: index % 3 === 0 ? "模型倍率 0.25，分组倍率 1.00\n第二行; 'x' -- \\" : "",
    model_name: index % 4 === 0 ? "gpt-4o" : "gpt-4o-mini",
    channel_id: index % 5 === 0 ? 6 : 1,
    ...(isCall
      ? { quota: (index % 50) + 1, prompt_tokens: 10, completion_tokens: 5 }
      : { quota: 0, prompt_tokens: 0, completion_tokens: 0 }),
  };
}

function logsTable(age: Age, count: number): Table {
  const late = age === "later";
  const rows = Array.from({ length: count }, (_, index) => ({
    ...logEntry(index),
    // Gaps and a large id, as databases have them.
    id: index === count - 1 ? 5_000_000_000 : index * 2 + 1,
    ...(late
      ? { request_id: `r${index}`, elapsed_time: 250, is_stream: index % 2 === 0, system_prompt_reset: false }
      : {}),
  }));
  return {
    columns: {
      id: "id",
      user_id: "int",
      created_at: "bigint",
      type: "int",
      content: "text",
      username: "indexed",
      token_name: "indexed",
      model_name: "indexed",
      quota: "int",
      prompt_tokens: "int",
      completion_tokens: "int",
      channel_id: "int",
      ...(late
        ? { request_id: "indexed", elapsed_time: "bigint", is_stream: "bool", system_prompt_reset: "bool" }
        : {}),
    },
    rows,
  };
}

function optionsTable(age: Age): Table {
  const options: Record<string, string> = {
    SystemName: "旧站",
    QuotaPerUnit: "500000",
    RetryTimes: "2",
    GitHubClientSecret: optionSecret,
    // A mistake of an administrator: of a name that is there twice, the last counts.
    ModelRatio: '{"gpt-4o-mini":9,"house-model":1.5,"gpt-4o-mini":0.3}',
    CompletionRatio: "{broken",
    GroupRatio: '{"default":1,"vip":0.8}',
    Theme: "berry",
    SomethingElse: "1",
    ...(age === "later" ? { OidcEnabled: "true", CreateCacheRatio: '{"claude-opus-4":1.25}' } : {}),
  };
  return {
    columns: { key: "indexed", value: "text" },
    rows: Object.entries(options).map(([key, value]) => ({ key, value })),
  };
}

/** All tables of a database with this many log entries. */
export function oneApi(age: Age, logs = 60): OneApi {
  return {
    abilities: {
      columns: {
        group: "varchar(32)",
        model: "indexed",
        channel_id: "int",
        enabled: "bool",
        priority: "bigint",
      },
      rows: [{ group: "default", model: "gpt-4o-mini", channel_id: 1, enabled: true, priority: 0 }],
    },
    channels: channelsTable(age),
    logs: logsTable(age, logs),
    options: optionsTable(age),
    redemptions: redemptionsTable(),
    tokens: tokensTable(age),
    users: usersTable(age),
  };
}
