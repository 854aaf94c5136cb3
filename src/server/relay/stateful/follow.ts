// The events of a response in the background on their way to a client. It is booked by its task's row, once, whether these events, a look, a
// cancellation or the job see its end first; and before the last event is sent (requirements C69).

import type { ClientResponse } from "#server/relay/http/client-response.ts";
import { pipe } from "#server/relay/http/pipe.ts";
import type { Services } from "#server/relay/services.ts";
import type { TaskOwner } from "#server/store/tasks.ts";
import { findTaskOf } from "#server/store/tasks.ts";
import { hearOfTask } from "#server/tasks/poll.ts";
import type { StreamReply } from "#server/upstream/call/call.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { polledResponse } from "#server/upstream/stored/requests.ts";
import { textAt } from "#server/upstream/video/wire.ts";

/** What the events said of their response last. */
export class Heard {
  response: JsonRecord | undefined;
  isEnd = false;

  readonly hear = (response: JsonRecord, isEnd: boolean): void => {
    this.response = response;
    this.isEnd = isEnd;
  };
}

/** Passes events on to the client. What breaks off is cut, not ended: the response goes on, and its client can follow it again. */
export async function passEvents(response: ClientResponse, reply: StreamReply): Promise<void> {
  const fault = await pipe(reply, response, false, () => undefined);
  if (fault !== undefined) response.hangUp();
}

/** Books the response if its end was heard. Never throws: the job books what this cannot. */
export async function bookHeard(
  { ctx }: Services,
  owner: TaskOwner,
  { response, isEnd }: Heard,
): Promise<void> {
  if (response === undefined || !isEnd) return;
  try {
    const task = await findTaskOf(ctx.db, owner, textAt(response, "id"));
    if (task !== undefined && task.outcome === "") await hearOfTask(ctx, task, polledResponse(response));
  } catch (error) {
    ctx.events.backgroundFailed({ task: "response", error });
  }
}
