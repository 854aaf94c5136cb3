import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { printApiPage } from "./api-page.ts";
import type { Endpoint } from "./endpoint.ts";
import { api } from "./index.ts";
import { answerSchema, type JsonObject, type JsonValue, printOpenApi } from "./openapi.ts";

const document = printOpenApi(api, "1.2.3");
// The printed parts are read as the records they are.
// biome-ignore lint/suspicious/noExplicitAny: the test walks a JSON document.
const paths = document["paths"] as Record<string, Record<string, any>>;
const endpoints = Object.values(api).flatMap((resource) => Object.values<Endpoint>(resource));

function references(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "$ref" && typeof inner === "string" ? [inner] : references(inner),
  );
}

describe("the printed reference", () => {
  test("has every endpoint of the table once, with an id, a part and a sentence", () => {
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    expect(operations).toHaveLength(endpoints.length);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(endpoints.length);
    for (const operation of operations) {
      expect(operation.summary).not.toBe("");
      expect(operation.tags).toHaveLength(1);
      expect(operation.responses["200"]).toBeDefined();
    }
  });

  test("names a field that must be there once", () => {
    const asked = JSON.stringify(document).matchAll(/"required":(\[[^\]]*\])/g);
    const lists = [...asked].map(([, list]) => JSON.parse(list ?? "") as string[]);
    expect(lists.filter((list) => new Set(list).size < list.length)).toEqual([]);
    expect(lists.length).toBeGreaterThan(50);
  });

  test("tells what a body that cannot be read gets", () => {
    expect(paths["/api/option/"]?.["put"].responses["400"]).toBeDefined();
    expect(paths["/api/token/"]?.["post"].responses["400"]).toBeUndefined();
    expect(paths["/api/token/"]?.["post"].responses["413"]).toBeDefined();
    expect(paths["/api/token/"]?.["get"].responses["413"]).toBeUndefined();
  });

  test("every part has a Chinese name", () => {
    const tags = document["tags"] as readonly { name: string }[]; // printed just above
    expect(tags.filter(({ name }) => !/\p{Script=Han}/u.test(name))).toEqual([]);
  });

  test("names every parameter of a path, as required", () => {
    for (const [path, operations] of Object.entries(paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(operations)) {
        const declared = (operation.parameters ?? []).filter((one: { in: string }) => one.in === "path");
        expect(declared.map((one: { name: string }) => one.name)).toEqual(names);
        expect(declared.every((one: { required: boolean }) => one.required)).toBe(true);
      }
    }
  });

  test("leads nowhere outside itself", () => {
    const targets = new Set(references(document));
    expect([...targets]).toEqual(["#/components/schemas/Failure"]);
    expect(document["components"]).toHaveProperty("schemas.Failure");
  });

  test("asks for a sign-in exactly where the table does", () => {
    for (const endpoint of endpoints) {
      const operation = paths[endpoint.path.replace(/:(\w+)/g, "{$1}")]?.[endpoint.method.toLowerCase()];
      expect(operation.security.length > 0).toBe(endpoint.level !== "public");
    }
  });

  test("answers are described as they come: encoded, with defaults filled in", () => {
    const schema = answerSchema({
      data: z.object({
        list: z.codec(z.string(), z.array(z.string()), {
          decode: (text) => [text],
          encode: (list) => list.join(),
        }),
        count: z.int().default(0),
        note: z.string().optional(),
      }),
      beside: z.object({ total: z.int().optional(), time: z.number() }),
    });
    // zod reads the printed schema back.
    const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    const good: JsonObject = { success: true, message: "", data: { list: "a,b", count: 0 }, time: 1.5 };
    expect(read.safeParse(good).success).toBe(true);
    expect(read.safeParse({ ...good, time: undefined }).success).toBe(false);
    expect(read.safeParse({ ...good, data: { list: ["a"], count: 0 } }).success).toBe(false);
    expect(read.safeParse({ ...good, data: { list: "a" } }).success).toBe(false);
  });

  test("docs/api.md is what the table says (vitest -u prints it anew)", async () => {
    const file = join(import.meta.dirname, "..", "..", "docs", "api.md");
    await expect(printApiPage(api)).toMatchFileSnapshot(file);
  });
});
