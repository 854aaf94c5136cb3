// What a whole run of the tests shares, started when the first test file asks for it: offered by a global setup, fetched by test files.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Shared {
  /** Where test files reach it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Listens for test files that need it. Returns the broker's address, and what ends everything. */
export async function offer(start: () => Promise<Shared>) {
  let shared: Promise<Shared> | undefined;
  const broker = createServer((_request, response) => {
    shared ??= start();
    shared.then(
      ({ url }) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
  // A listening TCP server has an address object; a string is for pipes.
  const { port } = broker.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    async stop() {
      broker.close();
      // One that failed to start has said so to the test that wanted it.
      const started = await shared?.catch(() => undefined);
      await started?.stop();
    },
  };
}

/** The URL of what a broker offers. Throws: with the words of what did not start. */
export async function fetchShared(broker: string): Promise<string> {
  const response = await fetch(broker);
  const url = await response.text();
  if (!response.ok) throw new Error(url);
  return url;
}
