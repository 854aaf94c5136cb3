// Logins through 飞书, 钉钉 and 企业微信. All three say 200 to what they refuse: the code in the body and the field that is needed decide.
// No person comes in whose company is not the operator's, and their addresses of mail prove nothing (vendors/feishu-login,
// vendors/dingtalk-login, vendors/wecom-login; requirements I60–I62).
import type { ProviderAnswer } from "#contract/sign-on.ts";
import { fetchText } from "#server/egress/fetch-text.ts";
import { sha256Url } from "#server/secrets.ts";
import type { Tools } from "#server/tools.ts";
import { claimAt, subjectOf, textAt } from "./claims.ts";
import { type Provider, redirectUrl } from "./login-providers.ts";
import {
  type Begun,
  type OutsidePerson,
  type Protocol,
  ProviderError,
  unanswered,
} from "./outside-person.ts";

type ChatTools = Pick<Tools, "egress" | "options" | "config" | "clock">;

export type ChatKind = Extract<Provider["kind"], "feishu" | "dingtalk" | "wecom">;

/** An app's own token: one for all logins, asked for once (requirements I62). */
interface AppToken {
  readonly version: string;
  readonly untilMs: number;
  readonly token: Promise<string>;
}

/** By provider, for this process. */
export type AppTokens = Map<number, AppToken>;

const CALL = { timeoutMs: 5_000, limitBytes: 256 * 1024 } as const;
/** They live for two hours. */
const TOKEN_MS = 90 * 60_000;

interface Parts {
  readonly tools: ChatTools;
  readonly provider: Provider;
  readonly tokens: AppTokens;
}

const PROTOCOLS: Readonly<Record<ChatKind, (parts: Parts) => Protocol>> = { feishu, dingtalk, wecom };

export function isChatKind(kind: string): kind is ChatKind {
  return Object.hasOwn(PROTOCOLS, kind);
}

/** The protocol of one provider. */
export function chatLogin(
  tools: ChatTools,
  provider: Provider & { kind: ChatKind },
  tokens: AppTokens,
): Protocol {
  return PROTOCOLS[provider.kind]({ tools, provider, tokens });
}

/** An address at a vendor's fixed host. */
function at({ tools }: Parts, address: string, query: Readonly<Record<string, string>> = {}): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const { chatVendorUrl } = tools.config;
  return chatVendorUrl === undefined ? url.href : chatVendorUrl + url.href.slice(url.origin.length);
}

interface Ask {
  readonly step: string;
  readonly url: string;
  readonly headers?: readonly string[];
  /** Present = POST. */
  readonly body?: object;
}

