// One function per thing that happens in the business: a log line and counters. Never throws, never sees a secret.
import type { Logger } from "pino";

/** One relayed call, whatever came of it. */
export interface RelayDone {
  readonly requestId: string;
  /** `chat`, `embeddings` …; one of a small fixed set, since it labels counters. */
  readonly endpoint: string;
  readonly model: string;
  readonly userId: number;
  readonly tokenId: number;
  /** 0 = none was reached. */
  readonly channelId: number;
  /** HTTP status the client saw. */
  readonly status: number;
  /** Stable code of the failure; "" = none. */
  readonly fault: string;
  readonly isStream: boolean;
  readonly attempts: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly chargedQuota: number;
  readonly elapsedMs: number;
  /** 0 = no byte came. */
  readonly firstByteMs: number;
}

/** One failed call to an upstream. */
export interface ChannelFailed {
  readonly requestId: string;
  readonly channelId: number;
  readonly code: string;
  readonly status: number;
  readonly willRetry: boolean;
  /** Short and typed; never the body of an answer. */
  readonly detail: string;
}

/** A sample of /metrics: name, labels from small fixed sets, value. */
export interface Sample {
  readonly name: string;
  readonly labels: string;
  value: number;
}

export interface Events {
  relayDone(event: RelayDone): void;
  channelFailed(event: ChannelFailed): void;
  channelStatusChanged(event: { channelId: number; status: number; reason: string }): void;
  apiDone(event: {
    requestId: string;
    route: string;
    status: number;
    fault: string;
    elapsedMs: number;
    userId: number;
  }): void;
  loginDone(event: { userId: number; address: string }): void;
  loginFailed(event: {
    reason: "unknown" | "password" | "disabled" | "limited" | "closed";
    address: string;
  }): void;
  optionChanged(event: { option: string; actorId: number }): void;
  rateLimited(event: { limit: string; address: string }): void;
  ledgerRecovered(event: { closed: number }): void;
  /** Something went wrong that nobody waits for, e.g. a background reload. */
  backgroundFailed(event: { task: string; error: unknown }): void;
  samples(): readonly Sample[];
}

/** Counters by name and labels. The label sets are small and fixed, so the map is bounded. */
function createCounters() {
  const values = new Map<string, Sample>();
  return {
    add(name: string, labels: string, amount = 1): void {
      const key = `${name}{${labels}}`;
      const sample = values.get(key);
      if (sample) sample.value += amount;
      else values.set(key, { name, labels, value: amount });
    },
    samples: () => [...values.values()],
  };
}

/** Builds the event sinks over a logger. */
export function createEvents(logger: Logger): Events {
  const counters = createCounters();
  return {
    relayDone(event) {
      const outcome = event.fault === "" ? "ok" : event.fault;
      counters.add("tollgate_relay_requests_total", `endpoint="${event.endpoint}",outcome="${outcome}"`);
      counters.add("tollgate_relay_prompt_tokens_total", "", event.promptTokens);
      counters.add("tollgate_relay_completion_tokens_total", "", event.completionTokens);
      counters.add("tollgate_relay_quota_total", "", event.chargedQuota);
      counters.add("tollgate_relay_milliseconds_total", `endpoint="${event.endpoint}"`, event.elapsedMs);
      logger.info(event, "relay");
    },
    channelFailed(event) {
      counters.add("tollgate_channel_failures_total", `channel="${event.channelId}",code="${event.code}"`);
      logger.warn(event, "channel failed");
    },
    channelStatusChanged(event) {
      counters.add("tollgate_channel_status_changes_total", `status="${event.status}"`);
      logger.warn(event, "channel status changed");
    },
    apiDone(event) {
      counters.add("tollgate_api_requests_total", `route="${event.route}",status="${event.status}"`);
      logger.debug(event, "api");
    },
    loginDone(event) {
      counters.add("tollgate_logins_total", `outcome="ok"`);
      logger.info(event, "login");
    },
    loginFailed(event) {
      counters.add("tollgate_logins_total", `outcome="${event.reason}"`);
      logger.warn(event, "login failed");
    },
    optionChanged(event) {
      logger.info(event, "option changed");
    },
    rateLimited(event) {
      counters.add("tollgate_rate_limited_total", `limit="${event.limit}"`);
      logger.debug(event, "rate limited");
    },
    ledgerRecovered(event) {
      counters.add("tollgate_ledger_recovered_total", "", event.closed);
      if (event.closed > 0) logger.warn(event, "closed reservations of a process that ended");
    },
    backgroundFailed(event) {
      counters.add("tollgate_background_failures_total", `task="${event.task}"`);
      logger.error({ task: event.task, err: event.error }, "background task failed");
    },
    samples: () => counters.samples(),
  };
}
