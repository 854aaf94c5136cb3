// Resolves names to addresses, and returns only those that the policy allows.
import { type LookupAddress, type LookupAllOptions, lookup as resolve } from "node:dns";
import type { LookupFunction } from "node:net";
import type { Policy } from "./policy.ts";
import { BlockedError } from "./send.ts";

/** Whether a connection to this address (no name) may be opened. */
export function isAllowed(policy: Policy, address: string, port: number): boolean {
  const verdict = policy.judge(address, port);
  return verdict === "public" || verdict === "allowed";
}

/** The resolver of names; only tests replace the system's. */
export type Resolver = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Resolves a name and returns the allowed addresses; the socket connects to one of exactly these. */
export function guardedLookup(policy: Policy, port: number, find: Resolver = resolve): LookupFunction {
  return (hostname, options, callback) => {
    find(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        callback(error, "", 0);
        return;
      }
      const allowed = addresses.filter(({ address }) => isAllowed(policy, address, port));
      const [first] = allowed;
      if (first === undefined) callback(new BlockedError(`${hostname}:${port}`), "", 0);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Resolves a name to one address that the policy allows. The error is BlockedError, or the resolver's. */
export function resolveFor(
  policy: Policy,
  host: string,
  port: number,
  found: (error: Error | null, address: string) => void,
): void {
  guardedLookup(policy, port)(host, { all: false }, (error, address) => found(error, String(address)));
}
