// Builds every long-lived object once, in order, and takes them down in reverse. Rooms above it import its type alone, and those
// below it know tools.ts.
import { readFileSync } from "node:fs";

import { type Actors, createActors } from "./accounts/actors.ts";
import { createDefaultPassword, type DefaultPassword } from "./accounts/default-password.ts";
import { createFirstRun, type FirstRunWay } from "./accounts/first-run.ts";
import { ensureRoot, type FirstStart } from "./accounts/first-start.ts";
import { noticeLetter } from "./accounts/letters.ts";
import { createLogins, type Logins } from "./accounts/login.ts";
import { createMailer, type Mailer } from "./accounts/mailer.ts";
import { type MasterKey, openDataKey, readMasterKey, unlockSecrets } from "./accounts/master-key.ts";
import { createNotices } from "./accounts/notices.ts";
import { createProxySigns, type ProxySigns } from "./accounts/proxy-signs.ts";
import { createReminders, type Reminders, type ReminderTools } from "./accounts/reminders.ts";
import { createResets, type Resets, type ResetTools } from "./accounts/reset.ts";
import { createReveals, type Reveals } from "./accounts/reveals.ts";
import { createSecurityLetters, type SecurityLetters } from "./accounts/security-letters.ts";
import { createSessions, type Sessions } from "./accounts/sessions.ts";
import { createSignOn, type SignOn } from "./accounts/sign-on.ts";
import { createWeChat, type WeChat, type WeChatTools } from "./accounts/wechat.ts";
import { type Alerts, createAlerts } from "./alerts/alerts.ts";
import type { AlertLetter } from "./alerts/parts.ts";
import { type Candidates, createCandidates } from "./channels/candidates.ts";
import { type ChannelGate, createChannelGate } from "./channels/channel-caps.ts";
import { CircuitBreakers } from "./channels/circuit-breakers.ts";
import { createHealth, type Health } from "./channels/health.ts";
import { channelOf, ownerOf } from "./channels/proxies.ts";
import { createTraffic, type Traffic } from "./channels/traffic.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { openCoord } from "./coord/open.ts";
import { followRenamedGroups, type RenamedGroups } from "./coord/renamed-groups.ts";
import { createEgress, type Egress } from "./egress/dispatcher.ts";
import { createEvents } from "./events.ts";
import { createLimits } from "./limits/limits.ts";
import { hideSecret } from "./log/texts.ts";
import { createLogger, type Logger } from "./log.ts";
import { createLedger } from "./money/ledger.ts";
import { livePrices } from "./money/price-book.ts";
import { watchDead } from "./money/recover.ts";
import { grantPromised } from "./money/signup.ts";
import { createOptions } from "./options.ts";
import { randomHex } from "./secrets.ts";
import { type Db, openStore } from "./store/db.ts";
import type { Notify, Tools } from "./tools.ts";
import { createTokenCache } from "./upstream/signers/token-cache.ts";

export interface Context extends Tools {
  readonly candidates: Candidates;
  /** Which channels and keys rest after failures, and which are at their limits. */
  readonly health: Health;
  readonly gate: ChannelGate;
  readonly renamedGroups: RenamedGroups;
  /** How calls went, for the dashboard. */
  readonly traffic: Traffic;
  readonly sessions: Sessions;
  readonly actors: Actors;
  readonly logins: Logins;
  /** How many sealed keys each user opens, and the record of it. */
  readonly reveals: Reveals;
  readonly defaultPassword: DefaultPassword;
  /** The way to a password of one's own after the first start. */
  readonly firstRun: FirstRunWay;
  readonly proxySigns: ProxySigns;
  /** Sends letters. */
  readonly mailer: Mailer;
  readonly resets: Resets;
  readonly wechat: WeChat;
  /** Logins through providers that the operator sets up. */
  readonly signOn: SignOn;
  readonly reminders: Reminders;
  /** Tells owners what happened to the security of their accounts. */
  readonly security: SecurityLetters;
  /** To the targets of alerts. */
  readonly alerts: Alerts;
  /** Seconds. */
  readonly startedAt: number;
  /** Id of this boot of this process; reservations it holds carry it. */
  readonly node: string;
  readonly version: string;
  readonly masterKey: MasterKey;
  /** Takes everything down in reverse order. */
  dispose(): Promise<void>;
}

export interface ContextParts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Told when the database is gone for good in this process: end it. */
  readonly onFatal?: (error: Error) => void;
  /** Told what a first start made as soon as it stands: what comes after may fail, and no later start knows it. */
  readonly onFirstStart?: (first: FirstStart) => void;
}

/** Reads the version of the package; the file stands beside `src` in every installation. */
function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  // Our own package.json.
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}

