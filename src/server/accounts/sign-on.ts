// A login through a provider, from the state that begins it to the person it proves. A state works once, for ten minutes, in the browser it
// was given to, for the provider it names and for the user who was signed in there (requirements I41).
import type { ProviderAnswer } from "#contract/sign-on.ts";
import { type AppError, faults } from "#server/errors.ts";
import { randomId } from "#server/secrets.ts";
import { findProviderBySlug, listProviders, type ProviderRow } from "#server/store/sign-on.ts";
import type { Tools } from "#server/tools.ts";
import type { AppTokens } from "./chat-login.ts";
import { type CodeRef, issueCode, redeemCode } from "./codes.ts";
import type { Visitor } from "./github.ts";
import { openProvider, type Provider, redirectUrl } from "./login-providers.ts";
import type { Discovered } from "./oidc.ts";
import {
  type Begun,
  type OutsideLogout,
  type OutsidePerson,
  type Protocol,
  ProviderError,
} from "./outside-person.ts";

type SignOnTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "options" | "egress" | "events" | "coord" | "config"
>;

/** A provider as visitors see it. */
type ProviderButton = Pick<ProviderRow, "slug" | "name" | "kind">;

export interface SignOn {
  /** The providers that are on, as they were at most ten seconds ago; the older ones while the database does not answer. */
  buttons(): Promise<readonly ProviderButton[]>;
  /** Forgets the buttons of this process and tells the others. */
  changed(): Promise<void>;
  /** The address to log in at. Throws: AppError. */
  begin(slug: string, visitor: { browserId: string; userId: number; agent: string }): Promise<string>;
  /** Who has come back. Throws: 403 for a state that is not this visitor's; AppError. */
  finish(
    slug: string,
    visitor: Visitor,
    answer: ProviderAnswer,
  ): Promise<{ provider: Provider; person: OutsidePerson }>;
  /** Whose sessions a token of the provider ends; it is on or off. Throws: AppError. */
  readLogout(slug: string, token: string): Promise<OutsideLogout & { readonly providerId: number }>;
  /** What is wrong with a provider; "" = nothing that can be seen without a person. */
  probe(provider: Provider): Promise<string>;
  close(): void;
}

const BUTTONS_MS = 10_000;

/** What a state stands for. */
interface Kept extends Omit<Begun, "state"> {
  readonly providerId: number;
}

function refOf(state: string): CodeRef {
  return { purpose: "sign-on", subject: state };
}

export function createSignOn(tools: SignOnTools): SignOn {
  const discovered: Discovered = new Map();
  const appTokens: AppTokens = new Map();
  let buttons: { readonly list: readonly ProviderButton[]; readonly untilMs: number } | undefined;
  const close = tools.coord.subscribe("login_providers", () => {
    buttons = undefined;
  });

  async function protocolOf(provider: Provider): Promise<Protocol> {
    const { kind } = provider;
    if (kind === "oidc") return (await import("./oidc.ts")).oidc(tools, provider, discovered);
    if (kind === "oauth2") return (await import("./oauth2.ts")).oauth2(tools, provider);
    return (await import("./chat-login.ts")).chatLogin(tools, { ...provider, kind }, appTokens);
  }

  /** Throws: AppError with one sentence for whatever a provider did wrong. */
  async function through<T>(provider: Provider, step: (protocol: Protocol) => Promise<T>): Promise<T> {
    try {
      return await step(await protocolOf(provider));
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw refusedBy(tools, provider, error);
    }
  }

  return {
    close,
    async buttons() {
      const nowMs = tools.clock.now();
      if (buttons && nowMs < buttons.untilMs && buttons.untilMs <= nowMs + BUTTONS_MS) return buttons.list;
      const rows = await listProviders(tools.db).catch(() => undefined);
      const list = rows
        ? rows.filter((row) => row.is_enabled === 1).map(({ slug, name, kind }) => ({ slug, name, kind }))
        : (buttons?.list ?? []);
      buttons = { list, untilMs: nowMs + BUTTONS_MS };
      return list;
    },

    async changed() {
      buttons = undefined;
      await tools.coord.publish("login_providers", "");
    },

    async begin(slug, { browserId, userId, agent }) {
      const provider = await enabledProvider(tools, slug);
      if (redirectUrl(tools, slug) === "")
        throw faults.refused("管理员还没有设置服务器地址，暂时不能使用该登录方式");
      const begun: Begun = { state: randomId(), verifier: randomId(), nonce: randomId() };
      const { state, ...rest } = begun;
      const isInApp = /\bwxwork\//i.test(agent);
      const url = await through(provider, (protocol) => protocol.begin({ ...begun, isInApp }));
      const kept: Kept = { ...rest, providerId: provider.id };
      await issueCode(tools, refOf(state), { text: browserId, userId, detail: JSON.stringify(kept) });
      return url;
    },

    async finish(slug, visitor, answer) {
      const { state } = answer;
      const kept = await takeState(tools, visitor, state);
      const provider = await enabledProvider(tools, slug);
      // An answer of one provider that is played to another's address.
      if (kept.providerId !== provider.id) throw faults.stateMismatch();
      const person = await through(provider, (protocol) => protocol.finish({ ...kept, state }, answer));
      return { provider, person };
    },

    async readLogout(slug, token) {
      const row = await findProviderBySlug(tools.db, slug);
      if (row?.kind !== "oidc" || token === "") throw faults.refused("没有可以处理的注销通知");
      const provider = openProvider(tools, row);
      const told = await through(provider, (protocol) => logoutOf(protocol, token));
      return { ...told, providerId: provider.id };
    },

    async probe(provider) {
      try {
        await (await protocolOf(provider)).probe();
        return "";
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        return refusedBy(tools, provider, error).detail;
      }
    },
  };
}

/** What a person is told when a provider, or our proxy on the way there, did not do its part; the operator is told which. */
function refusedBy(
  { events }: Pick<SignOnTools, "events">,
  { slug, name }: Provider,
  { problem, isProxy }: ProviderError,
): AppError {
  events.externalFailed({ service: "provider", problem: `${slug}: ${problem}`, isProxy });
  return isProxy
    ? faults.proxyFailed(`${name} 登录失败`, problem)
    : faults.refused(`${name} 登录失败，请重新发起`, problem);
}

/** Throws: ProviderError. */
async function logoutOf({ logout }: Protocol, token: string): Promise<OutsideLogout> {
  if (logout === undefined) throw new ProviderError("no logout");
  return logout(token);
}

/** Throws: AppError when there is none, or it is off. */
async function enabledProvider(tools: SignOnTools, slug: string): Promise<Provider> {
  const row = await findProviderBySlug(tools.db, slug);
  if (row?.is_enabled !== 1) throw faults.refused("管理员未启用该登录方式");
  return openProvider(tools, row);
}

/** Takes a state. Throws: 403. */
async function takeState(tools: SignOnTools, { browserId, userId }: Visitor, state: string): Promise<Kept> {
  if (state === "" || browserId === undefined) throw faults.stateMismatch();
  const found = await redeemCode(tools, tools.db, refOf(state), browserId);
  if (!found || found.user_id !== userId) throw faults.stateMismatch();
  // Sealed by `begin`, so it is what that wrote.
  return JSON.parse(found.detail) as Kept;
}
