// The models a provider says it has, queried as the catalogue's row says. Short typed failures; the provider's own words are not
// passed on (requirements S07).

import { fetchJson } from "#server/egress/fetch-json.ts";
import type { Tools } from "#server/tools.ts";
import type { UpstreamTarget } from "#server/upstream/call/call.ts";
import { aboutAccount, outgoing, planDraft } from "#server/upstream/call/outgoing.ts";
import { planCall } from "#server/upstream/call/plan.ts";

export type ModelsAnswer =
  | { readonly ok: true; readonly models: readonly string[] }
  | {
      readonly ok: false;
      readonly message: string;
      /** Upstreams of this type list no models at all. */
      readonly isMissing?: boolean;
    };

const TIMEOUT_MS = 10_000;
/** Lists of forwarders with prices and descriptions are large. */
const LIMIT_BYTES = 4 * 1024 * 1024;
const MOST_MODELS = 2_000;
const LONGEST_NAME = 200;

/** Asks a provider for its models, in its order. Never throws for what the provider does. */
export async function listUpstreamModels(
  { egress, options, credentials, clock }: Pick<Tools, "egress" | "options" | "credentials" | "clock">,
  target: UpstreamTarget,
): Promise<ModelsAnswer> {
  const key = { endpoint: "models", model: "", apiVersion: "", isStream: false } as const;
  const plan = planCall(target, key, (name) => options.get(name));
  if (plan.kind === "fault") {
    const isMissing = plan.code === "unsupported_relay_mode";
    return { ok: false, isMissing, message: isMissing ? "该渠道类型不提供模型列表" : plan.publicMessage };
  }
  const tools = { credentials, now: clock.now };
  const ready = await outgoing(tools, target, planDraft(plan), aboutAccount("models", clock.now()));
  if (ready.kind === "fault") return { ok: false, message: ready.publicMessage };
  const answer = await fetchJson(egress, {
    url: ready.url,
    headers: ready.headers,
    isComplete: true,
    timeoutMs: TIMEOUT_MS,
    limitBytes: LIMIT_BYTES,
    route: target.route,
  });
  if (answer.kind === "fault") return { ok: false, message: `获取模型列表失败（${answer.code}）` };
  if (answer.status !== 200)
    return { ok: false, message: `获取模型列表失败，上游返回状态码 ${answer.status}` };
  const models = namesIn(answer.body);
  return models.length === 0 ? { ok: false, message: "上游没有返回模型列表" } : { ok: true, models };
}

/** Names in `{data: [{id}]}` (OpenAI) or `{models: [{name}]}` (Ollama, Gemini: `models/<name>`). */
function namesIn(body: unknown): string[] {
  const rows = [fieldOf(body, "data"), fieldOf(body, "models")].find((list) => Array.isArray(list)) ?? [];
  // Just found to be an array, or made as one.
  const names = (rows as readonly unknown[]).flatMap((row) => {
    const name = fieldOf(row, "id") ?? fieldOf(row, "name");
    return typeof name === "string" ? [name.replace(/^models\//, "").trim()] : [];
  });
  // A comma would make two names of one where lists are stored as text.
  const usable = names.filter((name) => name !== "" && name.length <= LONGEST_NAME && !name.includes(","));
  return [...new Set(usable)].slice(0, MOST_MODELS);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // Just seen to be an object that owns this key.
  return (value as Record<string, unknown>)[name];
}
