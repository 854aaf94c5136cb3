// Calls about a response that an upstream keeps: to look at it, at what it was asked, to cancel and to delete it. Its own channel and key are
// asked; another's response does not exist (requirements C57, C60). A look that finds it done books it.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { faultOf } from "#server/relay/finish.ts";
import type { ClientResponse } from "#server/relay/http/client-response.ts";
import type { RelayRequest } from "#server/relay/http/exchange.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Asked, StoredRoute } from "#server/relay/http/routes.ts";
import { readerOf } from "#server/relay/routing/failover.ts";
import type { Services } from "#server/relay/services.ts";
import { knownCaller } from "#server/relay/tell-limits.ts";
import {
  deleteStoredResponse,
  findStoredResponse,
  type StoredResponse,
} from "#server/store/stored-responses.ts";
import { findTaskOf } from "#server/store/tasks.ts";
import { aboutTask, channelOfTask } from "#server/tasks/channel.ts";
import { hearOfTask } from "#server/tasks/poll.ts";
import type { About } from "#server/upstream/call/outgoing.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { polledResponse, storedRequest } from "#server/upstream/stored/requests.ts";
import { streamStored } from "#server/upstream/stored/stream.ts";
import { callTask } from "#server/upstream/video/call.ts";
import { bookHeard, Heard, passEvents } from "./follow.ts";

interface Call {
  readonly services: Services;
  readonly req: RelayRequest;
  readonly response: ClientResponse;
  readonly asked: Asked;
  readonly route: StoredRoute;
}

/** Answers a call. Never throws. */
export async function answerStored(call: Call): Promise<void> {
  const { services, req, response, route } = call;
  const { ctx } = services;
  try {
    const caller = await knownCaller(call);
    if (!ctx.options.get("ResponsesStateEnabled")) throw new LocalError(localErrors.notImplemented());
    const query = new URL(req.url ?? "", "http://localhost").searchParams;
    const row = await findStoredResponse(ctx.db, caller, { id: route.id, now: ctx.clock.seconds() });
    if (row === undefined) throw new LocalError(localErrors.responseUnknown(route.id));
    const channel = await channelOfTask(ctx, row);
    if (channel === "gone" || channel === undefined)
      throw new LocalError(localErrors.responseUnknown(route.id));
    const found = { caller, row, channel, query };
    if (route.verb === "get" && query.get("stream") === "true") await sendEvents(call, found);
    else response.sendJson(200, await answerOne(call, found));
  } catch (error) {
    response.sendFault(faultOf(error));
  }
}

interface Found {
  readonly caller: Caller;
  readonly row: StoredResponse;
  readonly channel: LiveChannel;
  readonly query: URLSearchParams;
}

/** Sends the events of a response: from the one after a number, or all. Throws: LocalError. */
async function sendEvents(call: Call, { caller, row, channel, query }: Found): Promise<void> {
  const { services, response } = call;
  const { upstream } = services;
  const after = query.get("starting_after");
  if (after !== null && !/^\d{1,9}$/.test(after))
    throw new LocalError(localErrors.fieldInvalid("starting_after"));
  const tail = `?stream=true${after === null ? "" : `&starting_after=${after}`}`;
  const request = storedRequest(channel, "GET", { id: row.response_id, tail });
  const heard = new Heard();
  const { limits } = upstream;
  const trace = { firstByteMs: 0, isSent: false };
  const about = aboutResponse(call, channel, row);
  const asked = { request, about, limits, trace, hear: heard.hear, cancellation: response.gone };
  const reply = await streamStored(upstream, channel, asked);
  if (reply.kind === "failed") throw unheard(row, reply.fault);
  if (reply.kind === "stream") await passEvents(response, reply);
  await bookHeard(services, caller, heard);
  if (reply.kind === "stream") response.closeStream(reply.tail());
  else response.sendReply(reply);
}

/** What the rules of a channel may ask of a client's call about a response. */
function aboutResponse(
  { services, req, response }: Call,
  channel: LiveChannel,
  { model, user_id }: StoredResponse,
): About {
  const work = { kind: "response", model, request_id: response.requestId, user_id } as const;
  return aboutTask(services.ctx, channel, work, readerOf(req.headers));
}

function unheard({ response_id }: StoredResponse, fault: RelayFault): LocalError {
  return new LocalError(fault.upstreamStatus === 404 ? localErrors.responseUnknown(response_id) : fault);
}

/** Throws: LocalError. */
async function answerOne(call: Call, { caller, row, channel, query }: Found): Promise<JsonRecord> {
  const { services, route } = call;
  const { ctx, upstream } = services;
  const search = route.verb === "input-items" && query.size > 0 ? `?${query}` : "";
  const [method, tail] = REQUESTS[route.verb];
  const request = storedRequest(channel, method, { id: row.response_id, tail: tail + search });
  const answer = await callTask(upstream, channel, request, aboutResponse(call, channel, row));
  if (answer.kind === "failed") throw unheard(row, answer.fault);
  const { body } = answer;
  const task = await findTaskOf(ctx.db, caller, row.response_id);
  if (task !== undefined && task.outcome === "" && (route.verb === "get" || route.verb === "cancel"))
    await hearOfTask(ctx, task, polledResponse(body));
  if (route.verb === "delete") await deleteStoredResponse(ctx.db, row);
  return body;
}

const REQUESTS: Readonly<Record<StoredRoute["verb"], readonly ["GET" | "POST" | "DELETE", string]>> = {
  get: ["GET", ""],
  "input-items": ["GET", "/input_items"],
  cancel: ["POST", "/cancel"],
  delete: ["DELETE", ""],
};
