// OAuth 2 without an ID token, as services of many forms speak it: code for token, token for profile, and who it is at a path the operator
// names (requirements I47).
import { Email } from "#contract/auth.ts";
import { repeatedName } from "#contract/json-names.ts";
import { fetchText, type TextResult } from "#server/egress/fetch-text.ts";
import { sha256Url } from "#server/secrets.ts";
import type { Tools } from "#server/tools.ts";
import { claimAt, isTrue, subjectOf, textAt } from "./claims.ts";
import { type Provider, redirectUrl } from "./login-providers.ts";
import { type OutsidePerson, type Protocol, ProviderError, unanswered } from "./outside-person.ts";

type OAuthTools = Pick<Tools, "egress" | "options">;

const CALL = { timeoutMs: 5_000, limitBytes: 256 * 1024 } as const;

/** The protocol of one provider. */
export function oauth2(tools: OAuthTools, provider: Provider): Protocol {
  const { settings } = provider;
  return {
    async begin({ state, verifier }) {
      const url = new URL(settings.authorize_url);
      const asked = {
        response_type: "code",
        client_id: settings.client_id,
        redirect_uri: redirectUrl(tools, provider.slug),
        scope: settings.scopes,
        state,
        code_challenge: sha256Url(verifier),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(asked)) if (value !== "") url.searchParams.set(name, value);
      return url.href;
    },

    async finish({ verifier }, { code, error }) {
      if (code === "" || error !== "") throw new ProviderError(errorWord(error) || "no code");
      const token = await exchange(tools, provider, { code, verifier });
      const answer = await fetchText(tools.egress, {
        ...CALL,
        method: "GET",
        url: settings.userinfo_url,
        headers: ["accept", "application/json", "authorization", `Bearer ${token}`],
      });
      return personOf(provider, jsonOf(bodyOf("profile", answer)));
    },

    // There is nothing to ask without a code: whether the token endpoint is there has to do.
    async probe() {
      const answer = await fetchText(tools.egress, { ...CALL, ...request(tools, provider, {}) });
      if (answer.kind === "fault") throw unanswered(answer);
      if (answer.status >= 500 || answer.status === 404) throw new ProviderError(`status ${answer.status}`);
    },
  };
}

/** A call of the token endpoint. */
function request(tools: OAuthTools, provider: Provider, more: Readonly<Record<string, string>>) {
  const { settings, secret } = provider;
  const { client_id } = settings;
  const isBasic = settings.auth_style === "basic";
  const fields = new URLSearchParams({
    grant_type: "authorization_code",
    redirect_uri: redirectUrl(tools, provider.slug),
    ...(isBasic ? {} : { client_id, ...(secret === "" ? {} : { client_secret: secret }) }),
    ...more,
  });
  // RFC 6749, 2.3.1: both are form-encoded before they are joined.
  const pair = [client_id, secret]
    .map((text) => new URLSearchParams({ "": text }).toString().slice(1))
    .join(":");
  const basic = ["authorization", `Basic ${Buffer.from(pair).toString("base64")}`];
  return {
    method: "POST",
    url: settings.token_url,
    headers: [
      ...["accept", "application/json", "content-type", "application/x-www-form-urlencoded"],
      ...(isBasic ? basic : []),
    ],
    body: fields.toString(),
  } as const;
}

async function exchange(
  tools: OAuthTools,
  provider: Provider,
  { code, verifier }: { code: string; verifier: string },
): Promise<string> {
  const asked = request(tools, provider, { code, code_verifier: verifier });
  const text = bodyOf("token", await fetchText(tools.egress, { ...CALL, ...asked }));
  // Some services answer with a form, whatever was asked for.
  const answer = jsonOf(text) ?? Object.fromEntries(new URLSearchParams(text));
  const token = textAt(answer, "access_token");
  const type = textAt(answer, "token_type").toLowerCase();
  if (!/^[\x21-\x7e]{1,8192}$/.test(token))
    throw new ProviderError(`no token ${errorWord(textAt(answer, "error"))}`.trim());
  if (type !== "" && type !== "bearer") throw new ProviderError("no bearer token");
  return token;
}

/** The text of an answer of success; services that answer faults with 200 are found by what is missing. */
function bodyOf(step: "token" | "profile", answer: TextResult): string {
  if (answer.kind === "fault") throw unanswered(answer);
  if (answer.status !== 200) {
    const word = errorWord(textAt(jsonOf(answer.text), "error"));
    throw new ProviderError(`${step} status ${answer.status} ${word}`.trim());
  }
  return answer.text;
}

function errorWord(text: string): string {
  return /^[a-z_]{1,40}$/.test(text) ? text : "";
}

/** undefined = it is none, or says something twice: then it depends on the reader who a person is. */
function jsonOf(text: string): unknown {
  try {
    const read: unknown = JSON.parse(text);
    return repeatedName(text) !== undefined ? undefined : read;
  } catch {
    return undefined;
  }
}

function personOf({ settings }: Provider, profile: unknown): OutsidePerson {
  const subject = subjectOf(claimAt(profile, settings.id_path));
  if (subject === undefined) throw new ProviderError("no usable id");
  const email = Email.safeParse(textAt(profile, settings.mail_path));
  return {
    subject,
    email: email.success ? email.data : "",
    isEmailProved: email.success && isTrue(claimAt(profile, settings.verified_path)),
    displayName: textAt(profile, settings.name_path),
    // An object: `claimAt` found the id in it.
    sources: [profile as Readonly<Record<string, unknown>>],
    sid: "",
    idToken: "",
    hadSecondFactor: false,
  };
}