/** A stack of what must be taken down, last built first. */
function createCleanup() {
  const steps: (() => unknown)[] = [];
  return {
    /** Remembers how to take an object down and returns it. */
    keep<T>(built: T, takeDown: (built: T) => unknown): T {
      steps.push(() => takeDown(built));
      return built;
    },
    async run(): Promise<void> {
      for (let step = steps.pop(); step; step = steps.pop()) await step();
    },
  };
}

type Cleanup = ReturnType<typeof createCleanup>;

/**
 * Builds everything a process needs from its configuration, creates the first user on an empty database and closes the
 * reservations of processes that ended. Throws: what the operator has to put right, e.g. MasterKeyError, StoreError.
 */
export async function createContext(config: Config, parts: ContextParts = {}): Promise<Context> {
  const cleanup = createCleanup();
  hideConfigured(config);
  try {
    return await build(config, parts, cleanup);
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

/** What listens on this machine for us alone: no channel may lead there (requirements S04). */
function ownPorts({ port, databaseUrl = "" }: Config): number[] {
  const database = URL.canParse(databaseUrl) ? [Number(new URL(databaseUrl).port || POSTGRES_PORT)] : [];
  return [port, ...database];
}

const POSTGRES_PORT = 5432;

/** The way out, by the proxy of the options and the environment where a channel has none. */
function openEgress({
  config,
  clock,
  options,
  events,
}: Pick<Context, "config" | "clock" | "options" | "events">): Egress {
  const egress = createEgress({
    allow: config.egressAllow,
    proxyAllow: config.egressProxyAllow,
    ownPorts: ownPorts(config),
    proxyEnvironment: config.proxyEnvironment,
    proxyBreaker: new CircuitBreakers(),
    now: clock.now,
    onDesync: (desync) => events.upstreamDesync({ channelId: channelOf(desync.owner) ?? 0, ...desync }),
  });
  let proxy = "";
  const follow = () => {
    if (options.get("OutboundProxy") === proxy) return;
    proxy = options.get("OutboundProxy");
    egress.setProxyForAll(proxy);
  };
  follow();
  options.onChange(follow);
  return egress;
}

type Watched = Pick<
  Context,
  "db" | "clock" | "options" | "coord" | "events" | "limits" | "egress" | "candidates" | "notify"
>;

/** What this process learns of channels by calling them. Connections of one that has changed are not used again. */
function watchChannels(tools: Watched): Pick<Context, "health" | "gate"> {
  const { candidates, egress } = tools;
  candidates.onRenewed((id) => egress.forget(ownerOf(id)));
  return { health: createHealth(tools), gate: createChannelGate(tools) };
}

async function build(config: Config, parts: ContextParts, cleanup: Cleanup): Promise<Context> {
  const clock = parts.clock ?? systemClock;
  const logger = parts.logger ?? createLogger({ ...config, pretty: process.stdout.isTTY, now: clock.now });
  const events = createEvents(logger);
  const node = randomHex(16);

  const { masterKey, store, secrets } = await openDatabase(config, { ...parts, logger }, cleanup);
  const { db } = store;
  const onError = (error: unknown) => events.backgroundFailed({ task: "database", error });
  const syncMs = config.syncFrequencyMs;
  const coord = cleanup.keep(await openCoord({ store, clock, node, syncMs, onError }), (it) => it.close());
  const limits = createLimits({ coord, events });
  const options = cleanup.keep(await createOptions({ db, secrets, coord, events }), (it) => it.close());
  const byGroup = await openByGroup({ db, secrets, coord, events, options, clock }, cleanup);
  const ledger = cleanup.keep(createLedger({ store, clock, node, onError }), (it) => it.close());
  const egress = cleanup.keep(openEgress({ config, clock, options, events }), (it) => it.close());
  const { candidates } = byGroup;
  const traffic = cleanup.keep(createTraffic({ db, clock, events }), (it) => it.close());
  const actors = cleanup.keep(createActors({ db, clock, secrets, coord }), (it) => it.close());
  const defaultPassword = cleanup.keep(createDefaultPassword({ db, coord }), (it) => it.close());
  if (store.dialect === "postgres")
    cleanup.keep(watchDead({ ledger, events, onError }), (stopWatching) => stopWatching());
  const stop = cleanup.keep(new AbortController(), (it) => it.abort());
  await ensureRoot({ config, db, clock, secrets, coord, ledger, options, tell: parts.onFirstStart });
  events.ledgerRecovered(await ledger.recover());
  const post = createPost({ config, db, clock, secrets, coord, limits, options, events, egress }, cleanup);
  await grantPromised({ db, ledger, options }).catch((error: unknown) =>
    events.backgroundFailed({ task: "gifts of new users", error }),
  );
  return {
    config,
    clock,
    logger,
    events,
    secrets,
    store,
    db,
    coord,
    limits,
    options,
    ...byGroup,
    ledger,
    egress,
    credentials: createTokenCache({ egress, now: clock.now }),
    traffic,
    sessions: createSessions({ db, clock, secrets }),
    actors,
    logins: createLogins({ db, secrets, limits, events }),
    reveals: createReveals({ db, clock, limits, events }),
    defaultPassword,
    firstRun: createFirstRun({ db, secrets }),
    proxySigns: createProxySigns({ db, coord, events }),
    ...post,
    ...watchChannels({ db, clock, options, coord, events, limits, egress, candidates, notify: post.notify }),
    startedAt: clock.seconds(),
    node,
    version: readVersion(),
    masterKey,
    stopping: stop.signal,
    dispose: () => cleanup.run(),
  };
}

/** What is found by the name of a group: by any, of one that was renamed a moment ago. */
async function openByGroup(
  parts: Pick<Tools, "db" | "secrets" | "coord" | "events" | "options" | "clock">,
  cleanup: Cleanup,
) {
  const renamedGroups = cleanup.keep(followRenamedGroups(parts), (it) => it.close());
  const { otherNames } = renamedGroups;
  const prices = livePrices({ ...parts, otherNames });
  const candidates = cleanup.keep(await createCandidates({ ...parts, otherNames }), (it) => it.close());
  return { renamedGroups, prices, candidates };
}

/** Opens the database and what is sealed in it. One that a wrong key does not open is not migrated either (requirements K02). */
async function openDatabase(
  config: Config,
  { onFatal, logger }: ContextParts & { logger: Logger },
  cleanup: Cleanup,
) {
  const masterKey = await readMasterKey(config, (words) => logger.warn(words));
  const beforeMigration = (db: Db) => openDataKey(db, masterKey);
  const store = cleanup.keep(await openStore({ ...config, beforeMigration, onFatal }), (it) => it.close());
  return { masterKey, store, secrets: await unlockSecrets(store.db, masterKey, hideOverheard) };
}

/** What the environment tells is never told again. */
function hideConfigured(config: Config): void {
  const { newMasterKey, initialRootPassword, initialRootToken, initialRootAccessToken } = config;
  const password = config.databaseUrl === undefined ? "" : new URL(config.databaseUrl).password;
  const { http = "", https = "" } = config.proxyEnvironment ?? {};
  for (const proxy of [http, https]) if (proxy.includes("@")) hideSecret(proxy);
  const told = [newMasterKey, initialRootPassword, initialRootToken, initialRootAccessToken];
  for (const secret of [...told, password]) hideSecret(secret ?? "");
}

/** Keys of channels and the options' secrets are in use all the time; of users' keys and codes there may be any number. */
function hideOverheard(plain: string, context: string): void {
  hideSecret(
    plain,
    context !== "channels.key" && context !== "channels.proxy" && !context.startsWith("options."),
  );
}

type Post = Pick<
  Context,
  "mailer" | "resets" | "wechat" | "signOn" | "reminders" | "security" | "notify" | "alerts"
>;

/** What speaks with other services for people: letters, messages, logins. Letters on their way are finished before all else is taken down. */
function createPost(
  tools: Omit<ResetTools, "mailer"> & Omit<ReminderTools, "mailer"> & WeChatTools,
  cleanup: Cleanup,
): Post {
  const mailer = cleanup.keep(createMailer(tools), (it) => it.close());
  const reminders = cleanup.keep(createReminders({ ...tools, mailer }), (it) => it.close());
  const resets = cleanup.keep(createResets({ ...tools, mailer }), (it) => it.idle());
  const notices = cleanup.keep(createNotices({ ...tools, mailer }), (it) => it.idle());
  const alerts = cleanup.keep(createAlerts({ ...tools, mail: alertMail(tools, mailer) }), (it) => it.close());
  const security = cleanup.keep(createSecurityLetters({ ...tools, mailer }), (it) => it.idle());
  const signOn = cleanup.keep(createSignOn(tools), (it) => it.close());
  const notify: Notify = (notice) => {
    notices.notify(notice);
    alerts.raise(notice);
  };
  return { mailer, resets, reminders, security, signOn, wechat: createWeChat(tools), notify, alerts };
}

/** Letters of alerts: one try each, since alerts have tries of their own. */
function alertMail({ options }: Pick<Tools, "options">, mailer: Mailer) {
  return async (to: string, { language, ...letter }: AlertLetter) =>
    mailer.isReady() ? mailer.once(to, noticeLetter(options.get("SystemName"), letter), language) : undefined;
}
