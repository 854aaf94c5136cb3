// Models as OpenAI lists them.
import { z } from "zod";

/** A model as OpenAI lists it, with the family's permission block (requirements W8.7). */
export const ModelObject = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
  permission: z.array(z.record(z.string(), z.unknown())).optional(),
  root: z.string().optional(),
  parent: z.null().optional(),
});

/** The family's fixed date, which old clients read as they do the permission block. Unit: seconds. */
export const MODEL_CREATED_SEC = 1_626_777_600;

const PERMISSION = {
  id: "modelperm-LwHkVFn8AcMItP432fKKDIKJ",
  object: "model_permission",
  created: MODEL_CREATED_SEC,
  allow_create_engine: true,
  allow_sampling: true,
  allow_logprobs: true,
  allow_search_indices: false,
  allow_view: true,
  allow_fine_tuning: false,
  organization: "*",
  group: null,
  is_blocking: false,
};

/** A model in OpenAI's shape with the family's constants (requirements W3.6, W8.7). */
export function modelObject(id: string, owner: string) {
  return {
    id,
    object: "model" as const,
    created: MODEL_CREATED_SEC,
    owned_by: owner,
    permission: [PERMISSION],
    root: id,
    parent: null,
  };
}
