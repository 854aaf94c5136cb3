// What the two versions of 易支付 differ in: addresses, signatures, and the code that is a yes (vendors/epay).
import type { Instance } from "#server/payments/provider.ts";
import type { Params } from "#server/payments/wire/form.ts";
import { signEpayV1, signEpayV2, verifiesEpayV1, verifiesEpayV2 } from "#server/payments/wire/signatures.ts";
import { rsaPrivateKey, rsaPublicKey } from "#server/secrets/payment-crypto.ts";

export type Fields = readonly (readonly [string, string])[];

export interface Version {
  readonly paths: {
    readonly create: string;
    readonly query: string;
    readonly refund: string;
    readonly orders: string;
    /** "" = the protocol has no such call. */
    readonly close: string;
  };
  /** The fields with time and signature; undefined = the account has no usable key. */
  signed(instance: Instance, fields: Fields, nowSec: number): Fields | undefined;
  /** The fields of a question or refund: V1 sends its key in clear. */
  authorised(instance: Instance, fields: Fields, nowSec: number): Fields | undefined;
  verifies(instance: Instance, params: Params, nowSec: number): boolean;
  okCode(instance: Instance): string;
}

export const v1: Version = {
  paths: {
    create: "/mapi.php",
    query: "/api.php?act=order",
    refund: "/api.php?act=refund",
    orders: "/api.php?act=orders",
    close: "",
  },
  signed(instance, fields) {
    const [key] = instance.secrets("key");
    return key === undefined
      ? undefined
      : [...fields, ["sign", signEpayV1(fields, key)], ["sign_type", "MD5"]];
  },
  authorised(instance, fields) {
    const [key] = instance.secrets("key");
    return key === undefined ? undefined : [...fields, ["key", key]];
  },
  verifies: (instance, params) => instance.secrets("key").some((key) => verifiesEpayV1(params, key)),
  okCode: () => "1",
};

export const v2: Version = {
  paths: {
    create: "/api/pay/create",
    query: "/api/pay/query",
    refund: "/api/pay/refund",
    orders: "/api/merchant/orders",
    close: "/api/pay/close",
  },
  signed(instance, fields, nowSec) {
    const key = rsaPrivateKey(instance.secrets("private_key")[0] ?? "");
    const timed = [...fields, ["timestamp", String(nowSec)]] as const;
    return key && [...timed, ["sign", signEpayV2(timed, key)], ["sign_type", "RSA"]];
  },
  authorised: (instance, fields, nowSec) => v2.signed(instance, fields, nowSec),
  verifies(instance, params, nowSec) {
    const key = rsaPublicKey(instance.field("platform_key"));
    return key !== undefined && verifiesEpayV2(params, key, nowSec);
  },
  okCode: (instance) => instance.field("ok_code") || "0",
};
