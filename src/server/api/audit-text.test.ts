// What the audit log stores of a change (requirements Z13): always JSON, with every difference in it, however long the values are.
import { describe, expect, test } from "vitest";
import { auditText } from "./audit-text.ts";

const read = (detail: Readonly<Record<string, unknown>>, before?: object) => {
  const text = auditText(detail, before);
  expect(text.length).toBeLessThanOrEqual(8_000);
  return JSON.parse(text);
};

describe("long texts", () => {
  const words = Array.from({ length: 60 }, (_, at) => `permission-${at}`);
  const changed = (...at: number[]) =>
    words.map((word, index) => (at.includes(index) ? `other-${index}` : word)).join(",");

  test("are cut to what differs, from the first difference to the last", () => {
    const { list, before } = read({ list: changed(20, 30) }, { list: words.join(",") });
    for (const at of [20, 30]) {
      expect(list).toContain(`other-${at}`);
      expect(before.list).toContain(`permission-${at},`);
    }
    expect([list.startsWith("…"), list.endsWith("…")]).toEqual([true, true]);
    expect(list).not.toContain("permission-5,");
  });

  test("of which most differs keep the begin and the end of that", () => {
    const long = "a".repeat(5_000);
    const { text, before } = read({ text: `x${long}y` }, { text: long });
    expect([text.startsWith("x"), text.endsWith("y")]).toEqual([true, true]);
    expect(text.length).toBeLessThan(1_010);
    expect(before.text.length).toBeLessThan(1_010);
  });

  test("that are new are cut, and one that is like another says no more than it did", () => {
    expect(read({ text: "a".repeat(500) }).text).toBe(`${"a".repeat(240)}…`);
    expect(read({ name: "same" }, { name: "same" })).toEqual({ name: "same" });
    expect(read({ key: "changed" }, { key: "secret" })).toEqual({ key: "changed" });
  });
});

describe("many values", () => {
  const limit = (id: number, amount: number, model = "") => ({
    ...{ id, model_pattern: model, kind: "quota", amount, time_window: "rolling_month" },
    ...{ anchor: 1, mode: "hard" },
  });
  const ids = Array.from({ length: 20 }, (_, at) => at + 1);

  test("twenty limits stand there before and after", () => {
    const [now, then] = [ids.map((id) => limit(id, 2_000_000)), ids.map((id) => limit(id, 1_000_000))];
    expect(read({ limits: now }, { limits: then })).toEqual({ limits: now, before: { limits: then } });
  });

  test("of more than there is room for the values are cut, never the JSON, and what was before stays", () => {
    const long = "模".repeat(400);
    const [now, then] = [1, 2].map((amount) => ids.map((id) => limit(id, amount, long)));
    const { limits, before } = read({ limits: now }, { limits: then });
    expect([limits[0].amount, before.limits[0].amount]).toEqual([1, 2]);
    expect(limits[0].model_pattern).toContain("…");
    const numbers = Array.from({ length: 9_000 }, (_, at) => at);
    const { list } = read({ list: numbers });
    expect(list.at(-1)).toMatch(/^… \d+$/);
  });
});
