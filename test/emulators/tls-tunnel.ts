import { connect } from "node:net";
import { createServer } from "node:tls";
import { makeCertificate } from "#test/seeds/certificate.ts";

interface Tunnel {
  readonly port: number;
  /** What a client must trust. */
  readonly cert: string;
  close(): void;
}

/** TLS under a name, on a free port, that goes on unsealed to `target`, as an operator's proxy does in front of the server. */
export async function tunnel(target: number, name = "localhost"): Promise<Tunnel> {
  const { key, cert } = makeCertificate(name);
  const server = createServer({ key, cert }, (outer) => {
    const inner = connect(target, "127.0.0.1");
    outer.on("error", () => inner.destroy());
    inner.on("error", () => outer.destroy());
    outer.pipe(inner).pipe(outer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, cert, close: () => server.close() };
}
