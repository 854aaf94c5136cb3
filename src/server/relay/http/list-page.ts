// Lists with a cursor, as OpenAI's interfaces have them: what a client asks for, and the answer.
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { RelayRequest } from "./exchange.ts";
import { LocalError, localErrors } from "./local-errors.ts";

export interface ListAsked {
  readonly limit: number;
  readonly isAscending: boolean;
  /** The last one that the client has; "" = it has none. */
  readonly after: string;
  readonly query: URLSearchParams;
}

/** Reads the query. Throws: LocalError 400. */
export function listAsked(
  req: RelayRequest,
  { usual, most }: { readonly usual: number; readonly most: number },
): ListAsked {
  const query = new URL(req.url ?? "", "http://localhost").searchParams;
  const limit = Number(query.get("limit") ?? usual);
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw new LocalError(localErrors.fieldInvalid("limit"));
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw new LocalError(localErrors.fieldInvalid("order"));
  return { limit, isAscending: order === "asc", after: query.get("after") ?? "", query };
}

/** The answer, of one row more than is shown. */
export function listAnswer<Row>(
  rows: readonly Row[],
  limit: number,
  { object, id }: { object(row: Row): JsonRecord; id(row: Row): string },
): JsonRecord {
  const data = rows.slice(0, limit);
  const [first] = data;
  const last = data.at(-1);
  return {
    object: "list",
    data: data.map(object),
    first_id: first === undefined ? null : id(first),
    last_id: last === undefined ? null : id(last),
    has_more: rows.length > limit,
  };
}
