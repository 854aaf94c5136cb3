import { describe, expect, it } from "vitest";
import { Channel } from "#contract/channel.ts";
import {
  afterTypeChange,
  type ChannelValues,
  draftOf,
  keysOf,
  mergeModels,
  otherAfterType,
  pastedProxy,
  typedModels,
  updateOf,
  valuesOf,
} from "./values.ts";

const AZURE = 3;
const SPARK = 18;
const models = { "1": ["gpt-4o"], "3": ["gpt-4o", "gpt-35"], "18": ["SparkDesk"] };
const stored: Channel = Channel.parse({
  ...{ id: 7, type: 1, key: "", status: 1, name: "旧名", weight: 5, priority: 0 },
  ...{ created_time: 0, test_time: 0, response_time: 0, balance: 0, balance_updated_time: 0 },
  ...{ base_url: "https://x.example/v1", other: "", models: "a", group: "default", model_mapping: "{}" },
});
const fresh: ChannelValues = { ...valuesOf(undefined), name: "n", key: "k", models: ["gpt-4o"] };

describe("a change of type", () => {
  it("brings the defaults of the spec for the extra field", () => {
    expect(afterTypeChange(fresh, AZURE, models).other).toBe("2023-06-01-preview");
    expect(afterTypeChange({ ...fresh, type: AZURE, other: "2023-06-01-preview" }, SPARK, models).other).toBe(
      "v2.1",
    );
    expect(afterTypeChange({ ...fresh, type: SPARK, other: "v2.1" }, 1, models).other).toBe("");
  });

  it("keeps the models the operator wrote", () => {
    const own = { ...fresh, type: AZURE, models: ["mine"] };
    expect(afterTypeChange(own, SPARK, models).models).toBeUndefined();
  });

  it("does not pass an API version on as the version of a model, nor hide it where there is no such field", () => {
    const own = { ...fresh, type: AZURE, other: "2024-10-21" };
    expect(otherAfterType(own, SPARK)).toBe("v2.1");
    expect(otherAfterType(own, 1)).toBe("");
    expect(otherAfterType(own, AZURE)).toBe("2024-10-21");
  });

  it("replaces the related models of the old type by those of the new one", () => {
    expect(afterTypeChange(fresh, AZURE, models).models).toEqual(["gpt-4o", "gpt-35"]);
    expect(afterTypeChange({ ...fresh, models: [] }, SPARK, models).models).toEqual(["SparkDesk"]);
  });
});

describe("what is sent", () => {
  it("cuts trailing slashes and keeps weights from going below 0", () => {
    const draft = draftOf({ ...fresh, base_url: " https://x.example/// ", weight: -3, priority: null });
    expect(draft).toMatchObject({ base_url: "https://x.example", weight: 0, priority: 0 });
  });

  it("sends one key per line in a batch, without empty lines", () => {
    expect(keysOf("a\n\n b \r\nc")).toEqual(["a", "b", "c"]);
    expect(draftOf({ ...fresh, is_batch: true, key: "a\n\nb\n" }).key).toBe("a\nb");
  });

  it("counts a JSON key of many lines as one", () => {
    expect(keysOf('{\n  "client_email": "a@b",\n  "n": 1\n}\n')).toEqual(['{"client_email":"a@b","n":1}']);
    expect(keysOf('{"broken\n}')).toEqual(['{"broken', "}"]);
  });

  it("is only what was edited, so that two forms of one channel take nothing back from each other", () => {
    const edited = { ...valuesOf(stored), name: "新名", base_url: "https://x.example/v1///", weight: null };
    expect(updateOf(stored, edited)).toEqual({ id: 7, name: "新名", weight: 0 });
    expect(updateOf(stored, { ...edited, models: ["a", "b"], key: " sk-new " })).toMatchObject({
      models: ["a", "b"],
      key: "sk-new",
    });
    expect(updateOf(stored, valuesOf(stored))).toEqual({ id: 7 });
    const behind = { ...stored, proxy: "socks5h://proxy.example:1080", proxy_login: true };
    const unchanged = valuesOf(behind);
    expect(unchanged).toMatchObject({
      proxy_kind: "socks5h",
      proxy_address: "proxy.example:1080",
      proxy_user: "",
    });
    expect(updateOf(behind, unchanged)).toEqual({ id: 7 });
    const typed = { ...unchanged, proxy_user: "a@b", proxy_password: "p:%" };
    expect(updateOf(behind, typed)).toEqual({ id: 7, proxy: "socks5h://a%40b:p%3A%25@proxy.example:1080" });
    const pasted = {
      ...unchanged,
      proxy_kind: "http",
      proxy_address: " SOCKS5://a%40b:p:%@h.example:1081/ ",
    };
    expect(updateOf(behind, pasted)).toEqual({ id: 7, proxy: "socks5://a%40b:p%3A%25@h.example:1081" });
    expect(pastedProxy("socks://h.example:1")).toEqual({
      proxy_kind: "socks5h",
      proxy_address: "h.example:1",
    });
    expect(pastedProxy("http://u:p@ss@[::1]:8080")).toMatchObject({
      proxy_user: "u",
      proxy_password: "p@ss",
    });
    expect([pastedProxy("h.example:1"), pastedProxy("http://"), pastedProxy("socks4://h:1")]).toEqual([
      {},
      {},
      {},
    ]);
    expect(updateOf(behind, { ...unchanged, proxy_address: "socks4://h:1" }).proxy).toBe("socks4://h:1");
    expect(updateOf(behind, { ...unchanged, proxy_open: true })).toEqual({
      id: 7,
      proxy: "socks5h://@proxy.example:1080",
    });
    expect(updateOf(behind, { ...unchanged, proxy_kind: "direct" })).toEqual({ id: 7, proxy: "direct" });
    expect(updateOf(behind, { ...unchanged, proxy_kind: "" })).toEqual({ id: 7, proxy: "" });
    expect(updateOf(stored, { ...valuesOf(stored), reuse: "never" as const })).toEqual({
      id: 7,
      reuse: "never",
    });
  });
});

describe("model names", () => {
  it("are added once and in order", () => {
    expect(mergeModels(["a", "b"], ["b", "c"])).toEqual(["a", "b", "c"]);
    expect(typedModels(" a, b，c\nd ")).toEqual(["a", "b", "c", "d"]);
  });
});
