// Stripe's own package, pointed at the emulator: what it cannot read is no answer of Stripe's.
import Stripe from "stripe";

export function stripeAt(url: string): Stripe {
  const { hostname, port } = new URL(url);
  return new Stripe("sk_test_1", { host: hostname, port: Number(port), protocol: "http", telemetry: false });
}
