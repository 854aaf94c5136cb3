// The interface of a signer: it turns a channel's key into the credential of a call. Knows no channel, no storage, no user.
import { cleanKey, isAwsRegion, serviceAccountOf } from "#contract/provider-key.ts";
import type { SignerName } from "#contract/providers.ts";
import type { Route } from "#server/egress/send.ts";
import { channelFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import type { TokenCache } from "./token-cache.ts";

/** The request as it will be sent, without the credential. */
export interface SignRequest {
  readonly method: "POST" | "GET";
  readonly url: string;
  readonly body: Uint8Array;
  /** Unit: ms since 1970. */
  readonly nowMs: number;
  /** The channel's field `other`, for schemes that need it. */
  readonly other: string;
}

/** The additions of a signer to a request. */
export interface Signed {
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Replaces the plain URL where the credential is part of it. */
  readonly url?: string;
  /** Strings made of the key (an exchanged token, a signature) that no caller may read in a reply or an error. */
  readonly secrets?: readonly string[];
}

/** Whether a key has the form its kind needs; undefined = fine, else Chinese text for the form. Never echoes the key. */
type KeyCheck = (key: string) => string | undefined;

/** The same for every call with this key: cached in the channel's plan. */
export interface FixedSigner {
  readonly kind: "fixed";
  readonly check: KeyCheck;
  sign(key: string): Signed;
}

/** Depends on the time or the request: made for each call. Exchanged tokens come from `tools.tokens`. */
export interface CallSigner {
  readonly kind: "call";
  readonly check: KeyCheck;
  /** Never throws and never rejects: failing to make a credential is a fault. */
  sign(key: string, request: SignRequest, tools: SignTools): SignResult | Promise<SignResult>;
  /** The part of the key that is the account id in the request itself. Absent = there is none. */
  account?(key: string): string | undefined;
  /**
   * The upstream reported that the credential of the call `used` is no longer valid: forgets the exchanged token. true = worth one silent
   * retry.
   */
  forget?(used: Signed, tools: SignTools): boolean;
}

export type SignResult = Signed | RelayFault;

export type Signer = FixedSigner | CallSigner;

export interface SignTools {
  readonly tokens: TokenCache;
  /** The channel's: an exchange leaves where its calls do. */
  readonly route?: Route | undefined;
}

/** A secret, and its form in a query. */
export function inQuery(secret: string): string[] {
  return [...new Set([secret, encodeURIComponent(secret)])];
}

/** Distinguishes a fault from a credential. */
export function isFault(result: SignResult): result is RelayFault {
  return "kind" in result;
}

/** `forget` of the kinds that exchange: drops the token of that call; a newer token stays. */
export function forgetTokens({ secrets }: Signed, { tokens }: SignTools): boolean {
  for (const token of secrets ?? []) tokens.forget(token);
  return true;
}

/** Strings that would reveal the credential if an upstream echoed them. */
export function secretsOf(key: string): string[] {
  const credential = cleanKey(key);
  if (credential === "") return [];
  const account = serviceAccountOf(credential);
  if (account !== undefined) return [credential, account.privateKey, account.clientEmail];
  const parts = credential
    .split("|")
    .map((part) => part.trim())
    .filter((part) => part.length >= 8 && !isAwsRegion(part));
  return parts.length === 1 && parts[0] === credential ? [credential] : [credential, ...parts];
}

/** Another channel may serve; no request is sent, the channel's health does not change, the fault is logged (requirements T2.4). */
export function invalidKey(name: SignerName): RelayFault {
  return channelFault(
    "invalid_channel_key",
    "渠道密钥格式有误，请联系管理员",
    `signer ${name}: the key has a wrong form`,
  );
}
