// The rules of a login provider as lines of text, and back: path, `=`, value, `→` or `->`, group.
import type { Rule } from "#contract/sign-on.ts";

const LINE = /^\s*([^\s=]+)\s*=\s*(.+?)\s*(?:→|->)\s*(\S+)\s*$/;

export function rulesText(rules: readonly Rule[]): string {
  return rules.map(({ path, value, group }) => `${path} = ${value} → ${group}`).join("\n");
}

/** The number of the first line that is no rule; undefined = all are. */
export function faultyLine(text: string): number | undefined {
  const at = text.split("\n").findIndex((line) => line.trim() !== "" && !LINE.test(line));
  return at < 0 ? undefined : at + 1;
}

/** Lines that are no rules are left out: the form has refused them before. */
export function rulesOf(text: string): Rule[] {
  return text.split("\n").flatMap((line) => {
    const [, path = "", value = "", group = ""] = LINE.exec(line) ?? [];
    return path === "" ? [] : [{ path, value, group }];
  });
}
