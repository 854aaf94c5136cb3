// The types between the endpoint table and its handlers: what a handler gets and must return. No HTTP here.
import type { AnswerOf, Endpoint, InputOf } from "#contract/endpoint.ts";
import type { Language } from "#contract/language.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";

/** What a handler may do with the browser's session. */
type NoteName = "half" | "device" | "invitation";

export interface SessionHandle {
  /** Cookie value of the calling browser; undefined when it sent none. */
  readonly id: string | undefined;
  /** Sends a new cookie value. */
  set(id: string): void;
  /** Deletes the cookie. */
  clear(): void;
  /** Another cookie of the login: half a login, the browser as accounts know it, or the invitation that was looked at. */
  note(name: NoteName): string | undefined;
  /** Unit: seconds. */
  keepNote(name: NoteName, value: string, maxAgeSec: number): void;
  dropNote(name: NoteName): void;
  /** Id of the browser, signed in or not: states and proofs that belong to one browser for some minutes are bound to it. */
  readonly browserId: string | undefined;
  /** The id of the browser; gives it one when it has none. */
  ensureBrowserId(): string;
}

/** The actor: always there above level `public`; at that level perhaps, and only where the endpoint identifies. */
type ActorOf<E extends Endpoint> = E["level"] extends "public"
  ? E["identifies"] extends true
    ? Actor | undefined
    : undefined
  : Actor;

/** One decoded call. */
export interface Call<E extends Endpoint> extends InputOf<E> {
  readonly actor: ActorOf<E>;
  readonly requestId: string;
  /** Address of the client. */
  readonly address: string;
  /** What the client calls itself; it may say anything. */
  readonly agent: string;
  /** What the client reads. */
  readonly language: Language;
  /** The call passed the human check by the credit of an earlier one. */
  readonly onCredit: boolean;
  /** The client is on the server's own machine. */
  readonly isLocal: boolean;
  /** The Authorization header as an access token; undefined = none was sent. */
  readonly accessToken: string | undefined;
  /** The Idempotency-Key header, hashed together with actor and endpoint; undefined = none was sent. */
  readonly idempotencyKey: string | undefined;
  readonly session: SessionHandle;
}

export type Handler<E extends Endpoint> = (ctx: Context, call: Call<E>) => Promise<AnswerOf<E>> | AnswerOf<E>;

/** A handler for every endpoint of a table; one missing or misspelt is a type error. */
export type Handlers<Api> = {
  readonly [Resource in keyof Api]: {
    readonly [Verb in keyof Api[Resource]]: Api[Resource][Verb] extends Endpoint
      ? Handler<Api[Resource][Verb]>
      : never;
  };
};
