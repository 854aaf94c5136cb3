// The reasoning effort of a request in the vendor's own fields. Pure.
import type { BodyEdits } from "#contract/providers.ts";
import { findMember, type JsonObject, readMember } from "#server/upstream/json/scan.ts";

interface Body {
  readonly bytes: Buffer;
  readonly object: JsonObject;
}

/** Whether the vendor takes the client's effort through `thinking` alone. */
export function isThinkingSwitch({ bytes, object }: Body, { effortAsThinking }: BodyEdits): boolean {
  if (effortAsThinking === undefined) return false;
  return effortAsThinking === true || readMember(bytes, object, "reasoning_effort") === effortAsThinking;
}

/** The fields that carry the requested effort, where they must differ from the client's. `named`: the effort in the model's name. */
export function effortValues(
  body: Body,
  edits: BodyEdits,
  named: string | undefined,
): [name: string, value: unknown][] {
  const { bytes, object } = body;
  const asked = named ?? readMember(bytes, object, "reasoning_effort");
  if (asked === undefined) return [];
  if (isThinkingSwitch(body, edits)) {
    if (findMember(object, "thinking") !== undefined) return [];
    return [["thinking", { type: asked === "none" ? "disabled" : "enabled" }]];
  }
  const effort = knownEffort(asked, edits.efforts ?? []);
  return effort === undefined || effort === asked ? [] : [["reasoning_effort", effort]];
}

/** Weakest first. Source: vendors/openai-reasoning. */
const EFFORTS: readonly unknown[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The weakest effort the model knows that is at least as strong as the requested one; undefined = no change needed. */
function knownEffort(asked: unknown, known: readonly string[]): string | undefined {
  const at = EFFORTS.indexOf(asked);
  return at === -1 ? undefined : known.find((word) => EFFORTS.indexOf(word) >= at);
}
