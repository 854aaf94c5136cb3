// Changing rows inside cached list answers, for optimistic updates. Knows the form of list answers, no resource.
import type { QueryClient } from "@tanstack/react-query";
import type { Endpoint } from "#contract/endpoint.ts";
import { LOCALE } from "./language.ts";
import { toast } from "./toast.ts";

interface Row {
  readonly id: number;
}
interface ListAnswer {
  readonly data: readonly Row[];
  readonly total?: number | undefined;
}

/** Which page is shown, and by which column its list is sorted; "" = as it came. */
interface Asked {
  readonly p: number;
  readonly size: number;
  readonly order: string;
  readonly desc: boolean;
}

function fieldOf(row: Row, name: string): unknown {
  return Object.entries(row).find(([field]) => field === name)?.[1];
}

function compare(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one ?? "").localeCompare(String(other ?? ""), LOCALE);
}

/**
 * The rows of an answer as they are shown. A server that knows our additions (it tells a total) has sorted them; with any other
 * the rows at hand are sorted here. Of a whole list the page is cut out. Entries without a number (One API's own log) get one each, below
 * zero, to be told apart.
 */
export function shownRows<T extends Row>(
  answer: { readonly data: readonly T[]; readonly total?: number | undefined; readonly isWhole?: true },
  { p, size, order, desc }: Asked,
): readonly T[] {
  const part = answer.isWhole === true ? answer.data.slice(p * size, (p + 1) * size) : answer.data;
  const rows = part.map((row, index) => (row.id === 0 ? { ...row, id: -1 - index } : row));
  if (answer.total !== undefined || order === "") return rows;
  const sign = desc ? -1 : 1;
  return rows.toSorted((one, other) => sign * compare(fieldOf(one, order), fieldOf(other, order)));
}

function isListAnswer(value: unknown): value is ListAnswer {
  return typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data);
}

function snapshot(client: QueryClient, lists: readonly Endpoint[]): () => void {
  const before = lists.flatMap((list) => client.getQueriesData({ queryKey: [list.path] }));
  return () => {
    for (const [key, value] of before) client.setQueryData(key, value);
  };
}

function updateLists(
  client: QueryClient,
  lists: readonly Endpoint[],
  change: (answer: ListAnswer) => ListAnswer,
): void {
  for (const list of lists) {
    client.setQueriesData<unknown>({ queryKey: [list.path] }, (answer: unknown) =>
      isListAnswer(answer) ? change(answer) : answer,
    );
  }
}

/** Writes `patch` over the row of this id in all cached pages of `lists`. Returns the undo. */
export function patchRow(client: QueryClient, lists: readonly Endpoint[], patch: Row): () => void {
  const undo = snapshot(client, lists);
  updateLists(client, lists, (answer) => ({
    ...answer,
    data: answer.data.map((row) => (row.id === patch.id ? { ...row, ...patch } : row)),
  }));
  return undo;
}

/** Hides the row of this id in all cached pages of `lists` (requirements B4). Returns the undo. */
export function hideRow(client: QueryClient, lists: readonly Endpoint[], id: number): () => void {
  const undo = snapshot(client, lists);
  updateLists(client, lists, (answer) => {
    const data = answer.data.filter((row) => row.id !== id);
    const total = answer.total === undefined ? undefined : answer.total - (answer.data.length - data.length);
    return { ...answer, data, total };
  });
  return undo;
}

/** For `useCall`: the call changes these fields of a row, which shows them at once in all of `lists`. */
export function changesRow(lists: readonly Endpoint[], fields: readonly string[]) {
  return {
    invalidates: lists,
    onSuccess: () => toast.success(),
    optimistic: (client: QueryClient, { body }: { readonly body: Row }) => {
      const given = Object.entries(body).filter(
        ([name, value]) => fields.includes(name) && value !== undefined,
      );
      return patchRow(client, lists, { id: body.id, ...Object.fromEntries(given) });
    },
  };
}

/** For `useCall`: the call removes a row, which is hidden at once in all of `lists`. */
export function removesRow(lists: readonly Endpoint[]) {
  return {
    invalidates: lists,
    onSuccess: () => toast.success(),
    optimistic: (client: QueryClient, { params }: { readonly params: Row }) =>
      hideRow(client, lists, params.id),
  };
}
