import { describe, expect, it } from "vitest";
import { defaultModelRatio } from "#contract/prices.ts";
import {
  type Bases,
  completeRatios,
  dollarText,
  isChanged,
  mergedRatios,
  ratioOfDollars,
  ratioRows,
  readRatios,
  rowMoney,
  withRatio,
  writeRatios,
} from "./ratio-rows.ts";

const NO_BASES = { models: {}, audio: {}, image: {}, units: {} };

describe("ratio tables", () => {
  it("mark what differs from the built-in prices", () => {
    const rows = ratioRows("ModelRatio", { "gpt-4o-mini": 0.1, mine: 2 }, {});
    expect(rows.map((row) => ({ name: row.name, changed: isChanged(row) }))).toEqual([
      { name: "gpt-4o-mini", changed: true },
      { name: "mine", changed: true },
    ]);
    expect(isChanged({ name: "x", ratio: 1, builtIn: 1, isRule: false })).toBe(false);
  });

  it("put the built-in price back, or take an own row out", () => {
    const back = withRatio("ModelRatio", { "gpt-4o-mini": 9 }, "gpt-4o-mini", undefined);
    expect(back).toEqual({ "gpt-4o-mini": defaultModelRatio["gpt-4o-mini"] });
    expect(withRatio("ModelRatio", { mine: 1 }, "mine", undefined)).toEqual({});
    expect(withRatio("GroupRatio", { default: 1 }, "vip", 0.8)).toEqual({ default: 1, vip: 0.8 });
  });

  it("of two administrators become one, row by row", () => {
    const merged = (base: object, mine: object, theirs: object) => {
      const texts = [base, mine, theirs].map((table) => JSON.stringify(table)) as [string, string, string];
      const text = mergedRatios("GroupRatio", { base: texts[0], mine: texts[1], theirs: texts[2] });
      return JSON.parse(text ?? "null");
    };
    const base = { default: 1, vip: 0.8, old: 2 };
    expect(merged(base, { ...base, vip: 0.7 }, { ...base, partner: 0.5 })).toEqual({
      ...base,
      vip: 0.7,
      partner: 0.5,
    });
    expect(merged(base, { default: 1, vip: 0.8 }, { ...base, old: 3 })).toEqual({ default: 1, vip: 0.8 });
    expect(merged(base, { ...base, vip: 0.7 }, { default: 1, old: 2 })).toEqual({
      default: 1,
      old: 2,
      vip: 0.7,
    });
    expect(merged(base, { ...base, vip: 0.7 }, { ...base, vip: 0.6 })).toEqual({ ...base, vip: 0.7 });
    expect(mergedRatios("GroupRatio", { base: "{}", mine: '{"vip":', theirs: "{}" })).toBeUndefined();
  });

  it("tell money per million tokens beside the ratio", () => {
    const bases = { ...NO_BASES, models: { "gpt-4o-mini": 0.075 } };
    expect(rowMoney("ModelRatio", { name: "gpt-4o-mini", ratio: 0.075 }, bases, 500_000)).toEqual({
      dollars: 0.15,
      per: "百万 tokens",
    });
    const output = rowMoney("CompletionRatio", { name: "gpt-4o-mini", ratio: 4 }, bases, 500_000);
    expect(output?.dollars).toBeCloseTo(0.6);
    expect(rowMoney("CompletionRatio", { name: "unknown", ratio: 4 }, bases, 500_000)).toBeUndefined();
    expect(rowMoney("GroupRatio", { name: "vip", ratio: 1 }, bases, 500_000)).toBeUndefined();
    expect(ratioOfDollars("gpt-4o-mini", 0.15, { quotaPerUnit: 500_000, units: {} })).toBe(0.075);
  });

  it("tell money for what is counted, as it is built in or as the operator says", () => {
    const units = { house: "call" } as const;
    const told = (name: string, ratio: number) =>
      rowMoney("ModelRatio", { name, ratio }, { ...NO_BASES, units }, 500_000);
    expect(told("whisper-1", 15)).toEqual({ dollars: 0.006, per: "分钟" });
    expect(told("sora-2@1080p", 50)).toEqual({ dollars: 0.1, per: "秒" });
    expect(told("house", 50)).toEqual({ dollars: 0.1, per: "次" });
    expect(ratioOfDollars("house", 0.1, { quotaPerUnit: 500_000, units })).toBe(50);
  });

  it("tell what sound and pictures cost as output: input price × input ratio × their own", () => {
    const bases: Bases = {
      models: { "gpt-audio": 1.25, "gpt-image": 2.5 },
      audio: { "gpt-audio": 12.8 },
      image: {},
      units: {},
    };
    const sound = rowMoney("AudioCompletionRatio", { name: "gpt-audio", ratio: 2 }, bases, 500_000);
    expect(sound).toEqual({ dollars: 64, per: "百万 tokens" });
    // As the ledger does: without a ratio of its own a picture costs what text costs.
    const picture = rowMoney("ImageCompletionRatio", { name: "gpt-image", ratio: 4 }, bases, 500_000);
    expect(picture?.dollars).toBe(20);
    expect(rowMoney("AudioCompletionRatio", { name: "unknown", ratio: 2 }, bases, 500_000)).toBeUndefined();
    // A tier's sound is as much dearer than its text as its model's.
    const tiered = { ...bases, models: { "gpt-audio": 1.25, "gpt-audio>200000": 2.5 } };
    expect(
      rowMoney("AudioCompletionRatio", { name: "gpt-audio>200000", ratio: 2 }, tiered, 500_000)?.dollars,
    ).toBe(128);
  });

  it("show the family's completion ratio where no table has one", () => {
    const rows = ratioRows("CompletionRatio", { a: 2 }, { "gpt-4o-2030": 1 });
    expect(rows.find(({ name }) => name === "gpt-4o-2030")).toMatchObject({ ratio: 4, isRule: true });
  });

  it("are listed with the built-in rows that were left out of them; groups have none", () => {
    const sent = writeRatios({ "gpt-4o": 7, mine: 1 });
    const listed = readRatios("ModelRatio", completeRatios("ModelRatio", sent));
    expect(listed).toEqual({ ...defaultModelRatio, "gpt-4o": 7, mine: 1 });
    expect(completeRatios("GroupRatio", '{"default":1}')).toBe('{"default":1}');
  });

  it("read and write JSON text, and refuse anything else", () => {
    expect(readRatios("ModelRatio", writeRatios({ a: 1 }))).toEqual({ a: 1 });
    expect(readRatios("ModelRatio", '{"a":-1}')).toBeUndefined();
    expect(readRatios("ModelRatio", "{")).toBeUndefined();
  });

  it("write dollars with the digits they have", () => {
    expect([2.5, 0.15, 0.0025, 0, 30, 0.000012].map(dollarText)).toEqual([
      "$2.50",
      "$0.15",
      "$0.0025",
      "$0.00",
      "$30.00",
      "$0.000012",
    ]);
  });
});
