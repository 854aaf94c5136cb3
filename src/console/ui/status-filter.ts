// The filter of a list by the state of its rows.
import { wide } from "#console/base/language.ts";
import type { FilterField } from "./list-filters.tsx";

/** `states`: what each number means, in the order in which they are offered. */
export function statusFilter(
  states: readonly { readonly value: string; readonly label: string }[],
): FilterField {
  return {
    kind: "choice",
    name: "status",
    label: "选择状态",
    chip: "状态",
    options: [{ value: "", label: "全部状态" }, ...states],
    width: wide(112, 136),
    isNumber: true,
  };
}
