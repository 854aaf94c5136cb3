// The rank rule: which actor may act on which user. One place, so that all endpoints apply the same rule (requirements Z04). Pure.
import { Role } from "#contract/user.ts";

/** Whether an actor may read, edit, disable, delete, pay or top up a user of this role (requirements W2.7, J6). */
export function outranks(actor: { readonly role: number }, target: { readonly role: number }): boolean {
  return actor.role >= Role.root || actor.role > target.role;
}

/** Whether an actor may grant this role: one below the actor's own, and one that exists. */
export function mayGrant(actor: { readonly role: number }, role: number): boolean {
  return (role === Role.user || role === Role.admin) && role < actor.role;
}
