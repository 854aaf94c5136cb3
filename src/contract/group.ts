// User groups by name: what a name may be, which ones an account may use, and the ordered choice of a token (requirements K15).
import { z } from "zod";
import { isOneLine } from "./name.ts";

/** A token tries no more than so many. */
export const MOST_GROUPS = 8;

/** One group: a comma would make two of it. */
export const GroupName = z
  .string()
  .trim()
  .min(1, "分组名不能为空")
  .max(64, "分组名最多 64 个字符")
  .refine((name) => !/[,（）]/.test(name), "分组名不能含逗号或全角括号；多个分组请逐个选择")
  .refine(isOneLine, "分组名不能含有换行或控制字符");

/** In the order in which they are tried; [] = the user's own. */
export const GroupOrder = z
  .array(GroupName)
  .max(MOST_GROUPS, `最多选择 ${MOST_GROUPS} 个分组`)
  .refine((names) => new Set(names).size === names.length, "同一分组只能选择一次");

/** A group that may be chosen for the tokens of an account. */
export const UsableGroup = z.object({ ratio: z.number(), desc: z.string() });

/** The groups of an order as it is stored. */
export function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(",");
}

export interface GroupTables {
  /** Those that everybody may choose, and what is told of them. */
  readonly usable: Readonly<Record<string, string>>;
  readonly ratios: Readonly<Record<string, number>>;
  /** Other names of the same group, of one that was renamed a moment ago. */
  readonly otherNames?: (name: string) => readonly string[];
}

/** Whether an account with these groups of its own may use this one: its own, or one that is open to all and has a ratio. */
export function mayUseGroup(
  name: string,
  own: readonly string[],
  { usable, ratios, otherNames }: GroupTables,
): boolean {
  const isOpen = (one: string) =>
    own.includes(one) || (Object.hasOwn(usable, one) && Object.hasOwn(ratios, one));
  return isOpen(name) || (otherNames?.(name).some(isOpen) ?? false);
}
