// Asks a channel's upstream for its models, compares them with what the channel serves, and keeps what is new or gone until an
// administrator decides (requirements C46). Changes no channel.
import { ChannelStatus } from "#contract/channel.ts";
import { findChannel, lockChannel } from "#server/store/channels.ts";
import {
  findModelList,
  type ModelListHead,
  type ModelListRow,
  saveModelList,
} from "#server/store/model-lists.ts";
import type { Tools } from "#server/tools.ts";
import { readMapping, withKey } from "./candidates.ts";
import type { LiveChannel } from "./live-channel.ts";
import { type Diff, diffOf, type Gone, isHalved, type Served, upstreamNames } from "./model-diff.ts";
import { listUpstreamModels, type ModelsAnswer } from "./upstream-models.ts";

/** As `judged` says it. */
const SHRUNK = /^上游的模型从.*列表未采用$/;

type Parts = Pick<Tools, "db" | "egress" | "options" | "credentials" | "clock">;

/** A row of the table of channels, as far as it decides what is asked and compared. */
interface Compared {
  readonly type: number;
  readonly base_url: string;
  readonly other: string;
  readonly models: string;
  readonly model_mapping: string;
}

/** Where a list came from: one of another address says nothing of this one. */
function sourceOf({ type, base_url, other }: Compared): string {
  return `${type} ${base_url} ${other}`;
}

function servedBy({ models, model_mapping }: Compared): Served {
  return {
    models: models.split(",").filter((name) => name !== ""),
    mapping: readMapping(model_mapping),
  };
}

/** What is left of the last comparison, by what the channel serves now. */
export function openDiff(channel: Compared, list: ModelListHead | undefined): Diff {
  if (list === undefined || list.source !== sourceOf(channel)) return { fresh: [], gone: [] };
  const names = upstreamNames(servedBy(channel));
  const asked = new Set([...names.keys(), ...names.values()]);
  // Written by `saved` below.
  const fresh = (JSON.parse(list.fresh) as string[]).filter((name) => !asked.has(name));
  const gone = (JSON.parse(list.gone) as Gone[]).filter(({ name, upstream }) => names.get(name) === upstream);
  return { fresh, gone };
}

/** Why the last list was not taken; "" = it was, or it was another address's. */
export function problemOf(channel: Compared, list: ModelListHead | undefined): string {
  return list !== undefined && list.source === sourceOf(channel) ? list.problem : "";
}

/** Whether a list was not taken because it had shrunk. */
export function wasHalved(problem: string): boolean {
  return SHRUNK.test(problem);
}

/** Whether the lists of channels in this state are asked for by themselves. */
export function isCompared({ status }: { readonly status: number }): boolean {
  return status !== ChannelStatus.disabled;
}

/** Asks the upstream, by the channel's way out, and keeps what came of it. `isAccepted`: also a list that has shrunk. */
export async function compareModels(ctx: Parts, channel: LiveChannel, isAccepted: boolean): Promise<void> {
  const answer = await listUpstreamModels(ctx, withKey(channel));
  const now = ctx.clock.seconds();
  await ctx.db.transaction().execute(async (tx) => {
    await lockChannel(tx, channel.id);
    const row = await findChannel(tx, channel.id);
    if (row === undefined) return;
    // Asked where the channel led then: of another address it says nothing.
    if (row.base_url.trim().replace(/\/+$/, "") !== channel.baseUrl || row.type !== channel.type) return;
    const found = await findModelList(tx, channel.id);
    const before = found?.source === sourceOf(row) ? found : emptyList(channel.id, sourceOf(row));
    await saveModelList(tx, { ...judged(row, before, answer, isAccepted), checked_time: now });
  });
}

function emptyList(channelId: number, source: string): ModelListRow {
  const nothing = { known: "[]", fresh: "[]", gone: "[]" };
  return { channel_id: channelId, source, checked_time: 0, total: 0, problem: "", ...nothing };
}

/** The row after an answer. What was proposed before stays while a list is not taken. */
function judged(
  channel: Compared,
  before: ModelListRow,
  answer: ModelsAnswer,
  isAccepted: boolean,
): ModelListRow {
  if (!answer.ok) return { ...before, problem: answer.isMissing ? "" : answer.message };
  const { models } = answer;
  if (!isAccepted && isHalved(models.length, before.total))
    return { ...before, problem: `上游的模型从 ${before.total} 个减少到 ${models.length} 个，列表未采用` };
  // What an upstream has when it is asked for the first time is not news.
  const has = new Set(models);
  const seen = before.total === 0 ? models : (JSON.parse(before.known) as string[]);
  const known = seen.filter((name) => has.has(name) || isIgnored(name));
  const { fresh, gone } = diffOf(servedBy(channel), models, new Set(known));
  const ignored = new Set(known);
  return {
    ...before,
    total: models.length,
    problem: "",
    known: JSON.stringify(known),
    fresh: JSON.stringify(fresh),
    gone: JSON.stringify(gone.filter(({ name }) => !ignored.has(ignoredName(name)))),
  };
}

/** Stands among the known names for one that is gone and was waved aside; no model is called so. */
function ignoredName(name: string): string {
  return `\n${name}`;
}

function isIgnored(name: string): boolean {
  return name.startsWith("\n");
}

/** The row once some of what it proposes has been decided. */
export function decided(list: ModelListRow, names: ReadonlySet<string>): ModelListRow {
  const known = JSON.parse(list.known) as string[];
  const fresh = JSON.parse(list.fresh) as string[];
  const gone = JSON.parse(list.gone) as Gone[];
  const passed = fresh.filter((name) => names.has(name));
  const aside = gone.filter(({ name }) => names.has(name)).map(({ name }) => ignoredName(name));
  return {
    ...list,
    known: JSON.stringify([...new Set([...known, ...passed, ...aside])]),
    fresh: JSON.stringify(fresh.filter((name) => !names.has(name))),
    gone: JSON.stringify(gone.filter(({ name }) => !names.has(name))),
  };
}
