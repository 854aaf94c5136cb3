// The types between the endpoint table and its handlers: what a handler gets and must return. No HTTP here.
import type { AnswerOf, Endpoint, InputOf } from "#contract/endpoint.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";

/** The browser's session, as far as a handler may touch it. */
export interface SessionHandle {
  /** Cookie value of the calling browser; undefined when it sent none. */
  readonly id: string | undefined;
  /** Sends a new cookie value. */
  set(id: string): void;
  /** Takes the cookie away. */
  clear(): void;
}

/** One decoded call. Below level `public` there is always an actor. */
export interface Call<E extends Endpoint> extends InputOf<E> {
  readonly actor: E["level"] extends "public" ? undefined : Actor;
  readonly requestId: string;
  /** Address of the client. */
  readonly address: string;
  readonly session: SessionHandle;
}

export type Handler<E extends Endpoint> = (ctx: Context, call: Call<E>) => Promise<AnswerOf<E>> | AnswerOf<E>;

/** A handler for every endpoint of a table of contents; one missing or misspelt is a type error. */
export type Handlers<Api> = {
  readonly [Resource in keyof Api]: {
    readonly [Verb in keyof Api[Resource]]: Api[Resource][Verb] extends Endpoint
      ? Handler<Api[Resource][Verb]>
      : never;
  };
};
