// How much to think, told in the vendor's way. Pure.
import type { BodyEdits } from "#contract/providers.ts";
import { findMember, type JsonObject, readMember } from "#server/upstream/json/scan.ts";

interface Body {
  readonly bytes: Buffer;
  readonly object: JsonObject;
}

/** Whether the vendor is told the client's effort by `thinking` alone. */
export function isThinkingSwitch({ bytes, object }: Body, { effortAsThinking }: BodyEdits): boolean {
  if (effortAsThinking === undefined) return false;
  return effortAsThinking === true || readMember(bytes, object, "reasoning_effort") === effortAsThinking;
}

/** The fields that say the effort asked for, where they must differ from the client's. `named`: the one in the model's name, if any. */
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

/** The nearest effort at least as strong as the one asked for that the model knows; undefined = it may stay. */
function knownEffort(asked: unknown, known: readonly string[]): string | undefined {
  const at = EFFORTS.indexOf(asked);
  return at === -1 ? undefined : known.find((word) => EFFORTS.indexOf(word) >= at);
}
