// The rules of a channel as rows of fields ⇄ as the contract has them. Nothing is lost: what rows cannot hold is not shown in them. Pure.
import type { RewriteRule } from "#contract/rewrite.ts";
import {
  CONDITIONS,
  type Condition,
  conditionOf,
  type FieldKind,
  operationOf,
  type RuleField,
} from "./rewrite-tables.ts";

/** A value of JSON while it is typed. */
export interface TypedValue {
  readonly type: "text" | "number" | "boolean" | "json";
  readonly text: string;
}

/** What was filled in, by the kind of field and the member's name: an operation that is changed for another keeps what fits both. */
type Filled = { readonly [Kind in FieldKind]?: Readonly<Record<string, unknown>> };

export interface ActionRow extends Filled {
  readonly op: string;
}

/** A condition on `name`, on `value`, or on both. */
export interface ConditionRow extends Filled {
  readonly is: string;
}

export interface ConditionGroup {
  readonly when: readonly ConditionRow[];
}

export interface RuleRow extends ConditionGroup {
  readonly id: string;
  /** One of these must hold as well; none = nothing more. */
  readonly any: readonly ConditionGroup[];
  readonly do: readonly ActionRow[];
}

const NEW_VALUE: TypedValue = { type: "text", text: "" };
export const NEW_ACTION: ActionRow = { op: "set" };
export const NEW_CONDITION: ConditionRow = { is: "models" };
export const NEW_RULE: RuleRow = { id: "", when: [], any: [], do: [NEW_ACTION] };

function typed(value: unknown): TypedValue {
  if (value === undefined) return NEW_VALUE;
  if (typeof value === "string") return { type: "text", text: value };
  if (typeof value === "number") return { type: "number", text: String(value) };
  if (typeof value === "boolean") return { type: "boolean", text: String(value) };
  return { type: "json", text: JSON.stringify(value, null, 2) };
}

