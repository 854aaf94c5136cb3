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
  const ids = candidates.models(caller.group).filter((id) => caller.models?.has(id) !== false);
  return { object: "list", data: ids.map((id) => describe(candidates, caller, id)) };
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
