// Efforts at the end of a model's name (`gpt-5-high`), where a row says that names may have one. Pure.
import type { Quirks } from "#contract/provider.ts";
import { type Effort, effortOf } from "#server/upstream/hub/request.ts";

/** `gpt-5.1-codex-max` is a name of its own. */
const EFFORT_IN_NAME = /-(none|minimal|low|medium|high|xhigh|(?<!-codex-)max)$/;

/** Takes the effort off a model's name. Source: vendors/openai-reasoning. */
export function splitEffort(
  quirks: Quirks | undefined,
  model: string,
): { readonly model: string; readonly effort: Effort | undefined } {
  if (quirks?.effortInName?.some((prefix) => model.startsWith(prefix)) !== true)
    return { model, effort: undefined };
  const effort = effortOf(EFFORT_IN_NAME.exec(model)?.[1]);
  return effort === undefined ? { model, effort } : { model: model.slice(0, -effort.length - 1), effort };
}
