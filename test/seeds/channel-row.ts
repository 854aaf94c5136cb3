import type { Secrets } from "#server/secrets.ts";
import type { NewChannel } from "#server/store/channels.ts";

/** A channel that serves, with everything else as a new one has it; its key is missing. */
export const NEW_CHANNEL: Omit<NewChannel, "key_hash" | "key_sealed"> = {
  type: 1,
  status: 1,
  status_reason: "",
  status_time: 0,
  name: "test",
  weight: 0,
  priority: 0,
  created_time: 0,
  test_time: 0,
  response_time: 0,
  base_url: "",
  other: "",
  balance: 0,
  balance_updated_time: 0,
  models: "gpt-4o-mini",
  group: "default",
  model_mapping: "",
  config: "",
};

/** The same with a key. */
export function channelRow(
  secrets: Pick<Secrets, "hash" | "seal">,
  { key, ...change }: Partial<NewChannel> & { readonly key: string },
): NewChannel {
  return {
    ...NEW_CHANNEL,
    key_hash: secrets.hash(key),
    key_sealed: secrets.seal(key, "channels.key"),
    ...change,
  };
}
