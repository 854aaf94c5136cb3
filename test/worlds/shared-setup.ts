// Vitest global setup: one PostgreSQL server and one browser for the whole run.
import type { TestProject } from "vitest/node";
import { offer } from "./broker.ts";
import { startBrowserServer } from "./browser-server.ts";
import { startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers with the URL of the run's PostgreSQL server; see `createPostgresDatabase`. */
    readonly postgresBroker: string;
    /** Answers with the address of the run's browser; see `launchBrowser`. */
    readonly browserBroker: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [postgres, browser] = await Promise.all([offer(startPostgres), offer(startBrowserServer)]);
  project.provide("postgresBroker", postgres.address);
  project.provide("browserBroker", browser.address);
  return async () => {
    await Promise.all([postgres.stop(), browser.stop()]);
  };
}
