// An authenticator in software, for what no browser does: wrong signatures, copied keys, answers of other sites. ES256, no attestation.
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();
const url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");

/** What may be wrong with an answer. */
export interface Twist {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly counter?: number;
  readonly userHandle?: string;
  /** Presence and verification are 1 and 4. */
  readonly flags?: number;
  readonly isForged?: boolean;
}

export interface SoftPasskey {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: options as the server sends them.
  create(options: any, twist?: Twist): object;
  // biome-ignore lint/suspicious/noExplicitAny: options as the server sends them.
  get(options: any, twist?: Twist): object;
}

function bytes(data: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([0x58, data.length]), data]);
}

/** `{1: 2, 3: -7, -1: 1, -2: x, -3: y}` in CBOR. */
function coseKey(x: Uint8Array, y: Uint8Array): Buffer {
  const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]);
  return Buffer.concat([head, bytes(x), Buffer.from([0x22]), bytes(y)]);
}

/** Makes one for the site of `origin`; `isSynced` ones count nothing. */
export function createSoftPasskey(origin: string, isSynced = false): SoftPasskey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const jwk = publicKey.export({ format: "jwk" });
  const [x, y] = [Buffer.from(jwk.x ?? "", "base64url"), Buffer.from(jwk.y ?? "", "base64url")];
  const id = randomBytes(32);
  let counter = 0;
  let handle = "";

  function clientData(type: string, challenge: string, twist: Twist): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: twist.type ?? type,
        challenge: twist.challenge ?? challenge,
        origin: twist.origin ?? origin,
        crossOrigin: false,
      }),
    );
  }

  function authData(twist: Twist, extra: Uint8Array = Buffer.alloc(0)): Buffer {
    const count = Buffer.alloc(4);
    if (!isSynced) counter += 1;
    count.writeUInt32BE(twist.counter ?? counter);
    const flags = (twist.flags ?? 5) | (isSynced ? 0x18 : 0) | (extra.length > 0 ? 0x40 : 0);
    const rpId = twist.rpId ?? new URL(origin).hostname;
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, extra]);
  }

  return {
    id: url(id),
    create(options, twist = {}) {
      handle = options.user.id;
      const length = Buffer.from([0, id.length]);
      const data = authData(twist, Buffer.concat([Buffer.alloc(16), length, id, coseKey(x, y)]));
      const long = Buffer.from([0x58, data.length]);
      const attestationObject = Buffer.concat([
        Buffer.from([0xa3, 0x63]),
        Buffer.from("fmt"),
        Buffer.from([0x64]),
        Buffer.from("none"),
        Buffer.from([0x67]),
        Buffer.from("attStmt"),
        Buffer.from([0xa0, 0x68]),
        Buffer.from("authData"),
        long,
        data,
      ]);
      const clientDataJSON = url(clientData("webauthn.create", options.challenge, twist));
      const response = {
        clientDataJSON,
        attestationObject: url(attestationObject),
        transports: ["internal"],
      };
      return { id: url(id), rawId: url(id), type: "public-key", response, clientExtensionResults: {} };
    },
    get(options, twist = {}) {
      const client = clientData("webauthn.get", options.challenge, twist);
      const data = authData(twist);
      const key = twist.isForged ? stranger : privateKey;
      const signature = sign("sha256", Buffer.concat([data, sha256(client)]), key);
      const response = {
        clientDataJSON: url(client),
        authenticatorData: url(data),
        signature: url(signature),
        userHandle: twist.userHandle ?? handle,
      };
      return { id: url(id), rawId: url(id), type: "public-key", response, clientExtensionResults: {} };
    },
  };
}