/** The value; undefined = it is none yet. */
function meant({ type, text }: TypedValue): unknown {
  if (type === "text") return text;
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return type === "json" || typeof value === type ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isTyped(stored: unknown): stored is TypedValue {
  return typeof stored === "object" && stored !== null && "type" in stored && "text" in stored;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

const HELD: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  path: (value) => typeof value === "string",
  header: (value) => typeof value === "string",
  text: (value) => typeof value === "string",
  area: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  json: (value) => value !== undefined,
  flag: (value) => typeof value === "boolean",
  choice: (value) => value !== undefined,
  list: isTexts,
};

/** What a field holds of a member; undefined = nothing, or what it cannot show. A choice is held as JSON: menus know texts alone. */
function toField({ kind }: RuleField, value: unknown): unknown {
  if (!HELD[kind](value)) return undefined;
  if (kind === "choice") return JSON.stringify(value);
  return kind === "json" ? typed(value) : value;
}

function fromField({ kind }: RuleField, stored: unknown): unknown {
  if (stored === undefined || stored === null) return undefined;
  if (kind === "choice") return JSON.parse(String(stored));
  if (kind === "json") return isTyped(stored) ? meant(stored) : undefined;
  return stored;
}

export function storedIn(row: Filled, { kind }: RuleField, member: string): unknown {
  return row[kind]?.[member];
}

function memberOf(row: Filled, field: RuleField, member: string): unknown {
  return fromField(field, storedIn(row, field, member));
}

/** Fields with what they hold, by their kinds. */
function filled(members: readonly (readonly [string, RuleField, unknown])[]): Filled {
  const made: Partial<Record<FieldKind, Record<string, unknown>>> = {};
  for (const [member, field, value] of members) {
    const held = toField(field, value);
    if (held !== undefined) made[field.kind] = { ...made[field.kind], [member]: held };
  }
  return made;
}

type Loose = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function actionRow(action: unknown): ActionRow {
  const { op, ...members } = isObject(action) ? action : {};
  const name = typeof op === "string" ? op : "";
  const fields = Object.entries(operationOf(name)?.fields ?? {});
  return { op: name, ...filled(fields.map(([member, field]) => [member, field, members[member]] as const)) };
}

function actionOf(row: ActionRow): Loose {
  const fields = Object.entries(operationOf(row.op)?.fields ?? {});
  const members = fields.map(([member, field]) => [member, memberOf(row, field, member)] as const);
  return { op: row.op, ...Object.fromEntries(members.filter(([, value]) => value !== undefined)) };
}

function rowsOf(is: string, condition: Condition, value: unknown): readonly ConditionRow[] {
  switch (condition.shape) {
    case "one":
      return [{ is, ...filled([["value", condition.value, value]]) }];
    case "list":
      return listIn(value).map((place) => ({ is, ...filled([["name", condition.name, place]]) }));
    case "record":
      return Object.entries(isObject(value) ? value : {}).map(([name, wanted]) => ({
        is,
        ...filled([
          ["name", condition.name, name],
          ["value", condition.value, wanted],
        ]),
      }));
  }
}

function conditionRows(when: Loose): readonly ConditionRow[] {
  return Object.entries(CONDITIONS).flatMap(([is, condition]) =>
    when[is] === undefined ? [] : rowsOf(is, condition, when[is]),
  );
}

function whenOf(rows: readonly ConditionRow[]): Loose {
  const members = new Map<string, unknown>();
  for (const row of rows) {
    const condition = conditionOf(row.is);
    if (condition === undefined) continue;
    const held = members.get(row.is);
    members.set(
      row.is,
      condition.shape === "one" ? memberOf(row, condition.value, "value") : moreOf(row, condition, held),
    );
  }
  return Object.fromEntries(members);
}

function moreOf(row: ConditionRow, condition: Exclude<Condition, { shape: "one" }>, held: unknown): unknown {
  const name = String(memberOf(row, condition.name, "name") ?? "");
  if (condition.shape === "list") return [...listIn(held), name];
  const record = isObject(held) ? Object.entries(held) : [];
  return Object.fromEntries([...record, [name, memberOf(row, condition.value, "value")]]);
}

function ruleRow(rule: unknown): RuleRow {
  const { id, when, do: actions } = isObject(rule) ? rule : {};
  const { any, ...all } = isObject(when) ? when : {};
  return {
    id: typeof id === "string" ? id : "",
    when: conditionRows(all),
    any: listIn(any).map((one) => ({ when: conditionRows(isObject(one) ? one : {}) })),
    do: listIn(actions).map(actionRow),
  };
}

function ruleOf(row: RuleRow): { readonly [Member in keyof RewriteRule]-?: unknown } {
  const any = row.any.map(({ when }) => whenOf(when));
  const isAlways = row.when.length === 0 && any.length === 0;
  return {
    id: row.id,
    when: isAlways ? undefined : { ...whenOf(row.when), ...(any.length > 0 && { any }) },
    do: row.do.map(actionOf),
  };
}

/** The rules of these rows, as they are: what is not filled in yet is not there. */
export function rulesOfRows(rows: readonly Partial<RuleRow>[]): readonly unknown[] {
  return rows.map((row) => ruleOf({ ...NEW_RULE, ...row }));
}

/** Conditions that say nothing when they are empty. */
const IDLE = new Set(["when", "has", "lacks", "equals", "like", "header"]);

/** A value as JSON whose members have one order, without what says nothing. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (name, inner: unknown) => {
    if (typeof inner !== "object" || inner === null) return inner;
    if (IDLE.has(name) && Object.keys(inner).length === 0) return undefined;
    const byName = (one: readonly [string, unknown], other: readonly [string, unknown]) =>
      one[0] < other[0] ? -1 : 1;
    return Array.isArray(inner) ? inner : Object.fromEntries(Object.entries(inner).toSorted(byName));
  });
}

/** A name for one more rule: this one, or with the first number behind it that is free. */
function freeId(rows: readonly Partial<RuleRow>[], wanted: string): string {
  const isTaken = (id: string) => rows.some((row) => row.id === id);
  let id = wanted;
  for (let number = 2; id !== "" && isTaken(id); number += 1) id = `${wanted.slice(0, 36)} ${number}`;
  return id;
}

/** One more rule for these, under a name of its own. */
export function oneMore(rows: readonly Partial<RuleRow>[], row: Partial<RuleRow>): RuleRow {
  return { ...NEW_RULE, ...row, id: freeId(rows, row.id ?? "") };
}

export interface UnshownRule {
  /** From 1. */
  readonly unshown: number;
}

/** The rows of a list of rules, or the first that they cannot hold whole. */
export function rowsOfRules(rules: readonly unknown[]): readonly RuleRow[] | UnshownRule {
  const rows = rules.map(ruleRow);
  const shown = rulesOfRows(rows);
  const lost = rules.findIndex((rule, index) => canonical(rule) !== canonical(shown[index]));
  return lost < 0 ? rows : { unshown: lost + 1 };
}
