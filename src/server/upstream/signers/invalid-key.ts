// The fault of a key without the form its kind needs. It never contains the key.
import type { SignerName } from "#contract/providers.ts";
import { channelFault, type RelayFault } from "#server/upstream/errors/fault.ts";

/** Another channel may serve; no request is sent, the channel's health does not change, the fault is logged (requirements T2.4). */
export function invalidKey(name: SignerName): RelayFault {
  return channelFault(
    "invalid_channel_key",
    "渠道密钥格式有误，请联系管理员",
    `signer ${name}: the key has a wrong form`,
  );
}
