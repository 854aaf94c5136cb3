// The rules of a login provider as lines of text, and back: path, `=`, value, `→` or `->`, and a group, or `#`, a team's id and a role, or
// `@` and the id of a set of permissions.
import { Rule } from "#contract/login-provider.ts";

const LINE = /^\s*([^\s=]+)\s*=\s*(.+?)\s*(?:→|->)\s*(?:#(\d+)\s+(\w+)|@(\d+)|([^\s#@]\S*))\s*$/;

export function rulesText(rules: readonly Rule[]): string {
  return rules.map((rule) => `${rule.path} = ${rule.value} → ${targetOf(rule)}`).join("\n");
}

function targetOf({ group, team_id, team_role, staff_set_id }: Rule): string {
  if (team_id !== 0) return `#${team_id} ${team_role}`;
  return staff_set_id === 0 ? group : `@${staff_set_id}`;
}

/** A line as a rule; undefined = it is none. */
function ruleOf(line: string): Rule | undefined {
  const [, path, value, team, team_role, set, group = ""] = LINE.exec(line) ?? [];
  const seat = team === undefined ? {} : { team_id: Number(team), team_role };
  return Rule.safeParse({ path, value, group, ...seat, staff_set_id: Number(set ?? 0) }).data;
}

/** The number of the first line that is no rule; undefined = all are. */
export function faultyLine(text: string): number | undefined {
  const at = text.split("\n").findIndex((line) => line.trim() !== "" && ruleOf(line) === undefined);
  return at < 0 ? undefined : at + 1;
}

/** Lines that are no rules are left out: the form has refused them before. */
export function rulesOf(text: string): Rule[] {
  return text.split("\n").flatMap((line) => ruleOf(line) ?? []);
}
