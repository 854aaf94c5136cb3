// Where an answer of a 易支付 site says that the payer has to go.
import type { Instance } from "#server/payments/provider.ts";
import type { Params } from "#server/payments/wire/form.ts";

/** An address of an answer: relative ones are the site's own. */
function absolute(base: string, address: string): string {
  if (address === "" || !URL.canParse(address, `${base}/`)) return "";
  return new URL(address, `${base}/`).href;
}

/** What an answer says about where to pay. */
export function placeOf(instance: Instance, answer: Params): { qr: string; url: string; session: string } {
  const get = (name: string) => answer.get(name) ?? "";
  const session = get("trade_no");
  const base = instance.baseUrl;
  const info = get("pay_info");
  const kind = get("pay_type");
  if (kind !== "") {
    if (kind === "qrcode") return { qr: absolute(base, info), url: "", session };
    return { qr: "", url: kind === "jump" || kind === "urlscheme" ? absolute(base, info) : "", session };
  }
  return {
    qr: absolute(base, get("qrcode")),
    url: absolute(base, get("payurl") || get("urlscheme")),
    session,
  };
}
