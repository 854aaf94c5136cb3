// Values for a printed JSON schema: mostly such as fit, often at their limits, some that do not fit at all. No server here.
import fc from "fast-check";
import type { JsonObject, JsonValue } from "#contract/openapi.ts";

/** Values that a field of this name should get now and then, so that calls reach behind the first check. */
export type Hints = Readonly<Record<string, readonly JsonValue[]>>;

/** Texts that have broken something somewhere. */
const NASTY = [
  "",
  " ",
  "0",
  "-1",
  "1e309",
  "null",
  "undefined",
  "true",
  "%",
  "%_%_%",
  "a'b\"c`d",
  "'; DROP TABLE users; --",
  '") OR 1=1 --',
  "\\",
  "../../etc/passwd",
  "<script>alert(1)</script>",
  "{}",
  "[]",
  '{"a":1}',
  '{"__proto__":{"admin":true}}',
  "a,b,,a",
  "中文名称",
  "🜁🜂",
  "\u0000",
  "\ud800",
  "\u202e",
  "line\nbreak\r\n",
  "http://169.254.169.254/latest",
  "https://example.com/",
  "javascript:alert(1)",
  "a@b.example",
  "x".repeat(300),
  "9".repeat(40),
];

const NUMBERS = [
  0,
  1,
  2,
  3,
  5,
  10,
  100,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  Number.MAX_SAFE_INTEGER,
  -(2 ** 53),
  1e308,
];

/** Any JSON, of no schema. */
export const anyJson: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, 0, -1, 1.5, "", "x", [], {}, [[]], { a: { b: [] } }),
  fc.constantFrom<JsonValue>(...NASTY),
  // fast-check's JSON values are JSON.
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>,
);

/** Values for a schema; `hints` by the name of the field. */
export function valuesOf(schema: JsonObject, hints: Hints, name = ""): fc.Arbitrary<JsonValue> {
  const fitting = fittingOf(schema, hints);
  const hinted = hints[name];
  return hinted
    ? fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...hinted) }, { weight: 2, arbitrary: fitting })
    : fitting;
}

function fittingOf(schema: JsonObject, hints: Hints): fc.Arbitrary<JsonValue> {
  if (schema["const"] !== undefined) return fc.constant(schema["const"]);
  if (isList(schema["enum"])) return fc.constantFrom(...schema["enum"]);
  const options = schema["anyOf"] ?? schema["oneOf"];
  if (isList(options)) return fc.oneof(...options.map((option) => valuesOf(recordOf(option), hints)));
  const { type } = schema;
  if (isList(type)) return fc.oneof(...type.map((one) => fittingOf({ ...schema, type: one }, hints)));
  switch (type) {
    case "string":
      return textsOf(schema);
    case "integer":
    case "number":
      return numbersOf(schema);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(valuesOf(recordOf(schema["items"]), hints), { maxLength: 3 });
    case "object":
      return recordsOf(schema, hints);
    default:
      return anyJson;
  }
}

const WORDS = fc.stringMatching(/^[a-z0-9]{1,12}$/);

/** By the shortest and the longest: a generator of texts takes longer to make than a call, and each field of each call has one. */
const textsBySize = new Map<string, fc.Arbitrary<JsonValue>>();

function textsOf({ minLength, maxLength }: JsonObject): fc.Arbitrary<JsonValue> {
  const min = typeof minLength === "number" ? minLength : 0;
  const max = Math.max(Math.min(typeof maxLength === "number" ? maxLength : 40, 40), min);
  const key = `${min}-${max}`;
  const known = textsBySize.get(key);
  if (known) return known;
  const texts = fc.oneof(
    fc.constantFrom(...NASTY),
    fc.string({ minLength: min, maxLength: max, unit: "grapheme" }),
    WORDS,
  );
  textsBySize.set(key, texts);
  return texts;
}

function numbersOf({ minimum, maximum }: JsonObject): fc.Arbitrary<JsonValue> {
  const min = typeof minimum === "number" ? minimum : -1_000;
  const max = typeof maximum === "number" ? maximum : 1_000_000;
  return fc.oneof(
    fc.integer({ min: Math.ceil(min), max: Math.floor(Math.max(min, max)) }),
    fc.constantFrom(...NUMBERS),
  );
}

function recordsOf(schema: JsonObject, hints: Hints): fc.Arbitrary<JsonValue> {
  const properties = Object.entries(recordOf(schema["properties"]));
  const required = isList(schema["required"]) ? schema["required"] : [];
  const fields = properties.map(([name, field]) => {
    const values = valuesOf(recordOf(field), hints, name);
    const present = required.includes(name) ? 20 : 3;
    return fc
      .oneof({ weight: present, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) })
      .chain((isThere) => (isThere ? values.map((value): Field => [name, value]) : fc.constant(undefined)));
  });
  return fc
    .tuple(...fields)
    .map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined)));
}

type Field = readonly [name: string, value: JsonValue];

/** A record with one field spoilt, or with one more: what a client of another mind might send. */
export function spoilt(values: fc.Arbitrary<JsonValue>, names: readonly string[]): fc.Arbitrary<JsonValue> {
  return fc
    .tuple(values, fc.constantFrom(...names, "__proto__", "id", "role", "quota", "extra"), anyJson)
    .map(([value, name, junk]) => ({ ...recordOf(value), [name]: junk }));
}

export function recordOf(value: JsonValue | undefined): JsonObject {
  // An object that is no list is a record.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
