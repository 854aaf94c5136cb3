// Shows the request that a channel would send for any kind of call, made by the code that sends each kind (requirements C32).
import { keepsResponses } from "#contract/provider.ts";
import type { PreviewFormat } from "#contract/rewrite.ts";
import type { ClientBody } from "./call/body.ts";
import type { Call, PrepareTools, UpstreamTarget } from "./call/call.ts";
import { type About, aboutAccount, planDraft } from "./call/outgoing.ts";
import { type OptionText, planCall, unsupported } from "./call/plan.ts";
import { maskedFault, maskOf, type Preview, previewCall, previewDraft } from "./call/preview.ts";
import type { CompiledRules } from "./call/rewrite.ts";
import type { RelayFault } from "./errors/fault.ts";
import { readMember } from "./json/object.ts";
import { readJson } from "./json/values.ts";
import { openingDraft, sessionUnruled } from "./realtime/connect.ts";
import { isSettings } from "./realtime/events.ts";
import { backgroundRequest } from "./stored/requests.ts";
import { taskDraft } from "./video/call.ts";
import { videoWires } from "./video/index.ts";
import { videoOrder } from "./video/order.ts";

export type PreviewTools = PrepareTools & { readonly optionText: OptionText };

/** What is asked, but for its endpoint. */
export type PreviewAsked = Omit<Call, "endpoint"> & { readonly target: UpstreamTarget };

/** Makes the request. A fault = it would not be sent at all. Throws: BadOrder, Unmappable. */
export function previewRequest(
  tools: PreviewTools,
  format: PreviewFormat,
  asked: PreviewAsked,
  rules: CompiledRules,
): Promise<Preview | RelayFault> | Preview | RelayFault {
  if (format === "videos") return previewVideo(asked, rules);
  if (format === "realtime") return previewRealtime(tools, asked, rules);
  if (format === "models") return previewModels(tools, asked, rules);
  return isBackground(format, asked.body)
    ? previewBackground(asked, rules)
    : previewCall(tools, { ...asked, endpoint: format }, rules);
}

/** Whether it asks for a response that is made in the background. */
export function isBackground(format: PreviewFormat, { bytes, object }: ClientBody): boolean {
  return format === "responses" && readMember(bytes, object, "background") === true;
}

function aboutOf({ model, originModel, isStream, seed, facts }: PreviewAsked) {
  return { model, originModel, isStream, seed, facts };
}

function previewVideo(asked: PreviewAsked, rules: CompiledRules): Preview | RelayFault {
  const { target, body, model } = asked;
  if (target.provider.video === undefined) return unsupported();
  const wire = videoWires[target.provider.video];
  const order = videoOrder(readJson(body.bytes.toString()) ?? {});
  const request = wire.submit({ ...order, model, seconds: order.seconds ?? wire.usualSeconds });
  const about = { ...aboutOf(asked), reach: "request", endpoint: "videos", isStream: false } as const;
  return previewDraft(target, taskDraft(target, request), about, rules);
}

function previewBackground(asked: PreviewAsked, rules: CompiledRules): Preview | RelayFault {
  const { target, body, model, isStream } = asked;
  if (!keepsResponses(target.provider)) return unsupported();
  const request = backgroundRequest(target, { body, model, isPinned: false });
  const accept = ["accept", isStream ? "text/event-stream" : "application/json"];
  const about: About = { ...aboutOf(asked), reach: "request", endpoint: "responses" };
  return previewDraft(target, taskDraft(target, request, accept), about, rules);
}

/** The upgrade, and the example as a message of the client: only settings of the session are changed. */
function previewRealtime(
  { optionText }: PreviewTools,
  asked: PreviewAsked,
  rules: CompiledRules,
): Preview | RelayFault {
  const { target, model, apiVersion, body } = asked;
  const plan = planCall(target, { endpoint: "realtime", model, apiVersion, isStream: false }, optionText);
  if (plan.kind === "fault") return plan;
  const about = { ...aboutOf(asked), reach: "opening", endpoint: "realtime", isStream: true } as const;
  const opening = previewDraft(target, openingDraft(plan, asked.passHeaders), about, rules);
  const before = body.bytes.toString();
  if (opening.refused !== undefined || !isSettings(body.bytes)) return { ...opening, before, after: before };
  const { outcome, fired } = rules.run({ ...about, target }, sessionUnruled(body.bytes));
  const isRefused = outcome.kind === "fault";
  const mask = maskOf(target.key);
  return {
    ...opening,
    before,
    after: isRefused ? "" : mask(Buffer.from(outcome.body ?? body.bytes).toString()),
    fired: [...new Set([...opening.fired, ...fired])],
    refused: isRefused ? maskedFault(outcome, mask) : undefined,
  };
}

function previewModels(
  { optionText, now }: PreviewTools,
  { target }: PreviewAsked,
  rules: CompiledRules,
): Preview | RelayFault {
  const key = { endpoint: "models", model: "", apiVersion: "", isStream: false } as const;
  const plan = planCall(target, key, optionText);
  if (plan.kind === "fault") return plan;
  return previewDraft(target, planDraft(plan), aboutAccount("models", now()), rules);
}
