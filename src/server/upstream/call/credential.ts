// The part of a plan that is a key's own: what it is signed with, and what must not be told of it. Plans are a channel's, and this is kept beside
// them, since a channel may have ten thousand keys.
import { keyLook, type Provider, type SignerName } from "#contract/provider.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { type Canary, canaryOf } from "#server/upstream/errors/mask.ts";
import { keyFault } from "#server/upstream/signers/index.ts";
import { type Signer, secretsOf } from "#server/upstream/signers/signer.ts";

/** What a signer makes of a key once for all calls. */
interface Credential {
  readonly name: SignerName;
  readonly signer: Signer;
  /** The key has not the form that its kind needs. */
  readonly fault: RelayFault | undefined;
  /** Names and values in turn; none where each call is signed by itself. */
  readonly headers: readonly string[];
  /** Part of the request itself. */
  readonly account: string | undefined;
}

/** Shorter ones would mask words. */
const LEAST_MASKED = 8;

export class KeyPart {
  readonly key: string;
  /** What the wire depends on. */
  readonly look: string;
  readonly secrets: readonly string[];
  readonly canaries: readonly Canary[];
  /** One, rarely two: formats of a wire may differ in their header. */
  readonly #credentials: Credential[] = [];

  constructor(provider: Provider, key: string) {
    this.key = key;
    this.look = keyLook(provider, key);
    this.secrets = secretsOf(key);
    this.canaries = this.secrets.filter((secret) => secret.length >= LEAST_MASKED).map(canaryOf);
  }

  credential(name: SignerName, signer: Signer): Credential {
    const known = this.#credentials.find((one) => one.name === name && one.signer === signer);
    if (known !== undefined) return known;
    const fault = keyFault(name, this.key);
    const isSigned = fault === undefined && signer.kind === "fixed";
    const made = {
      name,
      signer,
      fault,
      headers: isSigned ? signer.sign(this.key).headers : [],
      account: fault === undefined && signer.kind === "call" ? signer.account?.(this.key) : undefined,
    };
    this.#credentials.push(made);
    return made;
  }
}
