// The network between a server and its database: passes everything on until a test does something to it.
import { connect, createServer, type Socket } from "node:net";

export interface Link {
  readonly port: number;
  /** Breaks all connections, new ones too, until the link is mended. */
  cut(): void;
  /** Open connections pass nothing on and are not closed, until the link is mended; new ones pass. */
  silence(): void;
  /** Passes on again, also what was held back. */
  mend(): void;
  close(): void;
}

/** Listens on a free loopback port in front of a database. */
export async function createLink({ hostname, port }: URL): Promise<Link> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    // It adds no waiting of its own: what is small goes on at once.
    client.setNoDelay(true);
    const far = connect({ host: hostname, port: Number(port), noDelay: true });
    const end = () => {
      client.destroy();
      far.destroy();
    };
    for (const socket of [client, far]) {
      sockets.add(socket);
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    client.pipe(far);
    far.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    silence() {
      for (const socket of sockets) socket.pause();
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
