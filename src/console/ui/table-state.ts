// The state of a list: page, sorting and search are in the URL, page size and hidden columns in local storage.
import { useState } from "react";
import { useSearchParams } from "react-router";
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

/** State of the list called `table`. A change of anything but the page starts at the first page again. */
export function useTableState(table: string, hiddenAtFirst: readonly string[] = []): TableState {
  const [params, setParams] = useSearchParams();
  const [look, setLook] = useLook(table, hiddenAtFirst);
  const [secretKeyword, setSecretKeyword] = useState("");
  const write = (changes: Record<string, string>) =>
    setParams((current) => withParams(current, changes), { replace: true });
  const input = readListInput(params, look.size);
  return {
    input: secretKeyword === "" ? input : { ...input, keyword: secretKeyword },
    hidden: look.hidden,
    setPage: (page) => write({ page: page === 0 ? "" : String(page + 1) }),
    setSize: (size) => {
      setLook({ ...look, size });
      write({ page: "" });
    },
    setSort: (sort) => write({ page: "", order: sort?.order ?? "", desc: sort?.desc === true ? "true" : "" }),
    setKeyword: (text) => {
      const keyword = text.trim();
      const isSecret = looksLikeKey(keyword);
      setSecretKeyword(isSecret ? keyword : "");
      write({ page: "", keyword: isSecret ? "" : keyword });
    },
    setHidden: (hidden) => setLook({ ...look, hidden: [...hidden] }),
  };
}
