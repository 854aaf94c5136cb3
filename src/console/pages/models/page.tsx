// The catalogue (模型广场): models, what they cost, and how to call them; for guests in the light frame, so nothing of antd here.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { query } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { formatCount } from "#console/base/format.ts";
import { ABILITY_WORDS } from "#console/base/money-price.ts";
import { useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton, PlainButton } from "#console/ui/plain-button.tsx";
import { type Catalogue, catalogueApi } from "#contract/catalogue.ts";
import { abilitiesOf, filterOf, isWanted, makersOf } from "./filter.ts";
import { ModelRow } from "./row.tsx";
import "./models.css";

const SHOWN = 60;

interface FiltersProps {
  readonly catalogue: Catalogue;
  readonly search: URLSearchParams;
  readonly onChange: (name: string, value: string) => void;
}

function Filters({ catalogue, search, onChange }: FiltersProps) {
  const { words, maker, ability } = filterOf(search);
  const { models, groups, group } = catalogue;
  return (
    <search className="tg-model-filters">
      <input
        type="search"
        aria-label="搜索模型"
        placeholder="搜索模型或厂商"
        defaultValue={words}
        onChange={({ target }) => onChange("q", target.value)}
      />
      <select aria-label="厂商" value={maker} onChange={({ target }) => onChange("maker", target.value)}>
        <option value="">所有厂商</option>
        {makersOf(models).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select aria-label="能力" value={ability} onChange={({ target }) => onChange("ability", target.value)}>
        <option value="">所有能力</option>
        {abilitiesOf(models).map((name) => (
          <option key={name} value={name}>
            {ABILITY_WORDS[name]}
          </option>
        ))}
      </select>
      {groups.length < 2 ? null : (
        <select aria-label="分组" value={group} onChange={({ target }) => onChange("group", target.value)}>
          {groups.map(({ name, text }) => (
            <option key={name} value={name}>
              {text === "" ? `分组 ${name}` : `分组 ${name}（${text}）`}
            </option>
          ))}
        </select>
      )}
    </search>
  );
}

function Models({ catalogue, search }: Omit<FiltersProps, "onChange">) {
  const [most, setMost] = useState(SHOWN);
  const [nowMs] = useState(() => Date.now());
  const currency = useStatus()?.price_currency ?? "USD";
  const wanted = catalogue.models.filter((model) => isWanted(filterOf(search), model));
  if (wanted.length === 0)
    return (
      <p className="tg-card tg-model-none">
        {catalogue.models.length === 0 ? "还没有可用的模型。" : "没有符合条件的模型。"}
      </p>
    );
  return (
    <>
      <p className="tg-muted tg-model-count" role="status">
        {formatCount(wanted.length)} 个模型。除另有说明外，价格为每百万 token。
      </p>
      <ul className="tg-card tg-models">
        {wanted.slice(0, most).map((row) => (
          <ModelRow key={row.model} row={row} currency={currency} nowMs={nowMs} />
        ))}
      </ul>
      {wanted.length <= most ? null : (
        <PlainButton onClick={() => setMost(most + SHOWN)}>
          显示更多（还有 {formatCount(wanted.length - most)} 个）
        </PlainButton>
      )}
    </>
  );
}

function OpenCatalogue() {
  const [search, setSearch] = useSearchParams();
  const group = search.get("group") ?? "";
  const { data, error, refetch } = useQuery({
    ...query(catalogueApi.list, { query: { group } }),
    placeholderData: keepPreviousData,
    meta: { silent: true },
  });
  const change = (name: string, value: string) => {
    const next = new URLSearchParams(search);
    if (value === "") next.delete(name);
    else next.set(name, value);
    setSearch(next, { replace: true });
  };
  if (error !== null)
    return (
      <div className="tg-card tg-model-none" role="alert">
        <p>{faultText(error)}</p>
        <PlainButton onClick={() => void refetch()}>重试</PlainButton>
      </div>
    );
  if (data === undefined) return <span className="tg-bone tg-model-bone" />;
  return (
    <>
      <Filters catalogue={data} search={search} onChange={change} />
      <Models key={`${search}`} catalogue={data} search={search} />
    </>
  );
}

export function ModelsPage() {
  const user = useUser();
  const status = useStatus();
  const isClosed = user === undefined && status?.catalogue_open === false;
  return (
    <Page title="模型广场" lead="可用的模型、价格与调用方法；点开一行查看示例。">
      {isClosed ? (
        <div className="tg-card tg-model-none">
          <p>登录后可查看模型与价格。</p>
          <LinkButton to="/login" kind="primary">
            登录
          </LinkButton>
        </div>
      ) : (
        <OpenCatalogue key={user?.id ?? 0} />
      )}
    </Page>
  );
}
