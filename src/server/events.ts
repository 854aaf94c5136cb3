// One function per thing that happens in the business: a log line and counters. Never throws, never sees a secret.
import type { Logger } from "pino";
import { type Counters, createCounters, type Sample } from "./events/counters.ts";
import { Repeats } from "./events/repeats.ts";

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

export interface Events {
  relayDone(event: RelayDone): void;
  channelFailed(event: ChannelFailed): void;
  /**
   * An upstream sent bytes that no call asked for: the last calls of that connection may have been told another caller's answer
   * (requirements C19). `channelId` 0 = a call of the gateway itself.
   */
  upstreamDesync(event: { channelId: number; origin: string; calls: readonly string[] }): void;
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
    reason: "unknown" | "password" | "disabled" | "changed" | "shipped" | "limited" | "closed";
    address: string;
  }): void;
  /** A call was charged; reports only charges above 0, given by `onCharged`. */
  onCharged(listener: (userId: number, quota: number) => void): () => void;
  /** Every relayed call, whatever came of it. Returns the function that unsubscribes. */
  onRelayDone(listener: (event: RelayDone) => void): () => void;
  /** Every failed attempt at a channel. */
  onChannelFailed(listener: (event: ChannelFailed) => void): () => void;
  /** The password that ships is in use, and the server is reached from beyond this machine. */
  proxySeen(event: { sign: string }): void;
  accountCreated(event: {
    userId: number;
    via: "password" | "github" | "wechat" | "provider";
    address: string;
  }): void;
  accountBound(event: { userId: number; identity: "email" | "github_id" | "wechat_id" | "provider" }): void;
  passwordReset(event: { userId: number }): void;
  /** `reason` is short and typed. */
  humanRefused(event: { reason: string; address: string }): void;
  /** A service for logins or messages did not do its part, or our proxy on the way there; `problem` is short and typed. */
  externalFailed(event: {
    service: "github" | "wechat" | "pusher" | "provider" | "turnstile";
    problem: string;
    isProxy: boolean;
  }): void;
  /** One try to send a letter. Never the address. */
  mailDone(event: { outcome: "sent" | "queued" | "failed"; problem: string }): void;
  /** A model that is in no price table is called: it costs what `FallbackModelRatio` says. */
  pricedByFallback(event: { model: string }): void;
  /** A call cost more than its user or token had left; the rest was not charged (requirements M04). Unit: quota. */
  fellShort(event: {
    requestId: string;
    userId: number;
    tokenId: number;
    channelId: number;
    quota: number;
  }): void;
  /** A failed call has no entry in the log: its user has too many of them, or the database cannot take any now. */
  failedCallsUnlogged(event: { calls: number }): void;
  optionChanged(event: { option: string; actorId: number }): void;
  rateLimited(event: { limit: string; address: string }): void;
  /** What a payment provider told, or who pretended to be one: only its verdict. */
  paymentNotice(event: { instance: number; verdict: string }): void;
  ledgerRecovered(event: { closed: number }): void;
  /** A message to a target of alerts was not taken; `problem` is ours, short. */
  alertFailed(event: { target: number; kind: string; tries: number; problem: string }): void;
  /** A notice for the super administrator. */
  rootNotified(event: { title: string; content: string }): void;
  /** Stored balances that are not what the ledger says (requirements M33). */
  booksDiffer(event: { mismatches: number; first: string }): void;
  /** A periodic job or a run in the background ended. */
  jobDone(event: { job: string; elapsedMs: number; outcome: string }): void;
  /** Something failed that no caller waits for, e.g. a background reload. The same is logged once a minute, and counted each time. */
  backgroundFailed(event: { task: string; error: unknown }): void;
  /** The first answer of a database that could not be asked. */
  databaseAnswers(): void;
  /** The clock was set, or nothing ran for long; `task` waits until it trusts the clock again. */
  clockLeapt(event: { task: string; seconds: number }): void;
  /** How many balances differed at a check of the books; 0 = none. */
  booksChecked(event: { mismatches: number }): void;
  /** The audit log was checked against its hashes; `brokenId` is the first act that is not as it was written, 0 = none. */
  auditLogChecked(event: { checked: number; brokenId: number }): void;
  /** A number that is read whenever /metrics is. */
  measure(name: string, read: () => number): void;
  samples(): readonly Sample[];
}

