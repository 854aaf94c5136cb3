// What leaves by the rules of an imported channel, as a call by its key with a few headers would.
import { rulesOf } from "#server/import/channel-rewrites.ts";
import type { SourceRow } from "#server/import/row.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";

/** The headers before: one of the plan. */
const HEADERS = ["x-old", "1"];

export type Sent = { readonly body: string; readonly headers: readonly string[] } | readonly string[];

/** What is sent of a body; a refusal is its status and words. Where something cannot be said: what is told of it. */
export function sentFor(row: SourceRow, body: string, model = "gpt-4o"): Sent {
  const { rewrite, unsaid } = rulesOf(row);
  if (unsaid.length > 0) return unsaid;
  const rules = new CompiledRules({ channelId: 1, rewrite, statusMap: undefined, hash: (text) => text });
  const facts = {
    header: (name: string) => ({ "x-client": "cli" })[name],
    attempt: 1,
    userId: 1,
    maxTokens: undefined,
    nowMs: 0,
  };
  const asked = {
    target: { key: "sk-key-0123456789" },
    endpoint: "chat",
    model,
    originModel: model,
  } as const;
  const subject = { ...asked, isStream: false, seed: "s", facts };
  const made = rules.apply(subject, { reach: "request", body: Buffer.from(body), format: "chat" });
  if (made.kind === "fault") return { body: `${made.status} ${made.publicMessage}`, headers: [] };
  return { body: Buffer.from(made.body ?? []).toString(), headers: made.rehead?.(HEADERS) ?? HEADERS };
}
