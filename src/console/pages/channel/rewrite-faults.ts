// What is wrong with rules that are filled in, at the field where it is: by the contract's schema, and by what only fields can lack. Pure.
import type { z } from "zod";
import { jsonFault } from "#console/base/json.ts";
import { wordsOf } from "#console/ui/fields.ts";
import { Rewrite } from "#contract/rewrite.ts";
import { type ConditionRow, isTyped, type RuleRow, rulesOfRows, storedIn } from "./rewrite-rows.ts";
import { conditionOf, operationOf, type RuleField } from "./rewrite-tables.ts";

/** Where a field stands among the rows of the form. */
export type Place = readonly (string | number)[];

interface Fault {
  readonly place: Place;
  readonly text: string;
}

type Rows = readonly Partial<RuleRow>[];
type Issue = z.core.$ZodIssue;

const whole = (rule: Partial<RuleRow> | undefined): Required<Pick<RuleRow, "when" | "any" | "do">> => ({
  when: rule?.when ?? [],
  any: rule?.any ?? [],
  do: rule?.do ?? [],
});

/** The conditions of a rule, or those of one of its groups. */
export function conditionsAt(rows: Rows, [rule, part, group]: Place): readonly ConditionRow[] {
  const { when, any } = whole(rows[Number(rule)]);
  return part === "any" ? (any[Number(group)]?.when ?? []) : when;
}

/** The place that an issue of the contract is about; [] = all of the rules. */
function placeOf(rows: Rows, { code, path }: Issue): Place {
  const [, rule, part, ...rest] = path;
  if (typeof rule !== "number") return [];
  const { when, any, do: actions } = whole(rows[rule]);
  if (part === "do") return [rule, "do", ...actionPlace(actions, rest)];
  if (part !== "when") return [rule, ...(part === undefined ? [] : [String(part)])];
  const [first, group, ...inner] = rest;
  const isKey = code === "invalid_key";
  if (first !== "any") return [rule, "when", ...conditionPlace(when, rest, isKey)];
  if (typeof group !== "number") return [rule, "any"];
  return [rule, "any", group, "when", ...conditionPlace(any[group]?.when ?? [], inner, isKey)];
}

function actionPlace(actions: RuleRow["do"], [at, member]: readonly PropertyKey[]): Place {
  if (typeof at !== "number") return [];
  const name = String(member);
  const field = operationOf(actions[at]?.op ?? "")?.fields[name];
  return field === undefined ? [at] : [at, field.kind, name];
}

/** Of a list an issue tells its number, of a record the name. */
function conditionPlace(
  rows: readonly ConditionRow[],
  [is, which]: readonly PropertyKey[],
  isKey: boolean,
): Place {
  const condition = conditionOf(String(is));
  const of = rows.map((row, at) => ({ row, at })).filter(({ row }) => row.is === is);
  if (condition === undefined || of.length === 0) return [];
  if (condition.shape === "one") return [of[0]?.at ?? 0, condition.value.kind, "value"];
  const found =
    condition.shape === "list"
      ? of[typeof which === "number" ? which : 0]
      : (of.findLast(({ row }) => nameIn(row, condition.name) === which) ?? of[0]);
  const isName = condition.shape === "list" || isKey;
  return [found?.at ?? 0, isName ? condition.name.kind : condition.value.kind, isName ? "name" : "value"];
}

function nameIn(row: ConditionRow, field: RuleField): string {
  return String(storedIn(row, field, "name") ?? "");
}

const known = new WeakMap<Rows, readonly (Fault & { readonly issue: Issue })[]>();

/** By the contract. Asked for each field of the same rows. */
function contractFaults(rows: Rows) {
  const faults =
    known.get(rows) ??
    (Rewrite.safeParse({ v: 1, rules: rulesOfRows(rows) }).error?.issues ?? []).map((issue) => ({
      place: placeOf(rows, issue),
      text: issue.message,
      issue: issue.code === "invalid_key" ? (issue.issues[0] ?? issue) : issue,
    }));
  known.set(rows, faults);
  return faults;
}

const isAt = (one: Place, other: Place) =>
  one.length === other.length && one.every((part, at) => part === other[at]);

/** Why a field cannot stay as it is; undefined = it can. `stored` is what it holds. */
export function fieldFault(rows: Rows, place: Place, stored: unknown): string | undefined {
  const typing = isTyped(stored) && stored.type === "json" ? jsonFault(stored.text)?.text : undefined;
  const isEmpty = stored === undefined || stored === "" || (isTyped(stored) && stored.text === "");
  const found = contractFaults(rows).find((fault) => isAt(fault.place, place));
  if (typing !== undefined || found === undefined) return typing;
  return wordsOf(found.issue, isEmpty ? undefined : stored);
}

/** Why a condition cannot stay as it is, beyond the contract: it is not there yet, or there twice. */
export function conditionFault(rows: readonly ConditionRow[], at: number): string | undefined {
  const row = rows[at];
  const condition = conditionOf(row?.is ?? "");
  if (row === undefined || condition === undefined) return undefined;
  if (condition.shape === "one" && storedIn(row, condition.value, "value") === undefined) return "请填写此项";
  if (condition.shape === "list") return undefined;
  const isSame = (other: ConditionRow | undefined) =>
    other?.is === row.is &&
    (condition.shape === "one" || nameIn(other, condition.name) === nameIn(row, condition.name));
  return rows.slice(0, at).some(isSame) ? "这个条件已经有了" : undefined;
}

/** What is wrong at this place or under it and at none of the fields: of a rule as a whole, or of all. */
export function partFault(rows: Rows, place: Place): string | undefined {
  return contractFaults(rows).find((fault) => isAt(fault.place, place))?.text;
}

/** Whether all is filled in so that it could be saved. */
export function areWhole(rows: Rows): boolean {
  const isWhole = (conditions: readonly ConditionRow[]) =>
    conditions.every((_row, at) => conditionFault(conditions, at) === undefined);
  return (
    contractFaults(rows).length === 0 &&
    rows.every((row) => [whole(row).when, ...whole(row).any.map(({ when }) => when)].every(isWhole))
  );
}
