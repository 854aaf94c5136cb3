// Calls through proxies to servers on this machine, for tests: names are the proxy's to resolve, or those of a table.
import dns, { type LookupAddress, type LookupOptions } from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { createServer as createRaw, type Server, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import { onTestFinished } from "vitest";
import { createEgress, type Egress, type EgressOptions } from "#server/egress/dispatcher.ts";
import type { EgressRequest, Route } from "#server/egress/send.ts";
import { type HttpProxyOptions, startHttpProxy } from "#test/emulators/proxies.ts";
import { answerOf, ask, type Listening, listenOn } from "#test/emulators/raw-http.ts";
import { makeCertificate } from "#test/seeds/certificate.ts";

export const NAME = "upstream.example";
export const KEY = "sk-canary-of-the-channel";
export const trusted = makeCertificate(NAME);
export const ofProxy = makeCertificate("proxy.example");

export function egressFor(options: Partial<EgressOptions> = {}): Egress {
  const allow = [{ cidr: "127.0.0.0/8", port: undefined }];
  const egress = createEgress({ allow, restMs: 0, ...options });
  onTestFinished(() => egress.close());
  return egress;
}

export async function kept<World extends { close(): Promise<void> }>(
  starting: Promise<World>,
): Promise<World> {
  const world = await starting;
  onTestFinished(() => world.close());
  return world;
}

export const httpProxy = (options?: HttpProxyOptions) => kept(startHttpProxy(options));
export const serve = (server: Server, scheme?: string): Promise<Listening> => kept(listenOn(server, scheme));
const answering = (socket: Socket) => socket.on("data", () => socket.write(answerOf("good")));
export const upstream = () => serve(createRaw(answering));
export const tlsUpstream = (certificate = trusted) => serve(createTls(certificate, answering));

export const routeOf = (proxy: string, owner = "channel 1"): Route => ({ owner, proxies: ["", proxy] });

/** The body of an answer, or the code of the fault; `…!` = the proxy is blamed. */
export async function through(
  egress: Egress,
  proxy: string,
  origin: string,
  more: Partial<EgressRequest> = {},
) {
  const headers = ["authorization", `Bearer ${KEY}`];
  const { body, fault } = await ask(egress, { origin, headers, route: routeOf(proxy), ...more }).told;
  if (fault === undefined) return body.toString();
  return fault.isProxy === true ? `${fault.code}!` : fault.code;
}

/** Names resolve to these addresses in this test. */
export function resolveTo(table: Readonly<Record<string, string>>): string[] {
  const { lookup } = dns;
  const asked: string[] = [];
  const fake = (
    name: string,
    options: LookupOptions,
    done: (error: Error | null, found: LookupAddress[]) => void,
  ) => {
    asked.push(name);
    const address = table[name];
    if (address === undefined) return lookup(name, { ...options, all: true }, done);
    return done(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
  };
  Object.assign(dns, { lookup: fake });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(dns, { lookup });
    syncBuiltinESMExports();
  });
  return asked;
}
