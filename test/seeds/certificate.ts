// A self-signed certificate for a test, made on the spot: no key lies in the repository and none expires.
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const size = body.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
/** Object identifiers as their encoded bytes (RFC 5280, 8410). */
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const time = (text: string) => der(0x17, Buffer.from(text));

/** A certificate of `name` (a host name) that is its own authority, good from 2020 to 2049. */
export function makeCertificate(name: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const algorithm = sequence(oid("2b6570"));
  const subject = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))));
  const extension = (id: string, ...value: Buffer[]) => sequence(oid(id), der(0x04, ...value));
  const extensions = der(
    0xa3,
    sequence(
      extension("551d11", sequence(der(0x82, Buffer.from(name)))),
      extension("551d13", sequence(der(0x01, Buffer.from([0xff])))),
    ),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    subject,
    sequence(time("200101000000Z"), time("491231235959Z")),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    extensions,
  );
  const signature = sign(null, body, privateKey);
  const whole = sequence(body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
  };
}
