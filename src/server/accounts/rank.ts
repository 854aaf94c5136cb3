// The rank rule: who may act on whom. One function, so that no endpoint has its own idea of it (requirements Z04). Pure.
import { Role } from "#contract/user.ts";

/** Whether an actor may read, edit, disable, delete, pay or top up a user of this role (requirements W2.7, J6). */
export function outranks(actor: { readonly role: number }, target: { readonly role: number }): boolean {
  return actor.role >= Role.root || actor.role > target.role;
}

/** Whether an actor may give somebody this role: one below the own, and one that exists. */
export function mayGrant(actor: { readonly role: number }, role: number): boolean {
  return (role === Role.user || role === Role.admin) && role < actor.role;
}