/** What ledger checks and checks of the audit log found, and what was left of dead processes. */
function checkEvents(logger: Logger, counters: Counters) {
  return {
    ledgerRecovered(event) {
      counters.add("tollgate_ledger_recovered_total", "", event.closed);
      if (event.closed > 0) logger.warn(event, "closed reservations of a process that ended");
    },
    booksDiffer(event) {
      counters.add("tollgate_books_differ_total", "", event.mismatches);
      logger.error(event, "balances differ from the ledger");
    },
    booksChecked(event) {
      counters.set("tollgate_ledger_mismatches", event.mismatches);
    },
    auditLogChecked(event) {
      counters.set("tollgate_audit_trail_broken", event.brokenId === 0 ? 0 : 1);
      if (event.brokenId !== 0) logger.error(event, "the trail of acts is not as it was written");
    },
  } satisfies Partial<Events>;
}

/** Logins, new accounts, and the services that help with them. */
function accountEvents(logger: Logger, counters: Counters) {
  return {
    loginDone(event) {
      counters.add("tollgate_logins_total", `outcome="ok"`);
      logger.info(event, "login");
    },
    loginFailed(event) {
      counters.add("tollgate_logins_total", `outcome="${event.reason}"`);
      logger.warn(event, "login failed");
    },
    proxySeen(event) {
      logger.warn(
        event,
        "this server is reached through a proxy: the default password lets nobody in any more, and /metrics wants an access token, " +
          "until root has another one (npm run reset-password)",
      );
    },
    accountCreated(event) {
      counters.add("tollgate_accounts_created_total", `via="${event.via}"`);
      logger.info(event, "account created");
    },
    accountBound(event) {
      counters.add("tollgate_accounts_bound_total", `identity="${event.identity}"`);
      logger.info(event, "account bound");
    },
    passwordReset(event) {
      counters.add("tollgate_password_resets_total", "");
      logger.warn(event, "password reset by mail");
    },
    humanRefused(event) {
      counters.add("tollgate_human_checks_refused_total", "");
      logger.info(event, "human check refused");
    },
    externalFailed(event) {
      // The service has heard of nothing.
      counters.add(
        "tollgate_external_failures_total",
        `service="${event.isProxy ? "proxy" : event.service}"`,
      );
      logger.warn(event, event.isProxy ? "outbound proxy failed" : "external service failed");
    },
    mailDone(event) {
      counters.add("tollgate_mails_total", `outcome="${event.outcome}"`);
      if (event.outcome === "sent") logger.debug(event, "mail sent");
      else logger.warn(event, "mail not sent");
    },
  } satisfies Partial<Events>;
}

/** What calls cost beyond what there was, and which of them the usage log does not show. */
function moneyEvents(logger: Logger, counters: Counters) {
  return {
    fellShort(event) {
      counters.add("tollgate_relay_shortfall_quota_total", "", event.quota);
      logger.warn(event, "a call cost more than there was");
    },
    failedCallsUnlogged(event) {
      counters.add("tollgate_failed_calls_unlogged_total", "", event.calls);
    },
  } satisfies Partial<Events>;
}

/** What goes wrong with channels. */
function channelEvents(logger: Logger, counters: Counters, failed: Hearers<(event: ChannelFailed) => void>) {
  const channelFailed = (event: ChannelFailed) => {
    counters.add("tollgate_channel_failures_total", `channel="${event.channelId}",code="${event.code}"`);
    for (const hear of failed.list) hear(event);
    logger.warn(event, "channel failed");
  };
  return {
    channelFailed,
    upstreamDesync({ channelId, origin, calls }) {
      counters.add("tollgate_upstream_desync_total", `channel="${channelId}"`);
      logger.warn(
        { channelId, origin, calls },
        "an upstream is out of step: its connections are not used again for now",
      );
      if (channelId === 0) return;
      const detail = `${origin} sent what nobody asked for`;
      const requestId = calls.at(-1) ?? "";
      channelFailed({ requestId, channelId, code: "upstream_desync", status: 0, willRetry: false, detail });
    },
    channelStatusChanged(event) {
      counters.add("tollgate_channel_status_changes_total", `status="${event.status}"`);
      logger.warn(event, "channel status changed");
    },
  } satisfies Partial<Events>;
}

/** The subscribers of one kind of event. A list, since each call notifies them all and hardly ever does one come or go. */
class Hearers<Hear> {
  list: readonly Hear[] = [];

