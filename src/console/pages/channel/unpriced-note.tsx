// Says at once which of the chosen models cannot be called yet, since they have no price.
import { useQuery } from "@tanstack/react-query";
import { Form } from "antd";
import { Link } from "react-router";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { Callout } from "#console/ui/callout.tsx";
import { optionApi } from "#contract/option.ts";
import { unpricedModels } from "./unpriced.ts";
import type { ChannelValues } from "./values.ts";

const optionsQuery = { ...query(optionApi.list, {}), staleTime: 30_000, meta: { silent: true } };
/** More names than these are only counted. */
const NAMED = 8;

export function UnpricedNote({ models }: { readonly models: readonly string[] }) {
  const options = useQuery(optionsQuery);
  const mapping = Form.useWatch<ChannelValues["model_mapping"] | undefined>("model_mapping") ?? "";
  const unpriced = options.data === undefined ? [] : unpricedModels({ models, mapping }, options.data);
  if (unpriced.length === 0) return null;
  const names = unpriced.slice(0, NAMED).map((model) => (
    <code key={model} className="tg-code">
      {model}
    </code>
  ));
  return (
    <Callout tone="warn">
      <p className="tg-unpriced">
        {formatCount(unpriced.length)} 个模型还没有价格，调用会被拒绝（400）：{names}
        {unpriced.length > NAMED ? "等" : null}
        {/* A tab of its own: the form is not lost. */}
        <Link to="/setting?tab=operation#model-ratio" target="_blank">
          设置价格
        </Link>
      </p>
    </Callout>
  );
}
