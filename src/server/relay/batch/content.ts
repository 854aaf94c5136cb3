// Hands the bytes of a file out: from the upstream that has it, through us, as fast as the client reads.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { ClientResponse } from "#server/relay/http/client-response.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { readerOf } from "#server/relay/routing/failover.ts";
import type { SubmissionCall } from "#server/relay/submission.ts";
import type { FileRow } from "#server/store/batch-files.ts";
import { aboutTask, channelOfTask, TASK_SEAL } from "#server/tasks/channel.ts";
import { BrokenFile, openFile } from "#server/upstream/batch/transfer.ts";
import { batchRequest, fileTail } from "#server/upstream/batch/wire.ts";
import type { About } from "#server/upstream/call/outgoing.ts";

type Call = Pick<SubmissionCall, "services" | "req" | "response">;

/** What the rules of a channel may ask of a client's call about a file. */
export function aboutFile(
  { services, req, response }: Call,
  channel: LiveChannel,
  { user_id }: FileRow,
): About {
  const file = { kind: "batch", model: "", request_id: response.requestId, user_id } as const;
  return aboutTask(services.ctx, channel, file, readerOf(req.headers));
}

/** Throws: LocalError, before anything was sent. */
export async function sendFile(call: Call, row: FileRow): Promise<void> {
  const { services, response } = call;
  const { ctx, upstream } = services;
  const channel = await channelOfTask(ctx, row);
  if (channel === undefined)
    throw new LocalError(localErrors.ledgerUnavailable("the channel cannot be read"));
  if (channel === "gone") throw new LocalError(localErrors.fileLost(row.file_id));
  const id = ctx.secrets.open(row.upstream_sealed, TASK_SEAL);
  const { path } = batchRequest(channel, "GET", `${fileTail(id)}/content`);
  const file = await openFile(upstream, channel, path, aboutFile(call, channel, row));
  if (file.kind === "fault")
    throw new LocalError(file.upstreamStatus === 404 ? localErrors.fileGone() : file);
  const over = Promise.withResolvers<void>();
  response.onOver(over.resolve);
  response.gone.watch(() => file.bytes.destroy());
  const length = file.headers["content-length"];
  const sized = typeof length === "string" ? ["content-length", length] : [];
  response.openBody(200, ["content-type", "application/octet-stream", ...sized]);
  try {
    for await (const bytes of file.bytes as AsyncIterable<Buffer>)
      if (!response.write(bytes)) await Promise.race([drained(response), over.promise]);
    response.closeStream(new Uint8Array());
  } catch (error) {
    // What has begun is cut, so that the client does not take it for complete.
    if (!(error instanceof BrokenFile) && !response.gone.isCancelled) throw error;
    response.hangUp();
  }
}

function drained(response: ClientResponse): Promise<void> {
  return new Promise((resolve) => response.onDrain(resolve));
}
