// The form of one management call. Security posture is data here, so that it can be read, mounted, documented and walked by tests.
import type { z } from "zod";
import type { Permission } from "./permission.ts";
import type { TeamRight } from "./team-words.ts";

/** The level a call needs: none, a signed-in user, role ≥ 10, role ≥ 100 (requirements W2.5). */
export type Level = "public" | "user" | "admin" | "root";

interface EndpointForm {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Canonical spelling, e.g. `/api/token/` or `/api/token/:id`; the other spelling of the trailing slash is served too. */
  readonly path: string;
  readonly level: Level;
  /** Fields of the body that need more than the call does: a permission, or one for some of their values. */
  readonly needs?: Readonly<Record<string, Permission | Readonly<Record<string, Permission>>>>;
  /** The same of a form that may send a whole row back: fields that differ from what is stored. The handler asks for it. */
  readonly needsToChange?: Readonly<Record<string, Permission>>;
  /** Text fields of the answer's rows that are "" for who lacks a permission. */
  readonly masks?: Readonly<Record<string, Permission>>;
  /** One sentence for the API reference. */
  readonly summary: string;
  /** `critical`: the shared budget per address of requirements W5. */
  readonly limit?: "critical";
  /** A Turnstile proof is asked for in the query when the check is on. */
  readonly turnstile?: true;
  /** A GET that changes state: refused across sites like any other write (requirements Q2). */
  readonly mutates?: true;
  /**
   * The owner must have proved to be there within the last five minutes, in this session: `guarded` for accounts that have a second
   * factor, or for all when the operator says so; `always` for every account, with the password when it has no factor.
   */
  readonly stepUp?: "guarded" | "always";
  /** The call acts in the team of its path: what its caller must be allowed to do there (see team-words.ts). */
  readonly right?: TeamRight;
  /** The one write of a session that looks at another user's console: it goes back to its own. */
  readonly endsView?: true;
  /** Part of adding a second factor: open to accounts that have to, and without proof in a session that a recovery code began. */
  readonly enrols?: true;
  /** The body carries a secret that no other site knows: a page of another host may send it, where the browser does not say that it is foreign. */
  readonly keyed?: true;
  /** A public call whose handler receives the signed-in user, if there is one. */
  readonly identifies?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The most that a body may have, where that is not what others may; absent = as others. Unit: bytes. */
  readonly bodyBytes?: number;
  /** The status of a body that is no JSON; elsewhere it is reported like other faults, with 200 (requirements W1.2). */
  readonly undecodable?: 400;
  readonly data: z.ZodType;
  /** Fields beside `data` in the answer, e.g. `total`, `time`. */
  readonly beside?: z.ZodObject;
}

/** What administrators call names the permission that it takes (requirements Z15). */
export type Endpoint = EndpointForm &
  (
    | { readonly level: "admin" | "root"; readonly permission: Permission }
    | { readonly level: "public" | "user"; readonly permission?: never }
  );

/** Declares an endpoint; only fixes its literal types. */
export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition;
}

type Decoded<T> = T extends z.ZodType ? z.output<T> : undefined;

/** What a handler receives and a client passes: decoded params, query and body. */
export interface InputOf<E extends Endpoint> {
  readonly params: Decoded<E["params"]>;
  readonly query: Decoded<E["query"]>;
  readonly body: Decoded<E["body"]>;
}

/** The decoded `data` of an answer. */
export type DataOf<E extends Endpoint> = z.output<E["data"]>;

/** What a handler returns: `data` alone, or with its fields beside. */
export type AnswerOf<E extends Endpoint> = E["beside"] extends z.ZodObject
  ? { readonly data: DataOf<E> } & z.output<E["beside"]>
  : DataOf<E>;
