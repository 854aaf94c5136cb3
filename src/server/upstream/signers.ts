// How a channel's key becomes a credential: one function per kind, named in the catalogue. Knows no channel, no storage.
import type { SignerName } from "#contract/providers.ts";

/** What a signer adds to a request. */
export interface Signed {
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

export type Signer = (key: string) => Signed;

const NOTHING: Signed = { headers: [] };

/** `Authorization: Bearer`; a provider that needs no key gets no header. */
function bearer(key: string): Signed {
  const credential = cleanKey(key);
  return credential === "" ? NOTHING : { headers: ["authorization", `Bearer ${credential}`] };
}

/** Azure's `api-key` header. Source: providers 5.2. */
function azureKey(key: string): Signed {
  return { headers: ["api-key", cleanKey(key)] };
}

/** The kinds that can sign today; a row naming another is answered with a clear fault. */
export const signers: Readonly<Partial<Record<SignerName, Signer>>> = {
  bearer,
  "azure-key": azureKey,
};

/** The key without what people paste around it (providers 2.4). */
export function cleanKey(key: string): string {
  return key.trim().replace(/^Bearer\s+/i, "");
}

/** Strings that would give the credential away if an upstream echoed them. */
export function secretsOf(key: string): string[] {
  const credential = cleanKey(key);
  return credential === "" ? [] : [credential, ...credential.split("|").filter((part) => part.length >= 8)];
}
