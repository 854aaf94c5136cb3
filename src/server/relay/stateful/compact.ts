// Conversations that were made short (vendors/responses-stored): what an upstream says of them only its own account can read. A call that has
// it goes to the channel and key that made it; when they cannot be called it goes elsewhere, without it (requirements C68).
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Context } from "#server/context.ts";
import type { Services } from "#server/relay/services.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import { editObject, findMember, readMember, wholeObject } from "#server/upstream/json/object.ts";
import { newTally } from "#server/upstream/json/scan.ts";
import { asList, asObject, asText } from "#server/upstream/json/values.ts";
import { type Made, noteMade } from "./keep.ts";
import { type Directed, makerOf, type Pinned } from "./pin.ts";

const MARK = Buffer.from('"compaction');
/** Older clients of Codex call it a summary. */
const TYPES: ReadonlySet<unknown> = new Set(["compaction", "compaction_summary"]);

/** The text that only its upstream can read; undefined = the item is no such thing. */
function sealedIn(item: unknown): string | undefined {
  const object = asObject(item);
  return TYPES.has(object?.["type"]) ? asText(object?.["encrypted_content"]) : undefined;
}

/** What it is found by: clients need not repeat its id. */
function nameOf({ secrets }: Pick<Context, "secrets">, sealed: string): string {
  return `compaction:${secrets.hash(sealed)}`;
}

/** Notes who made a conversation short. */
export async function keepCompaction(ctx: Services["ctx"], made: Made, body: unknown): Promise<void> {
  for (const item of asList(asObject(body)?.["output"])) {
    const sealed = sealedIn(item);
    if (sealed !== undefined) await noteMade(ctx, made, nameOf(ctx, sealed));
  }
}

/** A client sends the last of them back; each more costs a query. */
const MOST_LOOKED_UP = 8;

/** A call with such items to the channel that made the last of them, without those that it cannot read; items of an unknown maker pass. */
export async function directCompacted(services: Services, directed: Directed): Promise<Directed> {
  const { caller, incoming } = directed;
  const { bytes, object } = incoming.body;
  const member = findMember(object, "input");
  if (member === undefined || !bytes.subarray(member.valueStart, member.valueEnd).includes(MARK))
    return directed;
  const input = asList(readMember(bytes, object, "input"));
  const { model } = incoming;
  const lost = new Set<unknown>();
  let last: Pinned | undefined;
  for (const item of input
    .filter((one) => sealedIn(one) !== undefined)
    .slice(-MOST_LOOKED_UP)
    .toReversed()) {
    const id = nameOf(services.ctx, sealedIn(item) ?? "");
    const maker = await makerOf(services, caller, { id, model });
    if (maker === undefined) continue;
    if (maker === "gone" || (last !== undefined && !isSame(maker.channel, last.channel))) lost.add(item);
    else last = maker;
  }
  const kept = lost.size === 0 ? incoming : { ...incoming, ...without(incoming.body, input, lost) };
  return last === undefined
    ? { caller, incoming: kept }
    : { caller: last.caller, incoming: { ...kept, pinned: last.channel } };
}

function isSame(one: LiveChannel, other: LiveChannel): boolean {
  return one.id === other.id && one.keyId === other.keyId;
}

/** The body without some items of its input. */
function without(body: ClientBody, input: readonly unknown[], lost: ReadonlySet<unknown>) {
  const left = JSON.stringify(input.filter((item) => !lost.has(item)));
  const bytes = editObject(body.bytes, body.object, { set: new Map([["input", left]]) });
  const tally = newTally();
  const object = wholeObject(bytes, tally);
  if (object === undefined) throw new Error("an edited body is no object");
  return { body: { ...body, bytes, object }, tally };
}
