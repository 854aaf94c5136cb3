// Who a login provider says that a person is, whatever protocol it speaks.
import type { ProviderAnswer } from "#contract/sign-on.ts";
import type { EgressFault } from "#server/egress/send.ts";
import { unreached } from "#server/egress/small-call.ts";
import type { Claims } from "./claims.ts";

export interface OutsidePerson {
  /** Identifies the person at the provider, for ever (requirements I42). */
  readonly subject: string;
  /** In lower case; "" = none, or no address. */
  readonly email: string;
  /** The provider says that the address is proved. */
  readonly isEmailProved: boolean;
  /** The provider says that the person is of the operator's own company. */
  readonly isMember?: boolean;
  readonly displayName: string;
  /** The ID token's claims, then the profile's. */
  readonly sources: readonly Claims[];
  /** The provider's name for the session; "" = none. */
  readonly sid: string;
  /** "" = none. */
  readonly idToken: string;
  /** The provider asked for a second factor. */
  readonly hadSecondFactor: boolean;
}

/** Whose sessions a provider has ended: of a person, of one session of theirs, or both. "" = it does not say. */
export interface OutsideLogout {
  readonly subject: string;
  readonly sid: string;
  /** Of the token, which counts once. */
  readonly tokenId: string;
}

/** What a login began with; the code it ends with counts with it alone. */
export interface Begun {
  readonly state: string;
  readonly verifier: string;
  readonly nonce: string;
  /** The browser is the one inside the provider's own app. */
  readonly isInApp?: boolean;
}

/** How one protocol begins a login and ends it. */
export interface Protocol {
  /** The address of the page to log in at. Throws: ProviderError. */
  begin(begun: Begun): Promise<string>;
  /** Throws: ProviderError. */
  finish(begun: Begun, answer: ProviderAnswer): Promise<OutsidePerson>;
  /** Whether the provider answers as it should. Throws: ProviderError. */
  probe(): Promise<void>;
  /** Whom the provider has logged out, by a token of its own; absent where the protocol has none. Throws: ProviderError. */
  logout?(token: string): Promise<OutsideLogout>;
}

/** A provider did not do its part; `problem` is short and typed, for the logger and for the operator's test. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly problem: string;
  /** The outbound proxy is to blame, and not the provider. */
  readonly isProxy: boolean;

  constructor(problem: string, { isProxy = false, ...options }: ErrorOptions & { isProxy?: boolean } = {}) {
    super(`login provider: ${problem}`, options);
    this.problem = problem;
    this.isProxy = isProxy;
  }
}

/** A call to a provider that was not answered; `step` = which. */
export function unanswered(fault: Pick<EgressFault, "code" | "isProxy">, step = ""): ProviderError {
  const { problem, isProxy } = unreached(fault);
  return new ProviderError(`${step} egress ${problem}`.trim(), { isProxy });
}
