// The type of a channel as a tag in its colour of the spec.
import { ColourTag } from "#console/ui/status-tag.tsx";
import { typeName } from "#contract/foreign-types.ts";
import { providerOf } from "#contract/providers.ts";

export function TypeTag({ type }: { readonly type: number }) {
  const provider = providerOf(type);
  return <ColourTag colour={provider?.color ?? "black"}>{typeName(type)}</ColourTag>;
}
