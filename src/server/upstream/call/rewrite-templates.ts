// Fills the templates in the values of a channel's rules (requirements C36). Pure.
import { mayTell, rawOf, TEMPLATE } from "#contract/rewrite-law.ts";
import type { Subject } from "./call.ts";

export interface Fillers {
  /** Of what stands in a body, or is told to a client: it never has the key. */
  readonly fill: (text: string) => string;
  readonly fillHeader: (text: string) => string;
}

interface TemplateParts {
  readonly channelId: number;
  /** A keyed hash. */
  readonly hash: (text: string) => string;
}

/** What fills in the templates of a request's rules; names that stand for nothing stay as they are. */
export function fillersOf(
  { channelId, hash }: TemplateParts,
  { seed, facts, originModel, model, target }: Subject,
): Fillers {
  const short = (text: string) => Buffer.from(hash(text), "base64url").toString("hex").slice(0, 16);
  const values = new Map<string, () => string>(
    Object.entries({
      request_id: () => seed,
      model: () => originModel,
      upstream_model: () => model,
      channel_id: () => String(channelId),
      key_hash: () => short(target.key),
      user_hash: () => (facts === undefined ? "" : short(`user ${facts.userId}`)),
      date: () => new Date(facts?.nowMs ?? 0).toISOString().slice(0, 10),
    }),
  );
  const standsFor = (name: string): string | undefined => {
    if (!name.startsWith("header:")) return values.get(name)?.() ?? rawOf(name);
    const header = name.slice("header:".length);
    // Stored rules may name others: those that were saved before it was refused.
    return mayTell(header) ? (facts?.header(header.toLowerCase()) ?? "") : "";
  };
  return {
    fill: (text) => text.replace(TEMPLATE, (whole, name: string) => standsFor(name) ?? whole),
    fillHeader: (text) =>
      text.replace(TEMPLATE, (whole, name: string) =>
        name === "key" ? target.key : (standsFor(name) ?? whole),
      ),
  };
}
