import { describe, expect, it } from "vitest";
import { detailFields, detailText } from "./audit-detail.ts";

describe("the detail of an act", () => {
  it("has the old value beside the new one where it is known", () => {
    const detail = '{"name":"甲","weight":3,"key":"changed","tags":["a"],"before":{"name":"","weight":0}}';
    expect(detailFields(detail)).toEqual([
      { name: "name", before: "（空）", after: "甲" },
      { name: "weight", before: "0", after: "3" },
      { name: "key", after: "changed" },
      { name: "tags", after: '["a"]' },
    ]);
    expect(detailText(detail)).toBe('name：（空） → 甲，weight：0 → 3，key：changed，tags：["a"]');
  });

  it("stays as it is when the server has cut it, or it is nothing that we know", () => {
    for (const detail of ['{"models":"gpt-4,gp', "[1]", "7"]) {
      expect(detailFields(detail)).toBeUndefined();
      expect(detailText(detail)).toBe(detail);
    }
    expect(detailFields("")).toEqual([]);
    expect(detailText('{"a":1,"before":null,"__proto__":{"x":1}}')).toBe('a：1，__proto__：{"x":1}');
  });
});
