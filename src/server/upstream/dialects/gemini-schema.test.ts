import { describe, expect, it } from "vitest";
import { cleanParameters, cleanSchema } from "./gemini-schema.ts";

describe("schema", () => {
  it("has a type everywhere: Gemini refuses a schema without one", () => {
    const properties = {
      value: { description: "Anything." },
      pairs: { additionalProperties: { type: "string" } },
      row: { prefixItems: [{}] },
      either: { anyOf: [{ description: "a" }, { type: "number" }] },
    };
    expect(cleanSchema({ properties })).toEqual({
      type: "object",
      properties: {
        value: { type: "string", description: "Anything." },
        pairs: { type: "object" },
        row: { type: "array", items: { type: "string" } },
        either: { anyOf: [{ type: "string", description: "a" }, { type: "number" }] },
      },
    });
    expect(cleanSchema({ description: "An answer." })).toEqual({ type: "object", description: "An answer." });
  });

  it("keeps keywords that Gemini knows and converts the others", () => {
    const schema = {
      $schema: "x",
      type: "object",
      additionalProperties: false,
      properties: {
        name: { type: ["string", "null"], format: "email", minLength: 1 },
        when: { type: "string", format: "date-time" },
        kind: { const: "a" },
        level: { type: "integer", enum: [1, 2], exclusiveMinimum: 0 },
        either: { oneOf: [{ type: "string" }, { type: "number" }, { type: "null" }] },
        many: { type: ["string", "integer"] },
        list: { type: "array" },
        node: { $ref: "#/$defs/node", description: "n" },
        both: {
          allOf: [{ $ref: "#/$defs/leaf" }, { properties: { b: { type: "string" } }, required: ["b"] }],
        },
      },
      required: ["name", "missing"],
      $defs: {
        leaf: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        node: { type: "array", items: { type: "boolean" } },
      },
    };
    expect(cleanSchema(schema)).toEqual({
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, nullable: true },
        when: { type: "string", format: "date-time" },
        kind: { type: "string", enum: ["a"] },
        level: { type: "integer" },
        either: {
          anyOf: [
            { type: "string", nullable: true },
            { type: "number", nullable: true },
          ],
        },
        many: { anyOf: [{ type: "string" }, { type: "integer" }] },
        list: { type: "array", items: { type: "string" } },
        node: { type: "array", items: { type: "boolean" }, description: "n" },
        both: {
          type: "object",
          properties: { a: { type: "string" }, b: { type: "string" } },
          required: ["a", "b"],
        },
      },
      required: ["name"],
    });
    expect(cleanParameters({ type: "object", properties: {} })).toBeUndefined();
  });

  it("terminates on recursive schemas", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`p${index}`, { $ref: "#" }]),
    );
    const text = JSON.stringify(cleanSchema({ type: "object", properties }));
    expect(text.length).toBeLessThan(1_000_000);
    expect(cleanSchema({ allOf: [{ $ref: "#" }] })).toEqual({ type: "object" });
  });
});
