// The rules of a login provider as lines of text, and back: path, `=`, value, `→` or `->`, and a group, or `#`, a team's id and a role.
import { Rule } from "#contract/login-provider.ts";

const LINE = /^\s*([^\s=]+)\s*=\s*(.+?)\s*(?:→|->)\s*(?:#(\d+)\s+(\w+)|(\S+))\s*$/;

export function rulesText(rules: readonly Rule[]): string {
  return rules
    .map(({ path, value, group, team_id, team_role }) => {
      const target = team_id === 0 ? group : `#${team_id} ${team_role}`;
      return `${path} = ${value} → ${target}`;
    })
    .join("\n");
}

/** A line as a rule; undefined = it is none. */
function ruleOf(line: string): Rule | undefined {
  const [, path, value, team, team_role, group = ""] = LINE.exec(line) ?? [];
  const seat = team === undefined ? {} : { team_id: Number(team), team_role };
  return Rule.safeParse({ path, value, group, ...seat }).data;
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
