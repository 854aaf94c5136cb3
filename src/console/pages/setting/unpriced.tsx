// Models that channels have and no price table knows, above the table to which a click adds a row for one.
import { PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { channelApi } from "#contract/channel.ts";
import type { Ratios } from "./ratio-rows.ts";

const unpricedQuery = { ...query(channelApi.unpriced, {}), meta: { silent: true } };
/** As many stand there at first. */
const SHOWN = 12;

export interface UnpricedProps {
  /** The table as it is edited now: what has a row in it is on its way. */
  readonly ratios: Ratios;
  readonly isReadOnly: boolean;
  readonly onAdd: (model: string) => void;
}

export function Unpriced({ ratios, isReadOnly, onAdd }: UnpricedProps) {
  const { data = [] } = useQuery(unpricedQuery);
  const [isWhole, setWhole] = useState(false);
  const rows = data.filter(({ model }) => !Object.hasOwn(ratios, model));
  if (rows.length === 0) return null;
  const shown = isWhole ? rows : rows.slice(0, SHOWN);
  return (
    <section className="tg-unpriced-models" aria-labelledby="unpriced-models">
      <h3 id="unpriced-models">渠道中有、但没有价格的模型</h3>
      <p>调用它们会被拒绝（400）。{isReadOnly ? null : "点击一个，即在表中为它添加一行，填写价格后保存。"}</p>
      <ul>
        {shown.map(({ model, channels }) => (
          <li key={model}>
            <Button
              size="small"
              icon={<PlusOutlined aria-hidden="true" />}
              disabled={isReadOnly}
              title={`渠道：${channels.join("、")}`}
              aria-label={`为 ${model} 添加价格`}
              onClick={() => onAdd(model)}
            >
              <span className="tg-code">{model}</span>
            </Button>
          </li>
        ))}
        {shown.length === rows.length ? null : (
          <li>
            <Button size="small" type="link" onClick={() => setWhole(true)}>
              显示全部 {formatCount(rows.length)} 个
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}
