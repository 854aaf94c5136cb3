// The form of one key of several: what it sends of what was filled in.
import { describe, expect, it } from "vitest";
import { ChannelKey } from "#contract/channel-key.ts";
import { keyChange, keyValues } from "./key-values.ts";

const row = ChannelKey.parse({
  ...{ id: 7, fingerprint: "01234567", name: "账号甲", status: 1, status_reason: "", status_time: 0 },
  ...{ weight: 2, models: "a,b", proxy: "socks5h://proxy.example:1080", proxy_login: true },
  ...{ test_time: 0, response_time: 0, probe_time: 0, created_time: 1, used_quota: 0, last_used: 0 },
  ...{ in_flight: 0, rests_until: 0, first_byte_ms: 1_500, connect_ms: 0, idle_ms: 0, total_ms: 0 },
  limits: { rpm: 60, tpm: 0, running: 4, day_quota: 0 },
});

describe("an edit of a key", () => {
  it("is only what was edited, so that two forms of one key take nothing back from each other", () => {
    const values = keyValues(row);
    expect(keyChange(row, values)).toBeUndefined();
    expect(keyChange(row, { ...values, name: " 账号甲 ", proxy: `${row.proxy} ` })).toBeUndefined();
    expect(keyChange(row, { ...values, name: "账号乙" })).toEqual({ name: "账号乙" });
    expect(keyChange(row, { ...values, rpm: null })).toEqual({ limits: { rpm: 0 } });
    expect(keyChange(row, { ...values, day_quota: 5, running: 1 })).toEqual({
      limits: { day_quota: 5, running: 1 },
    });
    expect(keyChange(row, { ...values, first_byte_s: null, idle_s: 2 })).toEqual({
      first_byte_ms: 0,
      idle_ms: 2_000,
    });
    expect(keyChange(row, { ...values, weight: null, models: [], proxy: "" })).toEqual({
      weight: 0,
      models: [],
      proxy: "",
    });
  });
});
