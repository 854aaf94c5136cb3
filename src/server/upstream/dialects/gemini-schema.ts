// Reduces a JSON schema to Gemini's Schema (vendors/gemini-schema): references resolved, unknown keywords dropped, types in its notation.
// A dropped keyword only loosens the schema. Pure.
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";

/** Keywords that are copied unchanged. `example` and `default` may have any value. */
const KEPT = [
  "title",
  "description",
  "nullable",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "propertyOrdering",
  "example",
  "default",
] as const;

const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ["string", ["enum", "date-time"]],
  ["number", ["float", "double"]],
  ["integer", ["int32", "int64"]],
]);

/** Every schema must have a type; for a schema that allows anything, a string can express the most. */
const ANYTHING = "string";

/** A recursive schema is expanded this often, then it is an object without details. Source: vendors/gemini-schema. */
const RECURSION_DEPTH = 5;
/** No real schema is deeper or larger; beyond this it is an object without details. */
const NESTING_DEPTH = 40;
const MOST_NODES = 10_000;
/** Of all tools together: a few references may expand to very many nodes, and a request may have thousands of tools. */
const MOST_NODES_OF_TOOLS = 100_000;

/** The nodes that may still be emitted. */
export interface SchemaBudget {
  nodes: number;
}

interface Scope {
  readonly root: JsonRecord;
  /** The references that were followed to get here. */
  readonly references: readonly string[];
  readonly depth: number;
  readonly budget: SchemaBudget;
}

/** The budget for the schemas of all tools of a request. */
export function toolsBudget(): SchemaBudget {
  return { nodes: MOST_NODES_OF_TOOLS };
}

/** The schema in Gemini's format. Its nodes are deducted from `shared`. */
export function cleanSchema(schema: JsonRecord, shared = toolsBudget()): JsonRecord {
  const most = Math.min(MOST_NODES, shared.nodes);
  const budget = { nodes: most };
  const cleaned = clean(schema, { root: schema, references: [], depth: 0, budget });
  shared.nodes -= most - Math.max(budget.nodes, 0);
  return cleaned;
}

/** The parameters of a function; undefined = it takes none (an object without properties is refused by older models). */
export function cleanParameters(
  schema: JsonRecord | undefined,
  shared?: SchemaBudget,
): JsonRecord | undefined {
  if (schema === undefined) return undefined;
  const cleaned = cleanSchema(schema, shared);
  const isEmpty = cleaned["properties"] === undefined && cleaned["anyOf"] === undefined;
  return isEmpty ? undefined : { type: "object", ...cleaned };
}

function clean(schema: unknown, scope: Scope): JsonRecord {
  const given = asObject(schema);
  scope.budget.nodes -= 1;
  // `true` allows anything, `false` nothing; neither can be expressed.
  if (given === undefined || scope.depth > NESTING_DEPTH || scope.budget.nodes < 0) return { type: "object" };
  const reference = given["$ref"];
  if (typeof reference === "string") return followed(given, reference, scope);
  if (given["allOf"] !== undefined) return clean(merged(given, scope), scope);
  const below = { ...scope, depth: scope.depth + 1 };
  const { types, isNullable } = typesOf(given);
  const kept = keptOf(given);
  if (isNullable) kept["nullable"] = true;
  const choices = choicesOf(given, types, below);
  if (choices !== undefined) return withChoices(kept, choices);
  const type = types[0] ?? implied(given) ?? (scope.depth === 0 ? "object" : ANYTHING);
  return {
    type,
    ...kept,
    ...formatOf(given, type),
    ...enumOf(given, type),
    ...(type === "object" && propertiesOf(given, below)),
    ...(type === "array" && { items: itemsOf(given, below) }),
  };
}

function keptOf(given: JsonRecord): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const word of KEPT) if (given[word] !== undefined) kept[word] = given[word];
  return kept;
}

/** Resolves `#/$defs/…`; keywords next to the reference stay. */
function followed(given: JsonRecord, reference: string, scope: Scope): JsonRecord {
  const { $ref: _, ...beside } = given;
  const target = asObject(lookUp(scope.root, reference));
  if (target === undefined || isCircle(scope, reference)) return { type: "object", ...keptOf(beside) };
  return clean({ ...target, ...beside }, { ...scope, references: [...scope.references, reference] });
}

function isCircle({ references }: Scope, reference: string): boolean {
  return references.filter((earlier) => earlier === reference).length >= RECURSION_DEPTH;
}

function lookUp(root: JsonRecord, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let current: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const object = asObject(current);
    if (object === undefined || !Object.hasOwn(object, name)) return undefined;
    current = object[name];
  }
  return current;
}

