// A fault in the language of its reader: as the person chose whose call it is, else as the client's headers say, else Chinese.
import type { IncomingHttpHeaders } from "node:http";
import { Language } from "#contract/language.ts";
import { languageOf } from "#server/locale/language.ts";
import { say } from "#server/locale/sentences.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** `chosen` = zh or en; "" = the person chose none. */
export function toldIn(fault: RelayFault, chosen: string, headers: IncomingHttpHeaders): RelayFault {
  const language = Language.safeParse(chosen).data ?? languageOf((name) => headers[name]?.toString());
  const publicMessage = say(fault.publicMessage, language);
  return publicMessage === fault.publicMessage ? fault : { ...fault, publicMessage };
}
