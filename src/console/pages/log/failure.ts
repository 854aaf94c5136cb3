// What an entry of a failed call says, and its failed attempts in words for administrators. Pure.
import { failureParts } from "#console/ui/failure-words.ts";
import { type FailedChannel, type LogEntry, LogType } from "#contract/log.ts";

/** A channel by number and, while it is known, name. */
export function channelLabel({
  channel,
  channel_name,
}: Pick<FailedChannel, "channel" | "channel_name">): string {
  return channel_name === "" ? `#${channel}` : `#${channel} ${channel_name}`;
}

function failureOf(failed: FailedChannel): string {
  const [text, said] = failureParts(failed);
  return said === "" ? text : `${text}（${said}）`;
}

/** The failed attempts in one line; empty when there was none. */
export function attemptsText(attempts: readonly FailedChannel[]): string {
  return attempts.map((failed) => `${channelLabel(failed)}：${failureOf(failed)}`).join(" → ");
}

export interface Failure {
  /** What the caller was told; "" = the work went on in the background, or the entry came from another program, which has no code either. */
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

/** Status, if there was one, code and sentence stand in the content, in this order; undefined = the entry is of another type. */
export function failureIn({ type, content }: Pick<LogEntry, "type" | "content">): Failure | undefined {
  if (type !== LogType.error) return undefined;
  const [, status = "", code = "", message = content] =
    /^(?:(\d{3}) )?([a-zA-Z]\w*)(?:：|: )(.*)$/s.exec(content) ?? [];
  return { status, code, message };
}

/** The text of an entry where there is little room: of a failure its sentence, and the rest behind it. */
export function briefContent(entry: Pick<LogEntry, "type" | "content">): string {
  const failure = failureIn(entry);
  if (failure === undefined || failure.code === "") return entry.content;
  const { status, code, message } = failure;
  return status === "" ? `${message}（${code}）` : `${message}（${status} ${code}）`;
}