/** Merges all parts of `allOf`: properties and required add up, of other keywords the last counts. */
function merged(given: JsonRecord, scope: Scope): JsonRecord {
  const { allOf, ...own } = given;
  let properties: JsonRecord = {};
  let required: readonly unknown[] = [];
  let all: JsonRecord = {};
  for (const part of [...asList(allOf), own]) {
    const plain = resolved(asObject(part) ?? {}, scope);
    properties = { ...properties, ...asObject(plain["properties"]) };
    required = [...required, ...asList(plain["required"])];
    all = { ...all, ...plain };
  }
  const { allOf: _, ...rest } = all;
  return {
    ...rest,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

/** A part of `allOf` without its own reference or `allOf`. */
function resolved(part: JsonRecord, scope: Scope): JsonRecord {
  const below = { ...scope, depth: scope.depth + 1 };
  scope.budget.nodes -= 1;
  if (below.depth > NESTING_DEPTH || scope.budget.nodes < 0) return {};
  const reference = part["$ref"];
  const { $ref: _, ...beside } = part;
  const plain =
    typeof reference === "string" ? { ...asObject(lookUp(scope.root, reference)), ...beside } : part;
  if (typeof plain["$ref"] === "string") return resolved(plain, below);
  return plain["allOf"] === undefined ? plain : merged(plain, below);
}

function typesOf(given: JsonRecord): { types: string[]; isNullable: boolean } {
  const named = Array.isArray(given["type"]) ? given["type"] : [given["type"]];
  const types = named.flatMap((name) => (typeof name === "string" ? [name.toLowerCase()] : []));
  return { types: types.filter((name) => name !== "null"), isNullable: types.includes("null") };
}

function implied(given: JsonRecord): string | undefined {
  if (given["properties"] !== undefined || asObject(given["additionalProperties"]) !== undefined)
    return "object";
  if (given["items"] !== undefined || given["prefixItems"] !== undefined) return "array";
  return given["enum"] !== undefined || given["const"] !== undefined ? "string" : undefined;
}

/**
 * The alternatives of a schema; undefined = there are none. `null` among them becomes "nullable". Next to properties, alternatives only
 * say which of them belong together: they are dropped.
 */
function choicesOf(given: JsonRecord, types: readonly string[], scope: Scope): JsonRecord[] | undefined {
  const listed = given["anyOf"] ?? given["oneOf"];
  if (Array.isArray(listed) && given["properties"] === undefined) {
    const isNull = (choice: unknown) => asObject(choice)?.["type"] === "null";
    const some = listed.filter((choice) => !isNull(choice)).map((choice) => clean(choice, scope));
    if (some.length === 0) return undefined;
    const nullable = some.length < listed.length;
    return nullable ? some.map((choice) => ({ ...choice, nullable: true })) : some;
  }
  if (types.length < 2) return undefined;
  const { type: _, ...rest } = given;
  return types.map((type) => clean({ ...rest, type }, scope));
}

function withChoices(kept: JsonRecord, choices: readonly JsonRecord[]): JsonRecord {
  const [only] = choices;
  if (choices.length === 1 && only !== undefined) return { ...only, ...kept };
  const { title, description, nullable } = kept;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(nullable !== undefined && { nullable }),
    anyOf: choices,
  };
}

function formatOf(given: JsonRecord, type: string | undefined): JsonRecord {
  const { format } = given;
  return typeof format === "string" && FORMATS.get(type ?? "")?.includes(format) === true ? { format } : {};
}

/** Gemini's enums are strings: values of other types are dropped, since numbers as strings would be another answer. */
function enumOf(given: JsonRecord, type: string | undefined): JsonRecord {
  const values = given["const"] === undefined ? given["enum"] : [given["const"]];
  if (!Array.isArray(values) || type !== "string") return {};
  const texts = values.filter((value) => value !== null).map(String);
  return texts.length === 0 ? {} : { enum: texts };
}

function propertiesOf(given: JsonRecord, scope: Scope): JsonRecord {
  const properties = asObject(given["properties"]) ?? {};
  const names = Object.keys(properties);
  if (names.length === 0) return {};
  const required = asList(given["required"]).filter(
    (name) => typeof name === "string" && Object.hasOwn(properties, name),
  );
  return {
    properties: Object.fromEntries(names.map((name) => [name, clean(properties[name], scope)])),
    ...(required.length > 0 && { required }),
  };
}

/** A list must have an item schema; a schema per position cannot be expressed, so the first counts. */
function itemsOf(given: JsonRecord, scope: Scope): JsonRecord {
  const items = Array.isArray(given["items"]) ? given["items"][0] : given["items"];
  const named = items ?? asList(given["prefixItems"])[0];
  return named === undefined ? { type: ANYTHING } : clean(named, scope);
}
