// One model of the catalogue: its name and prices, and behind them a call to copy. Light: nothing of antd.
import { useState } from "react";
import { ABILITY_WORDS, type Currency, priceLines, tierText, UNIT_WORDS } from "#console/base/money-price.ts";
import { KEY_PLACEHOLDER } from "#console/base/samples.ts";
import { useServerAddress } from "#console/base/status.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import type { CatalogueModel } from "#contract/catalogue.ts";
import { endsSoon } from "./filter.ts";
import { abilitySample } from "./sample.ts";

export interface ModelRowProps {
  readonly row: CatalogueModel;
  readonly currency: Currency;
  readonly nowMs: number;
}

function Details({ row, currency }: Omit<ModelRowProps, "nowMs">) {
  const { model, ability, tiers, unit } = row;
  const server = useServerAddress();
  const sample = abilitySample(ability, { server, key: KEY_PLACEHOLDER, model });
  return (
    <div className="tg-model-more">
      <p>
        价格为{UNIT_WORDS[unit]}，已含分组倍率。
        {tiers.map((tier) => (
          <span key={tier.above}>{tierText(tier, currency)}。</span>
        ))}
      </p>
      <div className="tg-model-copy">
        <span>模型名</span>
        <span className="tg-code">{model}</span>
        <CopyButton text={model} label="复制模型名" />
      </div>
      <div className="tg-model-copy">
        <span>调用示例</span>
        <CopyButton text={sample} label="复制调用示例" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard */}
      <pre tabIndex={0} className="tg-code">
        {sample}
      </pre>
    </div>
  );
}

export function ModelRow({ row, currency, nowMs }: ModelRowProps) {
  const [isOpen, setOpen] = useState(false);
  const { model, maker, ability, last_day } = row;
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="tg-model-name">
            <span className="tg-code">{model}</span>
            <span className="tg-model-kind">
              {maker} · {ABILITY_WORDS[ability]}
            </span>
            {last_day === "" ? null : (
              <span className={endsSoon(last_day, nowMs) ? "tg-model-end tg-model-soon" : "tg-model-end"}>
                {last_day} 后停用
              </span>
            )}
          </span>
          <span className="tg-model-prices">
            {priceLines(row, currency).map(({ label, text }) => (
              <span key={label} className="tg-model-price">
                <span>{label}</span>
                <strong className="tg-number">{text}</strong>
              </span>
            ))}
          </span>
        </summary>
        {isOpen ? <Details row={row} currency={currency} /> : null}
      </details>
    </li>
  );
}
