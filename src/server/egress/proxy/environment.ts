// The proxies that the usual environment variables name. Pure: config reads them.
import type { ProxyEnvironment } from "#server/config.ts";
import { hostOf, portOf } from "#server/egress/policy.ts";
import { type ProxyReading, readProxy } from "./address.ts";
import { readNoProxy } from "./no-proxy.ts";

export interface EnvironmentProxies {
  readonly http: ProxyReading;
  readonly https: ProxyReading;
  readonly isDirect: ReturnType<typeof readNoProxy>;
}

/** Reads them once; one that cannot be read stays an error for each destination that it would serve. */
export function readEnvironment({ http, https, noProxy }: ProxyEnvironment): EnvironmentProxies {
  return { http: readProxy(http), https: readProxy(https), isDirect: readNoProxy(noProxy) };
}

/** What the environment says of a destination. Plain schemes go by HTTP_PROXY, those with TLS by HTTPS_PROXY, and neither by the other's. */
export function environmentProxy({ http, https, isDirect }: EnvironmentProxies, url: URL): ProxyReading {
  if (isDirect({ host: hostOf(url), port: portOf(url) })) return { kind: "direct" };
  return url.protocol === "https:" || url.protocol === "wss:" ? https : http;
}
