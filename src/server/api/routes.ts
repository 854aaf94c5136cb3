// The endpoint table with its handlers, checked before anything is served: the start fails for an endpoint without a level.
import type { Endpoint } from "#contract/endpoint.ts";
import { isPermission } from "#contract/permission.ts";
import { LEVEL_ROLE } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { handlers } from "./handlers.ts";

/** Endpoints by resource and verb. */
export type EndpointTable = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;

/** A handler as the mount sees it; its types were checked against the endpoint in handlers.ts. */
type AnyHandler = (ctx: Context, call: unknown) => unknown;

export interface Route {
  readonly endpoint: Endpoint;
  readonly handler: AnyHandler;
}

/**
 * Every endpoint with its handler; fixed paths before those with parameters. Throws: when an endpoint has no handler or no
 * known level (requirements Z01), or is for administrators and names no permission (requirements Z15).
 */
export function routes(table: EndpointTable): Route[] {
  const found = Object.entries(table).flatMap(([resource, endpoints]) =>
    Object.entries(endpoints).map(([verb, endpoint]) => routeOf(resource, verb, endpoint)),
  );
  const parameters = (route: Route) => route.endpoint.path.split(":").length;
  return found.sort((a, b) => parameters(a) - parameters(b));
}

function routeOf(resource: string, verb: string, endpoint: Endpoint): Route {
  // `handlers` satisfies Handlers<typeof api>: the same keys lead to the endpoint's own handler.
  const all = handlers as unknown as Record<string, Record<string, AnyHandler>>;
  const handler = all[resource]?.[verb];
  if (!handler) throw new Error(`no handler for ${resource}.${verb}`);
  // A table that was built without types may lack a level.
  if (!Object.hasOwn(LEVEL_ROLE, endpoint.level))
    throw new Error(`${resource}.${verb} does not say who may call it: level ${endpoint.level}`);
  const isOfStaff = endpoint.level === "admin" || endpoint.level === "root";
  if (isOfStaff && !isPermission(String(endpoint.permission)))
    throw new Error(`${resource}.${verb} does not say which permission it takes`);
  return { endpoint, handler };
}
