// GET /v1/models: the models this caller can use (requirements W8.7): those of its group's enabled channels, within the token's list.

import { MODEL_CREATED_SEC, modelObject } from "#contract/model-object.ts";
import type { Candidates } from "#server/channels/candidates.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { ListFormat } from "#server/relay/http/routes.ts";
import { membersOf, servedMember } from "#server/relay/routing/groups.ts";

interface ModelList {
  /** Order: by name. All on one page. */
  list(candidates: Candidates, caller: Caller): object;
  /** Throws: LocalError 404 when the caller has none of that name. */
  find(candidates: Candidates, caller: Caller, id: string): object;
}

/** Source: requirements T3.4. */
export const models: Readonly<Record<ListFormat, ModelList>> = {
  openai: { list: listModels, find: findModel },
  anthropic: {
    list: listAnthropicModels,
    find: (candidates, caller, id) => anthropicModel(findModel(candidates, caller, id).id),
  },
  gemini: {
    list: (candidates, caller) => ({ models: servedModels(candidates, caller).map(geminiModel) }),
    find: (candidates, caller, id) => geminiModel(findModel(candidates, caller, id).id),
  },
};

const EMBEDDING_MODEL = /embed/i;

/** Limits are left out: they are the upstream's, and differ from channel to channel. */
function geminiModel(id: string) {
  const methods = EMBEDDING_MODEL.test(id)
    ? ["embedContent", "batchEmbedContents"]
    : ["generateContent", "streamGenerateContent", "countTokens"];
  return { name: `models/${id}`, displayName: id, description: "", supportedGenerationMethods: methods };
}

/** The list in OpenAI's envelope. Order: by name. */
function listModels(candidates: Candidates, caller: Caller) {
  return {
    object: "list",
    data: servedModels(candidates, caller).map((id) => describe(candidates, caller, id)),
  };
}

/** The list in Anthropic's envelope, for clients that send its version header. */
function listAnthropicModels(candidates: Candidates, caller: Caller) {
  const ids = servedModels(candidates, caller);
  return {
    data: ids.map(anthropicModel),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

function anthropicModel(id: string) {
  const created_at = new Date(MODEL_CREATED_SEC * 1000).toISOString();
  // Every listed model can be called.
  return { type: "model", id, display_name: id, created_at, lifecycle: "active" };
}

function servedModels(candidates: Candidates, caller: Caller): string[] {
  const { fallbacks, group, models: allowed } = caller;
  const ids =
    fallbacks.length === 0
      ? candidates.models(group)
      : [...new Set(membersOf(caller).flatMap((member) => candidates.models(member.group)))].sort();
  return ids.filter((id) => allowed?.has(id) !== false);
}

function findModel(candidates: Candidates, caller: Caller, id: string) {
  const { group } = servedMember(candidates, caller, id);
  const isServed = caller.models?.has(id) !== false && candidates.find(group, id).length > 0;
  if (!isServed) throw new LocalError(localErrors.modelUnknown(id));
  return describe(candidates, caller, id);
}

function describe(candidates: Candidates, caller: Caller, id: string) {
  const owner = candidates.find(servedMember(candidates, caller, id).group, id)[0]?.provider.slug ?? "custom";
  return modelObject(id, owner);
}
