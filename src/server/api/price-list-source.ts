// Where a price list comes from: an address that the server reads, or a text; and what is known of its models here. Writes nothing.
import { MOST_LIST_BYTES } from "#contract/price-draft.ts";
import type { PriceFormat } from "#contract/price-list.ts";
import { DAY_SEC } from "#server/clock.ts";
import type { Context } from "#server/context.ts";
import { fetchText } from "#server/egress/fetch-text.ts";
import { faults } from "#server/errors.ts";
import type { ModelUse } from "#server/money/prices/draft.ts";
import { PriceListError } from "#server/money/prices/list-json.ts";
import type { PriceList } from "#server/money/prices/listed.ts";
import { readPriceList } from "#server/money/prices/lists.ts";
import type { LoggedCall } from "#server/money/prices/week.ts";
import { readSample } from "#server/store/log-sample.ts";
import { sumModels } from "#server/store/usage.ts";
import { ListCache } from "./list-cache.ts";
import { namedIn, type SourceTable } from "./list-sources.ts";

const TIMEOUT_MS = 20_000;
/** A source's name is no longer. */
const MOST_NAME = 200;
const HASH_CHARS = 8;
const caches = new WeakMap<Context, ListCache>();

/** The text of a list at an address. Throws: AppError. */
export async function fetchList(ctx: Context, address: string): Promise<string> {
  const { egress } = ctx;
  const judged = egress.judge(address);
  if ("refusal" in judged) throw faults.refused(`价目表的地址：${judged.refusal}`);
  const cache = caches.get(ctx) ?? new ListCache();
  caches.set(ctx, cache);
  const result = await fetchText(egress, {
    method: "GET",
    url: address,
    headers: ["accept", "application/json", "user-agent", "Tollgate", ...cache.headersFor(address)],
    timeoutMs: TIMEOUT_MS,
    limitBytes: MOST_LIST_BYTES,
  });
  if (result.kind === "fault") throw faults.refused("取不到价目表，请检查地址与网络", result.detail);
  const text = cache.textOf(address, result);
  if (text === undefined) throw faults.refused(`取不到价目表：对方返回 ${result.status}`);
  return text;
}

/**
 * How a source is named wherever it is kept and shown: its address without the query, which may be secret and is needed once. A keyed hash
 * stands for it, so that two lists of one address are two sources.
 */
export function sourceName({ secrets }: Pick<Context, "secrets">, address: string): string {
  const { protocol, host, pathname, search } = new URL(address);
  const query = search === "" ? "" : `?…${secrets.hash(search).slice(0, HASH_CHARS)}`;
  return `${`${protocol}//${host}${pathname}`.slice(0, MOST_NAME - query.length)}${query}`;
}

/** The operator's order of lists, by the names of their sources. */
export function sourceTable({ options, secrets }: Context): SourceTable {
  return namedIn(options.get("PriceSources"), (address) => sourceName({ secrets }, address));
}

/** Throws: AppError. */
export function readList(text: string, format: PriceFormat | ""): { format: PriceFormat; list: PriceList } {
  if (text.trim() === "") throw faults.refused("请填写价目表的地址，或选择文件、粘贴其内容");
  try {
    return readPriceList(text, format === "" ? undefined : format);
  } catch (error) {
    throw error instanceof PriceListError ? faults.refused(error.message) : error;
  }
}

/** So many calls of a week are looked at, spread over it. */
const MOST_CALLS = 50_000;

/** What models were used for lately, by name. */
export async function usesOf({ db, clock }: Context): Promise<ReadonlyMap<string, ModelUse>> {
  const before = clock.seconds() + 3_600;
  const logged = new Map<string, LoggedCall[]>();
  await readSample(db, { start: before - 7 * DAY_SEC, most: MOST_CALLS }, ({ model, ...call }) => {
    const known = logged.get(model);
    if (known === undefined) logged.set(model, [call]);
    else known.push(call);
  });
  const [month, week] = await Promise.all([
    sumModels(db, { userId: undefined, start: before - 30 * DAY_SEC, before }),
    sumModels(db, { userId: undefined, start: before - 7 * DAY_SEC, before }),
  ]);
  const weeks = new Map(week.map((row) => [row.name, row]));
  return new Map(
    month.map(({ name, requests }) => {
      const sums = weeks.get(name);
      const { quota = 0, prompt_tokens = 0, completion_tokens = 0 } = sums ?? {};
      return [
        name,
        {
          calls: requests,
          week: {
            quota,
            promptTokens: prompt_tokens,
            completionTokens: completion_tokens,
            logged: logged.get(name) ?? [],
          },
        },
      ];
    }),
  );
}
