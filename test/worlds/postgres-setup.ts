// Vitest global setup: offers one PostgreSQL to the whole run, started when the first test file asks for it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Answers with the URL of the run's PostgreSQL server; see `createPostgresDatabase`. */
    readonly postgresBroker: string;
  }
}

/** Listens for test files that need a server. Returns what ends everything. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const broker = createServer((_request, response) => {
    server ??= startPostgres();
    server.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
  // A listening TCP server has an address object; a string is for pipes.
  const { port } = broker.address() as AddressInfo;
  project.provide("postgresBroker", `http://127.0.0.1:${port}`);
  return async () => {
    broker.close();
    // A server that failed to start has said so to the test that wanted it.
    const started = await server?.catch(() => undefined);
    await started?.stop();
  };
}
