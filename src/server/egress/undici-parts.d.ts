// Parts of undici that are imported alone; the package declares types for its whole only.
declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";

  export = Agent;
}

declare module "undici/lib/core/connect.js" {
  import { buildConnector } from "undici";

  export = buildConnector;
}
