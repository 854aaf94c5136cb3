// A visitor at a browser: keeps cookies between calls, as the console's fetch would, and has an address of its own.
import type { Answer, TestApp } from "./app.ts";

export interface Visitor {
  /** Calls the management API as the console does: same origin, cookies along. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  readonly cookies: Map<string, string>;
  readonly address: string;
}

let visitors = 0;

/** An address that no other test has used; it counts where the app trusts the proxy 127.0.0.1. */
export function freshAddress(): string {
  visitors += 1;
  return `198.18.${(visitors >> 8) & 255}.${visitors & 255}`;
}

/** A new browser. The app must be made with `TRUSTED_PROXIES: "127.0.0.1"` for the address to count. */
export function visit(app: TestApp, address = freshAddress()): Visitor {
  const cookies = new Map<string, string>();
  return {
    cookies,
    address,
    async call(method, path, body, headers = {}) {
      const response = await app.request(path, {
        method,
        headers: {
          host: "localhost",
          "sec-fetch-site": "same-origin",
          "sec-fetch-mode": "cors",
          "x-forwarded-for": address,
          "content-type": "application/json",
          ...(cookies.size === 0 ? {} : { cookie: [...cookies].map(([k, v]) => `${k}=${v}`).join("; ") }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      for (const line of response.headers.getSetCookie()) {
        const [pair = "", ...rest] = line.split(";");
        const [name = "", value = ""] = pair.split("=");
        const isGone = value === "" || rest.some((part) => part.trim().toLowerCase() === "max-age=0");
        if (isGone) cookies.delete(name);
        else cookies.set(name, value);
      }
      const text = await response.text();
      // Every management answer but 429 is a JSON object.
      const answer: Answer = text === "" ? {} : JSON.parse(text);
      return { ...answer, status: response.status };
    },
  };
}
