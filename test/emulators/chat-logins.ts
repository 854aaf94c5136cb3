// The logins of 飞书, 钉钉 and 企业微信 as their documents tell: pages that send the browser back with a code of one use, people with
// their companies, refusals with status 200. One server for all three; the paths tell them apart.
import { createHash } from "node:crypto";
import { type Heard, type HttpEmulator, type Reply, startHttpEmulator } from "./http-emulator.ts";

export const APP = { id: "cli_canary-app", secret: "chat-app-secret-canary", agent: "1000002" } as const;

export interface ChatPerson {
  readonly id: string;
  readonly name?: string;
  readonly tenant: string;
  readonly email?: string;
  /** Not in the directory of the app's company. */
  readonly isStranger?: true;
}

interface Grant {
  readonly person: ChatPerson;
  readonly challenge: string;
  readonly redirectUri: string;
}

export interface ChatLogins extends HttpEmulator {
  /** The person agrees on the page; returns what the browser brings back. */
  agree(page: string, person: ChatPerson): Record<string, string>;
  /** From now on a path answers so; undefined = as usual. */
  fail(path: string, reply: Reply | undefined): void;
  /** The token of 企业微信's app is not valid any more. */
  expireAppToken(): void;
  /** How often a path was asked. */
  count(path: string): number;
}

export async function startChatLogins(): Promise<ChatLogins> {
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, ChatPerson>();
  const people = new Map<string, ChatPerson>();
  const failing = new Map<string, Reply>();
  let serial = 0;
  let app = "app-token-0";

  const take = (code: unknown): Grant | undefined => {
    const found = grants.get(String(code));
    grants.delete(String(code));
    return found;
  };
  const issue = (person: ChatPerson) => {
    const token = `user-token-${++serial}`;
    tokens.set(token, person);
    return token;
  };

  const routes: Readonly<Record<string, (heard: Heard) => Reply>> = {
    "/open-apis/authen/v2/oauth/token"({ body }) {
      const { client_id, client_secret, code, code_verifier, redirect_uri } = JSON.parse(body);
      if (client_id !== APP.id || client_secret !== APP.secret) return { status: 400, json: { code: 20002 } };
      const grant = take(code);
      if (!grant) return { status: 400, json: { code: 20003, error: "invalid_grant" } };
      const proof = createHash("sha256").update(String(code_verifier)).digest("base64url");
      if (proof !== grant.challenge) return { status: 400, json: { code: 20049 } };
      if (redirect_uri !== grant.redirectUri) return { status: 400, json: { code: 20071 } };
      return { json: { code: 0, access_token: issue(grant.person), token_type: "Bearer", expires_in: 7200 } };
    },
    "/open-apis/authen/v1/user_info"({ headers }) {
      const person = tokens.get(String(headers.authorization).replace("Bearer ", ""));
      if (!person) return { json: { code: 20005, msg: "invalid access token" } };
      const { id, name = "", tenant, email = "" } = person;
      const data = {
        union_id: id,
        open_id: `open-${id}`,
        tenant_key: tenant,
        name,
        email,
        enterprise_email: email,
      };
      return { json: { code: 0, data } };
    },
    "/open-apis/auth/v3/app_access_token/internal"({ body }) {
      const { app_id, app_secret } = JSON.parse(body);
      return { json: { code: app_id === APP.id && app_secret === APP.secret ? 0 : 10014 } };
    },
    "/v1.0/oauth2/userAccessToken"({ body }) {
      const { clientId, clientSecret, code } = JSON.parse(body);
      const grant = clientId === APP.id && clientSecret === APP.secret ? take(code) : undefined;
      if (!grant)
        return { status: 400, json: { code: "invalidParameter.authCode.notFound", requestid: "r" } };
      return {
        json: {
          accessToken: issue(grant.person),
          refreshToken: "r",
          expireIn: 7200,
          corpId: grant.person.tenant,
        },
      };
    },
    "/v1.0/oauth2/accessToken"({ body }) {
      const { appKey, appSecret } = JSON.parse(body);
      return appKey === APP.id && appSecret === APP.secret
        ? { json: { accessToken: "dingtalk-app-token", expireIn: 7200 } }
        : { status: 400, json: { code: "invalidClientIdOrSecret" } };
    },
    "/v1.0/contact/users/me"({ headers }) {
      const person = tokens.get(String(headers["x-acs-dingtalk-access-token"]));
      if (!person) return { status: 401, json: { code: "InvalidAuthentication" } };
      const { id, name = "", email = "" } = person;
      return { json: { nick: name, openId: `open-${id}`, unionId: id, email } };
    },
    "/topapi/user/getbyunionid"({ query, body }) {
      if (query.get("access_token") !== "dingtalk-app-token") return { json: { errcode: 40014 } };
      const { unionid } = JSON.parse(body);
      return people.get(unionid)?.isStranger === true
        ? { json: { errcode: 60121, errmsg: "user not found" } }
        : { json: { errcode: 0, result: { userid: `staff-${unionid}`, contact_type: 0 } } };
    },
    "/cgi-bin/gettoken"({ query }) {
      return query.get("corpid") === APP.id && query.get("corpsecret") === APP.secret
        ? { json: { errcode: 0, access_token: app, expires_in: 7200 } }
        : { json: { errcode: 40001, errmsg: "invalid credential" } };
    },
    "/cgi-bin/auth/getuserinfo"({ query }) {
      if (query.get("access_token") !== app)
        return { json: { errcode: 42001, errmsg: "access_token expired" } };
      const grant = take(query.get("code"));
      if (!grant) return { json: { errcode: 40029, errmsg: "invalid code" } };
      const { id, isStranger } = grant.person;
      return { json: { errcode: 0, ...(isStranger ? { openid: `open-${id}` } : { userid: id }) } };
    },
  };

  const server = await startHttpEmulator((heard) => {
    const failure = failing.get(heard.path);
    return failure ?? routes[heard.path]?.(heard) ?? { status: 404, json: {} };
  });
  return {
    ...server,
    agree(page, person) {
      const url = new URL(page);
      const asked = (name: string) => url.searchParams.get(name) ?? "";
      const owner = asked("client_id") || asked("appid");
      if (owner !== APP.id) throw new Error(`unknown app ${owner}`);
      const code = `code-${++serial}`;
      people.set(person.id, person);
      grants.set(code, { person, challenge: asked("code_challenge"), redirectUri: asked("redirect_uri") });
      // 钉钉 calls it differently.
      const name = url.pathname === "/oauth2/auth" ? "authCode" : "code";
      return { [name]: code, state: asked("state") };
    },
    fail(path, reply) {
      if (reply === undefined) failing.delete(path);
      else failing.set(path, reply);
    },
    expireAppToken() {
      app = `app-token-${++serial}`;
    },
    count: (path) => server.heard.filter((one) => one.path === path).length,
  };
}
