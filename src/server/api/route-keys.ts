// Handler: the keys of a channel in the route explainer, page by page (requirements C47). What is enabled is known to the ring that chooses; what
// is off stands in the table alone.
import { ChannelStatus } from "#contract/channel.ts";
import { RELAY_ENDPOINTS, type RelayFormat } from "#contract/relay-endpoint.ts";
import { KEY_VERDICTS, type KeyVerdict, type routeApi } from "#contract/route.ts";
import { capStates } from "#server/channels/caps-left.ts";
import { takingOf } from "#server/channels/explain.ts";
import { countsOf, type KeysOutlook, keyCapsOf, outlookOf, tellKey } from "#server/channels/explain-keys.ts";
import { callFormat } from "#server/channels/formats.ts";
import { showProxy } from "#server/channels/proxies.ts";
import { faults } from "#server/errors.ts";
import { countOffKeys, findKeys, keysFrom } from "#server/store/channel-key-lists.ts";
import type { SealedKeyRow } from "#server/store/channel-keys.ts";
import type { Db } from "#server/store/db.ts";
import type { Handlers } from "./call.ts";
import { storedProxy } from "./channel-keys.ts";

export const routeKeys: Handlers<{ route: typeof routeApi }>["route"]["keys"] = async (
  ctx,
  { params, query },
) => {
  const { id } = params;
  const [model, verdict] = [query.model.trim(), query.verdict.trim()];
  if (model === "") throw faults.refused("请填写模型");
  const format = callFormat(readFormat(query.format));
  if (verdict !== "" && !isVerdict(verdict)) throw faults.refused(`结论须为 ${KEY_VERDICTS.join("、")} 之一`);
  await ctx.candidates.pending;
  const channel = ctx.candidates.byId(id);
  if (channel?.keys === undefined) throw faults.notFound("找不到该渠道，或它只有一个密钥");
  const states = await capStates(ctx, keyCapsOf(channel));
  const outlook = outlookOf(ctx, channel, channel.keys, { model, states, takesFrom: takingOf(format) });
  const off = (await offCounts(ctx.db, [id])).get(id) ?? NONE_OFF;
  const parts = partsOf(ctx.db, id, outlook, off).filter(
    (part) => verdict === "" || part.verdict === verdict,
  );
  const rows = await pageOf(parts, query.p * query.size, query.size);
  return {
    data: rows.map((row) =>
      tellKey(channel, outlook, { ...row, proxy: showProxy(storedProxy(ctx, row)).proxy }),
    ),
    total: parts.reduce((sum, { count }) => sum + count, 0),
    counts: countsOf(outlook.keys, off),
  };
};

const FORMATS: readonly RelayFormat[] = RELAY_ENDPOINTS.map(({ name }) => name);

/** The relay's endpoint that is asked about; "" = chat. Throws: a refusal. */
export function readFormat(text: string): RelayFormat {
  const name = text.trim() || "chat";
  const format = FORMATS.find((one) => one === name);
  if (format === undefined) throw faults.refused(`接口须为 ${FORMATS.join("、")} 之一`);
  return format;
}

function isVerdict(text: string): text is KeyVerdict {
  return KEY_VERDICTS.some((verdict) => verdict === text);
}

/** How many keys of a channel are off. */
export interface OffCount {
  readonly disabled: number;
  readonly autoDisabled: number;
}

export const NONE_OFF: OffCount = { disabled: 0, autoDisabled: 0 };

/** The same of several channels, those that have any. */
export async function offCounts(
  db: Db,
  channelIds: readonly number[],
): Promise<ReadonlyMap<number, OffCount>> {
  const counts = new Map<number, OffCount>();
  for (const { channel_id: id, status, count } of await countOffKeys(db, channelIds)) {
    const name = status === ChannelStatus.disabled ? "disabled" : "autoDisabled";
    counts.set(id, { ...(counts.get(id) ?? NONE_OFF), [name]: count });
  }
  return counts;
}

/** Keys of one verdict. */
interface Part {
  readonly verdict: KeyVerdict;
  readonly count: number;
  page(offset: number, limit: number): Promise<SealedKeyRow[]>;
}

/** In the order in which they are told. */
function partsOf(db: Db, id: number, { keys }: KeysOutlook, { disabled, autoDisabled }: OffCount): Part[] {
  const known = KEY_VERDICTS.map((verdict): Part => {
    const ids = keys.filter((key) => key.verdict === verdict).map((key) => key.id);
    return {
      ...{ verdict, count: ids.length },
      async page(offset, limit) {
        const some = ids.slice(offset, offset + limit);
        const rows = new Map((await findKeys(db, id, some)).map((row) => [row.id, row]));
        return some.flatMap((one) => rows.get(one) ?? []);
      },
    };
  });
  const stored = (verdict: KeyVerdict, status: number, count: number): Part => ({
    ...{ verdict, count },
    page: (offset, limit) => keysFrom(db, id, { status, keyword: "", offset, limit }),
  });
  return [
    ...known.filter(({ count }) => count > 0),
    stored("auto_disabled", ChannelStatus.autoDisabled, autoDisabled),
    stored("disabled", ChannelStatus.disabled, disabled),
  ];
}

/** A page of all parts one behind the other. */
async function pageOf(parts: readonly Part[], offset: number, limit: number): Promise<SealedKeyRow[]> {
  const rows: SealedKeyRow[] = [];
  let start = 0;
  for (const { count, page } of parts) {
    const from = Math.max(0, offset + rows.length - start);
    const left = limit - rows.length;
    if (left > 0 && from < count) rows.push(...(await page(from, Math.min(left, count - from))));
    start += count;
  }
  return rows;
}