/** The JSON of an answer. Throws: ProviderError. */
async function ask({ tools }: Parts, { step, url, headers = [], body }: Ask): Promise<unknown> {
  const answer = await fetchText(tools.egress, {
    ...CALL,
    method: body === undefined ? "GET" : "POST",
    url,
    headers: ["accept", "application/json", "content-type", "application/json", ...headers],
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.kind === "fault") throw unanswered(answer, step);
  try {
    return JSON.parse(answer.text);
  } catch {
    throw new ProviderError(`${step} status ${answer.status}`);
  }
}

/** Throws: ProviderError unless the code in the body is 0. */
function insist(step: string, body: unknown, field: "code" | "errcode"): void {
  const code = claimAt(body, field);
  if (code !== 0) throw new ProviderError(`${step} ${codeWord(code)}`);
}

/** A number, or a short word, for the logger and the operator's test. */
function codeWord(code: unknown): string {
  if (typeof code === "number") return `code ${code}`;
  return typeof code === "string" && /^[\w.-]{1,60}$/.test(code) ? code : "no code";
}

/** A text that is there. Throws: ProviderError. */
function need(step: string, body: unknown, path: string): string {
  const text = textAt(body, path);
  if (text === "") throw new ProviderError(`${step} without ${path}`);
  return text;
}

function codeOf({ code, error }: ProviderAnswer): string {
  if (code === "" || error !== "") throw new ProviderError("refused by the person");
  return code;
}

/** Throws: ProviderError when the person is of another company. */
function checkTenant({ provider }: Parts, tenant: string): void {
  if (!provider.settings.tenants.includes(tenant)) throw new ProviderError("another company");
}

/** Who it is; the profile is what rules read. */
function personOf(subject: unknown, profile: unknown, displayName: string): OutsidePerson {
  const id = subjectOf(subject);
  if (id === undefined) throw new ProviderError("no usable id");
  return {
    subject: id,
    // Administrators of the company type addresses in: they link nothing.
    email: "",
    isEmailProved: false,
    isMember: true,
    displayName,
    // An object: the id was found in it or made of it.
    sources: [profile as Readonly<Record<string, unknown>>],
    sid: "",
    idToken: "",
    hadSecondFactor: false,
  };
}

/** The app's token, one call for however many logins. */
function appToken(parts: Parts, fetchToken: () => Promise<string>): Promise<string> {
  const { provider, tokens, tools } = parts;
  const nowMs = tools.clock.now();
  const known = tokens.get(provider.id);
  const isGood =
    known?.version === provider.version && nowMs < known.untilMs && known.untilMs <= nowMs + TOKEN_MS;
  if (known && isGood) return known.token;
  const token = fetchToken();
  tokens.set(provider.id, { version: provider.version, untilMs: nowMs + TOKEN_MS, token });
  token.catch(() => {
    if (tokens.get(provider.id)?.token === token) tokens.delete(provider.id);
  });
  return token;
}

function feishu(parts: Parts): Protocol {
  const { tools, provider } = parts;
  const { client_id } = provider.settings;
  const open = "https://open.feishu.cn/open-apis";
  return {
    async begin({ state, verifier }) {
      return at(parts, "https://accounts.feishu.cn/open-apis/authen/v1/authorize", {
        client_id,
        response_type: "code",
        redirect_uri: redirectUrl(tools, provider.slug),
        state,
        code_challenge: sha256Url(verifier),
        code_challenge_method: "S256",
      });
    },
    async finish({ verifier }, answer) {
      const granted = await ask(parts, {
        step: "token",
        url: at(parts, `${open}/authen/v2/oauth/token`),
        body: {
          grant_type: "authorization_code",
          client_id,
          client_secret: provider.secret,
          code: codeOf(answer),
          redirect_uri: redirectUrl(tools, provider.slug),
          code_verifier: verifier,
        },
      });
      insist("token", granted, "code");
      const profile = await ask(parts, {
        step: "person",
        url: at(parts, `${open}/authen/v1/user_info`),
        headers: ["authorization", `Bearer ${need("token", granted, "access_token")}`],
      });
      insist("person", profile, "code");
      checkTenant(parts, need("person", profile, "data.tenant_key"));
      const data = claimAt(profile, "data");
      return personOf(claimAt(data, "union_id"), data, textAt(data, "name"));
    },
    async probe() {
      const body = { app_id: client_id, app_secret: provider.secret };
      const url = at(parts, `${open}/auth/v3/app_access_token/internal`);
      insist("app token", await ask(parts, { step: "app token", url, body }), "code");
    },
  };
}

function dingtalk(parts: Parts): Protocol {
  const { tools, provider } = parts;
  const { client_id } = provider.settings;
  const api = "https://api.dingtalk.com/v1.0";
  const fetchApp = async () => {
    const body = { appKey: client_id, appSecret: provider.secret };
    const url = at(parts, `${api}/oauth2/accessToken`);
    const granted = await ask(parts, { step: "app token", url, body });
    const token = textAt(granted, "accessToken");
    if (token === "") throw new ProviderError(`app token ${codeWord(claimAt(granted, "code"))}`);
    return token;
  };
  /** Whether the app's own company knows the person: another company's people have ids too. */
  const findStaff = async (unionid: string) => {
    const url = at(parts, "https://oapi.dingtalk.com/topapi/user/getbyunionid", {
      access_token: await appToken(parts, fetchApp),
    });
    const found = await ask(parts, { step: "staff", url, body: { unionid } });
    insist("staff", found, "errcode");
    need("staff", found, "result.userid");
  };
  return {
    async begin({ state }) {
      return at(parts, "https://login.dingtalk.com/oauth2/auth", {
        client_id,
        response_type: "code",
        redirect_uri: redirectUrl(tools, provider.slug),
        scope: "openid corpid",
        state,
        prompt: "consent",
      });
    },
    async finish(_begun, answer) {
      const granted = await ask(parts, {
        step: "token",
        url: at(parts, `${api}/oauth2/userAccessToken`),
        body: {
          clientId: client_id,
          clientSecret: provider.secret,
          code: codeOf(answer),
          grantType: "authorization_code",
        },
      });
      const token = textAt(granted, "accessToken");
      if (token === "") throw new ProviderError(`token ${codeWord(claimAt(granted, "code"))}`);
      checkTenant(parts, need("token", granted, "corpId"));
      const profile = await ask(parts, {
        step: "person",
        url: at(parts, `${api}/contact/users/me`),
        headers: ["x-acs-dingtalk-access-token", token],
      });
      const unionId = need("person", profile, "unionId");
      await findStaff(unionId);
      return personOf(unionId, profile, textAt(profile, "nick"));
    },
    async probe() {
      await fetchApp();
    },
  };
}

/** The app's token is not valid any more: a fresh one, once (requirements I62). */
const STALE_TOKEN: ReadonlySet<unknown> = new Set([40014, 42001]);

function wecom(parts: Parts): Protocol {
  const { tools, provider, tokens } = parts;
  const { client_id: corpid, agent_id: agentid } = provider.settings;
  const api = "https://qyapi.weixin.qq.com/cgi-bin";
  const fetchApp = async () => {
    const url = at(parts, `${api}/gettoken`, { corpid, corpsecret: provider.secret });
    const granted = await ask(parts, { step: "app token", url });
    insist("app token", granted, "errcode");
    return need("app token", granted, "access_token");
  };
  const identify = async (code: string) => {
    const token = appToken(parts, fetchApp);
    const url = at(parts, `${api}/auth/getuserinfo`, { access_token: await token, code });
    const found = await ask(parts, { step: "person", url });
    const isStale = STALE_TOKEN.has(claimAt(found, "errcode"));
    // Of many logins at once that see it, the first drops it.
    if (isStale && tokens.get(provider.id)?.token === token) tokens.delete(provider.id);
    return { found, isStale };
  };
  return {
    async begin({ state, isInApp }: Begun) {
      const redirect_uri = redirectUrl(tools, provider.slug);
      if (isInApp !== true) {
        const asked = { login_type: "CorpApp", appid: corpid, agentid, redirect_uri, state };
        return at(parts, "https://login.work.weixin.qq.com/wwlogin/sso/login", asked);
      }
      const asked = {
        appid: corpid,
        redirect_uri,
        response_type: "code",
        scope: "snsapi_base",
        state,
        agentid,
      };
      return `${at(parts, "https://open.weixin.qq.com/connect/oauth2/authorize", asked)}#wechat_redirect`;
    },
    async finish(_begun, answer) {
      const code = codeOf(answer);
      const first = await identify(code);
      const { found } = first.isStale ? await identify(code) : first;
      insist("person", found, "errcode");
      // Strangers have an openid instead.
      const userid = need("person", found, "userid");
      // One company's ids are the same in any case.
      return personOf(`${corpid}:${userid.toLowerCase()}`, found, userid);
    },
    async probe() {
      await fetchApp();
    },
  };
}
