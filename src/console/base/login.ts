// How a login ends in this browser: the user is stored and led on, or the second factor is asked for on the login page.
import { type NavigateFunction, useNavigate } from "react-router";
import { type FactorKind, FactorKind as Kind, type LoginUser } from "#contract/factor.ts";
import { signIn } from "./session.ts";

/** What the login page is told by history state, which is untrusted: the factors that the account has. */
export function halfOf(state: unknown): readonly FactorKind[] | undefined {
  if (typeof state !== "object" || state === null || !("half" in state)) return undefined;
  return Kind.array().safeParse(state.half).data;
}

/** Stores the user; or, when a second factor is to come, leads to where it is asked for. Returns whether the user is in. */
export function enter(navigate: NavigateFunction, user: LoginUser, from: unknown): boolean {
  if (user.require_2fa) {
    void navigate("/login", { replace: true, state: { half: user.factors ?? ["totp"], from } });
    return false;
  }
  signIn(user);
  return true;
}

/** `enter` with the page's own way of navigating. */
export function useEnter(): (user: LoginUser, from?: unknown) => boolean {
  const navigate = useNavigate();
  return (user, from) => enter(navigate, user, from);
}
