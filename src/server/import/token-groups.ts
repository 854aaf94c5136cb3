// The groups of a source's tokens as our ordered ones (requirements C51): New API's `group` with `auto`, `auto_groups` and
// `cross_group_retry`, one-hub's `group` and `backup_group`. What changes is told by order or name, with the tokens.
// Source: QuantumNous/new-api, service/channel_select.go; read 2026-11-27.
import { GroupName, MOST_GROUPS, mayUseGroup } from "#contract/group.ts";
import { asNumber, asObject } from "#server/upstream/json/values.ts";
import { namesIn, type SourceGroups } from "./groups.ts";
import { flagOf, type SourceRow, textOf } from "./row.ts";
import type { Tally } from "./tally.ts";

export interface TokenGroups {
  /** In their order; [] = that of its user. */
  readonly groups: readonly string[];
  /** Its calls were refused there, and would be served here. */
  readonly isRefused: boolean;
}

const OWN: TokenGroups = { groups: [], isRefused: false };
const REFUSED: TokenGroups = { groups: [], isRefused: true };

/** Of a token whose user is in the group `owner`. */
export function groupsOfToken(
  row: SourceRow,
  owner: string,
  source: SourceGroups,
  tally: Tally,
): TokenGroups {
  const group = textOf(row, "group");
  const backup = textOf(row, "backup_group");
  if (group === "" && backup === "") return OWN;
  const isAuto = source.isNewApi && group === "auto";
  const token = { id: textOf(row, "id"), owner, source, tally };
  const wanted = isAuto ? autoGroups(row, token) : [group, backup].filter((name) => name !== "");
  const groups = nameable([...new Set(wanted)], token);
  if (groups.length === 0) {
    tally.remark(
      "tokens that are left without a group were disabled: calls with them were refused",
      token.id,
    );
    return REFUSED;
  }
  if (isAuto) tellOrder(row, groups, token);
  tellPrices(groups, token);
  const isRefused = groups.every((name) => isClosed(name, token));
  for (const name of groups) tellUse(name, token);
  return { groups, isRefused };
}

interface Token {
  readonly id: string;
  readonly owner: string;
  readonly source: SourceGroups;
  readonly tally: Tally;
}

/** New API filters the order by what the user may choose, at each call. */
function autoGroups(row: SourceRow, token: Token): string[] {
  const own = namesIn(textOf(row, "auto_groups")) ?? [];
  const order = own.length > 0 ? own : token.source.auto;
  return order.filter((name) => wasOpen(name, token));
}

/** Those that can be named here, and no more than a token may have. */
function nameable(names: readonly string[], { id, tally }: Token): string[] {
  const good = names.filter((name) => GroupName.safeParse(name).success);
  for (const name of names)
    if (!good.includes(name)) tally.remark(`tokens lose a group whose name cannot be one here: ${name}`, id);
  for (const name of good.slice(MOST_GROUPS))
    tally.remark(`tokens keep ${MOST_GROUPS} groups, and lose ${name}`, id);
  return good.slice(0, MOST_GROUPS);
}

/** Whether New API let members of the user's group use it. */
function wasOpen(name: string, { owner, source: { special, usable } }: Token): boolean {
  const rules = asObject(special[owner]) ?? {};
  if (Object.hasOwn(rules, `-:${name}`)) return false;
  return Object.hasOwn(usable, name) || Object.hasOwn(rules, name) || Object.hasOwn(rules, `+:${name}`);
}

/** New API had closed it to the user's group, which has no place here. */
function isClosed(name: string, token: Token): boolean {
  const { owner, source } = token;
  return isOpenHere(name, token) && Object.hasOwn(asObject(source.special[owner]) ?? {}, `-:${name}`);
}

function isOpenHere(name: string, { owner, source: { usable, ratios } }: Token): boolean {
  return mayUseGroup(name, [owner], { usable, ratios });
}

function tellOrder(row: SourceRow, groups: readonly string[], { id, tally }: Token): void {
  const order = groups.join(",");
  tally.remark(
    `tokens with the group auto try its groups as they were at the import, in this order: ${order}`,
    id,
  );
  if (groups.length > 1 && !flagOf(row, "cross_group_retry"))
    tally.remark(
      `tokens without cross_group_retry stayed in the first group with a channel for the model, and go on to the next here when its channels fail: ${order}`,
      id,
    );
}

/** By name: which groups a token cannot be called in, here or there. */
function tellUse(name: string, token: Token): void {
  const { id, owner, source, tally } = token;
  if (isClosed(name, token))
    tally.remark(`tokens name a group that was closed to their user's (-:${name} of ${owner})`, id);
  else if (isOpenHere(name, token)) return;
  else if (!Object.hasOwn(source.ratios, name))
    tally.remark(`tokens name a group that does not exist, calls in it are refused as there: ${name}`, id);
  else if (source.isNewApi && wasOpen(name, token))
    tally.remark(
      `tokens name a group that was open to members of ${owner} alone, calls in it are refused until it is open to all: ${name}`,
      id,
    );
  else tally.remark(`tokens name a group that their user may not use, calls in it are refused: ${name}`, id);
}

function tellPrices(groups: readonly string[], { id, owner, source: { pairs, ratios }, tally }: Token): void {
  for (const name of groups) {
    const there = asNumber(asObject(pairs[owner])?.[name]);
    const here = Object.hasOwn(ratios, name) ? ratios[name] : 1;
    if (there !== undefined && there !== here)
      tally.remark(
        `tokens pay the ratio of the group itself: members of ${owner} in ${name} ${here} instead of ${there}`,
        id,
      );
  }
}
