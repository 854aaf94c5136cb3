// The very request that a call would send, made by the code that sends (requirements C32), without sending it and without its credential.

import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { secretsOf } from "#server/upstream/signers/signer.ts";
import { headersOf, prepare } from "./attempt.ts";
import type { Call, Plan, Prepared, PrepareTools, UpstreamTarget } from "./call.ts";
import { beyond, type OptionText, planCall } from "./plan.ts";
import type { CompiledRules } from "./rewrite.ts";

export interface Preview {
  readonly kind: "preview";
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
  rules: CompiledRules | undefined,
): Promise<Preview | RelayFault> {
  const plan = planCall(asked.target, { ...asked, ...beyond(asked) }, tools.optionText);
  if (plan.kind === "fault") return plan;
  const call = { ...asked, model: plan.target.model };
  const prepared = await prepare(tools, call, plan);
  if (prepared.kind === "fault") return prepared;
  const { outcome, fired } = rules?.run(call, plan, prepared) ?? { outcome: prepared, fired: [] };
  const isRefused = outcome.kind === "fault";
  const sent = isRefused ? prepared : outcome;
  const mask = maskOf(asked.target.key);
  return {
    kind: "preview",
    url: mask(plan.url),
    headers: shownHeaders(plan, sent).map(mask),
    before: mask(textOf(prepared)),
    after: isRefused ? "" : mask(textOf(outcome)),
    fired,
    refused: isRefused ? outcome : undefined,
    isSignedLate: plan.signer !== undefined,
  };
}

function shownHeaders(plan: Plan, prepared: Prepared): readonly string[] {
  return headersOf(plan, prepared, { headers: [] });
}

function textOf({ bytes, contentType }: Prepared): string {
  return contentType === undefined ? Buffer.from(bytes).toString() : "";
}

function maskOf(key: string): (text: string) => string {
  const secrets = secretsOf(key)
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .toSorted((one, other) => other.length - one.length);
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);
}
