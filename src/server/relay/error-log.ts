// Entries of type 6 in the usage log: calls that failed for their callers and cost nothing (docs/decisions/033). Written after the calls
// and best effort: no call waits for them, few are kept in memory, and none is written to a database in trouble.
import { setTimeout as sleep } from "node:timers/promises";
import { LogType } from "#contract/log.ts";
import type { Candidates } from "#server/channels/candidates.ts";
import { keptAbsence, keptGroups } from "#server/channels/decision.ts";
import type { Context } from "#server/context.ts";
import { createLocalLimit } from "#server/limits/limits.ts";
import { LIMITS } from "#server/limits/table.ts";
import { printAttempts } from "#server/store/failed-attempts.ts";
import { insertLogs, type NewLog } from "#server/store/logs.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Caller } from "./admission/admit.ts";
import { decisionOf, type RequestState } from "./routing/failover.ts";
import { membersOf } from "./routing/groups.ts";

/** A call that ended with a fault and without a charge. */
export interface FailedCall
  extends Pick<
    RequestState,
    "requestId" | "startedMs" | "channel" | "failedAttempts" | "next" | "decidedBefore"
  > {
  readonly caller: Caller;
  readonly model: string;
  readonly isStream: boolean;
  /** The error that the client got. */
  readonly status: number;
  readonly fault: RelayFault;
}

export interface FailedCalls {
  /** Queues an entry for a call. Returns at once and never throws. */
  note(call: FailedCall): void;
  /** Resolves when nothing waits to be written. */
  idle(): Promise<void>;
}

/** Some kilobytes each at most. */
const MOST_WAITING = 1_000;
/** Calls settle between two transactions. */
const AT_ONCE = 50;
/** Failures come in groups, and each transaction beside the ledger's costs the same for one as for many. */
const GATHER_MS = 250;
/** The length of names in entries about charges. */
const MOST_OF_A_NAME = 200;

/** Our own refusals that come in floods, or while the database is in trouble. */
const UNTOLD: ReadonlySet<RelayFault["code"]> = new Set([
  "rate_limit_exceeded",
  "concurrency_limit_exceeded",
  "overloaded",
  "storage_unavailable",
  "booking_failed",
]);

export function createErrorLog({
  db,
  options,
  clock,
  events,
  candidates,
}: Pick<Context, "db" | "options" | "clock" | "events" | "candidates">): FailedCalls {
  const noted = createLocalLimit(LIMITS.failedCalls, clock);
  let waiting: NewLog[] = [];
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    await sleep(GATHER_MS);
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE);
      try {
        await insertLogs(db, some);
      } catch (error) {
        events.backgroundFailed({ task: "failed calls", error });
        events.failedCallsUnlogged({ calls: some.length + waiting.length });
        waiting = [];
      }
    }
    writing = undefined;
  }

  return {
    note(call) {
      const { fault, caller } = call;
      if (fault.upstreamStatus === 0 && UNTOLD.has(fault.code)) return;
      if (!options.get("LogConsumeEnabled")) return;
      const nowMs = clock.now();
      const isFull = waiting.length >= MOST_WAITING;
      if (isFull || !noted.take(String(caller.userId))) {
        events.failedCallsUnlogged({ calls: 1 });
        return;
      }
      waiting.push(entryOf(candidates, call, nowMs));
      writing ??= write();
    },
    idle: () => writing ?? Promise.resolve(),
  };
}

function entryOf(candidates: Pick<Candidates, "all">, call: FailedCall, nowMs: number): NewLog {
  const { caller, channel, failedAttempts, startedMs } = call;
  return {
    ...NO_CALL,
    user_id: caller.payerId,
    member_id: caller.payerId === caller.userId ? 0 : caller.userId,
    project_id: caller.projectId ?? 0,
    created_at: Math.floor(nowMs / 1000),
    type: LogType.error,
    content: plain(told(call)),
    username: caller.username,
    token_id: caller.tokenId,
    token_name: caller.tokenName,
    model_name: plain(call.model).slice(0, MOST_OF_A_NAME),
    channel_id: channel?.id ?? 0,
    key_id: channel?.keyId ?? 0,
    request_id: call.requestId,
    elapsed_time: nowMs - startedMs,
    is_stream: call.isStream ? 1 : 0,
    trail: printAttempts(failedAttempts, decisionOf(call) || whyNone(candidates, call)),
  };
}

/** Why a call that was refused for want of a channel had none in its groups; "" = it was refused for something else. */
function whyNone(candidates: Pick<Candidates, "all">, { fault, caller, model }: FailedCall): string {
  if (fault.code !== "no_available_channel" && fault.code !== "route_rule_empty") return "";
  const channels = candidates.all();
  const groups = membersOf(caller).map(({ group }) => keptAbsence(channels, group, model));
  return groups.reduce(keptGroups, "");
}

/** PostgreSQL cannot store NUL, which a client can write in a model's name. */
function plain(text: string): string {
  return text.replaceAll("\u0000", "");
}

/**
 * Status, code and message, as the console parses them. An upstream's message may repeat the request, and is not stored
 * (requirements P01): then our own message is stored.
 */
function told({ status, fault }: FailedCall): string {
  const isTheirs = fault.upstreamStatus > 0 && fault.upstreamStatus === fault.status;
  if (isTheirs) return `${status} upstream_error：${theirs(fault.status)}`;
  return `${status} ${fault.code}：${fault.publicMessage}`;
}

function theirs(status: number): string {
  if (status === 429) return "上游限流或负载已满，请稍后再试";
  return status < 500 ? "上游不接受该请求，原因见调用方收到的错误信息" : "上游服务出错，请稍后再试";
}
