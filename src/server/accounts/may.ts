// What an account may do: the only place that compares roles (requirements Z04, Z15). Data of the contract goes in, a yes or no comes out.
import type { Endpoint, Level } from "#contract/endpoint.ts";
import { type Permission, SERVICE_GRANTABLE } from "#contract/permission.ts";
import { Role } from "#contract/user.ts";

/** An account by its role number. */
export interface Ranked {
  readonly role: number;
}

/** An account and what its set holds; undefined = it has none. */
export interface Rights extends Ranked {
  readonly permissions?: ReadonlySet<string> | undefined;
}

/** Who makes a call. */
interface Caller extends Rights {
  /** The name of the service account that calls in place of the person. */
  readonly service?: string | undefined;
}

/** The lowest role that a level requires. */
export const LEVEL_ROLE = {
  public: Role.guest,
  user: Role.user,
  admin: Role.admin,
  root: Role.root,
} as const satisfies Readonly<Record<Level, number>>;

export function isSuper({ role }: Ranked): boolean {
  return role >= Role.root;
}

/** Whether this is an administrator, of whatever rank and set. */
export function isStaff({ role }: Ranked): boolean {
  return role >= Role.admin;
}

/** Whether an actor may read, edit, disable, delete, pay or top up a user of this role (requirements W2.7, J6). */
export function outranks(actor: Ranked, target: Ranked): boolean {
  return isSuper(actor) || actor.role > target.role;
}

/** Whether an actor may grant this role: one below the actor's own, and one that exists. */
export function mayGrant(actor: Ranked, role: number): boolean {
  return (role === Role.user || role === Role.admin) && role < actor.role;
}

/** Whether an administrator may do this: one without a set may do all that administrators may. */
export function may(actor: Rights, permission: Permission): boolean {
  if (isSuper(actor)) return true;
  return isStaff(actor) && (actor.permissions === undefined || actor.permissions.has(permission));
}

/** Whether a signed-in account may make a call at all; what the call is about is judged beside. */
export function mayCall(actor: Caller, endpoint: Endpoint): boolean {
  // Written the other way round, an unknown level would admit every user.
  if (!(actor.role >= LEVEL_ROLE[endpoint.level])) return false;
  // What no permission stands for is the person's own.
  if (endpoint.permission === undefined) return actor.service === undefined;
  return may(actor, endpoint.permission);
}

interface ServiceRights extends Ranked {
  readonly permissions: ReadonlySet<Permission>;
}

/**
 * The rights of a service account: what of its list its maker may do now. It is an administrator at most, so what only super
 * administrators do is beyond it (requirements Z18).
 */
export function serviceRights(maker: Rights, names: readonly Permission[]): ServiceRights {
  const permissions = new Set(names.filter((name) => SERVICE_GRANTABLE.includes(name) && may(maker, name)));
  return { role: Math.min(maker.role, Role.admin), permissions };
}

/** Whether an administrator is bound by no set: what no permission stands for is theirs alone (a channel of choice, the metrics). */
export function isUnbound(actor: Rights): boolean {
  return isSuper(actor) || (isStaff(actor) && actor.permissions === undefined);
}

/** The same of a row, whose set is not read. */
export function isUnboundRow({ role, staff_set_id }: Ranked & { readonly staff_set_id: number }): boolean {
  return isUnbound(staff_set_id === 0 ? { role } : { role, permissions: new Set() });
}

/** The first field of a body that takes a permission which the actor lacks. */
export function forbiddenField(
  actor: Rights,
  needs: Endpoint["needs"] = {},
  body: unknown,
): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const fields: Readonly<Record<string, unknown>> = { ...body };
  return Object.keys(needs).find((name) => {
    const value = fields[name];
    const need = needs[name];
    if (value === undefined || need === undefined) return false;
    const permission = typeof need === "string" ? need : need[String(value)];
    return permission !== undefined && !may(actor, permission);
  });
}

/** The text fields of an answer's rows that this actor does not see. */
export function maskedFields(actor: Rights, { masks = {} }: Endpoint): readonly string[] {
  return Object.entries(masks)
    .filter(([, permission]) => !may(actor, permission))
    .map(([name]) => name);
}
