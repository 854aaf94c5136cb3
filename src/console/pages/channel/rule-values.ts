// The rules of routing as the form has them ⇄ as the option holds them, and what a rule leaves of the channels there are
// (requirements C66). Pure.
import { readPairs } from "#console/base/json.ts";
import { type Channel, ChannelStatus } from "#contract/channel.ts";
import { isModelOf } from "#contract/limit-words.ts";
import { allowedBy, type RouteRule, RouteRules, routeRules } from "#contract/route-rule.ts";

/** A rule as its fields. Empty = no condition. */
export interface RuleValues {
  readonly name: string;
  readonly models: readonly string[];
  readonly groups: readonly string[];
  readonly teams: readonly number[];
  readonly kib_over: number | null;
  readonly kib_up_to: number | null;
  readonly effect: "only" | "avoid";
  readonly channels: readonly number[];
}

export const NEW_RULE: RuleValues = {
  name: "",
  models: [],
  groups: [],
  teams: [],
  kib_over: null,
  kib_up_to: null,
  effect: "only",
  channels: [],
};

export interface RulesForm {
  readonly rules: readonly RuleValues[];
  /** The same as JSON, while it is edited so. */
  readonly text: string;
}

export function ruleValues(rule: RouteRule): RuleValues {
  const { name, models = [], groups = [], teams = [], kib_over = null, kib_up_to = null } = rule;
  const effect = rule.only === undefined ? "avoid" : "only";
  const channels = rule.only ?? rule.avoid ?? [];
  return { name, models, groups, teams, kib_over, kib_up_to, effect, channels };
}

/** The rule of these fields; one that is still being filled in may be none. A field that was not touched yet is not there. */
export function ruleOf(values: Partial<RuleValues>): RouteRule {
  const { name, models, groups, teams, kib_over, kib_up_to, effect, channels } = { ...NEW_RULE, ...values };
  return {
    name: name.trim(),
    ...(models.length > 0 && { models: [...models] }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(teams.length > 0 && { teams: [...teams] }),
    ...(kib_over !== null && { kib_over }),
    ...(kib_up_to !== null && { kib_up_to }),
    [effect]: [...channels],
  };
}

/** What is wrong with a field of one of the rules; undefined = nothing is. */
export function ruleFault(
  rules: readonly Partial<RuleValues>[],
  at: number,
  field: keyof RuleValues,
): string | undefined {
  const read = RouteRules.safeParse(rules.map(ruleOf));
  const named = field === "channels" ? ["only", "avoid"] : [field];
  const issue = read.error?.issues.find(({ path }) => path[0] === at && named.includes(String(path[1])));
  if (issue !== undefined) return issue.message;
  const isTwice = (name: string) => rules.filter((rule) => rule.name?.trim() === name).length > 1;
  return field === "name" && isTwice(rules[at]?.name?.trim() ?? "") ? "规则的名称不能重复" : undefined;
}

/** The fields of a stored text; undefined = it is none of rules. */
export function readRules(text: string): readonly RuleValues[] | undefined {
  return routeRules.safeDecode(text).data?.map(ruleValues);
}

/** Why a text is none of rules. */
export function textFault(text: string): string | undefined {
  return routeRules.safeDecode(text).error?.issues[0]?.message;
}

export function writeRules(rules: readonly Partial<RuleValues>[]): string {
  return JSON.stringify(rules.map(ruleOf), null, 2);
}

/** What of a channel a rule asks about. */
export type RuledChannel = Pick<Channel, "id" | "name" | "status" | "models" | "group" | "model_mapping">;

/** What a rule does to the channels that are enabled. */
export interface Outcome {
  /** Those that calls which it is for could use without it. */
  readonly able: readonly RuledChannel[];
  readonly excluded: readonly RuledChannel[];
  /** Models that some group has a channel for, and by this rule none. */
  readonly lost: readonly string[];
}

/** By the conditions on models and groups; those on teams and sizes say nothing of channels. */
export function outcomeOf(rule: RouteRule, channels: readonly RuledChannel[]): Outcome {
  const served = channels
    .filter(({ status }) => status === ChannelStatus.enabled)
    .map((channel) => ({ channel, models: modelsFor(rule, channel), groups: groupsFor(rule, channel) }))
    .filter(({ models, groups }) => models.length > 0 && groups.length > 0);
  const able = served.map(({ channel }) => channel);
  const left = new Set(allowedBy(rule, able));
  const pairs = (some: typeof served) =>
    new Set(
      some.flatMap(({ models, groups }) =>
        models.flatMap((model) => groups.map((group) => `${group} ${model}`)),
      ),
    );
  const kept = pairs(served.filter(({ channel }) => left.has(channel)));
  const lost = [...pairs(served)]
    .filter((pair) => !kept.has(pair))
    .map((pair) => pair.slice(pair.indexOf(" ") + 1));
  return {
    able,
    excluded: able.filter((channel) => !left.has(channel)),
    lost: [...new Set(lost)].toSorted(),
  };
}

function modelsFor({ models }: RouteRule, channel: RuledChannel): string[] {
  const mapped = (readPairs(channel.model_mapping) ?? []).map(([name]) => name);
  const named = [...new Set([...channel.models, ...mapped])];
  return models === undefined
    ? named
    : named.filter((name) => models.some((pattern) => isModelOf(pattern, name)));
}

function groupsFor({ groups }: RouteRule, { group }: RuledChannel): string[] {
  return groups === undefined ? [...group] : group.filter((name) => groups.includes(name));
}

/** The rule before it that is for every call, so that this one is never reached. */
export function hiddenBy(rules: readonly RouteRule[], at: number): RouteRule | undefined {
  return rules.slice(0, at).find(({ models = ["*"], groups, teams, kib_over, kib_up_to }) => {
    const isAny = models.includes("*") && groups === undefined && teams === undefined;
    return isAny && kib_over === undefined && kib_up_to === undefined;
  });
}
