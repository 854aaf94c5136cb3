import { expect, test } from "vitest";
import { failureParts, offReason } from "./failure-words.ts";

test("why something is off begins with what its number is", () => {
  expect(offReason("status 401 invalid_api_key")).toBe("HTTP 401 invalid_api_key");
  expect([offReason("余额不足"), offReason("status quo"), offReason("")]).toEqual([
    "余额不足",
    "status quo",
    "",
  ]);
});

test("our own words of a proxy stand alone, an upstream's beside what we say", () => {
  expect(failureParts({ error: "proxy_failed", said: "代理：无法连接" })).toEqual(["代理：无法连接", ""]);
  expect(failureParts({ error: "proxy_failed", said: "" })).toEqual(["出站代理不可用", ""]);
  expect(failureParts({ error: "upstream_401", said: "no credit" })).toEqual(["上游返回 401", "no credit"]);
});
