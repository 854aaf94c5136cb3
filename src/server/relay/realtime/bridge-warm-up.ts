// A response that nothing is made for (`generate: false`): the client learns an id to go on from, no upstream is asked, and nothing is charged
// (vendors/responses-socket).
import { faultOf } from "#server/relay/finish.ts";
import { addressOf, offersOf, splitUrl } from "#server/relay/http/routes.ts";
import type { Services } from "#server/relay/services.ts";
import { readIncoming } from "#server/relay/text/incoming.ts";
import { newRequestId } from "#server/secrets.ts";
import { valuesOf } from "#server/upstream/call/body.ts";
import { openResponse, responseOf } from "#server/upstream/clients/responses-reply.ts";
import { renderEvent } from "#server/upstream/hub/sse.ts";
import type { Calls, MessageRequest, MessageResponse } from "./bridge-call.ts";

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Answers it. Never throws. */
export async function warmUp(
  { ctx, authenticator, limits }: Services,
  calls: Calls,
  { request, answer, body }: { request: MessageRequest; answer: MessageResponse; body: Buffer },
): Promise<void> {
  try {
    const { key, deployment } = splitUrl(request.url ?? "");
    const address = addressOf(request, ctx.config.trustedProxies);
    const caller = await authenticator.authenticate(offersOf(request, key), address);
    // It is free, but it is work: the caller's limits count it.
    const leave = await limits.begin(caller, address, undefined);
    leave();
    const keepsState = ctx.options.get("ResponsesStateEnabled");
    const { model, body: read } = readIncoming(
      { ...PLAIN, endpoint: "responses", deployment, keepsState },
      body,
    );
    const seed = newRequestId(ctx.clock.now());
    const shell = { seed, created: ctx.clock.seconds(), model, body: valuesOf(read) };
    const made = responseOf(shell, { output: [], finish: undefined, usage: NO_USAGE });
    answer.writeHead(200, ["content-type", "text/event-stream"]);
    for (const [number, event] of [
      { type: "response.created", response: openResponse(shell) },
      { type: "response.completed", response: made },
    ].entries())
      answer.write(renderEvent(JSON.stringify({ ...event, sequence_number: number })));
    answer.end();
  } catch (error) {
    calls.turnAway(request, answer, faultOf(error));
  }
}

const PLAIN = { pathModel: undefined, wantsEvents: false, apiVersion: "", passHeaders: [] };
