// What a source says of user groups, before its tokens are read: which may be chosen, by whom, at what ratio, and New API's order of
// `auto`; one-hub's table of groups (requirements C51). Source: QuantumNous/new-api, service/group.go; MartialBE/one-hub,
// model/user_group.go; read 2026-11-27.
import { GroupName } from "#contract/group.ts";
import { type OptionKey, type OptionValue, optionTable } from "#contract/option.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import { flagOf, intOf, realOf, textOf } from "./row.ts";
import type { Found } from "./settings.ts";
import type { Family, Source } from "./source.ts";
import type { Tally } from "./tally.ts";
import type { Users } from "./users.ts";

export interface SourceGroups {
  readonly isNewApi: boolean;
  /** As the options stand here after the import. */
  readonly usable: OptionValue<"UserUsableGroups">;
  readonly ratios: OptionValue<"GroupRatio">;
  /** New API's exceptions: group of a user → groups that are open (`g`, `+:g`) or closed (`-:g`) to its members. */
  readonly special: JsonRecord;
  /** New API's order of `auto`. */
  readonly auto: readonly string[];
  /** New API's `GroupGroupRatio`: group of a user → group of the call → ratio. */
  readonly pairs: JsonRecord;
  /** Options that the source keeps elsewhere, or has until an administrator sets them. */
  readonly made: ReadonlyMap<OptionKey, string>;
}

/** New API's own until an administrator sets them. Source: setting/user_usable_group.go, setting/auto_group.go. */
const USABLE = '{"default":"default","vip":"vip"}';
const AUTO = '["default"]';
/** As the option takes it. */
const LONGEST_TEXT = 200;
const SPECIAL = "group_ratio_setting.group_special_usable_group";

/** Names the groups that users are in and no table has: they cost ratio 1. */
export function tellUnknown(users: Users, { ratios }: SourceGroups, tally: Tally): void {
  for (const [id, { group, isDeleted }] of users)
    if (!isDeleted && !Object.hasOwn(ratios, group))
      tally.remark(`users are in a group that has no ratio, which is 1 here: ${group}`, String(id));
}

/** Whether the source keeps groups in a table, as one-hub does. */
export function hasGroupTable({ tables }: Pick<Source, "tables">): boolean {
  const columns = tables.get("user_groups");
  return columns?.has("symbol") === true && columns.has("ratio");
}

export async function readGroups(
  source: Source,
  found: Found,
  { family: { isNewApi }, tally }: { readonly family: Family; readonly tally: Tally },
): Promise<SourceGroups> {
  const made = hasGroupTable(source) ? await groupTable(source, tally) : new Map<OptionKey, string>();
  const hasTokenGroups = source.tables.get("tokens")?.has("group") === true;
  if (isNewApi && hasTokenGroups && !found.has("UserUsableGroups")) made.set("UserUsableGroups", USABLE);
  else if (found.has("UserUsableGroups")) keepUsable(found.get("UserUsableGroups") ?? "", made, tally);
  const textOfOption = (key: OptionKey) => made.get(key) ?? found.get(key);
  return {
    isNewApi,
    usable: usableIn(textOfOption("UserUsableGroups")),
    ratios: ratiosIn(textOfOption("GroupRatio")),
    special: readJson(found.get(SPECIAL) ?? "") ?? {},
    auto: namesIn(found.get("AutoGroups") ?? AUTO) ?? [],
    pairs: readJson(found.get("GroupGroupRatio") ?? "") ?? {},
    made,
  };
}

/** The rows of a table that can stand here: else one group with a comma would close all of them. Newer releases keep objects in it. */
function keepUsable(text: string, made: Map<OptionKey, string>, tally: Tally): void {
  const table = readJson(text);
  if (table === undefined) return;
  const rows = Object.entries(table).map(([name, told]) => [name, toldOf(name, told)] as const);
  const kept = rows.filter(([name]) => GroupName.safeParse(name).data === name);
  for (const [name] of rows)
    if (!kept.some(([one]) => one === name))
      tally.remarkAll("groups that may be chosen were left out, their names cannot be ones here", name);
  made.set("UserUsableGroups", JSON.stringify(Object.fromEntries(kept)));
}

/** What users are told of a group. */
function toldOf(name: string, told: unknown): string {
  const text = asText(told) ?? asText(asObject(told)?.["description"]) ?? asText(asObject(told)?.["desc"]);
  return (text ?? name).slice(0, LONGEST_TEXT);
}

/** The ratios that are some, as the import of the option keeps them; its default where the text is no table. */
function ratiosIn(text: string | undefined): OptionValue<"GroupRatio"> {
  const table = readJson(text ?? "") ?? readJson(optionTable.GroupRatio.fallback) ?? {};
  const rows = Object.entries(table).flatMap(([name, ratio]) => {
    const number = asNumber(ratio);
    return number === undefined || number < 0 ? [] : [[name, number] as const];
  });
  return { default: 1, ...Object.fromEntries(rows) };
}

/** What an option is with this text; one that is not accepted keeps its default. */
function usableIn(text: string | undefined): OptionValue<"UserUsableGroups"> {
  const { schema, fallback } = optionTable.UserUsableGroups;
  const read = schema.safeDecode(text ?? fallback);
  return read.success ? read.data : schema.decode(fallback);
}

/** The texts of a list in JSON, each once; undefined = it is none. */
export function namesIn(text: string): string[] | undefined {
  const list = asObject(readJson(`{"list":${text || "null"}}`))?.["list"];
  if (!Array.isArray(list)) return undefined;
  const names = asList(list).flatMap((name) => asText(name)?.trim() ?? []);
  return [...new Set(names)].filter((name) => name !== "");
}

/** one-hub's groups as our options: their ratios, and those that are public. */
async function groupTable(source: Source, tally: Tally): Promise<Map<OptionKey, string>> {
  const ratios = new Map<string, number>();
  const usable = new Map<string, string>();
  const count = tally.of("user_groups");
  for await (const row of source.rows("user_groups")) {
    const symbol = textOf(row, "symbol");
    count.found += 1;
    if (symbol === "" || (row["enable"] !== undefined && !flagOf(row, "enable"))) {
      count.skipped += 1;
      tally.remarkAll("groups that were off there are not here: calls in them are refused as there", symbol);
      continue;
    }
    count.written += 1;
    ratios.set(symbol, realOf(row, "ratio"));
    if (flagOf(row, "public")) usable.set(symbol, toldOf(symbol, textOf(row, "name") || symbol));
    if (intOf(row, "api_rate") > 0)
      tally.remarkAll("limits of groups were left out: set them here again", `${symbol} (api_rate)`);
    if (flagOf(row, "promotion"))
      tally.remarkAll("groups that users reach by paying do not do so here", symbol);
  }
  if (ratios.size === 0) return new Map();
  return new Map<OptionKey, string>([
    ["GroupRatio", JSON.stringify(Object.fromEntries(ratios))],
    ["UserUsableGroups", JSON.stringify(Object.fromEntries(usable))],
  ]);
}
