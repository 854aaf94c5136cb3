// The state of a list: page, sorting, search, and what was chosen of page size and columns are in the URL; the last two are remembered in
// local storage as well.
import { useCallback, useState } from "react";
import { type NavigateOptions, useSearchParams } from "react-router";
import { readStored, type TableLook, writeStored } from "#console/base/storage.ts";

const DEFAULT_SIZE = 20;
export const SIZES = [10, 20, 50, 100] as const;

/** What a list asks the server for. */
export interface ListInput {
  readonly p: number;
  readonly size: number;
  readonly order: string;
  readonly desc: boolean;
  /** Trimmed; "" = the whole list. */
  readonly keyword: string;
}

export interface Sort {
  readonly order: string;
  readonly desc: boolean;
}

export interface TableState {
  readonly input: ListInput;
  readonly hidden: readonly string[];
  readonly setPage: (page: number) => void;
  readonly setSize: (size: number) => void;
  readonly setSort: (sort: Sort | undefined) => void;
  readonly setKeyword: (keyword: string) => void;
  readonly setHidden: (hidden: readonly string[]) => void;
}

/** Writes `changes` into search params; empty text removes a name. */
export function withParams(
  params: URLSearchParams,
  changes: Readonly<Record<string, string>>,
): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  return next;
}

/**
 * What the address says, and how parts of it are changed; "" removes one. Changes go by the address as it is at that moment: what was drawn
 * last may be of the one before, and a change that is on its way would be lost.
 */
export function useAddress() {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (changes: Readonly<Record<string, string>>, options?: NavigateOptions) =>
      setParams(withParams(new URLSearchParams(window.location.search), changes), options),
    [setParams],
  );
  return [params, change] as const;
}

/** Which tab of a page is open; another one begins at the first page of its list. */
export function useTab(first: string) {
  const [params, change] = useAddress();
  const open = (tab: string) =>
    change({ tab: tab === first ? "" : tab, page: "", keyword: "" }, { replace: true });
  return [params.get("tab") ?? first, open] as const;
}

/** Page, order, desc and keyword as the URL tells; anything unreadable counts as absent. */
export function readListInput(params: URLSearchParams, size: number): ListInput {
  const page = Number(params.get("page") ?? "1");
  return {
    p: Number.isSafeInteger(page) && page >= 1 ? page - 1 : 0,
    size,
    order: params.get("order") ?? "",
    desc: params.get("desc") === "true",
    keyword: (params.get("keyword") ?? "").trim(),
  };
}

/** Whether a search term may be a key: those never go into the address bar or its history. */
export function looksLikeKey(keyword: string): boolean {
  return /^sk-/i.test(keyword) || /^[\w|.-]{24,}$/.test(keyword);
}

function useLook(
  table: string,
  hiddenAtFirst: readonly string[],
): readonly [TableLook, (look: TableLook) => void] {
  const [look, setLook] = useState<TableLook>(
    () => readStored("table_looks")?.[table] ?? { size: DEFAULT_SIZE, hidden: [...hiddenAtFirst] },
  );
  const remember = (next: TableLook) => {
    setLook(next);
    writeStored("table_looks", { ...readStored("table_looks"), [table]: next });
  };
  return [look, remember];
}

/** How many rows and which columns an address asks for; what it does not say, or says of nothing here, is undefined. */
export function lookIn(params: URLSearchParams, free: readonly string[]): Partial<TableLook> {
  const size = SIZES.find((offered) => String(offered) === params.get("size"));
  const shown = params.get("columns")?.split(",");
  return {
    ...(size === undefined ? {} : { size }),
    ...(shown === undefined ? {} : { hidden: free.filter((key) => !shown.includes(key)) }),
  };
}

/** The columns as an address tells them. */
function shownText(free: readonly string[], hidden: readonly string[]): string {
  // Where all are hidden the name still stands there: without, an address says nothing of columns.
  return free.filter((key) => !hidden.includes(key)).join(",") || "none";
}

/** The columns of a list that can be hidden, and those that are until the user asks for them. */
export interface Hideable {
  readonly free: readonly string[];
  readonly hiddenAtFirst: readonly string[];
}

/** The address of a list as it is seen now, page size and columns as well, for others and for later: it starts at the first page. */
export function viewAddress(href: string, state: TableState, free: readonly string[]): string {
  const address = new URL(href);
  address.search = withParams(address.searchParams, {
    page: "",
    size: String(state.input.size),
    columns: shownText(free, state.hidden),
  }).toString();
  return address.href;
}

/**
 * State of the list called `table`. A change of anything but the page starts at the first page again. Page size and columns are those of the
 * address, else those that this browser remembers.
 */
export function useTableState(table: string, { free, hiddenAtFirst }: Hideable): TableState {
  const [params, change] = useAddress();
  const [stored, setStored] = useLook(table, hiddenAtFirst);
  // What was chosen shows at once; the address follows in its time, and counts when it changes.
  const [chosen, setChosen] = useState<Partial<TableLook>>({});
  const said = `${params.get("size")} ${params.get("columns")}`;
  const [heard, setHeard] = useState(said);
  if (said !== heard) {
    setHeard(said);
    setChosen({});
  }
  const look = { ...stored, ...lookIn(params, free), ...chosen };
  const choose = (choice: Partial<TableLook>) => {
    setStored({ ...stored, ...choice });
    setChosen({ ...chosen, ...choice });
  };
  const [secretKeyword, setSecretKeyword] = useState("");
  const write = (changes: Record<string, string>) => change(changes, { replace: true });
  const input = readListInput(params, look.size);
  return {
    input: secretKeyword === "" ? input : { ...input, keyword: secretKeyword },
    hidden: look.hidden,
    setPage: (page) => write({ page: page === 0 ? "" : String(page + 1) }),
    setSize: (size) => {
      choose({ size });
      write({ page: "", size: String(size) });
    },
    setSort: (sort) => write({ page: "", order: sort?.order ?? "", desc: sort?.desc === true ? "true" : "" }),
    setKeyword: (text) => {
      const keyword = text.trim();
      const isSecret = looksLikeKey(keyword);
      setSecretKeyword(isSecret ? keyword : "");
      write({ page: "", keyword: isSecret ? "" : keyword });
    },
    setHidden: (hidden) => {
      choose({ hidden: [...hidden] });
      write({ columns: shownText(free, hidden) });
    },
  };
}
