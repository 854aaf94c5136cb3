import { QueryClient } from "@tanstack/react-query";
import { afterEach, describe, expect, it, vi } from "vitest";
import { channelApi } from "#contract/channel.ts";
import { logApi } from "#contract/log.ts";
import { optionApi } from "#contract/option.ts";
import { statusApi } from "#contract/status.ts";
import { tokenApi } from "#contract/token.ts";
import { addressOf, call, invalidate, query } from "./call.ts";
import { ApiFault, messages } from "./faults.ts";

interface Sent {
  readonly address: string;
  readonly init: RequestInit;
}

/** Answers the next call with a status and a body; remembers what was sent. */
function answer(body: unknown, status = 200): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal("fetch", async (address: string, init: RequestInit) => {
    sent.push({ address, init });
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
  });
  return sent;
}

const ok = (data: unknown, beside: object = {}) => ({ success: true, message: "", data, ...beside });

const token = {
  id: 5,
  user_id: 1,
  key: "k".repeat(48),
  status: 1,
  name: "t",
  created_time: 1,
  accessed_time: 1,
  expired_time: -1,
  remain_quota: 0,
  unlimited_quota: false,
  used_quota: 0,
};

afterEach(() => vi.unstubAllGlobals());

describe("addressOf", () => {
  it("fills path parameters and encodes the query by the contract", () => {
    expect(addressOf(tokenApi.get, { params: { id: 5 } })).toBe("/api/token/5");
    expect(addressOf(tokenApi.list, { query: { p: 0, size: 20, order: "name", desc: true } })).toBe(
      "/api/token/?p=0&size=20&order=name&desc=true",
    );
  });

  it("leaves empty texts out of the query, but says which way to sort: some columns go downwards unless told", () => {
    const filter = { p: 1, size: 10, order: "", token_name: "", type: 2 };
    expect(addressOf(logApi.listSelf, { query: filter })).toBe("/api/log/self/?p=1&size=10&type=2");
    expect(addressOf(tokenApi.list, { query: { p: 0, size: 20, order: "used_quota", desc: false } })).toBe(
      "/api/token/?p=0&size=20&order=used_quota&desc=false",
    );
  });

  it("escapes what users type", () => {
    expect(addressOf(tokenApi.search, { query: { keyword: "a&b=c 中" } })).toBe(
      "/api/token/search?keyword=a%26b%3Dc+%E4%B8%AD",
    );
  });
});

describe("call", () => {
  it("encodes the body by the contract and decodes the answer", async () => {
    const sent = answer(ok(3));
    const body = { type: 1, name: " n ", key: "k", models: ["a", "b"], group: ["default", "vip"] };
    expect(await call(channelApi.create, { body })).toBe(3);
    expect(sent[0]?.init.method).toBe("POST");
    expect(JSON.parse(String(sent[0]?.init.body))).toEqual({
      type: 1,
      name: "n",
      key: "k",
      models: "a,b",
      group: "default,vip",
    });
  });

  it("returns the fields beside data where the contract declares some", async () => {
    answer(ok([token], { total: 41 }));
    const page = await call(tokenApi.list, { query: { p: 0 } });
    expect(page.total).toBe(41);
    expect(page.data[0]).toMatchObject({ id: 5, models: "", subnet: "" });
  });

  it("works with servers that give no total", async () => {
    answer(ok([]));
    expect(await call(tokenApi.list, {})).toEqual({ data: [] });
  });

  it("takes a missing data for null, as older servers of the family answer", async () => {
    answer({ success: true, message: "" });
    expect(await call(tokenApi.remove, { params: { id: 1 } })).toBeNull();
  });

  it("takes a null within an answer for a field that was left out, as it stands for a list or text that is none", async () => {
    answer(ok({ "1": ["gpt-4"], "24": null }));
    expect(await call(statusApi.models, {})).toEqual({ "1": ["gpt-4"] });
    answer(ok([{ ...token, models: null, subnet: null }]));
    expect((await call(tokenApi.list, {})).data).toMatchObject([{ id: 5, models: "", subnet: "" }]);
  });

  it.each([
    statusApi.models,
    statusApi.availableModels,
    statusApi.groups,
    optionApi.list,
    channelApi.models,
    logApi.list,
  ])("takes null for an empty $path", async (endpoint) => {
    // `object` stands beside the list of models.
    answer(ok(null, { object: "list" }));
    const got = await call<typeof endpoint>(endpoint, {});
    expect("data" in got ? got.data : got).toEqual(endpoint === statusApi.models ? {} : []);
  });

  it("refuses input the contract refuses, without sending anything", async () => {
    const sent = answer(ok(null));
    const body = { type: 1, name: "", key: "", models: [], group: ["default"] };
    await expect(call(channelApi.create, { body })).rejects.toMatchObject({
      kind: "refused",
      message: "请填写渠道名称和渠道密钥",
    });
    expect(sent).toHaveLength(0);
  });

  it.each([
    [{ success: false, message: "令牌不存在", data: null }, 200, { kind: "refused", message: "令牌不存在" }],
    [{ success: false, message: "请登录" }, 401, { kind: "signed-out", status: 401, message: "请登录" }],
    ["", 429, { kind: "http", status: 429, message: messages.tooMany }],
    [{ success: false, message: "请 16 分钟后再试" }, 429, { kind: "http", message: "请 16 分钟后再试" }],
    ["<html>", 502, { kind: "http", status: 502, message: "HTTP 502" }],
    ["<html>", 200, { kind: "unreadable" }],
    [ok([{ id: "x" }]), 200, { kind: "unreadable" }],
  ])("turns %j with status %i into a fault", async (body, status, fault) => {
    answer(body, status);
    const failure: unknown = await call(tokenApi.list, {}).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApiFault);
    expect(failure).toMatchObject(fault);
  });

  it("says that the server cannot be reached when there is no answer", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await expect(call(tokenApi.list, {})).rejects.toMatchObject({ kind: "network" });
  });

  it("lets an abort through unchanged", async () => {
    const controller = new AbortController();
    controller.abort(new Error("gone"));
    vi.stubGlobal("fetch", () => Promise.reject(controller.signal.reason));
    await expect(call(tokenApi.list, {}, controller.signal)).rejects.toThrow("gone");
  });
});

describe("query", () => {
  it("keys answers by path and input, so that invalidating an endpoint finds all its pages", async () => {
    answer(ok([]));
    const client = new QueryClient();
    const first = query(tokenApi.list, { query: { p: 0 } });
    await client.fetchQuery(first);
    await invalidate(client, [tokenApi.list]);
    expect(client.getQueryState(first.queryKey)?.isInvalidated).toBe(true);
  });
});
