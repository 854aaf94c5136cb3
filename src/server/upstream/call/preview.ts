// The very request that a call would send, made by the code that sends (requirements C32), without sending it and without its credential.

import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { secretsOf } from "#server/upstream/signers/signer.ts";
import { headersOf, prepare, unruled, withRules } from "./attempt.ts";
import type { Call, Plan, Prepared, PrepareTools, Reach, UpstreamTarget } from "./call.ts";
import { type About, type Draft, ruledDraft, unruledDraft } from "./outgoing.ts";
import { beyond, type OptionText, planCall } from "./plan.ts";
import type { CompiledRules } from "./rewrite.ts";

export interface Preview {
  readonly kind: "preview";
  readonly reach: Exclude<Reach, "session">;
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** As the channel would send it without rules, and with them. */
  readonly before: string;
  readonly after: string;
  readonly fired: readonly string[];
  /** What a rule refused the request with. */
  readonly refused: RelayFault | undefined;
  /** The credential is made when the request is signed. */
  readonly isSignedLate: boolean;
}

const HIDDEN = "***";
/** Shorter parts of keys are words of the request as well. */
const SHORTEST_SECRET = 4;

/** Makes the request of a call. A fault = it would not be sent at all. */
export async function previewCall(
  tools: PrepareTools & { readonly optionText: OptionText },
  asked: Call & { readonly target: UpstreamTarget },
  rules: CompiledRules,
): Promise<Preview | RelayFault> {
  const plan = planCall(asked.target, { ...asked, ...beyond(asked) }, tools.optionText);
  if (plan.kind === "fault") return plan;
  const call = { ...asked, model: plan.target.model };
  const prepared = await prepare(tools, call, plan);
  if (prepared.kind === "fault") return prepared;
  const { outcome: ruled, fired } = rules.run(call, unruled(call, plan, prepared));
  const outcome = withRules(prepared, ruled);
  const isRefused = outcome.kind === "fault";
  const sent = isRefused ? prepared : outcome;
  const mask = maskOf(asked.target.key);
  return {
    kind: "preview",
    reach: "request",
    method: "POST",
    url: mask(plan.url),
    headers: shownHeaders(plan, sent).map(mask),
    before: mask(textOf(prepared)),
    after: isRefused ? "" : mask(textOf(outcome)),
    fired,
    refused: isRefused ? maskedFault(outcome, mask) : undefined,
    isSignedLate: plan.signer !== undefined,
  };
}

/** Makes the request of a draft. */
export function previewDraft(
  target: UpstreamTarget,
  draft: Draft,
  about: About,
  rules: CompiledRules,
): Preview {
  const { outcome, fired } = rules.run({ ...about, target }, unruledDraft(draft, about));
  const isRefused = outcome.kind === "fault";
  const { url, headers, body } = ruledDraft(draft, isRefused ? undefined : outcome);
  const mask = maskOf(target.key);
  const shown = (bytes: Uint8Array | undefined) => mask(Buffer.from(bytes ?? []).toString());
  return {
    kind: "preview",
    reach: about.reach,
    method: draft.method === "POST" ? "POST" : "GET",
    url: mask(url),
    headers: headers([]).map(mask),
    before: shown(draft.body),
    after: isRefused ? "" : shown(body),
    fired,
    refused: isRefused ? maskedFault(outcome, mask) : undefined,
    isSignedLate: draft.signer !== undefined,
  };
}

function shownHeaders(plan: Plan, prepared: Prepared): readonly string[] {
  return headersOf(plan, prepared, { headers: [] });
}

function textOf({ bytes, contentType }: Prepared): string {
  return contentType === undefined ? Buffer.from(bytes).toString() : "";
}

type Mask = (text: string) => string;

/** The refusal of a rule without the key. */
export function maskedFault(fault: RelayFault, mask: Mask): RelayFault {
  return { ...fault, publicMessage: mask(fault.publicMessage), detail: mask(fault.detail) };
}

/** Takes a key and its parts out of what is shown. */
export function maskOf(key: string): Mask {
  const secrets = secretsOf(key)
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((one, other) => other.length - one.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);
}
