// Which channels a call may go to by the operator's rules (requirements C44). Pure. Asked only where there are rules.
import { isModelOf } from "#contract/limit-words.ts";
import type { RouteRule } from "#contract/route-rule.ts";

/** What the conditions are about. */
export interface RuledCall {
  readonly model: string;
  /** The group by all its names: more than one when it was renamed a moment ago. */
  readonly groups: readonly string[];
  /** The team that pays; 0 = none does. */
  readonly teamId: number;
  /** Of the request's body. */
  readonly bytes: number;
}

const KIB = 1_024;

/** The first rule that applies; undefined = none does. */
export function ruleFor(rules: readonly RouteRule[], call: RuledCall): RouteRule | undefined {
  return rules.find((rule) => isFor(rule, call));
}

function isFor(rule: RouteRule, { model, groups, teamId, bytes }: RuledCall): boolean {
  if (rule.models?.some((pattern) => isModelOf(pattern, model)) === false) return false;
  if (rule.groups?.some((name) => groups.includes(name)) === false) return false;
  if (rule.teams?.includes(teamId) === false) return false;
  if (rule.kib_over !== undefined && bytes <= rule.kib_over * KIB) return false;
  return rule.kib_up_to === undefined || bytes <= rule.kib_up_to * KIB;
}
