// The channel and the key that made a response: a call that goes on from it goes there and nowhere else (requirements C60). Whatever stands
// in the way, the client is told what OpenAI tells it, upon which it sends the whole conversation.
import { ChannelStatus } from "#contract/channel.ts";
import { channelWith } from "#server/channels/key-rings.ts";
import type { KeyRing, LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { membersOf } from "#server/relay/routing/groups.ts";
import type { Services } from "#server/relay/services.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import { findMakersKey } from "#server/store/channel-keys.ts";
import { findStoredResponse, type StoredResponse } from "#server/store/stored-responses.ts";

const KEY_ENABLED = 1;

/** A call to one channel with one key. */
export interface Pinned {
  readonly caller: Caller;
  readonly channel: LiveChannel;
}

/** What a request goes by from now on. */
export interface Directed {
  readonly caller: Caller;
  readonly incoming: IncomingRequest;
}

interface Kept {
  /** Of a response, or of what was made short. */
  readonly id: string;
  readonly model: string;
}

/** Where a call that names a previous response goes. Throws: LocalError 400. */
export async function pinTo(services: Services, caller: Caller, { id, model }: Kept): Promise<Pinned> {
  const pinned = await makerOf(services, caller, { id, model });
  if (pinned === undefined || pinned === "gone")
    throw new LocalError(localErrors.previousResponseUnknown(id));
  return pinned;
}

/** Who made what an upstream keeps; `gone` = it cannot be called, undefined = we do not know. */
export async function makerOf(
  services: Services,
  caller: Caller,
  { id, model }: Kept,
): Promise<Pinned | "gone" | undefined> {
  const { ctx } = services;
  const row = await findStoredResponse(ctx.db, caller, { id, now: ctx.clock.seconds() });
  if (row === undefined) return undefined;
  await ctx.candidates.pending;
  const member = membersOf(caller).find((one) => serves(services, one, row.channel_id, model));
  const channel = await freeChannel(services, row, model);
  if (member === undefined || channel === undefined) return "gone";
  // As with a channel that an administrator names, there is no other.
  return { caller: { ...member, fallbacks: [], pin: String(channel.id) }, channel };
}

/** Whether the caller is still served by that channel. */
function serves({ ctx }: Services, { group, models }: Caller, channelId: number, model: string): boolean {
  if (models?.has(model) === false) return false;
  return ctx.candidates.find(group, model).some(({ id }) => id === channelId);
}

/** The channel with its key, unless either is gone, switched off or rests. */
async function freeChannel(
  { ctx, health }: Services,
  { channel_id, key_id }: StoredResponse,
  model: string,
): Promise<LiveChannel | undefined> {
  const channel = ctx.candidates.byId(channel_id);
  if (channel?.status !== ChannelStatus.enabled) return undefined;
  if (health.openCircuits(model)?.(channel.id) === true) return undefined;
  const { keys } = channel;
  if (keys === undefined) return key_id === 0 ? channel : undefined;
  const row = await findMakersKey(ctx.db, channel_id, key_id);
  if (row?.status !== KEY_ENABLED) return undefined;
  if (keys.state(row.id, ctx.clock.now(), model).restsUntilMs > 0) return undefined;
  const keyed = channelWith(ctx, channel, row);
  if ((health.wayRests(channel)?.(keyed.route) ?? 0) > 0) return undefined;
  const pinned: LiveChannel = { ...keyed, keys: onlyOne(keys, row.id, () => pinned) };
  return pinned;
}

/** The ring of a channel, of which one key can be had. */
function onlyOne(ring: KeyRing, keyId: number, itself: () => LiveChannel): KeyRing {
  return {
    version: ring.version,
    enabled: 1,
    ids: [keyId],
    pick: (_channel, { tried }) => (tried.has(keyId) ? undefined : itself()),
    first: itself,
    isAsCalled: (called) => ring.isAsCalled(called),
    begin: (id) => ring.begin(id),
    end: (id) => ring.end(id),
    answered: (id, model) => ring.answered(id, model),
    failed: (called, failure) => ring.failed(called, failure),
    isResting: (channel, asked) => ring.isResting(channel, asked),
    restOf: (channel, asked) => ring.restOf(channel, asked),
    state: (id, now, of) => ring.state(id, now, of),
    outlook: (channel, asked) => ring.outlook(channel, asked),
    drop: (id) => ring.drop(id),
  };
}