  /** Returns the function that unsubscribes. */
  readonly add = (hear: Hear): (() => void) => {
    this.list = [...this.list, hear];
    return () => {
      this.list = this.list.filter((other) => other !== hear);
    };
  };
}

/** Labels of endpoints, of which there are few, made once. */
const endpointLabels = new Map<string, { readonly text: string; readonly ok: string }>();

function labelOf(endpoint: string) {
  let labels = endpointLabels.get(endpoint);
  if (labels === undefined) {
    const text = `endpoint="${endpoint}"`;
    labels = { text, ok: `${text},outcome="ok"` };
    endpointLabels.set(endpoint, labels);
  }
  return labels;
}

function paymentEvents(counters: Counters, logger: Logger): Pick<Events, "paymentNotice"> {
  return {
    paymentNotice(event) {
      counters.add("tollgate_payment_notices_total", `verdict="${event.verdict}"`);
      logger.info(event, "payment notice");
    },
  };
}

/** What is told to operators, and what is not taken. */
function noticeEvents(logger: Logger, counters: Counters) {
  return {
    rootNotified(event) {
      counters.add("tollgate_notices_total", "");
      logger.warn(event, "notice for the administrator");
    },
    alertFailed(event) {
      counters.add("tollgate_alert_failures_total", `kind="${event.kind}"`);
      logger.warn(event, "an alert was not taken");
    },
  } satisfies Partial<Events>;
}

/** Builds the event sinks over a logger. */
export function createEvents(logger: Logger): Events {
  const counters = createCounters();
  const charged = new Hearers<(userId: number, quota: number) => void>();
  const relayed = new Hearers<(event: RelayDone) => void>();
  const failed = new Hearers<(event: ChannelFailed) => void>();
  const repeats = new Repeats();
  return {
    relayDone(event) {
      const endpoint = labelOf(event.endpoint);
      const outcome = event.fault === "" ? "ok" : event.fault;
      const labels = outcome === "ok" ? endpoint.ok : `${endpoint.text},outcome="${outcome}"`;
      counters.add("tollgate_relay_requests_total", labels);
      counters.add("tollgate_relay_prompt_tokens_total", "", event.promptTokens);
      counters.add("tollgate_relay_completion_tokens_total", "", event.completionTokens);
      counters.add("tollgate_relay_quota_total", "", event.chargedQuota);
      counters.observe("tollgate_relay_duration_seconds", endpoint.text, event.elapsedMs / 1000);
      if (event.firstByteMs > 0)
        counters.observe("tollgate_relay_first_byte_seconds", endpoint.text, event.firstByteMs / 1000);
      if (event.chargedQuota > 0) for (const hear of charged.list) hear(event.userId, event.chargedQuota);
      for (const hear of relayed.list) hear(event);
      logger.info(event, "relay");
    },
    ...channelEvents(logger, counters, failed),
    apiDone(event) {
      counters.add("tollgate_api_requests_total", `route="${event.route}",status="${event.status}"`);
      logger.debug(event, "api");
    },
    onCharged: charged.add,
    onRelayDone: relayed.add,
    onChannelFailed: failed.add,
    ...accountEvents(logger, counters),
    ...checkEvents(logger, counters),
    ...moneyEvents(logger, counters),
    pricedByFallback(event) {
      logger.warn(event, "a model without a price of its own costs FallbackModelRatio");
    },
    optionChanged(event) {
      logger.info(event, "option changed");
    },
    rateLimited(event) {
      counters.add("tollgate_rate_limited_total", `limit="${event.limit}"`);
      logger.debug(event, "rate limited");
    },
    ...paymentEvents(counters, logger),
    ...noticeEvents(logger, counters),
    jobDone(event) {
      counters.add("tollgate_jobs_total", `job="${event.job}"`);
      logger.debug(event, "job done");
    },
    clockLeapt(event) {
      logger.warn(event, "the clock leapt, or nothing ran for more than a day: nothing is removed for a day");
    },
    backgroundFailed({ task, error }) {
      counters.add("tollgate_background_failures_total", `task="${task}"`);
      const told = repeats.tell(`${task} ${error instanceof Error ? error.message : ""}`, performance.now());
      if (!told) return;
      logger.error({ task, ...(told.untold > 0 && told), err: error }, "background task failed");
    },
    databaseAnswers: () => logger.warn("the database answers again"),
    measure: (name, read) => counters.measure(name, read),
    samples: () => counters.samples(),
  };
}
