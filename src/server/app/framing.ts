// Requests that two servers would read in two ways, beside those that Node's parser refuses: a proxy before us may have seen
// another host, or another end of the body (requirements R17).
import type { IncomingMessage, RequestListener } from "node:http";

/** Whether a head leaves open for which host it is, or where its body ends (RFC 9112 3.2 and 6.1). */
export function isAmbiguous({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  // Of codings we know one, and its name alone; before HTTP/1.1 there was none.
  if (coding !== undefined && (coding.trim().toLowerCase() !== "chunked" || httpVersion === "1.0"))
    return true;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** Listens to what can be read in one way only. What follows anything else on its connection belongs to no request, and is dropped. */
export function clearOnly(listener: RequestListener, refuse: RequestListener): RequestListener {
  const refused = new WeakSet<IncomingMessage["socket"]>();
  return (req, res) => {
    if (refused.has(req.socket)) return;
    if (!isAmbiguous(req)) {
      listener(req, res);
      return;
    }
    refused.add(req.socket);
    // Node's parser may be about to refuse it too: then Node answers, and `refuse` only if it did not.
    setImmediate(refuse, req, res);
  };
}
