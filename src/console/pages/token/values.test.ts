import dayjs from "dayjs";
import { describe, expect, it } from "vitest";
import type { Token } from "#contract/token.ts";
import {
  draftOf,
  expiryWords,
  isExpiry,
  modelsFor,
  NEVER,
  notesOf,
  updateOf,
  valuesOf,
  wholeDay,
} from "./values.ts";

describe("token values", () => {
  it("start with the default quota and no expiry (requirements B9)", () => {
    expect(draftOf(valuesOf(undefined))).toMatchObject({
      remain_quota: 500_000,
      expired_time: NEVER,
      unlimited_quota: false,
    });
  });

  it("send whole quota and expiry in seconds", () => {
    const values = {
      ...valuesOf(undefined),
      name: "t",
      remain_quota: 12.9,
      expires: dayjs.unix(1_900_000_000),
    };
    expect(draftOf(values)).toMatchObject({ remain_quota: 12, expired_time: 1_900_000_000 });
  });

  it("let a day that was chosen without a time last to its end", () => {
    expect(wholeDay(dayjs("2026-11-30"))?.format("MM-DD HH:mm:ss.SSS")).toBe("11-30 23:59:59.000");
    expect(wholeDay(dayjs("2026-11-30T08:00:00"))?.format("MM-DD HH:mm")).toBe("11-30 08:00");
    expect(wholeDay(null)).toBeNull();
  });

  it("take the commas of Chinese keyboards between networks", () => {
    expect(draftOf({ ...valuesOf(undefined), subnet: " 10.0.0.0/8，::1 " }).subnet).toBe("10.0.0.0/8,::1");
  });

  it("tell the balance that the form was opened with, since calls go on spending", () => {
    const token = {
      id: 7,
      name: "t",
      remain_quota: 500,
      expired_time: NEVER,
      models: "",
      subnet: "",
      groups: ["vip", "default"],
      tags: "prod,ci",
      metadata: { 负责人: "小李" },
    } as unknown as Token;
    expect(updateOf(token, { ...valuesOf(token), name: "renamed" })).toMatchObject({
      id: 7,
      name: "renamed",
      remain_quota: 500,
      original_remain_quota: 500,
      groups: ["vip", "default"],
      tags: "prod,ci",
      metadata: { 负责人: "小李" },
    });
  });

  it("read notes line by line; a text may hold what divides them", () => {
    expect(notesOf("a = b=c \n\n d\n")).toEqual({ a: "b=c", d: "" });
  });

  it("take only dates and never for an expiry", () => {
    expect([null, dayjs(), dayjs("x"), "2026", 5].map(isExpiry)).toEqual([true, true, false, false, false]);
  });
});

describe("expiryWords", () => {
  const now = 1_000_000_000;
  it.each([
    [NEVER, "永不过期", "idle"],
    [now - 86_400, "1 天前已过期", "bad"],
    [now + 86_400, "1 天后过期", "warn"],
    [now + 86_400 * 30, "1 个月后过期", "idle"],
  ])("says %i as %s", (time, text, tone) => {
    expect(expiryWords(time, now)).toEqual({ text, tone });
  });
});

describe("models for a client", () => {
  it("are those that the token names one by one, and what its patterns let in of all that may be called", () => {
    expect(modelsFor("gpt-4o*, !gpt-4o-audio,o3 ", ["a"])).toEqual(["o3"]);
    expect(modelsFor("gpt-4o*,!gpt-4o-audio", ["a", "gpt-4o", "gpt-4o-audio"])).toEqual(["gpt-4o"]);
    expect(modelsFor("!a", ["a", "b"])).toEqual(["b"]);
    expect(modelsFor("o3", ["o3", "a"])).toEqual(["o3"]);
    expect(modelsFor("", ["a", "b"])).toEqual(["a", "b"]);
    expect(modelsFor("", [])).toEqual([]);
  });
});
