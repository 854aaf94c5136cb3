// The one way to the server: input is encoded by the contract, the envelope is judged, the answer is decoded.
// The only file of the console that calls fetch.
import {
  hashKey,
  type MutationKey,
  type QueryClient,
  type QueryKey,
  type UseMutationOptions,
  type UseMutationResult,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { z } from "zod";
import type { AnswerOf, Endpoint } from "#contract/endpoint.ts";
import { Nothing, withoutEndSlashes } from "#contract/wire.ts";
import { ApiFault, messages } from "./faults.ts";
import { askOwner, wantsProof } from "./proof.ts";

type Decoded<T> = T extends z.ZodType ? z.output<T> : never;
type Params<E extends Endpoint> = E["params"] extends z.ZodType
  ? { readonly params: Decoded<E["params"]> }
  : unknown;
type Search<E extends Endpoint> = E["query"] extends z.ZodType
  ? { readonly query?: Partial<Decoded<E["query"]>> }
  : unknown;
type Body<E extends Endpoint> = E["body"] extends z.ZodType ? { readonly body: Decoded<E["body"]> } : unknown;

interface Once {
  /** The same for every try of one act, so that a repeated one is carried out once (contract: Idempotency-Key). */
  readonly idempotencyKey?: string;
}

/** What a page passes: decoded params, query and body; a query may name only some of its fields. */
export type CallInput<E extends Endpoint> = Params<E> & Search<E> & Body<E> & Once;

/** The input as the untyped functions below see it. */
interface LooseInput extends Once {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

const SERVER = withoutEndSlashes(import.meta.env?.VITE_SERVER ?? "");

function encode(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeEncode(value);
  if (result.success) return result.data;
  throw new ApiFault("refused", result.error.issues[0]?.message ?? messages.failed, { cause: result.error });
}

function pairs(encoded: unknown): [string, string][] {
  return Object.entries(encoded ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
}

/** Path with its params filled in and the query encoded, e.g. `/api/token/5` or `/api/log/?p=0&size=20`. */
export function addressOf(endpoint: Endpoint, input: LooseInput): string {
  let path = endpoint.path;
  if (endpoint.params !== undefined) {
    for (const [name, value] of pairs(encode(endpoint.params, input.params))) {
      path = path.replace(`:${name}`, encodeURIComponent(value));
    }
  }
  if (endpoint.query === undefined || input.query === undefined) return path;
  const search = new URLSearchParams(pairs(encode(endpoint.query.partial(), input.query))).toString();
  return search === "" ? path : `${path}?${search}`;
}

async function send(endpoint: Endpoint, input: LooseInput, signal?: AbortSignal): Promise<Response> {
  const body = endpoint.body === undefined ? undefined : JSON.stringify(encode(endpoint.body, input.body));
  const address = SERVER + addressOf(endpoint, input);
  try {
    return await fetch(address, {
      method: endpoint.method,
      credentials: SERVER === "" ? "same-origin" : "include",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(input.idempotencyKey === undefined ? {} : { "idempotency-key": input.idempotencyKey }),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (cause) {
    // An abort is TanStack Query's own and must reach it unchanged.
    if (signal?.aborted === true) throw cause;
    throw new ApiFault("network", messages.unreachable, { cause });
  }
}

/** The parts of an envelope that are read; other servers of the family leave some out. */
const LooseEnvelope = z.looseObject({
  success: z.boolean().optional(),
  message: z.string().optional(),
  data: z.unknown().optional(),
  /** A word beside the message that says what can be done about it. */
  code: z.string().optional().catch(undefined),
});

/**
 * A value without the fields that are null. In an answer of the family null stands for what is not there: a list of no rows, a text
 * that was never written; the contract has a fallback for fields that may be absent, or says that the field must be there.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(present.map(([name, inner]) => [name, withoutNulls(inner)]));
}

async function readEnvelope(response: Response): Promise<z.output<typeof LooseEnvelope> | undefined> {
  try {
    return LooseEnvelope.safeParse(withoutNulls(await response.json())).data;
  } catch {
    // Not JSON: the status or the missing envelope decides.
    return undefined;
  }
}

/** What answers without words say: other servers of the family do not know our additions, and a limit of calls says nothing. */
const FALLBACKS: ReadonlyMap<number, string> = new Map([
  [404, messages.unknown],
  [429, messages.tooMany],
]);

function judgeStatus(response: Response, message: string | undefined): void {
  if (response.ok) return;
  const { status } = response;
  if (status === 401) throw new ApiFault("signed-out", message || messages.expired, { status });
  const fallback = FALLBACKS.get(status) ?? `HTTP ${status}`;
  throw new ApiFault("http", message || fallback, { status });
}

/** Sends; once more when the server wants the owner's proof first, and the owner gives it. Throws: ApiFault when not. */
async function sendProven(endpoint: Endpoint, input: LooseInput, signal: AbortSignal | undefined) {
  const response = await send(endpoint, input, signal);
  const envelope = await readEnvelope(response);
  if (response.status !== 403) return { response, envelope };
  if (envelope?.code === "MFA_ENROLMENT_REQUIRED")
    throw new ApiFault("unprotected", envelope.message ?? messages.failed);
  if (!wantsProof(envelope?.code)) return { response, envelope };
  if (!(await askOwner())) throw new ApiFault("refused", messages.unconfirmed);
  const again = await send(endpoint, input, signal);
  return { response: again, envelope: await readEnvelope(again) };
}

/**
 * Calls an endpoint. Returns the decoded `data`, or an object of `data` and the fields beside it where the contract declares some.
 * Throws: ApiFault.
 */
export async function call<E extends Endpoint>(
  endpoint: E,
  input: CallInput<E>,
  signal?: AbortSignal,
): Promise<AnswerOf<E>> {
  // CallInput<E> only names the three parts; their values are judged by the endpoint's own schemas.
  const { response, envelope } = await sendProven(endpoint, input as LooseInput, signal);
  judgeStatus(response, envelope?.message);
  if (envelope === undefined) throw new ApiFault("unreadable", messages.unreadable);
  if (envelope.success === false) throw new ApiFault("refused", envelope.message || messages.failed);
  const dataSchema: z.ZodType = endpoint.data;
  // Where the contract promises nothing, whatever another server of the family sends is left unread.
  const data = dataSchema.safeDecode(endpoint.data === Nothing ? null : (envelope.data ?? null));
  const beside = endpoint.beside?.safeDecode(envelope);
  if (!data.success || beside?.success === false) {
    throw new ApiFault("unreadable", messages.unreadable, { cause: data.error ?? beside?.error });
  }
  // Decoded by the endpoint's own schemas just above.
  return (beside === undefined ? data.data : { ...beside.data, data: data.data }) as AnswerOf<E>;
}

export interface RelayedCall {
  /** With its `sk-` prefix; travels in a header, never in an address (requirements H08). */
  readonly key: string;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/** Calls the relay with a key of the user's own, as any client does. Returns the answer as it is. Throws: ApiFault, or the abort. */
export async function relay(path: string, { key, body, signal }: RelayedCall): Promise<Response> {
  try {
    return await fetch(SERVER + path, {
      method: "POST",
      credentials: "omit",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new ApiFault("network", messages.unreachable, { cause });
  }
}

/** Reads a JSON document of another site, without credentials; the content policy says which sites that may be. Throws: ApiFault. */
export async function readElsewhere<T extends z.ZodType>(address: string, schema: T): Promise<z.output<T>> {
  let document: unknown;
  try {
    const response = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
    document = await response.json();
  } catch (cause) {
    throw new ApiFault("network", messages.unreachable, { cause });
  }
  const read = schema.safeDecode(document as z.input<T>); // judged right here
  if (!read.success) throw new ApiFault("unreadable", messages.unreadable, { cause: read.error });
  return read.data;
}

/** What TanStack Query needs to fetch and cache one answer. */
export interface Query<T> {
  readonly queryKey: QueryKey;
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<T>;
}

/** The query of an endpoint; the key is path and input, so no page writes keys by hand. */
export function query<E extends Endpoint>(endpoint: E, input: CallInput<E>): Query<AnswerOf<E>> {
  return {
    queryKey: [endpoint.path, input],
    queryFn: ({ signal }) => call(endpoint, input, signal),
  };
}

/** The query of what a form edits: asked anew each time it opens, and a failure stands where the form would. */
export function formQuery<E extends Endpoint>(endpoint: E, input: CallInput<E>) {
  return { ...query(endpoint, input), gcTime: 0, meta: { silent: true } };
}

/** Makes everything fetched from these endpoints stale. */
export async function invalidate(client: QueryClient, endpoints: readonly Endpoint[]): Promise<void> {
  await Promise.all(endpoints.map((endpoint) => client.invalidateQueries({ queryKey: [endpoint.path] })));
}

export interface CallOptions<E extends Endpoint> {
  /** Endpoints whose answers are stale after success, and may have been so when the server refuses. */
  readonly invalidates?: readonly Endpoint[];
  readonly onSuccess?: (answer: AnswerOf<E>, input: CallInput<E>) => void;
  /** Changes cached rows at once; returns how to take that back when the server refuses. */
  readonly optimistic?: (client: QueryClient, input: CallInput<E>) => () => void;
  /** The failure is shown by the page, not as a toast. */
  readonly silent?: boolean;
}

interface NamedMutation<Answer, Input, Undo> extends UseMutationOptions<Answer, Error, Input, Undo> {
  readonly mutationKey: MutationKey;
}

/** A mutation that is not sent twice while it runs: the second click of a double click comes before the button shows that it runs. */
export function useOnce<Answer, Input, Undo>(
  options: NamedMutation<Answer, Input, Undo>,
): UseMutationResult<Answer, Error, Input, Undo> {
  const client = useQueryClient();
  const mutation = useMutation(options);
  const { mutationKey } = options;
  const isUnderWay = (input: unknown) =>
    client.isMutating({
      mutationKey,
      exact: true,
      predicate: ({ state }) => hashKey([state.variables]) === hashKey([input]),
    }) > 0;
  const mutate: typeof mutation.mutate = (...sent) => {
    if (!isUnderWay(sent[0])) mutation.mutate(...sent);
  };
  return { ...mutation, mutate };
}

/** A mutation of one endpoint. Failures go to the catalogue of faults unless `silent`. What is under way is not sent again. */
export function useCall<E extends Endpoint>(
  endpoint: E,
  options: CallOptions<E> = {},
): UseMutationResult<AnswerOf<E>, Error, CallInput<E>, (() => void) | undefined> {
  const client = useQueryClient();
  return useOnce({
    mutationKey: [endpoint.method, endpoint.path],
    mutationFn: (input: CallInput<E>) => call(endpoint, input),
    meta: { silent: options.silent === true },
    onMutate: (input) => options.optimistic?.(client, input),
    onError: (_error, _input, undo) => undo?.(),
    onSuccess: (answer, input) => options.onSuccess?.(answer, input),
    onSettled: (_answer, error, { idempotencyKey }) => {
      // What is named by a key may have been done although it failed: in part, or all of it with the answer lost on its way.
      const mayStand = error === null || idempotencyKey !== undefined || options.optimistic !== undefined;
      // A refusal may mean that another user changed or deleted the row since it was read.
      const mayBeStale = error instanceof ApiFault && error.kind === "refused";
      if (mayStand || mayBeStale) void invalidate(client, options.invalidates ?? []);
    },
  });
}
