// GET /v1/models: what this caller can use (contract 8.7 [P]): the models of its group's enabled channels, within the token's list.
import type { Candidates } from "#server/channels/candidates.ts";
import type { Caller } from "./admit.ts";
import { Refusal, refusals } from "./refusal.ts";

/** The family's fixed date and permission block; old clients read them. */
const CREATED = 1_626_777_600;
const PERMISSION = {
  id: "modelperm-LwHkVFn8AcMItP432fKKDIKJ",
  object: "model_permission",
  created: CREATED,
  allow_create_engine: true,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: "*",
  group: null,
  is_blocking: false,
} as const;

/** The list in OpenAI's envelope. Order: by name. */
export function listModels(candidates: Candidates, caller: Caller) {
  return {
    object: "list",
    data: servedModels(candidates, caller).map((id) => describe(candidates, caller, id)),
  };
}

/** The list in Anthropic's envelope (providers 3.4), for clients that send its version header. All on one page. */
export function listAnthropicModels(candidates: Candidates, caller: Caller) {
  const ids = servedModels(candidates, caller);
  const createdAt = new Date(CREATED * 1000).toISOString();
  return {
    data: ids.map((id) => ({ type: "model", id, display_name: id, created_at: createdAt })),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

function servedModels(candidates: Candidates, caller: Caller): string[] {
  return candidates.models(caller.group).filter((id) => caller.models?.has(id) !== false);
}

/** One model. Throws: Refusal 404 when the caller has none of that name. */
export function findModel(candidates: Candidates, caller: Caller, id: string) {
  const isServed = caller.models?.has(id) !== false && candidates.find(caller.group, id).length > 0;
  if (!isServed) throw new Refusal(refusals.modelUnknown(id));
  return describe(candidates, caller, id);
}

function describe(candidates: Candidates, caller: Caller, id: string) {
  const owner = candidates.find(caller.group, id)[0]?.provider.slug ?? "custom";
  return {
    id,
    object: "model",
    created: CREATED,
    owned_by: owner,
    permission: [PERMISSION],
    root: id,
    parent: null,
  };
}
