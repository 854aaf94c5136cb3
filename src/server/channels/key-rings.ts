// Makes the key rings of channels from the table: rows are read only where the channel says that they changed, and no seal that is known is
// opened again (requirements C24).
import type { Events } from "#server/events.ts";
import { hideSecret } from "#server/log/texts.ts";
import { openKey, SealError, type Secrets } from "#server/secrets.ts";
import { listEnabledKeys } from "#server/store/channel-keys.ts";
import type { SealedChannel } from "#server/store/channels.ts";
import type { Db } from "#server/store/db.ts";
import { Key, type OpenKey, type SealedKey } from "./key-list.ts";
import { Ring } from "./key-ring.ts";
import type { KeyRing, LiveChannel } from "./live-channel.ts";
import { openProxy } from "./proxies.ts";

/** What a key of `channel_keys` is sealed under. */
export const KEY_CONTEXT = "channels.key";

export interface RingParts {
  readonly db: Db;
  readonly secrets: Secrets;
  readonly events: Events;
}

/** Opens the key and the proxy of a row; neither is told from now on. Throws: SealError. */
export function openChannelKey(secrets: Secrets, row: Parameters<OpenKey>[0]): ReturnType<OpenKey> {
  const key = openKey(secrets, row, KEY_CONTEXT);
  hideSecret(key);
  return { key, proxy: openProxy(secrets, row.proxy_sealed) };
}

/** The channel with the key of a row, enabled or not. Throws: SealError. */
export function channelWith(
  { secrets }: Pick<RingParts, "secrets">,
  channel: LiveChannel,
  row: SealedKey,
): LiveChannel {
  return new Key(row).as(channel, (sealed) => openChannelKey(secrets, sealed));
}

/** Why nothing can be asked with a key that does not open. */
export const KEY_UNREADABLE = "该渠道的类型或密钥无法使用";

/** As `channelWith`; undefined = the key does not open, which must not stop a run over many. */
export function channelIfReadable(...asked: Parameters<typeof channelWith>): LiveChannel | undefined {
  try {
    return channelWith(...asked);
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** The rings of channels by id; `before` are those of the last reading. */
export async function ringsFor(
  { db, secrets, events }: RingParts,
  channels: readonly SealedChannel[],
  before: ReadonlyMap<number, KeyRing | undefined>,
): Promise<ReadonlyMap<number, KeyRing>> {
  const open: OpenKey = (row) => openChannelKey(secrets, row);
  const rings = new Map<number, KeyRing>();
  for (const { id, keys_version: version } of channels) {
    const known = before.get(id);
    // Again with each reading: the logger forgets secrets that have not been named for the longest time.
    if (known instanceof Ring) for (const key of known.opened()) hideSecret(key);
    if (known instanceof Ring && known.version === version) {
      rings.set(id, known);
      continue;
    }
    const rows = await listEnabledKeys(db, id);
    const onUnreadable = (keyId: number, error: unknown) =>
      events.backgroundFailed({ task: `open key ${keyId} of channel ${id}`, error });
    const past = known instanceof Ring ? known : undefined;
    rings.set(id, new Ring({ version, rows, before: past, open, onUnreadable }));
  }
  return rings;
}
