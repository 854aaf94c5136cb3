// The tables of ratios as they are stored, as rows or as JSON: what 模型与价格 edits a model at a time.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { query } from "#console/base/call.ts";
import { Page } from "#console/ui/page.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { optionApi } from "#contract/option.ts";
import { isOfModels } from "./model-sections.ts";
import { OptionSection } from "./option-section.tsx";
import { textsOf } from "./option-values.ts";
import { SectionJump } from "./section-jump.tsx";
import { sections } from "./sections.ts";
import "./setting.css";

const optionsQuery = { ...query(optionApi.list, {}), staleTime: 30_000 };
const shown = sections.operation.filter(isOfModels);

export function RatiosPage() {
  const options = useQuery(optionsQuery);
  const stored = useMemo(() => options.data && textsOf(options.data), [options.data]);
  return (
    <Page width="form" lead="按倍率编辑整张表，或直接编辑 JSON。分组倍率在“设置 → 运营设置”。">
      {stored === undefined ? (
        <FormState error={options.error} onRetry={() => void options.refetch()} />
      ) : (
        <div className="tg-setting-column">
          <SectionJump sections={shown} />
          {shown.map((section) => (
            <OptionSection key={section.id} section={section} stored={stored} />
          ))}
        </div>
      )}
    </Page>
  );
}
