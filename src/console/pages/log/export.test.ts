import { afterEach, describe, expect, test, vi } from "vitest";
import { fetchRows, MAX_ROWS, rowsCsv } from "#console/base/export.ts";
import { LogEntry } from "#contract/log.ts";
import { logColumns } from "./export.ts";
import { logQuery, NO_FILTERS } from "./filters.ts";
import { logPages } from "./source.ts";

const NOW = 1_800_000_000;

function entry(id: number, fields: Partial<LogEntry> = {}): LogEntry {
  return LogEntry.parse({
    id,
    user_id: 1,
    created_at: NOW - id,
    type: 2,
    content: "模型倍率 1",
    username: "lihua",
    token_name: "翻译",
    model_name: "gpt-4o-mini",
    quota: 5,
    prompt_tokens: 1,
    completion_tokens: 2,
    channel: 3,
    ...fields,
  });
}

/** Answers like a server with this many entries; `withTotal` as ours does, without as the family does. */
function serve(count: number, pageSize: number, withTotal: boolean): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (address: string) => {
    asked.push(address);
    const page = Number(new URL(address, "http://a").searchParams.get("p") ?? "0");
    const rows = Array.from(
      { length: Math.max(0, Math.min(pageSize, count - page * pageSize)) },
      (_, index) => entry(count - page * pageSize - index),
    );
    return Response.json({ success: true, message: "", data: rows, ...(withTotal ? { total: count } : {}) });
  });
  return asked;
}

function fetchEntries(isAdmin: boolean): Promise<LogEntry[]> {
  const filter = logQuery({ ...NO_FILTERS, username: "lihua" }, NOW);
  const { signal } = new AbortController();
  const pages = logPages({ kind: isAdmin ? "all" : "own" }, filter, { nowSec: NOW, signal });
  return fetchRows(pages, () => undefined);
}

const entriesCsv = (entries: readonly LogEntry[], isAdmin: boolean) =>
  rowsCsv(entries, logColumns({ kind: isAdmin ? "all" : "own" }));

afterEach(() => vi.unstubAllGlobals());

describe("fetching the log for a file", () => {
  test("reads all pages up to now, without fields that ordinary users may not filter by", async () => {
    const asked = serve(230, 100, true);
    expect(await fetchEntries(false)).toHaveLength(230);
    expect(asked).toHaveLength(3);
    expect(asked.every((address) => address.includes(`end_timestamp=${NOW}`))).toBe(true);
    expect(asked.some((address) => address.includes("username"))).toBe(false);
  });

  test("ends with a server that says no total and gives ten rows whatever is asked", async () => {
    serve(37, 10, false);
    expect(await fetchEntries(true)).toHaveLength(37);
    serve(40, 10, false);
    expect(await fetchEntries(true)).toHaveLength(40);
  });

  test("stops at the limit", async () => {
    const asked = serve(MAX_ROWS * 2, 100, true);
    expect(await fetchEntries(true)).toHaveLength(MAX_ROWS);
    expect(asked).toHaveLength(MAX_ROWS / 100);
  });
});

describe("the file", () => {
  test("has no formulas, whatever users name their things", () => {
    const csv = entriesCsv([entry(1, { token_name: "=cmd|' /C calc'!A0", content: "@x", quota: -7 })], true);
    const [head, row] = csv.trim().split("\r\n");
    expect(head).toBe(
      "时间,渠道 ID,渠道,此前失败,用户,项目,令牌,类型,模型,用时（毫秒）,首字（毫秒）,提示,补全,缓存,额度（点）,详情,请求 ID",
    );
    expect(row).toContain(",'=cmd|' /C calc'!A0,");
    expect(row).toContain(",-7,'@x,");
  });

  test("tells administrators which channels failed before, and ordinary users nothing about channels", () => {
    const trail = [{ channel: 9, channel_name: "秘密", error: "upstream_429", said: "" }];
    expect(entriesCsv([entry(1, { trail })], true)).toContain(",#9 秘密：上游返回 429,");
    expect(entriesCsv([entry(1, { channel_name: "秘密", trail })], false)).not.toMatch(/渠道|秘密|用户/);
  });
});
