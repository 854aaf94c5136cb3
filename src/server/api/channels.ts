// Handlers: upstream channels (requirements W3.6). The key goes in and never comes out.
import type { z } from "zod";
import { ChannelStatus, type ChannelUpdate, type channelApi } from "#contract/channel.ts";
import type { ChannelTimes } from "#contract/channel-limits.ts";
import type { InputOf } from "#contract/endpoint.ts";
import { modelObject } from "#contract/model-object.ts";
import { providerModels } from "#contract/provider-models.ts";
import { providers } from "#contract/providers.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { areChannelsTested } from "#server/channels/bulk-test.ts";
import { editedProxy, sealProxy, showProxy } from "#server/channels/proxies.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { copyKeys } from "#server/store/channel-keys.ts";
import { copyChannelLimits, setChannelLimits } from "#server/store/channel-limits.ts";
import {
  type ChannelChange,
  type ChannelFilter,
  type ChannelRow,
  countChannels,
  findChannel,
  findSealedChannel,
  insertChannels,
  listChannels,
  removeChannel,
  removeChannelsByStatus,
  updateChannel,
} from "#server/store/channels.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { previewRewrite } from "./channel-rewrite.ts";
import { checkChannel, checkKeys, editedKey, keyLines } from "./channel-rules.ts";
import { channelRuns } from "./channel-runs.ts";
import { presentChannel, presentChannels, storedProxy } from "./channel-view.ts";
import { totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { unpricedModels } from "./unpriced-models.ts";

/** What is known of a channel that has not been called. */
const UNTRIED = {
  status_reason: "",
  status_time: 0,
  test_time: 0,
  response_time: 0,
  balance: 0,
  balance_updated_time: 0,
  probe_time: 0,
  probes: 0,
} as const;

export const channel: Handlers<{ channel: typeof channelApi }>["channel"] = {
  list: (ctx, { query }) => showPage(ctx, query, {}),

  search: (ctx, { query }) =>
    showPage(ctx, query, { keyword: query.keyword, keyHash: ctx.secrets.hash(query.keyword) }),

  models() {
    const owners = providers.flatMap((row) =>
      (providerModels[row.type] ?? []).map((id) => [id, row.slug] as const),
    );
    // The first provider that offers a model owns it.
    const owned = new Map(owners.toReversed());
    return { object: "list", data: [...owned].map(([id, owner]) => modelObject(id, owner)).reverse() };
  },

  unpriced: (ctx) => unpricedModels(ctx),

  async get(ctx, { params }) {
    return presentChannel(ctx, await getChannel(ctx, params.id));
  },

  async create(ctx, call) {
    const { key, base_url, other, model_mapping, priority, weight, config, status, proxy, ...rest } =
      call.body;
    const { reuse, key_mode, limits, ...draft } = rest;
    const baseUrl = withoutEndSlashes(base_url ?? "");
    const keys = keyLines(key, draft.type);
    checkKeys({ type: draft.type, base_url: baseUrl, other }, keys);
    checkChannel(ctx.egress, { type: draft.type, base_url: baseUrl, other, config, proxy });
    const proxySealed = sealProxy(ctx.secrets, proxy ?? "");
    const nowSec = ctx.clock.seconds();
    const rows = keys.map((line) => ({
      type: draft.type,
      ...sealedKey(ctx, line),
      ...UNTRIED,
      status: status ?? ChannelStatus.enabled,
      name: draft.name,
      weight: weight ?? 0,
      priority: priority ?? 0,
      created_time: nowSec,
      base_url: baseUrl,
      other: other ?? "",
      models: draft.models.join(","),
      group: draft.group.join(","),
      model_mapping: model_mapping ?? "",
      config: config ?? "",
      proxy_sealed: proxySealed,
      reuse: reuse ?? "auto",
      key_mode: key_mode ?? "random",
      connect_ms: draft.connect_ms ?? 0,
      first_byte_ms: draft.first_byte_ms ?? 0,
      idle_ms: draft.idle_ms ?? 0,
      total_ms: draft.total_ms ?? 0,
      cost_ratio: draft.cost_ratio ?? 1,
      cost_sheet: draft.cost_sheet ?? "",
    }));
    const ids = await ctx.db.transaction().execute(async (tx) => {
      const inserted = await insertChannels(tx, rows);
      await setChannelLimits(tx, { subject: "channel", ids: inserted }, limits ?? {}, nowSec);
      const detail = {
        ids: inserted,
        ...draft,
        ...(limits !== undefined && { limits }),
        base_url: baseUrl,
        ...proxyDetail(proxySealed, proxy ?? ""),
      };
      await audit(ctx, tx, call, { action: "channel.create", target: draft.name, detail });
      return inserted;
    });
    await announce(ctx, "");
    return ids.length;
  },

  async copy(ctx, call) {
    const source = await findSealedChannel(ctx.db, call.params.id);
    if (source === undefined) throw faults.notFound("找不到该渠道");
    const { id: _id, used_quota: _used, keys_version: version, ...kept } = source;
    const name = copyName(source.name);
    const row = {
      ...kept,
      ...UNTRIED,
      name,
      // It takes no calls before an administrator has checked it.
      status: ChannelStatus.disabled,
      created_time: ctx.clock.seconds(),
    };
    const id = await ctx.db.transaction().execute(async (tx) => {
      const [made = 0] = await insertChannels(tx, [row]);
      if (version > 0) await copyKeys(tx, { from: source.id, to: made }, row.created_time);
      await copyChannelLimits(tx, { from: source.id, to: made }, row.created_time);
      await audit(ctx, tx, call, { action: "channel.copy", target: made, detail: { from: source.id, name } });
      return made;
    });
    await announce(ctx, String(id));
    return { id };
  },

  async update(ctx, call) {
    const { body } = call;
    const current = await getChannel(ctx, body.id);
    const key = editedKey(body.key);
    if (key !== "" && current.keys_version > 0)
      throw faults.refused("该渠道有多个密钥，请在渠道的密钥列表中修改");
    checkEdit(ctx, { ...body, ...(body.key === undefined ? {} : { key }) }, current);
    const change = changeOf(ctx, body, current);
    const typed = typedProxy(ctx, body, current);
    await ctx.db.transaction().execute(async (tx) => {
      const isThere = await updateChannel(tx, body.id, {
        ...change,
        ...(key === "" ? {} : sealedKey(ctx, key)),
        ...(typed === undefined ? {} : { proxy_sealed: sealProxy(ctx.secrets, typed) }),
      });
      if (!isThere) throw faults.notFound("找不到该渠道");
      const { limits } = body;
      const subject = { subject: "channel", ids: [body.id] } as const;
      if (limits !== undefined) await setChannelLimits(tx, subject, limits, ctx.clock.seconds());
      const detail = {
        ...changedFields(change, current),
        ...(limits === undefined ? {} : { limits }),
        ...(key === "" ? {} : { key: "changed" }),
        ...(typed === undefined ? {} : { proxy: showProxy(typed).proxy, proxy_changed: true }),
      };
      await audit(ctx, tx, call, { action: "channel.update", target: body.id, detail, before: current });
    });
    await announce(ctx, String(body.id));
    return presentChannel(ctx, await getChannel(ctx, body.id));
  },

  async remove(ctx, call) {
    const { id } = call.params;
    const { name } = await getChannel(ctx, id);
    await ctx.db.transaction().execute(async (tx) => {
      const isGone = await removeChannel(tx, id, ctx.clock.seconds());
      if (!isGone) throw faults.notFound("找不到该渠道");
      await audit(ctx, tx, call, { action: "channel.delete", target: id, detail: { name } });
    });
    await announce(ctx, String(id));
    return null;
  },

  async removeDisabled(ctx, call) {
    const statuses = [ChannelStatus.disabled, ChannelStatus.autoDisabled];
    const count = await ctx.db.transaction().execute(async (tx) => {
      const removed = await removeChannelsByStatus(tx, statuses, ctx.clock.seconds());
      const detail = { count: removed };
      await audit(ctx, tx, call, { action: "channel.delete_disabled", target: "", detail });
      return removed;
    });
    await announce(ctx, "");
    return count;
  },

  ...channelRuns,

  previewRewrite,
};

async function showPage(
  ctx: Context,
  query: InputOf<typeof channelApi.list>["query"],
  search: Pick<ChannelFilter, "keyword" | "keyHash">,
) {
  // Read before the rows: when the tests have ended by then, the rows hold their results.
  const testing = await areChannelsTested(ctx);
  const { status, type, group, model } = query;
  const filter = { ...search, status, type, group, model };
  const rows = await listChannels(ctx.db, { ...filter, ...sortedPage(query) });
  const data = await presentChannels(ctx, rows);
  return { data, ...(await totalBeside(query, () => countChannels(ctx.db, filter))), testing };
}

async function getChannel(ctx: Context, id: number): Promise<ChannelRow> {
  const row = await findChannel(ctx.db, id);
  if (!row) throw faults.notFound("找不到该渠道");
  return row;
}

/** The time limits among the fields of a draft; undefined = not given. */
function timesOf({ connect_ms, first_byte_ms, idle_ms, total_ms }: z.output<typeof ChannelTimes>) {
  return { connect_ms, first_byte_ms, idle_ms, total_ms };
}

/** A proxy in the audit log: which, never with what credentials. */
function proxyDetail(sealed: string, typed: string): Record<string, unknown> {
  return sealed === "" ? {} : { proxy: showProxy(typed).proxy };
}

function sealedKey(ctx: Context, key: string) {
  return { key_hash: ctx.secrets.hash(key), key_sealed: ctx.secrets.seal(key, "channels.key") };
}

/** Every field present in the body, as columns of the table; null empties a text and zeroes a number. */
function changeOf(ctx: Context, body: ChannelUpdate, current: ChannelRow): ChannelChange {
  const isMoved = body.status !== undefined && body.status !== current.status;
  return {
    type: body.type,
    name: body.name,
    models: body.models?.join(","),
    group: body.group?.join(","),
    base_url: body.base_url === undefined ? undefined : withoutEndSlashes(body.base_url ?? ""),
    other: body.other === null ? "" : body.other,
    model_mapping: body.model_mapping === null ? "" : body.model_mapping,
    config: body.config === null ? "" : body.config,
    weight: body.weight === null ? 0 : body.weight,
    priority: body.priority === null ? 0 : body.priority,
    reuse: body.reuse,
    key_mode: body.key_mode,
    ...timesOf(body),
    ...(isMoved ? { status: body.status, status_reason: "", status_time: ctx.clock.seconds() } : {}),
  };
}

/** The proxy that an edit sets; undefined = the stored one stays. */
function typedProxy(ctx: Context, body: ChannelUpdate, current: ChannelRow): string | undefined {
  if (body.proxy === undefined) return undefined;
  const stored = storedProxy(ctx, current);
  const edited = editedProxy(body.proxy ?? "", stored);
  return edited === stored ? undefined : edited;
}

/** The fields whose value has changed, for the audit log. */
function changedFields(change: ChannelChange, current: ChannelRow): Record<string, unknown> {
  const before: Readonly<Record<string, unknown>> = { ...current };
  return Object.fromEntries(
    Object.entries(change).filter(([name, value]) => value !== undefined && value !== before[name]),
  );
}

/** Fields whose change is checked; disabling a channel or changing its priority must always work. */
const JUDGED = ["type", "key", "base_url", "other", "config", "proxy"] as const;

/** Throws: AppError when the edited channel would break a rule. */
function checkEdit(ctx: Context, body: ChannelUpdate, current: ChannelRow): void {
  if (!JUDGED.some((field) => body[field] !== undefined)) return;
  const change = changeOf(ctx, body, current);
  const channel = {
    type: change.type ?? current.type,
    base_url: change.base_url ?? current.base_url,
    other: change.other ?? current.other,
    // Stored rules are read as such when they are used.
    config: change.config,
    proxy: body.proxy,
  };
  // A stored key is checked again when it is used.
  if (body.key) checkKeys(channel, [body.key]);
  checkChannel(ctx.egress, channel);
}

/** Announces the change to all processes and waits until this one serves by it. */
async function announce(ctx: Context, payload: string): Promise<void> {
  await ctx.coord.publish("channels", payload);
  await ctx.candidates.pending;
}

const COPY = " 副本";
const MOST_OF_A_NAME = 100;

function copyName(name: string): string {
  return [...name].slice(0, MOST_OF_A_NAME - COPY.length).join("") + COPY;
}
