// A tab of options: its sections, fed by the option list.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { query } from "#console/base/call.ts";
import { FormState } from "#console/ui/form-state.tsx";
import { type OptionTab, optionApi } from "#contract/option.ts";
import { LogClearing } from "./log-clearing.tsx";
import { OptionSection } from "./option-section.tsx";
import { textsOf } from "./option-values.ts";
import { SectionJump } from "./section-jump.tsx";
import { sections } from "./sections.ts";
import { UpdateCheck } from "./update-check.tsx";

const optionsQuery = { ...query(optionApi.list, {}), staleTime: 30_000 };

export function OptionsTab({ tab }: { readonly tab: OptionTab }) {
  const options = useQuery(optionsQuery);
  const stored = useMemo(() => options.data && textsOf(options.data), [options.data]);
  if (stored === undefined) return <FormState error={options.error} onRetry={() => void options.refetch()} />;
  return (
    <div className="tg-setting-column">
      {tab === "other" ? null : <SectionJump sections={sections[tab]} />}
      {tab === "other" ? <UpdateCheck repository={stored.get("ReleaseRepository") ?? ""} /> : null}
      {sections[tab].map((section) => (
        <OptionSection key={section.id} section={section} stored={stored}>
          {section.id === "log" ? <LogClearing /> : null}
        </OptionSection>
      ))}
    </div>
  );
}
