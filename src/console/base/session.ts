// The signed-in user, as far as the browser knows: stored, and refreshed from the server. Never a source of rights.
import type { Permission } from "#contract/permission.ts";
import { Role, type User, userApi } from "#contract/user.ts";
import { call, query } from "./call.ts";
import { followLanguage } from "./language.ts";
import { readStored, removeStored, writeStored } from "./storage.ts";
import { createStore, useStore } from "./store.ts";

export type Access = "public" | "user" | "admin";

/** Why there is no user: the session ran out, or the user left by choice. */
export type SessionEnd = "expired" | "left";

interface Session {
  readonly user?: User;
  readonly end?: SessionEnd;
}

function stored(): Session {
  const user = readStored("user");
  return user === undefined ? {} : { user };
}

const session = createStore<Session>(stored());

// Another tab signed in or out.
globalThis.addEventListener?.("storage", (event) => {
  if (event instanceof StorageEvent && (event.key === "user" || event.key === null)) session.set(stored());
});

/** The signed-in user, or undefined. */
export function currentUser(): User | undefined {
  return session.get().user;
}

/** Stores the user locally and in app state (requirements B4). */
export function signIn(user: User): void {
  writeStored("user", user);
  session.set({ user });
}

/** Forgets the user; the guard then leads to the login page. */
export function signOut(end: SessionEnd): void {
  removeStored("user");
  session.set({ end });
}

/** Whether the session has run out and no user has signed in since. */
export function hasExpired(): boolean {
  return session.get().end === "expired";
}

export function useUser(): User | undefined {
  return useStore(session).user;
}

export function useSessionEnd(): SessionEnd | undefined {
  return useStore(session).end;
}

/** The user as the server tells; keeps the stored one up to date. A 401 ends the session through the catalogue of faults. */
export const selfQuery = {
  ...query(userApi.self, {}),
  staleTime: 30_000,
  queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<User> => {
    const user = await call(userApi.self, {}, signal);
    if (currentUser() !== undefined) signIn(user);
    // Who looks at another user's console reads it in his own language.
    if (user.viewer === undefined) followLanguage(user.language);
    return user;
  },
};

export function isAdmin(user: { readonly role: number } | undefined): boolean {
  return (user?.role ?? Role.guest) >= Role.admin;
}

export function isRoot(user: { readonly role: number } | undefined): boolean {
  return (user?.role ?? Role.guest) >= Role.root;
}

/** Whether the signed-in user may do what takes this permission; a server that tells no permissions lets administrators do all. */
export function may(
  user: { readonly role: number; readonly permissions?: readonly string[] | undefined } | undefined,
  permission: Permission,
): boolean {
  return user?.permissions?.includes(permission) ?? isAdmin(user);
}

export function useMay(permission: Permission): boolean {
  return may(useUser(), permission);
}

/** Whether this user may open a page of that access. */
export function mayOpen(
  { access, permission }: { readonly access: Access; readonly permission?: Permission },
  user: User | undefined,
): boolean {
  if (access === "public") return true;
  if (access === "user") return user !== undefined;
  return permission === undefined ? isAdmin(user) : may(user, permission);
}

/** Label of a role (glossary, "Statuses and roles"). */
export function roleLabel(role: number): string {
  if (role >= Role.root) return "超级管理员";
  if (role >= Role.admin) return "管理员";
  return role >= Role.user ? "普通用户" : "未知身份";
}
